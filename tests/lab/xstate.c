/*
 * xstate.c - lets an older User-Mode Linux run on a CPU with AVX-512 or AMX.
 *
 * UML (6.1, as in Debian 12) saves and restores the floating-point state of its guest
 * processes with PTRACE_GETREGSET and PTRACE_SETREGSET through a buffer of 832
 * bytes (x87, SSE, AVX).  Host kernels refuse to set anything but the whole
 * state (EFAULT), so on a CPU with more of it the guest dies at once with
 * "ptrace set fp regs failed, errno = 14".
 *
 * Preloaded into linux.uml, this ptrace() always exchanges the whole state with
 * the host.  What does not fit the caller's buffer is remembered under the
 * buffer's address (UML has one such buffer per guest task) and put back when
 * the same buffer is set again.
 *
 * Known limit: UML saves only its 832 bytes in a signal frame, so a signal
 * handler in the guest does not give back the AVX-512 registers of the code it
 * interrupted.  The lab therefore keeps the guest's libc away from them with
 * GLIBC_TUNABLES.
 *
 * Build:  cc -O2 -shared -fPIC -o xstate.so xstate.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
	STATE_MAX = 16384,   /* more than any CPU's state so far (AMX: 11008) */
	HEADER = 512,        /* where the XSAVE header, first xstate_bv, lies */
	LEGACY_FEATURES = 7, /* xstate_bv of x87, SSE and AVX: in 832 bytes */
	SLOTS = 8192         /* a power of two; untouched slots cost nothing */
};

struct slot {
	const void *owner; /* the caller's buffer, NULL in a free slot */
	size_t size;       /* of the whole state */
	unsigned char state[STATE_MAX];
};

static struct slot slots[SLOTS];
static unsigned char whole[STATE_MAX];
static size_t whole_size; /* as the host reported it; 0: not known yet */

/* The slot of that buffer: its own, else a free one, else the first it could be. */
static struct slot *slot_of(const void *owner)
{
	size_t home = (size_t)((uintptr_t)owner * 0x9E3779B97F4A7C15u >> 51);

	for (size_t i = 0; i < SLOTS; i++) {
		struct slot *s = &slots[(home + i) & (SLOTS - 1)];
		if (s->owner == owner || !s->owner)
			return s;
	}
	return &slots[home & (SLOTS - 1)];
}

typedef long ptrace_fn(long, pid_t, void *, void *);
static ptrace_fn *next;

static long get_state(pid_t pid, void *type, struct iovec *want)
{
	struct iovec iov = {whole, sizeof whole};
	long rc = next(PTRACE_GETREGSET, pid, type, &iov);

	if (rc)
		return rc;
	whole_size = iov.iov_len;
	if (want->iov_len >= whole_size) {
		want->iov_len = whole_size;
	} else {
		struct slot *s = slot_of(want->iov_base);
		s->owner = want->iov_base;
		s->size = whole_size;
		memcpy(s->state + want->iov_len, whole + want->iov_len, whole_size - want->iov_len);
	}
	memcpy(want->iov_base, whole, want->iov_len);
	return 0;
}

static long set_state(pid_t pid, void *type, struct iovec *given)
{
	if (!whole_size) {
		struct iovec probe = {whole, sizeof whole};
		long rc = next(PTRACE_GETREGSET, pid, type, &probe);
		if (rc)
			return rc;
		whole_size = probe.iov_len;
	}
	if (given->iov_len >= whole_size || given->iov_len < HEADER + 8)
		return next(PTRACE_SETREGSET, pid, type, given);

	const struct slot *s = slot_of(given->iov_base);
	int known = s->owner == given->iov_base && s->size == whole_size;

	memcpy(whole, given->iov_base, given->iov_len);
	if (known) {
		memcpy(whole + given->iov_len, s->state + given->iov_len, whole_size - given->iov_len);
	} else {
		/* A new task's buffer, copied from its parent's: the rest is "as reset". */
		uint64_t features;
		memcpy(&features, whole + HEADER, sizeof features);
		features &= LEGACY_FEATURES;
		memcpy(whole + HEADER, &features, sizeof features);
		memset(whole + given->iov_len, 0, whole_size - given->iov_len);
	}

	struct iovec iov = {whole, whole_size};
	return next(PTRACE_SETREGSET, pid, type, &iov);
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list args;
	va_start(args, request);
	pid_t pid = va_arg(args, pid_t);
	void *addr = va_arg(args, void *);
	void *data = va_arg(args, void *);
	va_end(args);

	if (!next)
		next = (ptrace_fn *)dlsym(RTLD_NEXT, "ptrace");
	if ((uintptr_t)addr == NT_X86_XSTATE) {
		if (request == PTRACE_GETREGSET)
			return get_state(pid, addr, data);
		if (request == PTRACE_SETREGSET)
			return set_state(pid, addr, data);
	}
	return next(request, pid, addr, data);
}
