#include "real.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "bytes.h"
#include "have.h" /* made by the build: HAVE_name, 1 or 0, for every function above */
#include "layout.h"
#include "sys.h"

/* The bare calls: what a hook does before our constructor has run, or where
 * libc lacks a name. They follow the libc convention: -1 and errno. */

static long with_errno(long result)
{
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

#define BARE(type, name, parameters, call)           \
	static type bare_##name parameters           \
	{                                            \
		return (type)with_errno((long)call); \
	}

#define OPEN(directory, path, flags, mode) SYS4(SYS_openat, directory, path, flags, mode)
#define CREATE                             (O_CREAT | O_WRONLY | O_TRUNC)

static int bare_posix_fallocate64(int fd, off64_t offset, off64_t length)
{
	return -sys_fallocate(fd, 0, offset, length);
}

static int bare_posix_fallocate(int fd, off_t offset, off_t length)
{
	return bare_posix_fallocate64(fd, offset, length);
}

BARE(int, fallocate, (int fd, int mode, off_t offset, off_t length), sys_fallocate(fd, mode, offset, length))
BARE(int, fallocate64, (int fd, int mode, off64_t offset, off64_t length), sys_fallocate(fd, mode, offset, length))
BARE(int, ftruncate, (int fd, off_t length), sys_ftruncate(fd, length))
BARE(int, ftruncate64, (int fd, off64_t length), sys_ftruncate(fd, length))
BARE(int, truncate, (const char *path, off_t length), sys_truncate(path, length))
BARE(int, truncate64, (const char *path, off64_t length), sys_truncate(path, length))
BARE(int, fsync, (int fd), SYS1(SYS_fsync, fd))
BARE(int, fdatasync, (int fd), sys_fdatasync(fd))
BARE(ssize_t, write, (int fd, const void *buffer, size_t count), sys_write(fd, buffer, count))
BARE(ssize_t, __write, (int fd, const void *buffer, size_t count), sys_write(fd, buffer, count))
BARE(ssize_t, pwrite, (int fd, const void *buffer, size_t count, off_t offset), sys_pwrite(fd, buffer, count, offset))
BARE(ssize_t, pwrite64, (int fd, const void *buffer, size_t count, off64_t offset),
     sys_pwrite(fd, buffer, count, offset))
BARE(ssize_t, __pwrite64, (int fd, const void *buffer, size_t count, off64_t offset),
     sys_pwrite(fd, buffer, count, offset))
BARE(ssize_t, writev, (int fd, const struct iovec *iov, int count), SYS3(SYS_writev, fd, iov, count))
BARE(ssize_t, pwritev, (int fd, const struct iovec *iov, int count, off_t offset), sys_pwritev(fd, iov, count, offset))
BARE(ssize_t, pwritev64, (int fd, const struct iovec *iov, int count, off64_t offset),
     sys_pwritev(fd, iov, count, offset))
BARE(ssize_t, pwritev2, (int fd, const struct iovec *iov, int count, off_t offset, int flags),
     sys_pwritev2(fd, iov, count, offset, flags))
BARE(ssize_t, pwritev64v2, (int fd, const struct iovec *iov, int count, off64_t offset, int flags),
     sys_pwritev2(fd, iov, count, offset, flags))
BARE(ssize_t, copy_file_range,
     (int in, off64_t *in_offset, int out, off64_t *out_offset, size_t length, unsigned flags),
     SYS6(SYS_copy_file_range, in, in_offset, out, out_offset, length, flags))
BARE(ssize_t, sendfile, (int out, int in, off_t *offset, size_t count), SYS4(SYS_sendfile, out, in, offset, count))
BARE(ssize_t, sendfile64, (int out, int in, off64_t *offset, size_t count), sys_sendfile64(out, in, offset, count))
BARE(ssize_t, splice, (int in, off64_t *in_offset, int out, off64_t *out_offset, size_t length, unsigned flags),
     SYS6(SYS_splice, in, in_offset, out, out_offset, length, flags))
BARE(int, creat, (const char *path, mode_t mode), OPEN(AT_FDCWD, path, CREATE, mode))
BARE(int, creat64, (const char *path, mode_t mode), OPEN(AT_FDCWD, path, CREATE | O_LARGEFILE, mode))
BARE(int, __open_2, (const char *path, int flags), OPEN(AT_FDCWD, path, flags, 0))
BARE(int, __open64_2, (const char *path, int flags), OPEN(AT_FDCWD, path, flags | O_LARGEFILE, 0))
BARE(int, __openat_2, (int directory, const char *path, int flags), OPEN(directory, path, flags, 0))
BARE(int, __openat64_2, (int directory, const char *path, int flags), OPEN(directory, path, flags | O_LARGEFILE, 0))
BARE(int, open_by_handle_at, (int mount, struct file_handle *handle, int flags),
     SYS3(SYS_open_by_handle_at, mount, handle, flags))
BARE(int, close, (int fd), SYS1(SYS_close, fd))
BARE(int, close_range, (unsigned first, unsigned last, int flags), SYS3(SYS_close_range, first, last, flags))
BARE(int, fchown, (int fd, uid_t owner, gid_t group), sys_fchown(fd, owner, group))
BARE(int, fchmod, (int fd, mode_t mode), SYS2(SYS_fchmod, fd, mode))
BARE(int, setuid, (uid_t uid), sys_setuid(uid))
BARE(int, dup, (int fd), SYS1(SYS_dup, fd))
BARE(int, dup2, (int fd, int to), fd == to ? SYS2(SYS_fcntl, fd, F_GETFD) < 0 ? -EBADF : fd : SYS3(SYS_dup3, fd, to, 0))
BARE(int, __dup2, (int fd, int to), bare_dup2(fd, to))
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438 /* Linux 5.6 */
#endif
BARE(int, pidfd_getfd, (int pidfd, int fd, unsigned flags), SYS3(SYS_pidfd_getfd, pidfd, fd, flags))
BARE(int, dup3, (int fd, int to, int flags), SYS3(SYS_dup3, fd, to, flags))
BARE(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), SYS3(SYS_sendmsg, fd, message, flags))
BARE(int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags),
     SYS4(SYS_sendmmsg, fd, messages, count, flags))
/* A child that shares our memory would come back through this frame: a copy does for it, too. */
BARE(pid_t, vfork, (void), SYS5(SYS_clone, SIGCHLD, 0, 0, 0, 0))
BARE(pid_t, _Fork, (void), SYS5(SYS_clone, SIGCHLD, 0, 0, 0, 0))

static void bare_closefrom(int first)
{
	SYS3(SYS_close_range, first < 0 ? 0 : first, UINT32_MAX, 0);
}

#define BARE_OPEN(name, more)                                                       \
	static int bare_##name(const char *path, int flags, ...)                    \
	{                                                                           \
		va_list arguments;                                                  \
		int mode;                                                           \
                                                                                    \
		va_start(arguments, flags);                                         \
		mode = va_arg(arguments, int);                                      \
		va_end(arguments);                                                  \
		return (int)with_errno(OPEN(AT_FDCWD, path, flags | (more), mode)); \
	}
BARE_OPEN(open, 0)
BARE_OPEN(open64, O_LARGEFILE)

#define BARE_OPENAT(name, more)                                                      \
	static int bare_##name(int directory, const char *path, int flags, ...)      \
	{                                                                            \
		va_list arguments;                                                   \
		int mode;                                                            \
                                                                                     \
		va_start(arguments, flags);                                          \
		mode = va_arg(arguments, int);                                       \
		va_end(arguments);                                                   \
		return (int)with_errno(OPEN(directory, path, flags | (more), mode)); \
	}
BARE_OPENAT(openat, 0)
BARE_OPENAT(openat64, O_LARGEFILE)

#define BARE_FCNTL(name)                                                  \
	static int bare_##name(int fd, int command, ...)                  \
	{                                                                 \
		va_list arguments;                                        \
		void *argument;                                           \
                                                                          \
		va_start(arguments, command);                             \
		argument = va_arg(arguments, void *);                     \
		va_end(arguments);                                        \
		return (int)with_errno(sys_fcntl(fd, command, argument)); \
	}
BARE_FCNTL(fcntl)
BARE_FCNTL(fcntl64)
BARE_FCNTL(__fcntl)

static int bare_ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	return (int)with_errno(sys_ioctl(fd, request, argument));
}

static int bare_prctl(int option, ...)
{
	unsigned long a, b, c, d;
	va_list arguments;

	va_start(arguments, option);
	a = va_arg(arguments, unsigned long);
	b = va_arg(arguments, unsigned long);
	c = va_arg(arguments, unsigned long);
	d = va_arg(arguments, unsigned long);
	va_end(arguments);
	return (int)with_errno(SYS5(SYS_prctl, option, a, b, c, d));
}

static long bare_syscall(long number, ...)
{
	long a, b, c, d, e, f;
	va_list arguments;

	va_start(arguments, number);
	a = va_arg(arguments, long);
	b = va_arg(arguments, long);
	c = va_arg(arguments, long);
	d = va_arg(arguments, long);
	e = va_arg(arguments, long);
	f = va_arg(arguments, long);
	va_end(arguments);
	return with_errno(sys_call(number, a, b, c, d, e, f));
}

/* dlsym has been part of libc since glibc 2.34 only, and nobody is to load libdl for us. */
#ifdef DLSYM_VERSION
__asm__(".symver dlsym, dlsym@" DLSYM_VERSION);
extern __typeof__(dlsym) dlsym __attribute__((weak));
#define HAS_DLSYM (&dlsym != NULL)
#else
#define HAS_DLSYM 1
#endif

static void *next_definition(const char *name)
{
	return HAS_DLSYM ? dlsym(RTLD_NEXT, name) : real_find(name);
}

/* What no system call replaces, and no signal handler may call: looked up when first called. */
#define LAZY(type, name, parameters, arguments, failed)                                                   \
	static type bare_##name parameters                                                                \
	{                                                                                                 \
		type(*next) parameters = HAVE_##name ? (type(*) parameters)next_definition(#name) : NULL; \
                                                                                                          \
		if (!next) {                                                                              \
			errno = ENOSYS;                                                                   \
			return failed;                                                                    \
		}                                                                                         \
		real.name = next;                                                                         \
		return next arguments;                                                                    \
	}
LAZY(void *, dlopen, (const char *file, int mode), (file, mode), NULL)
LAZY(void *, dlmopen, (Lmid_t namespace, const char *file, int mode), (namespace, file, mode), NULL)
LAZY(int, fclose, (FILE * stream), (stream), EOF)
LAZY(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
LAZY(FILE *, fopen64, (const char *path, const char *mode), (path, mode), NULL)
LAZY(FILE *, freopen, (const char *path, const char *mode, FILE *stream), (path, mode, stream), NULL)
LAZY(FILE *, freopen64, (const char *path, const char *mode, FILE *stream), (path, mode, stream), NULL)
LAZY(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL)
LAZY(int, vdprintf, (int fd, const char *format, va_list arguments), (fd, format, arguments), -1)
LAZY(int, __vdprintf_chk, (int fd, int flag, const char *format, va_list arguments), (fd, flag, format, arguments), -1)
LAZY(int, aio_write, (struct aiocb * request), (request), -1)
LAZY(int, aio_write64, (struct aiocb64 * request), (request), -1)
LAZY(int, lio_listio, (int mode, struct aiocb *const *list, int count, struct sigevent *event),
     (mode, list, count, event), -1)
LAZY(int, lio_listio64, (int mode, struct aiocb64 *const *list, int count, struct sigevent *event),
     (mode, list, count, event), -1)
LAZY(int, system, (const char *command), (command), -1)
LAZY(int, unshare, (int flags), (flags), -1)
LAZY(int, setreuid, (uid_t uid, uid_t euid), (uid, euid), -1)
LAZY(int, setresuid, (uid_t uid, uid_t euid, uid_t suid), (uid, euid, suid), -1)
LAZY(int, capset, (void *header, const void *data), (header, data), -1)
LAZY(FILE *, popen, (const char *command, const char *mode), (command, mode), NULL)
LAZY(int, wordexp, (const char *words, wordexp_t *expansion, int flags), (words, expansion, flags), WRDE_NOSPACE)
#define SPAWN_PARAMETERS                                                                                             \
	(int *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes, \
	 char *const argv[], char *const envp[])
LAZY(int, posix_spawn, SPAWN_PARAMETERS, (pid, path, actions, attributes, argv, envp), ENOSYS)
LAZY(int, posix_spawnp, SPAWN_PARAMETERS, (pid, path, actions, attributes, argv, envp), ENOSYS)
/* Of glibc 2.39, which may be newer than the one that we are built with. */
#define HAVE_pidfd_spawn  1
#define HAVE_pidfd_spawnp 1
LAZY(int, pidfd_spawn, SPAWN_PARAMETERS, (pid, path, actions, attributes, argv, envp), ENOSYS)
LAZY(int, pidfd_spawnp, SPAWN_PARAMETERS, (pid, path, actions, attributes, argv, envp), ENOSYS)
/* A signal handler may, where the program has called it before: so its manual says of libc's, too. */
LAZY(void, backtrace_symbols_fd, (void *const *addresses, int count, int fd), (addresses, count, fd), )

/* Nobody can know what clone's further arguments are; three words are all it takes. */
static int bare_clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
	int (*next)(int (*)(void *), void *, int, void *, ...) = NULL;
	void *a, *b, *c;
	va_list arguments;

	if (HAVE_clone)
		next = (int (*)(int (*)(void *), void *, int, void *, ...))next_definition("clone");
	if (!next) {
		errno = ENOSYS;
		return -1;
	}
	va_start(arguments, argument);
	a = va_arg(arguments, void *);
	b = va_arg(arguments, void *);
	c = va_arg(arguments, void *);
	va_end(arguments);
	real.clone = next;
	return next(function, stack, flags, argument, a, b, c);
}

#define REAL_BARE(type, name, parameters) .name = bare_##name,
struct real real = {REAL_FUNCTIONS(REAL_BARE).single_threaded = ""};
#undef REAL_BARE

/* All names at once, as dlsym(RTLD_NEXT) would find them one by one in nine times the time:
 * in each object that was loaded behind us, in the order in which the dynamic linker
 * searches them, by its GNU hash table. */
#ifdef __GLIBC__

struct name {
	char text[19];
	unsigned char exists; /* in libc */
	uint32_t hash;
};

/* Libc has had it since glibc 2.34 only; where we run it may be 2.28. */
#define INDEX(name) (offsetof(struct real, name) / sizeof(void *))

static int is_recent(size_t i)
{
	return i == INDEX(close_range) || i == INDEX(closefrom) || i == INDEX(_Fork);
}

/* The hash of GNU tables, as a constant: it starts at 5381, and each byte is added to 33
 * times what was before. */
#define POWER(n)                                                                               \
	((1 & (n) ? 33U : 1U) * (2 & (n) ? 1089U : 1U) * (4 & (n) ? 33U * 33 * 33 * 33 : 1U) * \
	 (8 & (n) ? 1185921U * 1185921 : 1U) * (16 & (n) ? 1185921U * 1185921 * 1185921 * 1185921 : 1U))
#define BYTE(string, i)                                                                                             \
	((i) < sizeof(string) - 1 ? (unsigned char)(string)[(i) % sizeof(string)] * POWER(sizeof(string) - 2 - (i)) \
				  : 0U)
#define BYTES6(string, i)                                                                          \
	(BYTE(string, i) + BYTE(string, (i) + 1) + BYTE(string, (i) + 2) + BYTE(string, (i) + 3) + \
	 BYTE(string, (i) + 4) + BYTE(string, (i) + 5))
#define GNU_HASH(string)                                                                                  \
	(5381U * POWER(sizeof(string) - 1) + BYTES6(string, 0) + BYTES6(string, 6) + BYTES6(string, 12) + \
	 BYTES6(string, 18))

/* In the order of struct real. */
#define REAL_NAME(type, name, parameters) {#name, HAVE_##name, GNU_HASH(#name)},
TABLE_AT_LOAD static const struct name names[] = {REAL_AT_LOAD(REAL_NAME)};
#undef REAL_NAME

#define NAMES (sizeof(names) / sizeof(names[0]))
_Static_assert(sizeof(void *) == sizeof(real.write) && offsetof(struct real, fopen) == NAMES * sizeof(void *),
	       "struct real begins with pointers to these, and nothing else");

/* What an object defines: its GNU hash table, and what that leads to. */
struct definitions {
	uint32_t buckets, first, words, shift; /* no buckets: it defines nothing */
	const ElfW(Addr) * bloom;
	const uint32_t *bucket, *chain;
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Half) * versions; /* or NULL */
};

/* Some objects have their addresses relocated in place, others (the vDSO) do not. */
static const void *address(const struct link_map *object, ElfW(Addr) at)
{
	return (const void *)(at < object->l_addr ? at + object->l_addr : at);
}

static void read_table(struct definitions *in, const uint32_t *table)
{
	in->buckets = table[0];
	in->first = table[1];
	in->words = table[2];
	in->shift = table[3];
	in->bloom = (const ElfW(Addr) *)(table + 4);
	in->bucket = (const uint32_t *)(in->bloom + in->words);
	in->chain = in->bucket + in->buckets;
}

/* Returns 0 where only the dynamic linker knows what it would find. */
AT_LOAD static int read_definitions(const struct link_map *object, struct definitions *in)
{
	int old_hash = 0, hash = 0;

	memset(in, 0, sizeof(*in));
	for (const ElfW(Dyn) *entry = object->l_ld; entry->d_tag != DT_NULL; entry++) {
		const void *at = address(object, entry->d_un.d_ptr);

		if (entry->d_tag == DT_GNU_HASH)
			read_table(in, at);
		else if (entry->d_tag == DT_SYMTAB)
			in->symbols = at;
		else if (entry->d_tag == DT_STRTAB)
			in->strings = at;
		else if (entry->d_tag == DT_VERSYM)
			in->versions = at;
		else if (entry->d_tag == DT_FILTER || entry->d_tag == DT_AUXILIARY)
			return 0;
		hash |= entry->d_tag == DT_GNU_HASH;
		old_hash |= entry->d_tag == DT_HASH;
	}
	if (!in->symbols || !in->strings)
		in->buckets = 0;
	return hash || !old_hash;
}

/* The symbol, or NULL. Of several versions the default one, which is not hidden. */
AT_LOAD static const ElfW(Sym) * find_symbol(const struct definitions *in, const char *name, uint32_t hash)
{
	const unsigned bits = 8 * sizeof(ElfW(Addr));
	const ElfW(Addr) word = in->bloom[hash / bits & (in->words - 1)];
	uint32_t i;

	if (!(word >> hash % bits & word >> (hash >> in->shift) % bits & 1))
		return NULL;
	i = in->bucket[hash % in->buckets];
	if (i < in->first)
		return NULL;
	do {
		const ElfW(Sym) *symbol = &in->symbols[i];

		if ((in->chain[i - in->first] ^ hash) < 2 && !(in->versions && in->versions[i] & 0x8000) &&
		    symbol->st_value && symbol->st_shndx != SHN_UNDEF &&
		    bytes_equal(in->strings + symbol->st_name, name))
			return symbol;
	} while (!(in->chain[i++ - in->first] & 1));
	return NULL;
}

static int is_plain(const ElfW(Sym) * symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info), binding = ELF64_ST_BIND(symbol->st_info);

	return (type == STT_FUNC || type == STT_NOTYPE) && (binding == STB_GLOBAL || binding == STB_WEAK) &&
	       ELF64_ST_VISIBILITY(symbol->st_other) != STV_HIDDEN;
}

static const struct link_map *ourselves(void)
{
	const struct link_map *object = _r_debug.r_map;

	while (object && object->l_ld != _DYNAMIC)
		object = object->l_next;
	return object;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* What the program and libraries see under that name, from this object on; or NULL. */
static void *find_from(const struct link_map *object, const char *name)
{
	const uint32_t hash = gnu_hash(name);
	struct definitions in;

	for (; object; object = object->l_next) {
		const ElfW(Sym) * found;

		if (!read_definitions(object, &in) || !in.buckets)
			continue;
		found = find_symbol(&in, name, hash);
		if (found)
			return (void *)(object->l_addr + found->st_value);
	}
	return NULL;
}

/* Points to what is 0 where there may be several threads. Not by a reference: its version, GLIBC_2.32, would be
 * needed. The program may have it, as a copy. */
#define SINGLE_THREADED "__libc_single_threaded"
CONSTANT_AT_LOAD static const char single_threaded[] = SINGLE_THREADED;

/* Returns 0, and changes nothing, where dlsym has to do it. That is so where anything is
 * unusual, and where not every name is found: then we were not loaded at start, with libc
 * behind us, and the order is another. */
AT_LOAD static int resolve_all(void)
{
	const char *threads = NULL;
	const ElfW(Sym) * found;
	struct definitions in;
	void *next[NAMES];
	size_t missing = 0;
	int behind = 0;

	for (size_t i = 0; i < NAMES; i++) {
		next[i] = NULL;
		missing += names[i].exists;
	}
	if (_r_debug.r_version > 1) /* there are other namespaces: of auditors, maybe */
		return 0;
	for (const struct link_map *object = _r_debug.r_map; missing && object; object = object->l_next) {
		if (object->l_ld == _DYNAMIC) {
			behind = 1;
			continue;
		}
		if (!read_definitions(object, &in))
			return 0;
		if (!in.buckets)
			continue;
		if (!threads && (found = find_symbol(&in, single_threaded, GNU_HASH(SINGLE_THREADED))))
			threads = (const char *)(object->l_addr + found->st_value);
		for (size_t i = 0; behind && i < NAMES; i++) {
			if (next[i] || !names[i].exists)
				continue;
			found = find_symbol(&in, names[i].text, names[i].hash);
			if (!found)
				continue;
			if (!is_plain(found))
				return 0;
			next[i] = (void *)(object->l_addr + found->st_value);
			missing--;
		}
	}
	for (size_t i = 0; missing && i < NAMES; i++)
		missing -= names[i].exists && !next[i] && is_recent(i);
	if (missing)
		return 0;
	for (size_t i = 0; i < NAMES; i++)
		if (next[i])
			memcpy((char *)&real + i * sizeof(void *), (const void *)&next[i], sizeof(void *));
	if (threads)
		real.single_threaded = threads;
	return 1;
}

static void find_single_threaded(void)
{
	const char *found = find_from(_r_debug.r_map, single_threaded);

	if (found)
		real.single_threaded = found;
}

void *real_find(const char *name)
{
	const struct link_map *object = ourselves();

	return object ? find_from(object->l_next, name) : NULL;
}

AT_LOAD int real_has_object(const char *name)
{
	for (const struct link_map *object = _r_debug.r_map; object; object = object->l_next)
		for (const char *at = object->l_name; *at; at++)
			if (*at == *name && bytes_behind(name, at))
				return 1;
	return 0;
}

#else

static int resolve_all(void)
{
	return 0;
}

static void find_single_threaded(void)
{
}

void *real_find(const char *name)
{
	(void)name;
	return NULL;
}

static int has_in_path(struct dl_phdr_info *object, size_t size, void *name)
{
	(void)size;
	return !!bytes_find(object->dlpi_name, strlen(object->dlpi_name), name);
}

int real_has_object(const char *name)
{
	return dl_iterate_phdr(has_in_path, (void *)name);
}

#endif

AT_LOAD void real_resolve(int audited)
{
	void *next;

	if (!(audited && HAS_DLSYM) && resolve_all())
		return;
	find_single_threaded();
	/* The build knows which names libc has (HAVE_name): dlsym allocates memory
	 * when it does not find one. */
#define REAL_RESOLVE(type, name, parameters)                \
	if (HAVE_##name && (next = next_definition(#name))) \
		real.name = (type(*) parameters)next;
	REAL_AT_LOAD(REAL_RESOLVE)
#undef REAL_RESOLVE
}
