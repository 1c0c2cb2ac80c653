/* prctl and syscall: notice a seccomp filter being installed (active.h), and calls
 * that hide a writer from us (window.h). */
#include "change.h"
#include "hook.h"
#include "resize.h"
#include "watch.h"
#include "window.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static atomic_int filtered; /* a filter is in place: never again */

/* The filter is there before the call returns, for every thread if it says so. */
static int go_quiet(void)
{
	watch_off();
	window_off(); /* the last chance to give back what lies past EOF */
	return atomic_exchange(&library_active, 0);
}

static void go_on(int was_active, int failed)
{
	if (!failed)
		atomic_store(&filtered, 1);
	else if (!atomic_load(&filtered))
		atomic_store(&library_active, was_active);
}

HOOK int prctl(int option, ...)
{
	unsigned long a, b, c, d;
	int was_active, result;
	va_list arguments;

	va_start(arguments, option);
	a = va_arg(arguments, unsigned long);
	b = va_arg(arguments, unsigned long);
	c = va_arg(arguments, unsigned long);
	d = va_arg(arguments, unsigned long);
	va_end(arguments);
	if (option != PR_SET_SECCOMP)
		return real.prctl(option, a, b, c, d);
	was_active = go_quiet();
	result = real.prctl(option, a, b, c, d);
	go_on(was_active, result < 0);
	return result;
}
WITH_TIME64(int __prctl_time64(int option, ...), prctl)

/* What our hooks for these calls would have done, on the safe side. */
static void watch(long number, long a, long b, long c)
{
	switch (number) {
	case SYS_write:
	case SYS_pwrite64:
	case SYS_writev:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_ftruncate:
	case SYS_fallocate:
	case SYS_dup:
	case SYS_fcntl:
	case SYS_ioctl:
	case SYS_fchown:
	case SYS_fchmod:
	case SYS_close:
#ifdef __i386__
	case SYS_ftruncate64:
	case SYS_fcntl64:
	case SYS_fchown32:
#endif
		window_end((int)a);
		break;
#ifdef SYS_pidfd_getfd
	case SYS_pidfd_getfd:
		window_end((int)b);
		break;
#endif
#ifdef SYS_fork
	case SYS_fork:
	case SYS_vfork:
	case SYS_dup2:
#endif
	case SYS_dup3:
	case SYS_unshare:
	case SYS_clone:
#ifdef SYS_clone3
	case SYS_clone3:
#endif
	case SYS_close_range:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_sendfile:
	case SYS_splice:
	case SYS_copy_file_range:
	case SYS_io_setup:
	case SYS_io_uring_setup:
#ifdef __i386__
	case SYS_sendfile64:
	case SYS_socketcall: /* sendmsg, for one */
#endif
		window_off();
		break;
	case SYS_capset:
		window_end_range(0, UINT32_MAX);
		break;
	case SYS_setuid:
#ifdef __i386__
	case SYS_setuid32:
#endif
		change_user((uid_t)a, (uid_t)a, (uid_t)a);
		break;
	case SYS_setreuid:
#ifdef __i386__
	case SYS_setreuid32:
#endif
		change_user((uid_t)a, (uid_t)b, (uid_t)b);
		break;
	case SYS_setresuid:
#ifdef __i386__
	case SYS_setresuid32:
#endif
		change_user((uid_t)a, (uid_t)b, (uid_t)c);
		break;
#ifdef SYS_landlock_restrict_self
	case SYS_landlock_restrict_self: /* it can forbid to truncate what is opened from then on */
		resize_restricted();
		window_off();
		break;
#endif
	default:
		break;
	}
}

/* Does it concern files that are opened later, too? */
static int is_for_good(long number)
{
#ifdef SYS_landlock_restrict_self
	if (number == SYS_landlock_restrict_self)
		return 1;
#endif
	return number == SYS_io_uring_setup || number == SYS_io_setup;
}

HOOK long syscall(long number, ...)
{
	long a, b, c, d, e, f, result;
	int was_active;
	va_list arguments;

	va_start(arguments, number);
	a = va_arg(arguments, long);
	b = va_arg(arguments, long);
	c = va_arg(arguments, long);
	d = va_arg(arguments, long);
	e = va_arg(arguments, long);
	f = va_arg(arguments, long);
	va_end(arguments);
	if (window_any() || is_for_good(number))
		watch(number, a, b, c);
	if (number != SYS_seccomp || (a != SECCOMP_SET_MODE_STRICT && a != SECCOMP_SET_MODE_FILTER))
		return real.syscall(number, a, b, c, d, e, f);
	was_active = go_quiet();
	result = real.syscall(number, a, b, c, d, e, f);
	go_on(was_active, result < 0);
	return result;
}
