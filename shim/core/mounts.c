#include "mounts.h"

#include <string.h>

#include "bytes.h"
#include "sys.h"

/* One line of mountinfo being read; words are separated by single blanks. */
struct words {
	const char *at, *end;
};

static struct text_word {
	const char *at;
	size_t length;
} next_word(struct words *words)
{
	struct text_word word = {words->at, 0};

	while (words->at < words->end && *words->at != ' ')
		words->at++;
	word.length = (size_t)(words->at - word.at);
	if (words->at < words->end)
		words->at++;
	return word;
}

static int word_is(struct text_word word, const char *string)
{
	return word.length == strlen(string) && !memcmp(word.at, string, word.length);
}

static int parse_number(struct text_word *word, uint64_t *value)
{
	const char *at = word->at, *end = word->at + word->length;

	*value = 0;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		*value = *value * 10 + (uint64_t)(*at - '0');
	if (at == word->at)
		return EINVAL;
	word->length -= (size_t)(at - word->at);
	word->at = at;
	return 0;
}

static int is_octal(const char *at, size_t count)
{
	for (; count > 0; at++, count--)
		if (*at < '0' || *at > '7')
			return 0;
	return 1;
}

/* Blanks, tabs, newlines and backslashes stand as \ooo (fs/proc_namespace.c). */
static void unescape(struct text_word word, char *to, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < word.length; i++) {
		char c = word.at[i];

		if (c == '\\' && i + 3 < word.length && is_octal(word.at + i + 1, 3)) {
			c = (char)((word.at[i + 1] - '0') << 6 | (word.at[i + 2] - '0') << 3 | (word.at[i + 3] - '0'));
			i += 3;
		}
		if (used + 1 == size) { /* too long to compare: match nothing, rather than a prefix */
			to[0] = '\0';
			return;
		}
		to[used++] = c;
	}
	to[used] = '\0';
}

/* Is option name in the comma-separated list? Its value, where it has one, goes to value. */
static int find_option(struct text_word options, const char *name, struct text_word *value)
{
	const char *at = options.at, *end = options.at + options.length;
	size_t length = strlen(name);

	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *stop = comma ? comma : end;
		size_t rest = (size_t)(stop - at);

		if (rest >= length && !memcmp(at, name, length) && (rest == length || at[length] == '=')) {
			size_t skip = rest == length ? length : length + 1;

			*value = (struct text_word){at + skip, rest - skip};
			return 1;
		}
		at = stop + 1;
	}
	return 0;
}

static void append(char *to, size_t size, const char *at, size_t length)
{
	size_t used = strlen(to);

	if (length > size - used - 1)
		length = size - used - 1;
	memcpy(to + used, at, length);
	to[used + length] = '\0';
}

static void name_type(struct mount *mount, struct text_word type, struct text_word options)
{
	struct text_word version;

	mount->fstype[0] = '\0';
	mount->family = NULL;
	if ((word_is(type, "nfs") || word_is(type, "nfs4")) && find_option(options, "vers", &version)) {
		append(mount->fstype, sizeof(mount->fstype), "nfs", 3);
		append(mount->fstype, sizeof(mount->fstype), version.at, version.length);
		/* Linux says vers=4 only for 4.0, before it told minor versions. */
		if (word_is(version, "4"))
			append(mount->fstype, sizeof(mount->fstype), ".0", 2);
		mount->family = "nfs";
		return;
	}
	append(mount->fstype, sizeof(mount->fstype), type.at, type.length);
	if (bytes_behind("nfs", mount->fstype) && !bytes_equal(mount->fstype, "nfsd"))
		mount->family = "nfs";
	if (bytes_behind("fuse", mount->fstype) && !bytes_equal(mount->fstype, "fusectl"))
		mount->family = "fuse";
}

int mounts_parse(const char *line, size_t length, struct mount *mount)
{
	struct words words = {line, line + length};
	struct text_word word, options, type, super;
	uint64_t number;

	word = next_word(&words);
	if (parse_number(&word, &mount->id))
		return EINVAL;
	next_word(&words); /* the parent's id */
	word = next_word(&words);
	if (parse_number(&word, &number) || word.length < 2 || *word.at != ':')
		return EINVAL;
	mount->major = (unsigned)number;
	word.at++, word.length--;
	if (parse_number(&word, &number))
		return EINVAL;
	mount->minor = (unsigned)number;
	next_word(&words); /* the root within the file system */
	unescape(next_word(&words), mount->point, sizeof(mount->point));
	options = next_word(&words);
	do { /* optional fields, closed by a dash */
		word = next_word(&words);
		if (word.length == 0)
			return EINVAL;
	} while (!word_is(word, "-"));
	type = next_word(&words);
	next_word(&words); /* the source */
	super = next_word(&words);
	if (type.length == 0)
		return EINVAL;
	mount->synchronous = find_option(options, "sync", &word) || find_option(super, "sync", &word);
	name_type(mount, type, super);
	return 0;
}

/* Room for a mount point and options of a page each, escaped. Lines can be longer, as a path that
 * was gone down step by step has no limit: such a mount is not found. */
#define MOUNTINFO_BUFFER (64 << 10)

/* Go through the complete lines in buffer[0, *used); keep the rest at its start. *cut: the first
 * is the end of one that was longer than the buffer. */
static int find_in_lines(char *buffer, size_t *used, int *cut, uint64_t id, int by_id, unsigned major, unsigned minor,
			 struct mount *mount)
{
	char *at = buffer, *end = buffer + *used, *newline;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		int whole = !*cut;

		*cut = 0;
		if (whole && !mounts_parse(at, (size_t)(newline - at), mount) &&
		    (by_id ? mount->id == id : mount->major == major && mount->minor == minor))
			return 0;
		at = newline + 1;
	}
	*used = (size_t)(end - at);
	memmove(buffer, at, *used);
	return ENOENT;
}

int mounts_find(uint64_t id, int by_id, unsigned major, unsigned minor, struct mount *mount)
{
	size_t used = 0;
	ssize_t got;
	char *buffer;
	int fd, cut = 0, error = ENOENT;

	/* A thread's stack may have less room than this; the heap is the program's. */
	buffer = sys_mmap(MOUNTINFO_BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_map_failed(buffer))
		return ENOMEM;
	/* What is not the kernel's must not hang us. */
	fd = sys_open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd < 0) {
		error = -fd;
		goto unmap;
	}
	while (error == ENOENT && (got = sys_read(fd, buffer + used, MOUNTINFO_BUFFER - used)) > 0) {
		used += (size_t)got;
		error = find_in_lines(buffer, &used, &cut, id, by_id, major, minor, mount);
		if (used == MOUNTINFO_BUFFER) {
			used = 0;
			cut = 1;
		}
	}
	sys_close(fd);
unmap:
	sys_munmap(buffer, MOUNTINFO_BUFFER);
	return error;
}
