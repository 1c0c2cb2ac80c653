/* mountinfo: any line, lines as the kernel writes them of any mount, and files of many lines, read
 * in pieces. The file is the target's own: these are the system calls of mounts.c. */
#include "fuzz.h"
#include "sys.h"

static struct {
	char *text;
	size_t length, at, most;
	unsigned reads;
	int opened;
} file;

static int open_file(void)
{
	MUST(!file.opened++);
	file.at = 0;
	return 1000;
}

static ssize_t read_file(int fd, char *buffer, size_t count)
{
	MUST(fd == 1000 && file.opened == 1 && count > 0);
	MUST(file.reads++ < 100000);
	if (count > file.most)
		count = file.most;
	if (count > file.length - file.at)
		count = file.length - file.at;
	memcpy(buffer, file.text + file.at, count);
	file.at += count;
	return (ssize_t)count;
}

static int close_file(int fd)
{
	MUST(fd == 1000 && file.opened == 1);
	return file.opened = 0;
}

#define sys_open(path, flags, mode) open_file()
#define sys_read                    read_file
#define sys_close                   close_file
#include "mounts.c"

static void fields_are_sound(const struct mount *mount)
{
	MUST(memchr(mount->point, '\0', sizeof(mount->point)));
	MUST(memchr(mount->fstype, '\0', sizeof(mount->fstype)));
	MUST(mount->synchronous == 0 || mount->synchronous == 1);
	if (mount->family)
		MUST(!strncmp(mount->fstype, mount->family, strlen(mount->family)));
}

static int same(const struct mount *a, const struct mount *b)
{
	return a->id == b->id && a->major == b->major && a->minor == b->minor && a->synchronous == b->synchronous &&
	       !strcmp(a->fstype, b->fstype) && a->family == b->family && !strcmp(a->point, b->point);
}

/* Any bytes: refused, or all of the mount set. */
static int any_line(const char *line, size_t length, struct mount *mount)
{
	struct mount other;
	char *copy = exact_copy(line, length);
	int error;

	memset(mount, 0x55, sizeof(*mount));
	memset(&other, 0xaa, sizeof(other));
	error = mounts_parse(copy, length, mount);
	MUST(error == 0 || error == EINVAL);
	MUST(mounts_parse(copy, length, &other) == error);
	free(copy);
	if (!error) {
		fields_are_sound(mount);
		MUST(same(mount, &other));
	}
	return error;
}

/* As seq_escape and mangle do it (fs/proc_namespace.c): bytes of `what` as \ooo. */
static size_t escape(char *to, const char *from, const char *what)
{
	char *at = to;

	for (; *from; from++)
		if (strchr(what, *from))
			at += sprintf(at, "\\%03o", (unsigned char)*from);
		else
			*at++ = *from;
	*at = '\0';
	return (size_t)(at - to);
}

static void take_string(struct bytes *bytes, char *to, size_t size)
{
	size_t length = take(bytes) % size, used = 0;

	while (used < length) {
		char c = (char)take(bytes);

		to[used++] = c ? c : 'x';
	}
	to[used] = '\0';
}

/* A line as the kernel writes it, and what it is to be read as. padding: bytes in front of its root. */
static size_t make_line(struct bytes *bytes, char *line, struct mount *mount, uint64_t id)
{
	static const char *const types[][3] = {
		{"ext4", "ext4", NULL},    {"vfat", "vfat", NULL},         {"fuse.s", "fuse.s", "fuse"},
		{"nfsd", "nfsd", NULL},    {"fuseblk", "fuseblk", "fuse"}, {"fusectl", "fusectl", NULL},
		{"nfs4", "nfs4.2", "nfs"}, {"nfs", "nfs3", "nfs"},
	};
	char point[256], source[64], root[256], escaped[1024];
	unsigned type = take(bytes) % 8, flags = take(bytes);
	size_t used, padding = flags & 1 ? (size_t)take(bytes) << 10 : 0;

	mount->id = id;
	mount->major = take(bytes);
	mount->minor = take(bytes) << 8 | take(bytes);
	mount->synchronous = !!(flags & 6);
	strcpy(mount->fstype, types[type][1]);
	mount->family = types[type][2];
	take_string(bytes, point + 1, sizeof(point) - 1);
	point[0] = '/';
	strcpy(mount->point, point);
	take_string(bytes, root, sizeof(root));
	take_string(bytes, source, sizeof(source));
	used = (size_t)sprintf(line, "%llu 1 %u:%u /", (unsigned long long)id, mount->major, mount->minor);
	memset(line + used, 'r', padding);
	used += padding;
	escape(escaped, root, " \t\n\\");
	used += (size_t)sprintf(line + used, "%s ", escaped);
	escape(escaped, point, " \t\n\\");
	used += (size_t)sprintf(line + used, "%s rw%s,noatime%s - %s ", escaped, flags & 2 ? ",sync" : "",
				flags & 8 ? " shared:1 master:2" : "", types[type][0]);
	escape(escaped, source, " \t\n\\#");
	used += (size_t)sprintf(line + used, "%s rw%s%s%s", escaped, flags & 4 ? ",sync" : "",
				type == 6 ? ",vers=4.2" : "", type == 7 ? ",mountvers=4,vers=3,dirsync" : "");
	return used;
}

/* Many of them, some longer than the buffer, read in pieces of any size: the others are found. */
static void many_lines(struct bytes *bytes)
{
	int fits[12];
	static char text[12 * ((256 << 10) + 8192)];
	struct mount made[12], found;
	unsigned count = 1 + take(bytes) % 11, pieces = take(bytes);

	file.length = 0;
	file.most = pieces < 128 ? 4096 : 64 + take(bytes) * 256;
	for (unsigned i = 0; i < count; i++) {
		size_t length = make_line(bytes, text + file.length, &made[i], 20 + 7 * i);

		MUST(!any_line(text + file.length, length, &found));
		MUST(same(&made[i], &found));
		text[file.length + length] = '\n';
		fits[i] = length < MOUNTINFO_BUFFER;
		file.length += length + 1;
	}
	file.text = text;
	for (unsigned i = 0; i < count; i++) {
		unsigned first = 0;

		file.reads = 0;
		MUST(mounts_find(made[i].id, 1, 0, 0, &found) == (fits[i] ? 0 : ENOENT));
		MUST(!fits[i] || same(&made[i], &found));
		while (!fits[first] || made[first].major != made[i].major || made[first].minor != made[i].minor)
			if (++first == count)
				break;
		if (first == count)
			continue;
		file.reads = 0;
		MUST(!mounts_find(0, 0, made[i].major, made[i].minor, &found) && same(&made[first], &found));
	}
	file.reads = 0;
	MUST(mounts_find(3, 1, 0, 0, &found) == ENOENT);
}

/* The input as a file: as if its lines were parsed one by one. */
static void any_file(const char *text, size_t length, uint64_t id)
{
	struct mount expected, found;
	const char *at = text, *newline;
	int error = ENOENT;

	file.text = (char *)text;
	file.length = length;
	file.most = 1 + length / 3;
	file.reads = 0;
	while (error && (newline = memchr(at, '\n', (size_t)(text + length - at)))) {
		if (!any_line(at, (size_t)(newline - at), &expected) && expected.id == id)
			error = 0;
		at = newline + 1;
	}
	MUST(mounts_find(id, 1, 0, 0, &found) == error);
	MUST(error || same(&expected, &found));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = {data, data + size};
	struct mount mount;
	unsigned kind;

	if (!size)
		return 0;
	kind = take(&bytes);
	if (kind == '+') {
		many_lines(&bytes);
		return 0;
	}
	any_line((const char *)data, size, &mount);
	any_file((const char *)data, size, 36);
	return 0;
}
