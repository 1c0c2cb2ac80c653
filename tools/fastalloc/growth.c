#include "growth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "configuration.h"
#include "json.h"
#include "map.h"
#include "mounts.h"
#include "place.h"
#include "policy.h"
#include "sys.h"

/* A path of the table, with another last component. */
#define PATH_BYTES (WATCH_PATH + 256)

/* Fewer are not worth a thought. */
#define FEW_PIECES 4

static const char *const growth_names[GROWTH_COUNT] = {"write", "stdio", "ftruncate", "fallocate", "posix_fallocate"};

/* A key of preload.conf that helps a file. */
enum advice { ADVICE_WRITE, ADVICE_FTRUNCATE, ADVICE_POSIX_FALLOCATE, ADVICE_COUNT };

static const struct {
	enum key key;
	uint64_t value, none; /* what helps, and what does nothing */
	const char *text, *effect;
} advices[ADVICE_COUNT] = {
	{KEY_WRITE, WRITE_PREALLOCATE, WRITE_NATIVE, "write = preallocate", "in fewer pieces"},
	{KEY_FTRUNCATE, FTRUNCATE_PREALLOCATE, FTRUNCATE_NATIVE, "ftruncate = preallocate", "in fewer pieces"},
	{KEY_POSIX_FALLOCATE, POSIX_FALLOCATE_AUTO, POSIX_FALLOCATE_NATIVE, "posix_fallocate = auto",
	 "reserved without libc's writes"},
};

struct grown {
	const struct watched *seen;
	char path[PATH_BYTES]; /* where it is now; where it was, if it is gone */
	int is_there;
	uint64_t size;
	uint64_t pieces;
	int error; /* why pieces is not known, or 0 */
	struct file file;
	struct mount mount;
	unsigned helps, is_set; /* bit 1 << enum advice: it would help; the configuration has it */
};

struct grown_files {
	struct grown *grown;
	size_t count;
};

/* Finding the files again */

/* FAT numbers a file anew when it has left memory: there the name has to do. */
static int is_same(const struct file *file, const struct watched *seen)
{
	return S_ISREG(file->mode) && file->major == seen->major && file->minor == seen->minor &&
	       (file->inode == seen->inode || file->traits & TRAIT_CHAIN);
}

static int open_same(const char *path, struct grown *grown)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);

	if (fd >= 0 && policy_of(fd, NULL, &grown->file) == 0 && is_same(&grown->file, grown->seen))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Many programs write a file by another name first, in the same directory. */
static int open_renamed(struct grown *grown)
{
	char path[PATH_BYTES], *slash;
	struct dirent *entry;
	int fd = -1;
	DIR *directory;

	snprintf(path, sizeof(path), "%s", grown->seen->path);
	slash = strrchr(path, '/');
	if (!slash)
		return -1;
	slash[1] = '\0';
	directory = opendir(path);
	while (directory && fd < 0 && (entry = readdir(directory))) {
		if (entry->d_ino != grown->seen->inode)
			continue;
		snprintf(slash + 1, sizeof(path) - (size_t)(slash + 1 - path), "%s", entry->d_name);
		fd = open_same(path, grown);
	}
	if (directory)
		closedir(directory);
	if (fd >= 0)
		snprintf(grown->path, sizeof(grown->path), "%s", path);
	return fd;
}

/* Where the file lies when it is written out. */
static void count_pieces(int fd, struct grown *grown)
{
	struct map map;

	grown->error = -sys_fdatasync(fd);
	if (!grown->error)
		grown->error = map_read(fd, grown->path, &grown->file, &map);
	if (grown->error)
		return;
	grown->pieces = map_pieces(&map).count;
	map_free(&map);
}

static void measure(struct grown *grown)
{
	int fd = open_same(grown->seen->path, grown);

	snprintf(grown->path, sizeof(grown->path), "%s", grown->seen->path);
	if (fd < 0)
		fd = open_renamed(grown);
	grown->error = ENOENT;
	if (fd < 0) {
		memset(&grown->file, 0, sizeof(grown->file));
		return;
	}
	grown->is_there = 1;
	grown->size = (uint64_t)grown->file.size;
	count_pieces(fd, grown);
	if (place_mount(fd, "", &grown->mount))
		grown->mount.point[0] = '\0';
	close(fd);
}

/* Judging */

static uint64_t calls_of_writes(const struct watched *seen)
{
	return seen->grew[GROWTH_WRITE].calls + seen->grew[GROWTH_STREAM].calls;
}

/* File systems that keep blocks behind the end, and have a use for them. */
static int can_have_windows(const struct file *file)
{
	static const char *const types[] = {"vfat", "msdos", "ext4", "xfs", "f2fs"};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(file->fstype, types[i]))
			return !(file->traits & TRAIT_SYNCHRONOUS);
	return 0;
}

/* FAT allocates with every write: there the turns tell, where nobody may look. */
static int is_fragmented(const struct grown *grown)
{
	if (grown->error == EPERM && grown->file.traits & TRAIT_CHAIN)
		return grown->seen->turns > FEW_PIECES;
	return !grown->error && grown->pieces > FEW_PIECES;
}

static int would_help(const struct grown *grown, enum advice advice)
{
	const struct watched *seen = grown->seen;
	int is_in_pieces = can_have_windows(&grown->file) && is_fragmented(grown);

	switch (advice) {
	case ADVICE_WRITE: /* it grew in turn with others, and mostly by writes that can have a window */
		return is_in_pieces && seen->turns > FEW_PIECES && seen->unfit * 2 < calls_of_writes(seen);
	case ADVICE_FTRUNCATE: /* it grew first, and was written to then */
		return is_in_pieces && seen->grew[GROWTH_FTRUNCATE].bytes > grown->size / 2;
	default:
		return seen->emulated_calls > 0;
	}
}

static void judge(struct grown *grown)
{
	for (enum advice advice = 0; grown->is_there && advice < ADVICE_COUNT; advice++) {
		if (!would_help(grown, advice))
			continue;
		grown->helps |= 1U << advice;
		if (grown->file.policy.value[advices[advice].key] != advices[advice].none)
			grown->is_set |= 1U << advice;
	}
}

/* The configuration that the library would use for the program. */
static void configure(const char *program)
{
	static struct configuration configuration;

	configuration_load(&configuration, NULL);
	policy_init(&configuration.config, basename(program));
}

static int by_pieces(const void *a, const void *b)
{
	const struct grown *x = a, *y = b;

	if (x->pieces != y->pieces)
		return x->pieces < y->pieces ? 1 : -1;
	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return strcmp(x->path, y->path);
}

/* Returns 0 where memory is short. */
static int collect(struct grown_files *growth, const struct watch_table *table)
{
	size_t count = 0;

	for (size_t i = 0; i < WATCH_FILES; i++)
		count += table->file[i].state == WATCHED_FILE;
	growth->grown = calloc(WATCH_FILES, sizeof(*growth->grown));
	if (!growth->grown)
		return 0;
	for (size_t i = 0; i < WATCH_FILES; i++) {
		struct grown *grown = &growth->grown[growth->count];

		if (table->file[i].state != WATCHED_FILE)
			continue;
		progress("Looking where the files lie", (double)growth->count / (double)count);
		grown->seen = &table->file[i];
		measure(grown);
		judge(grown);
		growth->count++;
	}
	progress_end();
	qsort(growth->grown, growth->count, sizeof(*growth->grown), by_pieces);
	return 1;
}

/* The suggestion */

static size_t count_helped(const struct grown_files *growth, const struct mount *mount, enum advice advice, int is_set)
{
	size_t count = 0;

	for (size_t i = 0; i < growth->count; i++)
		if (growth->grown[i].helps & 1U << advice && !!(growth->grown[i].is_set & 1U << advice) == is_set &&
		    (!mount || !strcmp(growth->grown[i].mount.point, mount->point)))
			count++;
	return count;
}

/* What would help the file, and is not configured: bits as of helps. */
static unsigned lacks(const struct grown *grown)
{
	return grown->helps & ~grown->is_set;
}

/* Is this the first file of its mount that lacks something? */
static int is_first(const struct grown_files *growth, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (lacks(&growth->grown[i]) && !strcmp(growth->grown[i].mount.point, growth->grown[at].mount.point))
			return 0;
	return 1;
}

/* What one mount lacks; nothing, where it lacks nothing. A mount whose name is too long for
 * us goes by its type. */
static void print_section(FILE *to, const struct grown_files *growth, const struct grown *grown)
{
	const char *quote = strpbrk(grown->mount.point, " \t") ? "\"" : "";
	int is_begun = 0;

	for (enum advice advice = 0; advice < ADVICE_COUNT; advice++) {
		size_t count = count_helped(growth, &grown->mount, advice, 0);

		if (!count)
			continue;
		if (!is_begun && grown->mount.point[0])
			fprintf(to, "[mount %s%s%s]\n", quote, grown->mount.point, quote);
		else if (!is_begun)
			fprintf(to, "[fstype %s]\n", grown->file.fstype);
		is_begun = 1;
		fprintf(to, "%s\n", advices[advice].text);
	}
}

/* What would have to be in preload.conf, for free; empty where there is nothing. NULL where
 * memory is short. */
static char *sections(const struct grown_files *growth)
{
	char *text = NULL;
	size_t length;
	FILE *to = open_memstream(&text, &length);

	if (!to)
		return NULL;
	for (size_t i = 0; i < growth->count; i++)
		if (lacks(&growth->grown[i]) && is_first(growth, i))
			print_section(to, growth, &growth->grown[i]);
	fclose(to);
	return text;
}

/* Text */

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* The size that half of the extending writes are below, to a power of two. */
static uint64_t median(const struct watched *seen)
{
	uint64_t half = (calls_of_writes(seen) + 1) / 2, sum = 0;

	for (unsigned i = 0; i < WATCH_SIZES; i++) {
		sum += seen->sizes[i];
		if (sum >= half)
			return 1ULL << i;
	}
	return seen->most;
}

/* "write+ftruncate" */
static void ways(const struct watched *seen, char *text, size_t size)
{
	text[0] = '\0';
	for (enum growth how = 0; how < GROWTH_COUNT; how++)
		if (seen->grew[how].calls) {
			size_t used = strlen(text);

			snprintf(text + used, size - used, "%s%s", used ? "+" : "", growth_names[how]);
		}
}

/* Below the current directory without its name. */
static const char *short_path(const char *path)
{
	static char directory[WATCH_PATH];
	size_t length;

	if (!getcwd(directory, sizeof(directory)))
		return path;
	length = strlen(directory);
	return length > 1 && !strncmp(path, directory, length) && path[length] == '/' ? path + length + 1 : path;
}

static void add_line(struct libscols_table *table, const struct grown *grown)
{
	const struct watched *seen = grown->seen;
	struct libscols_line *line = output_line(table);
	uint64_t writes = calls_of_writes(seen);
	char text[SIZE_TEXT_MAX], by[80];

	if (!grown->error)
		output_number(line, 0, grown->pieces);
	output_text(line, 1, grown->is_there ? size_text(text, grown->size) : "gone");
	output_number(line, 2, writes);
	if (writes) {
		output_text(line, 3, size_text(text, median(seen)));
		output_text(line, 4, size_text(text, seen->most));
		output_number(line, 5, seen->turns);
	}
	ways(seen, by, sizeof(by));
	output_text(line, 6, by);
	output_text(line, 7, short_path(grown->path[0] ? grown->path : "?"));
}

static void print_table(const struct grown_files *growth, unsigned most)
{
	static const char *const names[] = {"PIECES", "SIZE", "WRITES", "MEDIAN", "MOST", "TURNS"};
	struct libscols_table *table = output_table("files", 0);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		output_column(table, names[i], SCOLS_JSON_STRING, SCOLS_FL_RIGHT);
	output_column(table, "BY", SCOLS_JSON_STRING, 0);
	output_column(table, "FILE", SCOLS_JSON_STRING, SCOLS_FL_WRAP);
	for (size_t i = 0; i < growth->count && i < most; i++)
		add_line(table, &growth->grown[i]);
	if (output_print(table) == 0 && growth->count > most)
		printf("... and %zu more (--all)\n", growth->count - most);
}

/* How large the writes that extended any file were. */
static void print_sizes(const struct grown_files *growth)
{
	enum { BAR = 40 };
	uint64_t sizes[WATCH_SIZES] = {0}, most = 0;
	char text[SIZE_TEXT_MAX];

	for (size_t i = 0; i < growth->count; i++)
		for (unsigned j = 0; j < WATCH_SIZES; j++)
			sizes[j] += growth->grown[i].seen->sizes[j];
	for (unsigned j = 0; j < WATCH_SIZES; j++)
		most = sizes[j] > most ? sizes[j] : most;
	if (!most)
		return;
	printf("\nWrites that extended a file, from this size to twice it:\n");
	for (unsigned j = 0; j < WATCH_SIZES; j++)
		if (sizes[j])
			printf("%8s %10llu  %.*s\n", size_text(text, 1ULL << j), (unsigned long long)sizes[j],
			       (int)((sizes[j] * BAR + most - 1) / most), "########################################");
}

static void print_emulated(const struct grown_files *growth)
{
	char text[SIZE_TEXT_MAX];

	for (size_t i = 0; i < growth->count; i++) {
		const struct watched *seen = growth->grown[i].seen;
		unsigned long long calls = seen->emulated_calls, writes = seen->emulated_writes;

		if (calls)
			printf("\n%s:\n  posix_fallocate: libc made %llu write%s of %llu call%s (%s), as the file "
			       "system\n"
			       "  has no fallocate\n",
			       short_path(growth->grown[i].path), writes, plural(writes), calls, plural(calls),
			       size_text(text, seen->emulated_bytes));
	}
}

/* Pieces that nobody could count. */
static void print_unknown(const struct grown_files *growth)
{
	size_t refused = 0, unmapped = 0;

	for (size_t i = 0; i < growth->count; i++) {
		refused += growth->grown[i].error == EPERM;
		unmapped += growth->grown[i].error == EOPNOTSUPP;
	}
	if (refused)
		printf("\nOnly root can see in how many pieces %zu file%s lie%s (FIBMAP).\n", refused, plural(refused),
		       refused == 1 ? "s" : "");
	if (unmapped)
		printf("\nThe file system does not tell in how many pieces %zu file%s lie%s.\n", unmapped,
		       plural(unmapped), unmapped == 1 ? "s" : "");
}

static void print_suggestion(const struct grown_files *growth)
{
	char *text = sections(growth);
	int is_any = 0;

	for (enum advice advice = 0; advice < ADVICE_COUNT; advice++) {
		size_t set = count_helped(growth, NULL, advice, 1);

		if (!set)
			continue;
		if (!is_any)
			printf("\nWith the library (fastalloc run), as it is configured:\n");
		printf("  %zu file%s %s: %s\n", set, plural(set), advices[advice].effect, advices[advice].text);
		is_any = 1;
	}
	if (text && *text)
		printf("\n%s would help, in preload.conf:\n\n%s", is_any ? "This, too," : "This", text);
	else if (!is_any)
		printf("\nNothing that the library does would help.\n");
	free(text);
}

static void print_text(const struct observation *seen, const struct grown_files *growth, unsigned most)
{
	unsigned long long left_out = seen->table->left_out;

	if (growth->count == 0) {
		printf("No file grew.\n");
		return;
	}
	print_table(growth, most);
	if (left_out)
		printf("Not in the table, which has room for %d files: %llu growths of others.\n", WATCH_FILES,
		       left_out);
	print_sizes(growth);
	print_emulated(growth);
	print_unknown(growth);
	print_suggestion(growth);
}

/* JSON */

static json_t *json_sizes(const struct watched *seen)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < WATCH_SIZES; i++)
		if (seen->sizes[i])
			json_add(array, json_pack("{s:I,s:I}", "from", (json_int_t)1 << i, "count",
						  (json_int_t)seen->sizes[i]));
	return array;
}

static json_t *json_growth(const struct watched *seen)
{
	json_t *object = json_object();

	for (enum growth how = 0; how < GROWTH_COUNT; how++)
		json_set(object, growth_names[how],
			 json_pack("{s:I,s:I}", "calls", (json_int_t)seen->grew[how].calls, "bytes",
				   (json_int_t)seen->grew[how].bytes));
	return object;
}

static json_t *json_writes(const struct watched *seen)
{
	uint64_t count = calls_of_writes(seen);

	if (!count)
		return json_null();
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "count", (json_int_t)count, "least", (json_int_t)seen->least,
			 "median", (json_int_t)median(seen), "most", (json_int_t)seen->most, "turns",
			 (json_int_t)seen->turns, "without_window", (json_int_t)seen->unfit, "sizes", json_sizes(seen));
}

static json_t *json_advice(const struct grown *grown)
{
	json_t *array = json_array();

	for (enum advice advice = 0; advice < ADVICE_COUNT; advice++)
		if (grown->helps & 1U << advice)
			json_add(array, json_pack("{s:s,s:b}", "policy", advices[advice].text, "configured",
						  !!(grown->is_set & 1U << advice)));
	return array;
}

static json_t *json_file(const struct grown *grown)
{
	const struct watched *seen = grown->seen;

	return json_pack(
		"{s:o,s:b,s:o,s:o,s:s,s:o,s:o,s:o,s:{s:I,s:I,s:I},s:o}", "path", json_text(grown->path), "exists",
		grown->is_there, "size", grown->is_there ? json_integer((json_int_t)grown->size) : json_null(),
		"pieces", grown->error ? json_null() : json_integer((json_int_t)grown->pieces), "fstype",
		grown->file.fstype, "mount", grown->mount.point[0] ? json_text(grown->mount.point) : json_null(),
		"growth", json_growth(seen), "writes", json_writes(seen), "emulated", "calls",
		(json_int_t)seen->emulated_calls, "bytes", (json_int_t)seen->emulated_bytes, "writes",
		(json_int_t)seen->emulated_writes, "would_help", json_advice(grown));
}

static json_t *json_command(char **command)
{
	json_t *array = json_array();

	for (; *command; command++)
		json_add(array, json_text(*command));
	return array;
}

static void print_json(const struct observation *seen, const struct grown_files *growth)
{
	char *text = sections(growth);
	json_t *files = json_array(), *all;

	for (size_t i = 0; i < growth->count; i++)
		json_add(files, json_file(&growth->grown[i]));
	all = json_pack("{s:o,s:o,s:o,s:I,s:I,s:o,s:o}", "command", json_command(seen->command), "status",
			WIFEXITED(seen->status) ? json_integer(WEXITSTATUS(seen->status)) : json_null(), "signal",
			WIFSIGNALED(seen->status) ? json_integer(WTERMSIG(seen->status)) : json_null(), "processes",
			(json_int_t)seen->table->processes, "left_out", (json_int_t)seen->table->left_out, "files",
			files, "suggestion", text && *text ? json_text(text) : json_null());
	json_print(all);
	free(text);
}

void growth_report(const struct observation *seen, unsigned most, int json)
{
	struct grown_files growth = {NULL, 0};

	configure(seen->command[0]);
	if (!collect(&growth, seen->table)) {
		complain_errno("memory", ENOMEM);
		return;
	}
	if (json)
		print_json(seen, &growth);
	else
		print_text(seen, &growth, most);
	free(growth.grown);
}
