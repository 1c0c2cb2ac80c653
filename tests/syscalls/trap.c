/* What a hook must not call, as a library to be loaded behind ours: while the program says that it is
 * inside a call that needs none of it (trap_inside), each of these ends it by SIGABRT, and so it
 * does, whatever the program says, where libfastalloc itself is the caller. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int trap_inside;

static uintptr_t ours, ours_end; /* the code of libfastalloc, once it is known */

static int find_ours(struct dl_phdr_info *object, size_t size, void *context)
{
	(void)size;
	(void)context;
	if (!strstr(object->dlpi_name, "libfastalloc.so"))
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_flags & PF_X) {
			ours = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
			ours_end = ours + object->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

__attribute__((constructor)) static void start(void)
{
	dl_iterate_phdr(find_ours, NULL);
}

static void check(const char *name, const void *caller)
{
	int from_ours = (uintptr_t)caller >= ours && (uintptr_t)caller < ours_end;

	if (!trap_inside && !from_ours)
		return;
	trap_inside = 0;
	ours_end = 0;
	/* By no stream. */
	if (write(2, "trap: ", 6) < 0 || write(2, name, strlen(name)) < 0 || write(2, "\n", 1) < 0)
		_exit(9);
	abort();
}

/* libc's own names, as to look one up would allocate. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
	__libc_free(void *), *__libc_memalign(size_t, size_t);

#define CHECK(name) check(name, __builtin_return_address(0))

void *malloc(size_t size)
{
	CHECK("malloc");
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	CHECK("calloc");
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	CHECK("realloc");
	return __libc_realloc(old, size);
}

void free(void *block)
{
	CHECK("free");
	__libc_free(block);
}

void *memalign(size_t alignment, size_t size)
{
	CHECK("memalign");
	return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	CHECK("aligned_alloc");
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	CHECK("posix_memalign");
	*block = __libc_memalign(alignment, size);
	return *block ? 0 : 12;
}

static void *next_definition(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

/* The rest by the next definition. */
#define PASS(type, name, parameters, arguments)                            \
	type name parameters                                               \
	{                                                                  \
		static type(*next) parameters;                             \
                                                                           \
		CHECK(#name);                                              \
		if (!next)                                                 \
			next = (type(*) parameters)next_definition(#name); \
		return next arguments;                                     \
	}

PASS(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
PASS(int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))
PASS(int, pthread_mutex_unlock, (pthread_mutex_t * mutex), (mutex))
PASS(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
PASS(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
PASS(int, pthread_once, (pthread_once_t * once, void (*routine)(void)), (once, routine))
PASS(size_t, fwrite, (const void *from, size_t size, size_t count, FILE *stream), (from, size, count, stream))
PASS(int, fputs, (const char *string, FILE *stream), (string, stream))
PASS(int, puts, (const char *string), (string))
PASS(int, fputc, (int c, FILE *stream), (c, stream))
PASS(int, fflush, (FILE * stream), (stream))
PASS(int, vfprintf, (FILE * stream, const char *format, va_list arguments), (stream, format, arguments))
PASS(int, vsnprintf, (char *to, size_t size, const char *format, va_list arguments), (to, size, format, arguments))
PASS(char *, getenv, (const char *name), (name))
PASS(char *, strerror, (int error), (error))
PASS(FILE *, open_memstream, (char **block, size_t *size), (block, size))
