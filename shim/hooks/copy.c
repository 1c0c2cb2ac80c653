/* copy_file_range, sendfile, splice: writes whose length is known from the other side. */
#include "sys.h"
#include "write.h"

/* Where a call reads or writes, by an offset of that size (off_t may have 32 bits); one that cannot
 * be read is the kernel's to refuse. */
static off64_t position(const void *offset, size_t size)
{
	union {
		off_t plain;
		off64_t wide;
	} at;

	if (!offset || sys_read_memory(&at, offset, size))
		return WINDOW_AT_POSITION;
	return size == sizeof(at.wide) ? at.wide : at.plain;
}

/* How much of length there is to read; 0 where that cannot be told. */
static size_t available(int in, const void *offset, size_t size, size_t length)
{
	struct statx stx;
	off64_t at;

	if (sys_statx(in, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE, &stx) < 0 || !S_ISREG(stx.stx_mode))
		return 0;
	at = position(offset, size);
	if (at == WINDOW_AT_POSITION)
		at = sys_lseek(in, 0, SEEK_CUR);
	if (at < 0 || (uint64_t)at >= stx.stx_size)
		return 0;
	return stx.stx_size - (uint64_t)at < length ? (size_t)(stx.stx_size - (uint64_t)at) : length;
}

/* Between file systems the kernel refuses, and cp goes on by itself: the next file is not
 * worth a look before. */
static atomic_int refused;

static ssize_t copied(ssize_t result)
{
	if (result != 0 && (result > 0 || errno == EXDEV))
		atomic_store_explicit(&refused, result < 0, memory_order_relaxed);
	return result;
}

HOOK ssize_t copy_file_range(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t length, unsigned flags)
{
	unsigned known = window_of(out);

	if (!known)
		return WITH_SPACE(ssize_t, real.copy_file_range(in, in_offset, out, out_offset, length, flags));
	RETURN_KNOWN_WRITE(known, out, position(out_offset, sizeof(*out_offset)),
			   atomic_load_explicit(&refused, memory_order_relaxed)
				   ? 0
				   : available(in, in_offset, sizeof(*in_offset), length),
			   copied(real.copy_file_range(in, in_offset, out, out_offset, length, flags)));
}

#define SENDFILE(name, offset_type)                                                                                \
	HOOK ssize_t name(int out, int in, offset_type *offset, size_t length)                                     \
	{                                                                                                          \
		unsigned known = window_of(out);                                                                   \
                                                                                                                   \
		if (!known)                                                                                        \
			return WITH_SPACE(ssize_t, real.name(out, in, offset, length));                            \
		RETURN_KNOWN_WRITE(known, out, WINDOW_AT_POSITION, available(in, offset, sizeof(*offset), length), \
				   real.name(out, in, offset, length));                                            \
	}
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

/* What is read is a pipe, as a rule: how much there is, is known afterwards. */
HOOK ssize_t splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t length, unsigned flags)
{
	unsigned known = window_of(out);

	if (!known)
		return WITH_SPACE(ssize_t, real.splice(in, in_offset, out, out_offset, length, flags));
	RETURN_KNOWN_WRITE(known, out, position(out_offset, sizeof(*out_offset)), 0,
			   real.splice(in, in_offset, out, out_offset, length, flags));
}
