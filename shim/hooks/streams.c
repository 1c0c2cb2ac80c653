/* fopen and its kin, and what FILE streams write.
 *
 * Streams reach the kernel through a call inside libc that no hook sees. But they take
 * it from a table of functions, where the write and close entries can be ours. */
#include "streams.h"

#include "hook.h"

#include <link.h>
#include <string.h>

#include "bytes.h"
#include "have.h" /* made by the build: HAVE_STREAM_TABLES */
#include "layout.h"
#include "report.h"
#include "space.h"
#include "sys.h"
#include "watched.h"
#include "window.h"

/* Are writes and closes of streams seen? Changing the tables takes four microseconds, which is
 * much for a program that never needs it. */
enum { STREAMS_UNSEEN, STREAMS_SEEABLE, STREAMS_BUSY /* one thread changes the tables */, STREAMS_SEEN };
static atomic_int streams;

#ifdef HAVE_STREAM_TABLES

int streams_number(FILE *stream)
{
	return stream->_fileno;
}

extern ssize_t _IO_file_write(FILE *stream, const void *buffer, ssize_t count);
extern int _IO_file_close(FILE *stream);
extern void *_IO_file_jumps[], *_IO_wfile_jumps[];

/* Two words, then 19 functions (glibc libio/libioP.h, struct _IO_jump_t). */
#define TABLE_WORDS 21

static ssize_t stream_write(FILE *stream, const void *buffer, ssize_t count)
{
	int fd = streams_number(stream), had_failed = stream->_flags & _IO_ERR_SEEN;
	unsigned known = window_of(fd);
	ssize_t result;

	if (count <= 0)
		return _IO_file_write(stream, buffer, count);
	RETURN_IF_WATCHED(GROWTH_STREAM, fd, NULL, did, _IO_file_write(stream, buffer, count));
	if (known)
		window_enter_stream(known, fd, (size_t)count);
	result = _IO_file_write(stream, buffer, count);
	/* As in space.h. It is short only when it failed. */
	if (result < count && is_about_space(errno) && window_relieve()) {
		if (!had_failed)
			stream->_flags &= ~_IO_ERR_SEEN;
		result += _IO_file_write(stream, (const char *)buffer + result, count - result);
	}
	if (known)
		window_leave(known, 0);
	return result;
}

static int stream_close(FILE *stream)
{
	window_closing(streams_number(stream));
	return _IO_file_close(stream);
}

/* The one entry that is function, or NULL. */
static void **entry_for(void **table, void *function)
{
	void **found = NULL;

	for (int i = 0; i < TABLE_WORDS; i++)
		if (table[i] == function) {
			if (found)
				return NULL;
			found = &table[i];
		}
	return found;
}

/* Whole pages, and where their object begins: with the header of its file. */
static struct range {
	uintptr_t start, end;
	uintptr_t object;
} tables;

/* Make the range hold the table as well. */
static void include(struct range *range, void **table)
{
	uintptr_t page = sys_page_size();
	uintptr_t start = (uintptr_t)table & -page, end = ((uintptr_t)(table + TABLE_WORDS) + page - 1) & -page;

	if (!range->end || start < range->start)
		range->start = start;
	if (end > range->end)
		range->end = end;
}

static int is_as_expected(void **table)
{
	return entry_for(table, (void *)_IO_file_write) && entry_for(table, (void *)_IO_file_close);
}

/* The table that a stream really uses: it lies behind the FILE (struct _IO_FILE_plus). */
static void *table_of(FILE *stream)
{
	void *table;

	memcpy((void *)&table, (char *)stream + sizeof(FILE), sizeof(table));
	return table;
}

/* Is the object's first page mapped, with the header? So it is where a hash table lies in it. */
AT_LOAD static int has_header(const struct link_map *object)
{
	for (const ElfW(Dyn) *entry = object->l_ld; entry->d_tag != DT_NULL; entry++)
		if ((entry->d_tag == DT_HASH || entry->d_tag == DT_GNU_HASH) &&
		    (entry->d_un.d_ptr & -sys_page_size()) == object->l_addr)
			return 1;
	return 0;
}

/* Without dl_iterate_phdr: the program may have one that is not ready (a sanitizer's); and the first call
 * takes five microseconds, as the page it is in is mapped for it. */
AT_LOAD static uintptr_t object_of(uintptr_t address)
{
	const struct link_map *found = NULL;

	for (const struct link_map *object = _r_debug.r_map; object; object = object->l_next)
		if (object->l_addr <= address && (!found || object->l_addr > found->l_addr))
			found = object;
	return found && has_header(found) ? found->l_addr : 0;
}

/* Has the object made the range read-only once it was relocated (PT_GNU_RELRO)? */
static int is_relro(const struct range *range)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)range->object;
	const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(range->object + header->e_phoff);
	const uintptr_t page = sys_page_size();

	if (!bytes_behind(ELFMAG, (const char *)header->e_ident) ||
	    header->e_phoff + header->e_phnum * sizeof(*segment) > page)
		return 0;
	for (int i = 0; i < header->e_phnum; i++, segment++) {
		uintptr_t start = range->object + segment->p_vaddr, end = start + segment->p_memsz;

		/* The loader protects whole pages only (elf/dl-reloc.c, _dl_protect_relro). */
		if (segment->p_type == PT_GNU_RELRO && (start & -page) <= range->start && range->end <= (end & -page))
			return 1;
	}
	return 0;
}

AT_LOAD void streams_prepare(void)
{
	include(&tables, _IO_file_jumps);
	include(&tables, _IO_wfile_jumps);
	tables.object = object_of(tables.start);
	if (tables.object && table_of(stdout) == (void *)_IO_file_jumps && is_as_expected(_IO_file_jumps) &&
	    is_as_expected(_IO_wfile_jumps))
		atomic_store(&streams, STREAMS_SEEABLE);
	else
		report_message(LOG_INFO, "libc's stream tables are not as expected: no windows for FILE streams");
}

static int protect(int protection)
{
	return (int)SYS3(SYS_mprotect, tables.start, tables.end - tables.start, protection);
}

/* Other threads may be reading it. */
static void change(void **table)
{
	__atomic_store_n(entry_for(table, (void *)_IO_file_write), (void *)stream_write, __ATOMIC_RELEASE);
	__atomic_store_n(entry_for(table, (void *)_IO_file_close), (void *)stream_close, __ATOMIC_RELEASE);
}

/* Returns what streams are then. All or nothing: a stream can turn wide. */
static int install(void)
{
	int relro = is_relro(&tables);
	int changed = relro && is_as_expected(_IO_file_jumps) && is_as_expected(_IO_wfile_jumps) &&
		      protect(PROT_READ | PROT_WRITE) == 0;

	if (changed) {
		change(_IO_file_jumps);
		change(_IO_wfile_jumps);
	} else {
		report_message(LOG_INFO, "libc's stream tables cannot be changed: no windows for FILE streams");
	}
	if (relro)
		protect(PROT_READ);
	return changed ? STREAMS_SEEN : STREAMS_UNSEEN;
}

void streams_install(void)
{
	int expected = STREAMS_SEEABLE;

	if (atomic_compare_exchange_strong(&streams, &expected, STREAMS_BUSY))
		atomic_store(&streams, install());
}

#else

int streams_number(FILE *stream)
{
	return fileno_unlocked(stream);
}

AT_LOAD void streams_prepare(void)
{
	report_message(LOG_INFO, "this libc's streams cannot be seen: no windows for them");
}

void streams_install(void)
{
}

#endif

/* While another thread is at it, they are not. */
int streams_seen(void)
{
	if (atomic_load(&streams) == STREAMS_SEEABLE && library_is_active())
		streams_install();
	return atomic_load(&streams) == STREAMS_SEEN;
}

/* What open(2) is given for mode (fopen(3)). */
static int flags_of(const char *mode)
{
	int flags = bytes_find(mode, strlen(mode), "+") ? O_RDWR : O_WRONLY;

	if (mode[0] == 'w')
		flags |= O_CREAT | O_TRUNC;
	else if (mode[0] == 'a')
		flags |= O_CREAT | O_APPEND;
	else if (mode[0] != 'r' || flags == O_WRONLY)
		return O_RDONLY;
	return bytes_find(mode, strlen(mode), "x") ? flags | O_EXCL : flags;
}

/* Writes that are not seen must not be to files that are known; an O_APPEND one never is. */
static FILE *opened(FILE *stream, const char *mode, unsigned before)
{
	int flags = flags_of(mode);

	if (stream && window_possible() && (flags == O_RDONLY || flags & O_APPEND || streams_seen()))
		window_opened(streams_number(stream), flags, before);
	return stream;
}

#define FOPEN(name)                                                 \
	HOOK FILE *name(const char *path, const char *mode)         \
	{                                                           \
		unsigned before = window_moment();                  \
                                                                    \
		return opened(real.name(path, mode), mode, before); \
	}
FOPEN(fopen)
FOPEN(fopen64)
HOOK FILE *_IO_fopen(const char *path, const char *mode) SAME_AS(fopen);

/* Without a path the same file is opened again; in both cases, under the same number
 * (libio/freopen.c), so that what another thread writes meanwhile is as with dup2. */
#define FREOPEN(name)                                                                       \
	HOOK FILE *name(const char *path, const char *mode, FILE *stream)                   \
	{                                                                                   \
		unsigned before = window_moment();                                          \
		FILE *result;                                                               \
                                                                                            \
		window_end(streams_number(stream));                                         \
		result = real.name(path, mode, stream);                                     \
		return path && !may_have_threads() ? opened(result, mode, before) : result; \
	}
FREOPEN(freopen)
FREOPEN(freopen64)

/* "a" makes the description append from now on. */
HOOK FILE *fdopen(int fd, const char *mode)
{
	if (mode[0] == 'a' || (window_of(fd) && !streams_seen()))
		window_end(fd);
	return real.fdopen(fd, mode);
}
HOOK FILE *_IO_fdopen(int fd, const char *mode) SAME_AS(fdopen);

/* From glibc 2.37 these write without a stream. */
HOOK int vdprintf(int fd, const char *format, va_list arguments)
{
	window_end(fd);
	return real.vdprintf(fd, format, arguments);
}

/* The headers declare neither of these to everybody. */
HOOK int dprintf(int fd, const char *format, ...);
HOOK int __dprintf_chk(int fd, int flag, const char *format, ...);

HOOK int dprintf(int fd, const char *format, ...)
{
	va_list arguments;
	int result;

	va_start(arguments, format);
	window_end(fd);
	result = real.vdprintf(fd, format, arguments);
	va_end(arguments);
	return result;
}

HOOK int __vdprintf_chk(int fd, int flag, const char *format, va_list arguments)
{
	window_end(fd);
	return real.__vdprintf_chk(fd, flag, format, arguments);
}

HOOK int __dprintf_chk(int fd, int flag, const char *format, ...)
{
	va_list arguments;
	int result;

	va_start(arguments, format);
	window_end(fd);
	result = real.__vdprintf_chk(fd, flag, format, arguments);
	va_end(arguments);
	return result;
}
