#include "policy.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "bytes.h"
#include "delay.h"
#include "mounts.h"
#include "signals.h"
#include "sys.h"
#include "layout.h"

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000U /* Linux 6.8 */
#endif

static const struct {
	char fstype[12];
	unsigned traits;
} traits_of[] = {
	{"ext2", TRAIT_LEAKS},
	{"ext3", TRAIT_LEAKS | TRAIT_FAULT_ALLOCATES},
	{"ext4", TRAIT_LEAKS | TRAIT_FAULT_ALLOCATES | TRAIT_WINDOWS},
	{"f2fs", TRAIT_LEAKS | TRAIT_FAULT_ALLOCATES | TRAIT_WINDOWS},
	{"xfs", TRAIT_FAULT_ALLOCATES | TRAIT_WINDOWS},
	{"btrfs", TRAIT_FAULT_ALLOCATES},
	{"ramfs", TRAIT_FAULT_ALLOCATES | TRAIT_MEMORY},
	{"tmpfs", TRAIT_FAULT_ALLOCATES | TRAIT_MEMORY},
	{"hugetlbfs", TRAIT_FAULT_ALLOCATES | TRAIT_MEMORY},
	{"nfs4.2", TRAIT_LEAKS},
	{"vfat", TRAIT_LEAKS | TRAIT_DENSE | TRAIT_CHAIN | TRAIT_WINDOWS},
	{"msdos", TRAIT_LEAKS | TRAIT_DENSE | TRAIT_CHAIN | TRAIT_WINDOWS},
	{"exfat", TRAIT_DENSE},
};

static const struct config *rules;
static const char *program_name;

/* Mounts seen lately. Threads, signal handlers and forked children read and
 * write them without a lock: an odd sequence is being written, and whoever
 * meets one, or sees it change, goes the slow way. */
#define CACHED_MOUNTS 8
#define CACHE_SECONDS 1

struct seen {
	uint64_t id;    /* stx_mnt_id */
	int64_t second; /* when it was looked up */
	int unique;     /* the id is never reused (STATX_MNT_ID_UNIQUE) */
	int error;      /* what mounts_find said */
	uint32_t major, minor;
	unsigned traits;
	char fstype[40];
	struct policy policy; /* of its files, whatever their path */
};

#define WORDS_OF(type) ((sizeof(type) + sizeof(uint64_t) - 1) / sizeof(uint64_t))

TABLE static struct cached_mount {
	atomic_uint sequence;
	_Atomic uint64_t seen[WORDS_OF(struct seen)];
	_Atomic uint64_t mount[WORDS_OF(struct mount)];
} cache[CACHED_MOUNTS];
static atomic_int cached; /* something is in there */

/* Read and written at the same time, but then not used. What is read stays before the second look
 * at the sequence, and what is written behind the first change of it. */
static void get_words(void *to, const _Atomic uint64_t *from, size_t size)
{
	for (size_t at = 0; at < size; at += sizeof(uint64_t), from++) {
		uint64_t word = atomic_load_explicit(from, memory_order_acquire);

		memcpy((char *)to + at, &word, size - at < sizeof(word) ? size - at : sizeof(word));
	}
}

static void put_words(_Atomic uint64_t *to, const void *from, size_t size)
{
	for (size_t at = 0; at < size; at += sizeof(uint64_t), to++) {
		uint64_t word = 0;

		memcpy(&word, (const char *)from + at, size - at < sizeof(word) ? size - at : sizeof(word));
		atomic_store_explicit(to, word, memory_order_release);
	}
}

AT_LOAD void policy_init(const struct config *config, const char *program)
{
	rules = config;
	program_name = program;
	for (size_t i = 0; cached && i < CACHED_MOUNTS; i++)
		atomic_init(&cache[i].sequence, 0);
	cached = 0;
}

AT_LOAD int policy_may_differ(enum key key, uint64_t value)
{
	struct policy policy;

	config_defaults(&policy);
	if (policy.value[key] != value)
		return 1;
	for (unsigned i = 0; rules && i < rules->count; i++)
		if ((rules->rule[i].set & 1U << key) && rules->rule[i].value[key] != value)
			return 1;
	return 0;
}

AT_LOAD uint64_t policy_least(enum key key)
{
	struct policy policy;
	uint64_t least;

	config_defaults(&policy);
	least = policy.value[key];
	for (unsigned i = 0; rules && i < rules->count; i++)
		if (rules->rule[i].set & 1U << key && rules->rule[i].value[key] < least)
			least = rules->rule[i].value[key];
	return least;
}

unsigned policy_traits(const struct mount *mount)
{
	unsigned traits = TRAIT_KNOWN | (mount->synchronous ? TRAIT_SYNCHRONOUS : 0);

	for (size_t i = 0; i < sizeof(traits_of) / sizeof(traits_of[0]); i++)
		if (bytes_equal(mount->fstype, traits_of[i].fstype))
			traits |= traits_of[i].traits;
	return traits;
}

uint64_t policy_of_program(enum key key)
{
	const struct subject subject = {.program = program_name};
	struct policy policy;

	config_defaults(&policy);
	if (rules)
		config_resolve(rules, &subject, &policy);
	return policy.value[key];
}

static int64_t seconds_now(void)
{
	struct sys_time now = {0, 0};

	sys_clock(CLOCK_MONOTONIC_COARSE, &now);
	return now.seconds;
}

/* Mount ids are reused after umount, often at once and for the same device, so
 * an id that is not unique, or a mount that was not found, is believed for a
 * second only. */
static int cache_get(struct cached_mount *slot, const struct statx *stx, int unique, struct file *file,
		     struct mount *mount)
{
	unsigned sequence = atomic_load_explicit(&slot->sequence, memory_order_acquire);
	struct seen seen;
	int hit;

	if (sequence == 0 || sequence & 1)
		return 0;
	DELAY();
	get_words(&seen, slot->seen, sizeof(seen));
	hit = seen.id == stx->stx_mnt_id && seen.unique == unique && seen.major == stx->stx_dev_major &&
	      seen.minor == stx->stx_dev_minor &&
	      ((unique && !seen.error) || seconds_now() - seen.second <= CACHE_SECONDS);
	if (hit) {
		file->traits = seen.traits;
		memcpy(file->fstype, seen.fstype, sizeof(file->fstype));
		file->policy = seen.policy;
		if (mount)
			get_words(mount, slot->mount, sizeof(*mount));
	}
	return hit && atomic_load_explicit(&slot->sequence, memory_order_relaxed) == sequence;
}

static void cache_put(struct cached_mount *slot, const struct statx *stx, int unique, const struct file *file,
		      const struct mount *mount, int error)
{
	struct seen seen = {.id = stx->stx_mnt_id,
			    .second = seconds_now(),
			    .unique = unique,
			    .error = error,
			    .major = stx->stx_dev_major,
			    .minor = stx->stx_dev_minor,
			    .traits = file->traits,
			    .policy = file->policy};
	unsigned sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);

	if (sequence & 1 || !atomic_compare_exchange_strong(&slot->sequence, &sequence, sequence + 1))
		return; /* somebody else is writing it: theirs will do */
	DELAY();
	memcpy(seen.fstype, file->fstype, sizeof(seen.fstype));
	put_words(slot->seen, &seen, sizeof(seen));
	put_words(slot->mount, mount, sizeof(*mount));
	atomic_store_explicit(&slot->sequence, sequence + 2, memory_order_release);
	atomic_store_explicit(&cached, 1, memory_order_relaxed);
}

/* The id that mountinfo lists; the unique one is not there. */
static int listed_id(int fd, const char *path, int flags, uint64_t *id)
{
	struct statx stx;

	if (sys_statx(fd, path, flags, STATX_MNT_ID, &stx) < 0 || !(stx.stx_mask & STATX_MNT_ID))
		return 0;
	*id = stx.stx_mnt_id;
	return 1;
}

static void resolve(const struct mount *mount, const char *path, struct file *file)
{
	struct subject subject = {.program = program_name, .path = path};

	if (file->traits & TRAIT_KNOWN) {
		subject.fstype = mount->fstype;
		subject.family = mount->family;
		subject.mount = mount->point;
	}
	if (rules)
		config_resolve(rules, &subject, &file->policy);
	else
		config_defaults(&file->policy);
}

/* What file has of its mount, which goes to mount too, unless that is NULL. */
static void find_mount(int fd, const char *path, int flags, const struct statx *stx, struct file *file,
		       struct mount *mount)
{
	/* qemu's user mode passes the mask on, but no id: 0 is none. */
	int unique = stx->stx_mask & STATX_MNT_ID_UNIQUE && stx->stx_mnt_id, blocked, error;
	int has_id = unique || stx->stx_mask & STATX_MNT_ID;
	struct cached_mount *slot = &cache[(stx->stx_mnt_id ^ stx->stx_dev_minor) % CACHED_MOUNTS];
	uint64_t id = stx->stx_mnt_id, signals;
	struct mount found;

	if (has_id && cache_get(slot, stx, unique, file, mount))
		return;
	/* A handler that jumps out of a write would leave a descriptor open, and the slot unusable. */
	blocked = block_signals(&signals);
	if (unique)
		has_id = listed_id(fd, path, flags, &id);
	error = mounts_find(id, has_id, stx->stx_dev_major, stx->stx_dev_minor, &found);
	if (error)
		found.fstype[0] = '\0';
	file->traits = error ? 0 : policy_traits(&found);
	memcpy(file->fstype, found.fstype, sizeof(file->fstype));
	resolve(&found, NULL, file);
	if (has_id)
		cache_put(slot, stx, unique, file, &found, error);
	if (mount)
		*mount = found;
	if (blocked)
		restore_signals(&signals);
}

void policy_path(int fd, char *path, size_t size)
{
	char link[32] = "/proc/self/fd/", digits[12];
	size_t used = strlen(link), n = 0;
	ssize_t got;

	path[0] = '\0';
	if (fd < 0)
		return;
	do
		digits[n++] = (char)('0' + fd % 10);
	while ((fd /= 10) > 0);
	while (n > 0)
		link[used++] = digits[--n];
	link[used] = '\0';
	got = sys_readlink(link, path, size - 1);
	path[got > 0 ? got : 0] = '\0';
}

#define PATH_BYTES 1024

static void resolve_by_path(int fd, const char *path, const struct mount *mount, struct file *file)
{
	/* Closing an O_PATH descriptor drops no record lock (fs/open.c, filp_close). */
	int opened = path ? sys_open(path, O_PATH | O_CLOEXEC, 0) : fd;
	char absolute[PATH_BYTES];

	policy_path(opened, absolute, sizeof(absolute));
	if (path && opened >= 0)
		sys_close(opened);
	resolve(mount, absolute, file);
}

/* Not worth reading mountinfo for a terminal, a pipe or /dev/null. */
static int can_allocate(const struct statx *stx)
{
	return !S_ISCHR(stx->stx_mode) && !S_ISFIFO(stx->stx_mode) && !S_ISSOCK(stx->stx_mode);
}

int policy_of(int fd, const char *path, struct file *file)
{
	/* No times: asking for them writes an NFS file's dirty pages out first (nfs_getattr). */
	const unsigned mask = STATX_TYPE | STATX_INO | STATX_SIZE | STATX_BLOCKS | STATX_MNT_ID | STATX_MNT_ID_UNIQUE;
	int flags = path ? 0 : AT_EMPTY_PATH, by_path = rules && rules->sections & 1U << SECTION_PATH, error;
	struct mount mount;
	struct statx stx;

	error = -sys_statx(fd, path ? path : "", flags, mask, &stx);
	if (error)
		return error;
	file->mode = stx.stx_mode;
	file->size = (off64_t)stx.stx_size;
	file->allocated = (off64_t)stx.stx_blocks * 512;
	file->block_size = stx.stx_blksize;
	file->major = stx.stx_dev_major;
	file->minor = stx.stx_dev_minor;
	file->inode = stx.stx_ino;
	file->traits = 0;
	file->fstype[0] = '\0';
	if (can_allocate(&stx))
		find_mount(fd, path ? path : "", flags, &stx, file, by_path ? &mount : NULL);
	else
		resolve(NULL, NULL, file);
	if (by_path)
		resolve_by_path(fd, path, &mount, file);
	return 0;
}
