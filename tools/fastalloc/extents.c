/* fastalloc extents: the pieces that files are in, and where they lie. */
#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "command.h"
#include "files.h"
#include "map.h"
#include "sys.h"

static const char help_text[] = "extents [OPTION...] FILE...\n\n"
				"Shows in how many pieces files are, and where on the device they lie.\n\n"
				"  -r, --recursive  also the files in directories, on the same file system\n"
				"  -v, --list       list each extent of the file system, sizes in bytes\n"
				"  -z, --zoom       the picture shows what the file spans, not the whole device\n"
				"  -s, --sync       flush the files first, so that nothing is delayed\n"
				"  -J, --json       print JSON, sizes in bytes\n"
				"  -h, --help\n\n"
				"PIECES counts runs that lie one behind the other on the device. PAST-EOF is\n"
				"allocated behind the end of the file; fastalloc trim gives it back. Where the\n"
				"file system has no FIEMAP (FAT), FIBMAP is used, which is for root.\n";

struct options {
	int recursive, list, zoom, sync, json;
	int cells; /* of a picture */
	struct libscols_table *table;
};

/* Pictures */

/* Bytes of the device. */
struct span {
	uint64_t start, end;
};

static struct span span_of(const struct map *map)
{
	struct span span = {UINT64_MAX, 0};

	for (size_t i = 0; i < map->count; i++) {
		const struct map_extent *e = &map->extent[i];

		if (!map_is_placed(e) || e->length == 0)
			continue;
		if (e->physical < span.start)
			span.start = e->physical;
		if (e->physical + e->length > span.end)
			span.end = e->physical + e->length;
	}
	return span;
}

/* The size of the device under fd, or, where there is not just one, of the file system. */
static uint64_t device_size(int fd, const struct file *file)
{
	char path[64];
	unsigned long long sectors = 0;
	struct statfs64 sfs;
	FILE *stream;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/size", file->major, file->minor);
	stream = fopen(path, "re");
	if (stream) {
		if (fscanf(stream, "%llu", &sectors) != 1)
			sectors = 0;
		fclose(stream);
	}
	if (!sectors && sys_fstatfs(fd, &sfs) == 0)
		return (uint64_t)sfs.f_blocks * (uint64_t)(sfs.f_frsize ? sfs.f_frsize : sfs.f_bsize);
	return sectors * 512;
}

/* How much of each cell the extents fill, from 0 to 1. */
static void fill_cells(const struct map *map, struct span span, double *filled, int cells)
{
	double width = (double)(span.end - span.start) / cells;

	memset(filled, 0, (size_t)cells * sizeof(*filled));
	if (width <= 0)
		return;
	for (size_t i = 0; i < map->count; i++) {
		const struct map_extent *e = &map->extent[i];
		/* The analyzer loses sight of floating point. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
		double start = ((double)e->physical - (double)span.start) / width,
		       end = start + (double)e->length / width;

		if (!map_is_placed(e))
			continue;
		for (int cell = (int)start; cell < cells && cell < end; cell++)
			filled[cell] += (end < cell + 1 ? end : cell + 1) - (start > cell ? start : cell);
	}
}

/* A line for the terminal, to be freed, NULL where memory is short. */
static char *draw(const struct map *map, struct span span, int cells)
{
	static const char *const ascii[] = {".", "-", "+", "#"}, *const blocks[] = {"·", "░", "▒", "█"};
	const char *const *glyph = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? blocks : ascii;
	double *filled = calloc((size_t)cells, sizeof(*filled));
	char *line = filled ? malloc((size_t)cells * strlen("█") + 1) : NULL, *end = line;

	if (line) {
		fill_cells(map, span, filled, cells);
		for (int cell = 0; cell < cells; cell++) {
			double part = filled[cell];

			end = stpcpy(end, glyph[part <= 0 ? 0 : part < 1. / 3 ? 1 : part < 2. / 3 ? 2 : 3]);
		}
	}
	free(filled);
	return line;
}

static void put_picture(const struct options *o, struct libscols_line *line, size_t column, int fd,
			const struct file *file, const struct map *map)
{
	struct span span = span_of(map);
	char *picture;

	if (span.end == 0) { /* nothing is placed */
		if (map->count)
			output_text(line, column,
				    map->extent->flags & FIEMAP_EXTENT_DATA_INLINE ? "(in the inode)" : "(delayed)");
		return;
	}
	if (!o->zoom) {
		uint64_t size = device_size(fd, file);

		span.start = 0;
		span.end = size > span.end ? size : span.end;
	}
	picture = draw(map, span, o->cells);
	if (picture)
		output_text(line, column, picture);
	free(picture);
}

/* Rows */

static void add_file(const struct options *o, const char *path, int fd, const struct file *file, const struct map *map)
{
	struct libscols_line *line = output_line(o->table);
	struct pieces pieces = map_pieces(map);
	uint64_t past_end;
	size_t column = 0;

	output_text(line, column++, path);
	output_size(line, column++, (uint64_t)file->size);
	output_size(line, column++, (uint64_t)file->allocated);
	output_number(line, column++, pieces.count);
	output_size(line, column++, pieces.largest);
	if (map_past_end(fd, file, &past_end))
		output_text(line, column++, NULL);
	else
		output_size(line, column++, past_end);
	if (!o->json) {
		put_picture(o, line, column, fd, file, map);
		return;
	}
	output_number(line, column++, pieces.delayed);
	output_text(line, column, map->source);
}

/* "unwritten,last" into text, which has room for all of them. */
static char *flags_text(char text[128], const struct map_extent *e, uint64_t size)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = {
		{FIEMAP_EXTENT_DELALLOC, "delayed"},   {FIEMAP_EXTENT_UNWRITTEN, "unwritten"},
		{FIEMAP_EXTENT_SHARED, "shared"},      {FIEMAP_EXTENT_ENCODED, "encoded"},
		{FIEMAP_EXTENT_DATA_INLINE, "inline"}, {FIEMAP_EXTENT_DATA_TAIL, "tail"},
		{FIEMAP_EXTENT_LAST, "last"},
	};
	char *end = text;

	*text = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (e->flags & names[i].flag)
			end = stpcpy(stpcpy(end, end > text ? "," : ""), names[i].name);
	if (e->logical >= size)
		stpcpy(stpcpy(end, end > text ? "," : ""), "past-eof");
	return text;
}

static void add_extents(const struct options *o, const char *path, const struct file *file, const struct map *map)
{
	char flags[128];

	for (size_t i = 0; i < map->count; i++) {
		const struct map_extent *e = &map->extent[i];
		struct libscols_line *line = output_line(o->table);

		output_text(line, 0, path);
		output_number(line, 1, e->logical);
		if (map_is_placed(e))
			output_number(line, 2, e->physical);
		output_number(line, 3, e->length);
		output_text(line, 4, flags_text(flags, e, (uint64_t)file->size));
	}
}

static void complain_of_map(const char *path, int error)
{
	if (error == EPERM)
		complain(path, "its file system has no FIEMAP, and FIBMAP is for root");
	else if (error == EOPNOTSUPP)
		complain(path, "its file system has neither FIEMAP nor FIBMAP");
	else
		complain_errno(path, error);
}

static int show(const char *path, const struct stat *st, void *data)
{
	const struct options *o = data;
	struct file file;
	struct map map;
	int fd = files_open(path, st, O_RDONLY), error;

	if (fd < 0)
		return fd;
	error = o->sync ? -sys_fdatasync(fd) : 0;
	if (!error)
		error = policy_of(fd, NULL, &file);
	if (error) {
		complain_errno(path, error);
	} else if ((error = map_read(fd, path, &file, &map))) {
		complain_of_map(path, error);
	} else {
		if (o->list)
			add_extents(o, path, &file, &map);
		else
			add_file(o, path, fd, &file, &map);
		map_free(&map);
	}
	sys_close(fd);
	return error != 0;
}

/* The table */

static void begin_list(struct options *o)
{
	o->table = output_table("extents", o->json);
	output_column(o->table, "FILE", SCOLS_JSON_STRING, SCOLS_FL_WRAP);
	output_column(o->table, "LOGICAL", SCOLS_JSON_NUMBER, 0);
	output_column(o->table, "PHYSICAL", SCOLS_JSON_NUMBER, 0);
	output_column(o->table, "LENGTH", SCOLS_JSON_NUMBER, 0);
	output_column(o->table, "FLAGS", SCOLS_JSON_STRING, 0);
}

static void begin_files(struct options *o)
{
	static const char *const numbers[] = {"SIZE", "ALLOCATED", "PIECES", "LARGEST", "PAST-EOF"};
	enum { NARROW = 80, CELLS = 16 };
	int width;

	o->table = output_table("files", o->json);
	output_column(o->table, "FILE", SCOLS_JSON_STRING, SCOLS_FL_WRAP);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		output_column(o->table, numbers[i], SCOLS_JSON_NUMBER, 0);
	if (o->json) {
		output_column(o->table, "DELAYED", SCOLS_JSON_NUMBER, 0);
		output_column(o->table, "SOURCE", SCOLS_JSON_STRING, 0);
	} else {
		output_column(o->table, "WHERE", SCOLS_JSON_STRING, 0);
	}
	/* What a terminal has more than 80 columns is for the picture. */
	width = (int)scols_table_get_termwidth(o->table);
	o->cells = CELLS + (width > NARROW ? width - NARROW : 0);
}

int extents_main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"recursive", no_argument, NULL, 'r'},
		{"list", no_argument, NULL, 'v'},
		{"zoom", no_argument, NULL, 'z'},
		{"sync", no_argument, NULL, 's'},
		{"json", no_argument, NULL, 'J'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct options o = {0};
	int option, status;

	while ((option = getopt_long(argc, argv, "rvzsJh", long_options, NULL)) != -1) {
		switch (option) {
		case 'r':
			o.recursive = 1;
			break;
		case 'v':
			o.list = 1;
			break;
		case 'z':
			o.zoom = 1;
			break;
		case 's':
			o.sync = 1;
			break;
		case 'J':
			o.json = 1;
			break;
		case 'h':
			return print_help(help_text);
		default:
			return usage_error("extents");
		}
	}
	if (optind == argc) {
		complain("extents", "a file is missing");
		return usage_error("extents");
	}
	if (o.list)
		begin_list(&o);
	else
		begin_files(&o);
	status = files_visit(argv + optind, o.recursive ? DIRECTORIES_ENTERED : DIRECTORIES_REFUSED, show, &o);
	status |= output_print(o.table);
	return finish(status);
}
