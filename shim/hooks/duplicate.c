/* dup and its kin, fcntl, sendmsg: who else may write to a file that is known (window.h). */
#include "hook.h"

#include <string.h>

#include "window.h"

HOOK int dup(int fd)
{
	unsigned known = window_duplicate(fd);
	int result = real.dup(fd);

	if (known)
		window_duplicated(known, result);
	return result;
}

/* `to` is closed by the call; it may have been known itself. */
#define DUP2(name, parameters, ...)                       \
	HOOK int name parameters                          \
	{                                                 \
		unsigned known;                           \
		int result;                               \
                                                          \
		if (fd == to)                             \
			return real.name(__VA_ARGS__);    \
		window_closing(to);                       \
		known = window_duplicate(fd);             \
		result = real.name(__VA_ARGS__);          \
		if (known)                                \
			window_duplicated(known, result); \
		return result;                            \
	}
DUP2(dup2, (int fd, int to), fd, to)
DUP2(__dup2, (int fd, int to), fd, to)
DUP2(dup3, (int fd, int to, int flags), fd, to, flags)

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
		window_duplicated(known, result);                     \
		return result;                                        \
	}
FCNTL(fcntl)
FCNTL(fcntl64)
FCNTL(__fcntl)

static void pass_on(const struct msghdr *message)
{
	struct cmsghdr *header = message->msg_control ? CMSG_FIRSTHDR(message) : NULL;

	for (; header; header = CMSG_NXTHDR((struct msghdr *)message, header)) {
		size_t count;

		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
			window_end(fd);
		}
	}
}

HOOK ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	if (message && window_any())
		pass_on(message);
	return real.sendmsg(fd, message, flags);
}

HOOK int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	for (unsigned i = 0; messages && i < count && window_any(); i++)
		pass_on(&messages[i].msg_hdr);
	return real.sendmmsg(fd, messages, count, flags);
}
