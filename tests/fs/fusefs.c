/*
 * A FUSE file system without fallocate, as most are: it counts the requests that
 * reach it, runs out of space, and fails on demand. See usage_text and, for what
 * may be written to MOUNTPOINT/.control, command().
 *
 * Contents are in a memfd for each file, or in an unlinked file in --backing DIR.
 * One thread serves all requests, so that nothing here needs a lock.
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 312

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define BLOCK         4096
#define CHUNK         32768 /* blocks in one piece of a file's map: 128 MiB of contents */
#define SIZE_MAX_FILE ((uint64_t)16 << 40)
#define UNLIMITED     UINT64_MAX
#define TIMEOUT       1.0

enum request {
	LOOKUP,
	GETATTR,
	SETATTR,
	CREATE,
	OPEN,
	READ,
	WRITE,
	FLUSH,
	FSYNC,
	RELEASE,
	FALLOCATE,
	LSEEK,
	STATFS,
	UNLINK,
	REQUESTS,
};

static const char *const request_names[REQUESTS] = {
	"lookup", "getattr", "setattr", "create",    "open",  "read",   "write",
	"flush",  "fsync",   "release", "fallocate", "lseek", "statfs", "unlink",
};

static struct counter {
	uint64_t count;
	uint64_t fail_in; /* the how manieth from now fails; 0: none */
	int fail_onwards; /* and all after it */
	int error;
	uint64_t short_in; /* the same for short ones; write only */
	int short_onwards;
	size_t short_size;
} counters[REQUESTS];

static uint64_t written_bytes, writeback_count, largest_write;

static struct {
	int direct_io, no_statfs, durable, foreground;
	unsigned int max_write;
	uint64_t capacity; /* in blocks */
	const char *backing;
} options = {.capacity = UNLIMITED};

static uint64_t used_blocks;

struct node {
	struct node *next, *parent;
	char *name; /* NULL once unlinked */
	uint64_t lookups, opens, number;
	struct stat status;
	int fd;
	unsigned char **map; /* which blocks are allocated */
	size_t chunks;
};

static struct node root = {.number = FUSE_ROOT_ID, .fd = -1};
static struct node control = {.number = 2, .fd = -1};
static struct node *nodes;
static uint64_t last_number = 2;

static const char usage_text[] = "usage: fusefs MOUNTPOINT [-f] [--direct-io] [--capacity BYTES] [--no-statfs]\n"
				 "              [--max-write BYTES] [--backing DIR] [--durable]\n";

/* Counting and faults */

/* The error this request is to fail with, or 0. */
static int count_request(enum request request)
{
	struct counter *counter = &counters[request];

	counter->count++;
	if (!counter->fail_in)
		return 0;
	if (counter->fail_in > 1) {
		counter->fail_in--;
		return 0;
	}
	if (!counter->fail_onwards)
		counter->fail_in = 0;
	return counter->error;
}

static size_t shorten(size_t size)
{
	struct counter *counter = &counters[WRITE];

	if (!counter->short_in)
		return size;
	if (counter->short_in > 1) {
		counter->short_in--;
		return size;
	}
	if (!counter->short_onwards)
		counter->short_in = 0;
	return size < counter->short_size ? size : counter->short_size;
}

static int error_by_name(const char *name)
{
	for (int error = 1; error < 200; error++) {
		const char *known = strerrorname_np(error);

		if (known && !strcmp(known, name))
			return error;
	}
	return 0;
}

static struct counter *counter_by_name(const char *name)
{
	for (int i = 0; i < REQUESTS; i++)
		if (!strcmp(request_names[i], name))
			return &counters[i];
	return NULL;
}

static int parse_bytes(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	char *end;

	*bytes = strtoull(text, &end, 0);
	if (end == text)
		return EINVAL;
	if (*end && strchr(units, *end))
		*bytes <<= 10 * (strchr(units, *end++) - units + 1);
	return *end ? EINVAL : 0;
}

static int parse_capacity(const char *text)
{
	uint64_t bytes;

	if (!strcmp(text, "unlimited")) {
		options.capacity = UNLIMITED;
		return 0;
	}
	if (parse_bytes(text, &bytes))
		return EINVAL;
	options.capacity = bytes / BLOCK;
	return 0;
}

/* fail REQUEST N ERRNO, fail REQUEST N+ ERRNO */
static int command_fail(const char *request, const char *which, const char *error)
{
	struct counter *counter = counter_by_name(request);
	char *end;

	if (!counter || !error_by_name(error))
		return EINVAL;
	counter->fail_in = strtoull(which, &end, 10);
	counter->fail_onwards = *end == '+';
	counter->error = error_by_name(error);
	return 0;
}

static void clear_faults(void)
{
	for (int i = 0; i < REQUESTS; i++)
		counters[i].fail_in = counters[i].short_in = 0;
}

static void reset_counts(void)
{
	for (int i = 0; i < REQUESTS; i++)
		counters[i].count = 0;
	written_bytes = writeback_count = largest_write = 0;
}

/* One line written to .control; short write N BYTES and short write N+ BYTES among them. */
static int command(const char *line)
{
	char word[4][32] = {"", "", "", ""}, *end;
	uint64_t bytes;
	int words = sscanf(line, "%31s %31s %31s %31s", word[0], word[1], word[2], word[3]);

	if (words <= 0)
		return 0;
	if (words == 1 && !strcmp(word[0], "reset"))
		return reset_counts(), 0;
	if (words == 1 && !strcmp(word[0], "clear"))
		return clear_faults(), 0;
	if (words == 2 && !strcmp(word[0], "capacity"))
		return parse_capacity(word[1]);
	if (words == 4 && !strcmp(word[0], "fail"))
		return command_fail(word[1], word[2], word[3]);
	if (words == 4 && !strcmp(word[0], "short") && !strcmp(word[1], "write") && !parse_bytes(word[3], &bytes)) {
		counters[WRITE].short_in = strtoull(word[2], &end, 10);
		counters[WRITE].short_onwards = *end == '+';
		counters[WRITE].short_size = bytes;
		return 0;
	}
	return EINVAL;
}

static int commands(const char *text, size_t size)
{
	char *copy = strndup(text, size), *rest = copy, *line;
	int error = copy ? 0 : ENOMEM;

	while (!error && (line = strsep(&rest, "\n")))
		error = command(line);
	free(copy);
	return error;
}

static size_t report(char *to, size_t size)
{
	size_t used = 0;

	for (int i = 0; i < REQUESTS; i++)
		used += (size_t)snprintf(to + used, size - used, "%s=%" PRIu64 "\n", request_names[i],
					 counters[i].count);
	used += (size_t)snprintf(to + used, size - used,
				 "written_bytes=%" PRIu64 "\nlargest_write=%" PRIu64 "\nwriteback=%" PRIu64
				 "\nused_bytes=%" PRIu64 "\n",
				 written_bytes, largest_write, writeback_count, used_blocks * BLOCK);
	return used;
}

/* Blocks: a bitmap for each file, as a memfd's own count is in huge pages at times. */

static int has_block(struct node *node, uint64_t block)
{
	size_t chunk = block / CHUNK;

	return chunk < node->chunks && node->map[chunk] && node->map[chunk][block % CHUNK / 8] >> block % 8 & 1;
}

static int make_chunk(struct node *node, size_t chunk)
{
	if (chunk >= node->chunks) {
		unsigned char **map = reallocarray(node->map, chunk + 1, sizeof(*map));

		if (!map)
			return ENOMEM;
		memset(map + node->chunks, 0, (chunk + 1 - node->chunks) * sizeof(*map));
		node->map = map;
		node->chunks = chunk + 1;
	}
	if (!node->map[chunk])
		node->map[chunk] = calloc(1, CHUNK / 8);
	return node->map[chunk] ? 0 : ENOMEM;
}

static int add_block(struct node *node, uint64_t block)
{
	int error;

	if (has_block(node, block))
		return 0;
	if (used_blocks >= options.capacity)
		return ENOSPC;
	error = make_chunk(node, block / CHUNK);
	if (error)
		return error;
	node->map[block / CHUNK][block % CHUNK / 8] |= (unsigned char)(1 << block % 8);
	node->status.st_blocks += BLOCK / 512;
	used_blocks++;
	return 0;
}

/* How many of the bytes fit; fewer than size only if space ran out (or memory). */
static size_t add_range(struct node *node, uint64_t offset, size_t size, int *error)
{
	for (uint64_t block = offset / BLOCK; block * BLOCK < offset + size; block++) {
		*error = add_block(node, block);
		if (*error)
			return block * BLOCK > offset ? (size_t)(block * BLOCK - offset) : 0;
	}
	return size;
}

static void free_blocks_from(struct node *node, uint64_t first)
{
	for (size_t chunk = first / CHUNK; chunk < node->chunks; chunk++) {
		uint64_t block = (uint64_t)chunk * CHUNK, end = block + CHUNK;

		if (!node->map[chunk])
			continue;
		for (block = block < first ? first : block; block < end; block++) {
			if (!has_block(node, block))
				continue;
			node->map[chunk][block % CHUNK / 8] &= (unsigned char)~(1 << block % 8);
			node->status.st_blocks -= BLOCK / 512;
			used_blocks--;
		}
	}
}

/* Nodes */

static struct node *node_of(fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &root : (struct node *)(uintptr_t)ino;
}

static fuse_ino_t ino_of(struct node *node)
{
	return node == &root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)node;
}

static struct node *find(struct node *parent, const char *name)
{
	if (parent == &root && !strcmp(name, ".control"))
		return &control;
	for (struct node *node = nodes; node; node = node->next)
		if (node->parent == parent && node->name && !strcmp(node->name, name))
			return node;
	return NULL;
}

static int open_contents(uint64_t number)
{
	char *path;
	int fd;

	if (!options.backing)
		return memfd_create("fusefs", MFD_CLOEXEC);
	if (asprintf(&path, "%s/.fusefs.%d.%" PRIu64, options.backing, getpid(), number) < 0)
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}

static void touch(struct node *node)
{
	clock_gettime(CLOCK_REALTIME, &node->status.st_mtim);
	node->status.st_ctim = node->status.st_mtim;
}

static void init_node(struct node *node, mode_t mode, const struct fuse_ctx *context)
{
	node->status.st_ino = node->number;
	node->status.st_mode = mode;
	node->status.st_nlink = S_ISDIR(mode) ? 2 : 1;
	node->status.st_blksize = BLOCK;
	if (context) {
		node->status.st_uid = context->uid;
		node->status.st_gid = context->gid;
	}
	touch(node);
	node->status.st_atim = node->status.st_mtim;
}

static int make_node(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, struct node **made)
{
	struct node *node;

	if (find(node_of(parent), name))
		return EEXIST;
	node = calloc(1, sizeof(*node));
	if (!node)
		return ENOMEM;
	node->number = ++last_number;
	node->parent = node_of(parent);
	node->fd = -1;
	node->name = strdup(name);
	if (!node->name || (S_ISREG(mode) && (node->fd = open_contents(node->number)) < 0)) {
		int error = errno;

		free(node->name);
		free(node);
		return error;
	}
	init_node(node, mode, fuse_req_ctx(request));
	node->next = nodes;
	nodes = node;
	*made = node;
	return 0;
}

static void free_if_unused(struct node *node)
{
	struct node **link = &nodes;

	if (node->name || node->lookups || node->opens || node == &root || node == &control)
		return;
	while (*link != node)
		link = &(*link)->next;
	*link = node->next;
	free_blocks_from(node, 0);
	for (size_t i = 0; i < node->chunks; i++)
		free(node->map[i]);
	free(node->map);
	if (node->fd >= 0)
		close(node->fd);
	free(node);
}

static int has_children(struct node *directory)
{
	for (struct node *node = nodes; node; node = node->next)
		if (node->name && node->parent == directory)
			return 1;
	return 0;
}

static int resize(struct node *node, uint64_t size)
{
	if (size > SIZE_MAX_FILE)
		return EFBIG;
	if (ftruncate(node->fd, (off_t)size) < 0)
		return errno;
	if (size < (uint64_t)node->status.st_size)
		free_blocks_from(node, (size + BLOCK - 1) / BLOCK);
	node->status.st_size = (off_t)size;
	touch(node);
	return 0;
}

static struct fuse_entry_param entry_of(struct node *node)
{
	node->lookups++;
	return (struct fuse_entry_param){
		.ino = ino_of(node),
		.attr = node->status,
		.attr_timeout = TIMEOUT,
		.entry_timeout = TIMEOUT,
	};
}

/* Requests. Those for .control are not counted, lest looking changes what is seen. */

static int count_for(struct node *node, enum request request)
{
	return node == &control ? 0 : count_request(request);
}

static void do_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct node *node = find(node_of(parent), name);
	int error = node == &control ? 0 : count_request(LOOKUP);
	struct fuse_entry_param entry;

	if (!error && !node)
		error = ENOENT;
	if (error) {
		fuse_reply_err(request, error);
		return;
	}
	entry = entry_of(node);
	fuse_reply_entry(request, &entry);
}

static void do_forget(fuse_req_t request, fuse_ino_t ino, uint64_t lookups)
{
	struct node *node = node_of(ino);

	node->lookups -= lookups < node->lookups ? lookups : node->lookups;
	free_if_unused(node);
	fuse_reply_none(request);
}

static void do_getattr(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct node *node = node_of(ino);
	int error = count_for(node, GETATTR);

	(void)info;
	if (error)
		fuse_reply_err(request, error);
	else
		fuse_reply_attr(request, &node->status, TIMEOUT);
}

static void set_times(struct stat *status, const struct stat *from, int set)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	status->st_ctim = now;
	if (set & FUSE_SET_ATTR_ATIME)
		status->st_atim = set & FUSE_SET_ATTR_ATIME_NOW ? now : from->st_atim;
	if (set & FUSE_SET_ATTR_MTIME)
		status->st_mtim = set & FUSE_SET_ATTR_MTIME_NOW ? now : from->st_mtim;
}

static void do_setattr(fuse_req_t request, fuse_ino_t ino, struct stat *from, int set, struct fuse_file_info *info)
{
	struct node *node = node_of(ino);
	int error = count_for(node, SETATTR);

	(void)info;
	if (!error && set & FUSE_SET_ATTR_SIZE && node != &control)
		error = node->fd < 0 ? EISDIR : resize(node, (uint64_t)from->st_size);
	if (error) {
		fuse_reply_err(request, error);
		return;
	}
	if (set & FUSE_SET_ATTR_MODE)
		node->status.st_mode = (node->status.st_mode & S_IFMT) | (from->st_mode & 07777);
	if (set & FUSE_SET_ATTR_UID)
		node->status.st_uid = from->st_uid;
	if (set & FUSE_SET_ATTR_GID)
		node->status.st_gid = from->st_gid;
	set_times(&node->status, from, set);
	fuse_reply_attr(request, &node->status, TIMEOUT);
}

static void reply_made(fuse_req_t request, int error, struct node *node)
{
	struct fuse_entry_param entry;

	if (error) {
		fuse_reply_err(request, error);
		return;
	}
	entry = entry_of(node);
	fuse_reply_entry(request, &entry);
}

static void do_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct node *node = NULL;
	int error = make_node(request, parent, name, S_IFDIR | (mode & 07777), &node);

	reply_made(request, error, node);
}

static void do_mknod(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	struct node *node = NULL;
	int error = make_node(request, parent, name, mode, &node);

	if (!error)
		node->status.st_rdev = device;
	reply_made(request, error, node);
}

static void remove_name(fuse_req_t request, fuse_ino_t parent, const char *name, int directory)
{
	struct node *node = find(node_of(parent), name);
	int error = count_request(UNLINK);

	if (!error && !node)
		error = ENOENT;
	if (!error && node == &control)
		error = EPERM;
	if (!error && directory && has_children(node))
		error = ENOTEMPTY;
	if (!error) {
		free(node->name);
		node->name = NULL;
		node->status.st_nlink = 0;
		free_if_unused(node);
	}
	fuse_reply_err(request, error);
}

static void do_unlink(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	remove_name(request, parent, name, 0);
}

static void do_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	remove_name(request, parent, name, 1);
}

static int rename_node(struct node *node, struct node *parent, const char *name, unsigned int flags)
{
	struct node *other = find(parent, name);
	char *copy;

	if (!node)
		return ENOENT;
	if (node == &control || other == &control)
		return EPERM;
	if (flags & ~(unsigned int)RENAME_NOREPLACE)
		return EINVAL;
	if (other && flags)
		return EEXIST;
	if (other == node)
		return 0;
	if (other && has_children(other))
		return ENOTEMPTY;
	copy = strdup(name);
	if (!copy)
		return ENOMEM;
	if (other) {
		free(other->name);
		other->name = NULL;
		other->status.st_nlink = 0;
		free_if_unused(other);
	}
	free(node->name);
	node->name = copy;
	node->parent = parent;
	return 0;
}

static void do_rename(fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
		      const char *new_name, unsigned int flags)
{
	struct node *node = find(node_of(parent), name);

	fuse_reply_err(request, rename_node(node, node_of(new_parent), new_name, flags));
}

static void set_open(struct node *node, struct fuse_file_info *info)
{
	node->opens++;
	info->direct_io = node == &control || options.direct_io;
}

static void do_open(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct node *node = node_of(ino);
	int error = count_for(node, OPEN);

	if (!error && info->flags & O_TRUNC && node != &control)
		error = resize(node, 0);
	if (error) {
		fuse_reply_err(request, error);
		return;
	}
	set_open(node, info);
	fuse_reply_open(request, info);
}

static void do_create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *info)
{
	struct node *node = NULL;
	int error = count_request(CREATE);
	struct fuse_entry_param entry;

	if (!error)
		error = make_node(request, parent, name, S_IFREG | (mode & 07777), &node);
	if (error) {
		fuse_reply_err(request, error);
		return;
	}
	set_open(node, info);
	entry = entry_of(node);
	fuse_reply_create(request, &entry, info);
}

static void do_release(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct node *node = node_of(ino);

	(void)info;
	count_for(node, RELEASE);
	node->opens--;
	free_if_unused(node);
	fuse_reply_err(request, 0);
}

static void read_control(fuse_req_t request, size_t size, off_t offset)
{
	char text[1024];
	size_t length = report(text, sizeof(text));

	if ((size_t)offset >= length)
		fuse_reply_buf(request, NULL, 0);
	else
		fuse_reply_buf(request, text + offset, length - (size_t)offset < size ? length - (size_t)offset : size);
}

static void do_read(fuse_req_t request, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info)
{
	struct node *node = node_of(ino);
	struct fuse_bufvec data = FUSE_BUFVEC_INIT(size);
	int error;

	(void)info;
	if (node == &control) {
		read_control(request, size, offset);
		return;
	}
	error = count_request(READ);
	if (error) {
		fuse_reply_err(request, error);
		return;
	}
	data.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
	data.buf[0].fd = node->fd;
	data.buf[0].pos = offset;
	fuse_reply_data(request, &data, FUSE_BUF_NO_SPLICE);
}

static ssize_t write_contents(struct node *node, const char *data, size_t size, off_t offset)
{
	int error = 0;
	size_t fit;
	ssize_t n;

	if ((uint64_t)offset + size > SIZE_MAX_FILE)
		return -EFBIG;
	fit = add_range(node, (uint64_t)offset, size, &error);
	if (!fit && size)
		return -error;
	n = pwrite(node->fd, data, fit, offset);
	if (n < 0)
		return -errno;
	if (offset + n > node->status.st_size)
		node->status.st_size = offset + n;
	touch(node);
	return n;
}

static void count_write(size_t size, const struct fuse_file_info *info)
{
	writeback_count += info->writepage;
	if (size > largest_write)
		largest_write = size;
}

static void do_write(fuse_req_t request, fuse_ino_t ino, const char *data, size_t size, off_t offset,
		     struct fuse_file_info *info)
{
	struct node *node = node_of(ino);
	ssize_t n;

	if (node == &control) {
		n = -commands(data, size);
		n = n ? n : (ssize_t)size;
	} else {
		n = -count_request(WRITE);
		count_write(size, info);
		size = shorten(size);
		if (!n)
			n = write_contents(node, data, size, offset);
		if (n > 0)
			written_bytes += (uint64_t)n;
	}
	if (n < 0)
		fuse_reply_err(request, (int)-n);
	else
		fuse_reply_write(request, (size_t)n);
}

static void do_flush(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info)
{
	(void)info;
	fuse_reply_err(request, count_for(node_of(ino), FLUSH));
}

static void do_fsync(fuse_req_t request, fuse_ino_t ino, int only_data, struct fuse_file_info *info)
{
	struct node *node = node_of(ino);
	int error = count_for(node, FSYNC);

	(void)only_data;
	(void)info;
	if (!error && options.durable && node->fd >= 0 && fdatasync(node->fd) < 0)
		error = errno;
	fuse_reply_err(request, error);
}

/* ENOSYS, as if the request were not known: the kernel does not ask again. */
static void do_fallocate(fuse_req_t request, fuse_ino_t ino, int mode, off_t offset, off_t length,
			 struct fuse_file_info *info)
{
	int error = count_request(FALLOCATE);

	(void)ino;
	(void)mode;
	(void)offset;
	(void)length;
	(void)info;
	fuse_reply_err(request, error ? error : ENOSYS);
}

static void do_lseek(fuse_req_t request, fuse_ino_t ino, off_t offset, int whence, struct fuse_file_info *info)
{
	int error = count_for(node_of(ino), LSEEK);

	(void)offset;
	(void)whence;
	(void)info;
	fuse_reply_err(request, error ? error : ENOSYS);
}

static struct statvfs statfs_reply(void)
{
	struct statvfs status = {.f_namemax = 255, .f_bsize = 512};
	uint64_t blocks = options.capacity == UNLIMITED ? (uint64_t)1 << 28 : options.capacity;

	if (options.no_statfs) /* what libfuse answers for file systems that do not */
		return status;
	status.f_bsize = status.f_frsize = BLOCK;
	status.f_blocks = blocks;
	status.f_bfree = status.f_bavail = used_blocks < blocks ? blocks - used_blocks : 0;
	status.f_files = 1 << 20;
	status.f_ffree = status.f_favail = (1 << 20) - 1000;
	return status;
}

static void do_statfs(fuse_req_t request, fuse_ino_t ino)
{
	struct statvfs status = statfs_reply();
	int error = count_request(STATFS);

	(void)ino;
	if (error)
		fuse_reply_err(request, error);
	else
		fuse_reply_statfs(request, &status);
}

static size_t add_entry(fuse_req_t request, char *to, size_t size, size_t used, struct node *node)
{
	return used +
	       fuse_add_direntry(request, to + used, size - used, node->name, &node->status, (off_t)(node->number + 1));
}

/* Offsets are the numbers of nodes: they stay valid while names come and go. */
static struct node *next_child(struct node *directory, uint64_t from)
{
	struct node *best = NULL;

	for (struct node *node = nodes; node; node = node->next)
		if (node->name && node->parent == directory && node->number >= from &&
		    (!best || node->number < best->number))
			best = node;
	return best;
}

static void do_readdir(fuse_req_t request, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info)
{
	char *buffer = malloc(size);
	size_t used = 0, after;
	struct node *node;

	(void)info;
	if (!buffer) {
		fuse_reply_err(request, ENOMEM);
		return;
	}
	for (uint64_t from = (uint64_t)offset; (node = next_child(node_of(ino), from)); from = node->number + 1) {
		after = add_entry(request, buffer, size, used, node);
		if (after > size)
			break;
		used = after;
	}
	fuse_reply_buf(request, buffer, used);
	free(buffer);
}

static void do_init(void *data, struct fuse_conn_info *connection)
{
	(void)data;
	connection->want &= ~(unsigned int)FUSE_CAP_WRITEBACK_CACHE;
	if (options.max_write)
		connection->max_write = options.max_write;
}

static const struct fuse_lowlevel_ops operations = {
	.init = do_init,
	.lookup = do_lookup,
	.forget = do_forget,
	.getattr = do_getattr,
	.setattr = do_setattr,
	.mkdir = do_mkdir,
	.mknod = do_mknod,
	.unlink = do_unlink,
	.rmdir = do_rmdir,
	.rename = do_rename,
	.open = do_open,
	.create = do_create,
	.release = do_release,
	.read = do_read,
	.write = do_write,
	.flush = do_flush,
	.fsync = do_fsync,
	.fallocate = do_fallocate,
	.lseek = do_lseek,
	.statfs = do_statfs,
	.readdir = do_readdir,
};

static void __attribute__((noreturn)) usage(const char *what)
{
	fprintf(stderr, "fusefs: %s\n%s", what, usage_text);
	exit(2);
}

static void parse_sized(const char *option, const char *value)
{
	uint64_t bytes;

	if (!value)
		usage(option);
	if (!strcmp(option, "--backing")) {
		options.backing = realpath(value, NULL);
		if (!options.backing)
			usage(value);
	} else if (!strcmp(option, "--capacity")) {
		if (parse_capacity(value))
			usage(value);
	} else {
		if (parse_bytes(value, &bytes))
			usage(value);
		options.max_write = (unsigned int)bytes;
	}
}

static const char *parse_options(char **args)
{
	const char *mountpoint = NULL;

	for (; *args; args++) {
		if (!strcmp(*args, "-f"))
			options.foreground = 1;
		else if (!strcmp(*args, "--direct-io"))
			options.direct_io = 1;
		else if (!strcmp(*args, "--no-statfs"))
			options.no_statfs = 1;
		else if (!strcmp(*args, "--durable"))
			options.durable = 1;
		else if (!strcmp(*args, "--capacity") || !strcmp(*args, "--max-write") || !strcmp(*args, "--backing"))
			parse_sized(args[0], args[1]), args++;
		else if (**args == '-' || mountpoint)
			usage(*args);
		else
			mountpoint = *args;
	}
	if (!mountpoint)
		usage("no mountpoint");
	return mountpoint;
}

static int serve(struct fuse_session *session, const char *mountpoint)
{
	int result;

	if (fuse_set_signal_handlers(session) || fuse_session_mount(session, mountpoint))
		return 1;
	fuse_daemonize(options.foreground);
	result = fuse_session_loop(session);
	fuse_session_unmount(session);
	return result != 0;
}

int main(int argc, char **argv)
{
	/* allow_other: tests drop their privileges, and the kernel is to check modes. */
	char *words[] = {argv[0], "-o", "fsname=fusefs,subtype=fusefs,default_permissions", "-o", "allow_other", NULL};
	struct fuse_args arguments = FUSE_ARGS_INIT(geteuid() ? 3 : 5, words);
	const char *mountpoint = parse_options(argv + 1);
	struct fuse_session *session;
	int result;

	(void)argc;
	init_node(&root, S_IFDIR | 01777, NULL);
	init_node(&control, S_IFREG | 0666, NULL);
	session = fuse_session_new(&arguments, &operations, sizeof(operations), NULL);
	if (!session)
		return 1;
	result = serve(session, mountpoint);
	fuse_session_destroy(session);
	fuse_opt_free_args(&arguments);
	return result;
}
