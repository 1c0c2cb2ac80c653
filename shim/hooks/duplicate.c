/* dup and its kin, fcntl, sendmsg: who else may write to a file that is known (window.h). */
#include "hook.h"

#include "streams.h"
#include "sys.h"
#include "window.h"

/* There may be a stream on the new descriptor's number, as on those of stdout and its like. */
static void duplicated(unsigned known, int fd)
{
	int seen = streams_seen();

	window_duplicated(known, fd);
	if (!seen && fd >= 0 && fd <= STDERR_FILENO)
		window_end(fd);
}

HOOK int dup(int fd)
{
	unsigned known = window_duplicate(fd);
	int result = real.dup(fd);

	if (known)
		duplicated(known, result);
	return result;
}

/* `to` is closed by the call. Another thread may be about to write to what it was, and be
 * counted there: what it becomes is not known then. */
#define DUP2(name, parameters, ...)                    \
	HOOK int name parameters                       \
	{                                              \
		unsigned known;                        \
		int result;                            \
                                                       \
		if (fd == to)                          \
			return real.name(__VA_ARGS__); \
		window_end(to);                        \
		if (may_have_threads())                \
			window_end(fd);                \
		known = window_duplicate(fd);          \
		result = real.name(__VA_ARGS__);       \
		if (known)                             \
			duplicated(known, result);     \
		return result;                         \
	}
DUP2(dup2, (int fd, int to), fd, to)
DUP2(__dup2, (int fd, int to), fd, to)
DUP2(dup3, (int fd, int to, int flags), fd, to, flags)

/* Of whatever process: a number of ours that happens to be the same loses its window, no more. */
HOOK int pidfd_getfd(int pidfd, int fd, unsigned flags)
{
	window_end(fd);
	return real.pidfd_getfd(pidfd, fd, flags);
}

static int is_duplication(int command)
{
	return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

/* The program takes over what we need ourselves, or makes all writes go to the end. */
static int ends_windows(int command, const void *argument)
{
	return command == F_SETLEASE || command == F_SETOWN || command == F_SETOWN_EX || command == F_SETSIG ||
	       (command == F_SETFL && (long)argument & (O_APPEND | O_ASYNC));
}

#define FCNTL(name)                                                   \
	HOOK int name(int fd, int command, ...)                       \
	{                                                             \
		unsigned known = window_of(fd);                       \
		va_list arguments;                                    \
		void *argument;                                       \
		int result;                                           \
                                                                      \
		va_start(arguments, command);                         \
		argument = va_arg(arguments, void *);                 \
		va_end(arguments);                                    \
		if (!known || !is_duplication(command)) {             \
			if (known && ends_windows(command, argument)) \
				window_end(fd);                       \
			return real.name(fd, command, argument);      \
		}                                                     \
		known = window_duplicate(fd);                         \
		result = real.name(fd, command, argument);            \
		duplicated(known, result);                            \
		return result;                                        \
	}
FCNTL(fcntl)
FCNTL(fcntl64)
#if defined(__i386__) && defined(__GLIBC__)
/* Until glibc 2.28 fcntl took F_OFD_* locks of 64 bits only: it was what fcntl64 is. */
__asm__(".symver fcntl, fcntl@@@GLIBC_2.28\n"
	".globl fcntl_of_2_0\n.set fcntl_of_2_0, fcntl64\n.symver fcntl_of_2_0, fcntl@GLIBC_2.0, remove\n");
#endif
FCNTL(__fcntl)
WITH_TIME64(int __fcntl_time64(int fd, int command, ...), fcntl64)

/* The most that are passed in one message (net/core/scm.c, SCM_MAX_FD). */
#define MOST_PASSED 253

/* Descriptors that are passed on, in the data of a control message. */
static void end_passed(const char *data, size_t length)
{
	int passed[MOST_PASSED] = {0};
	size_t count = length / sizeof(int);

	if (count > MOST_PASSED || sys_read_memory(passed, data, count * sizeof(int)))
		return; /* the kernel refuses it, too */
	for (size_t i = 0; i < count; i++)
		window_end(passed[i]);
}

static void pass_on(const struct msghdr *at)
{
	struct msghdr message;
	struct cmsghdr header;

	if (sys_read_memory(&message, at, sizeof(message)) || !message.msg_control)
		return;
	for (size_t done = 0; done + sizeof(header) <= message.msg_controllen; done += CMSG_ALIGN(header.cmsg_len)) {
		const char *control = (const char *)message.msg_control + done;

		if (sys_read_memory(&header, control, sizeof(header)) || header.cmsg_len < sizeof(header) ||
		    header.cmsg_len > message.msg_controllen - done)
			return;
		if (header.cmsg_level == SOL_SOCKET && header.cmsg_type == SCM_RIGHTS)
			end_passed(control + CMSG_LEN(0), header.cmsg_len - CMSG_LEN(0));
	}
}

HOOK ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	if (window_any())
		pass_on(message);
	return real.sendmsg(fd, message, flags);
}
WITH_TIME64(ssize_t __sendmsg64(int fd, const struct msghdr *message, int flags), sendmsg)

HOOK int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	for (unsigned i = 0; i < count && i < UIO_MAXIOV && window_any(); i++)
		pass_on(&messages[i].msg_hdr);
	return real.sendmmsg(fd, messages, count, flags);
}
WITH_TIME64(int __sendmmsg64(int fd, struct mmsghdr *messages, unsigned count, int flags), sendmmsg)
