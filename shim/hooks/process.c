/* Children and helpers that may write to our files unseen: while they are made, and
 * where they share descriptors for good, there are no windows (window.h). */
#include "process.h"

#include "hook.h"

#include <sched.h>

#include "layout.h"
#include "window.h"

#ifdef __GLIBC__

/* pthread_atfork is this call, as an object file of its own in every library that uses it. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *object)
	__attribute__((weak));

static int watch_forks(void)
{
	return __register_atfork && !__register_atfork(window_suspend, window_resume, window_resume_in_child, NULL);
}

#else

#include <pthread.h>

static int watch_forks(void)
{
	return !pthread_atfork(window_suspend, window_resume, window_resume_in_child);
}

#endif

CONSTANT_AT_LOAD static const char liburing[] = "/liburing";

AT_LOAD void process_watch(void)
{
	/* It writes through a ring, and sets it up with system calls of its own. */
	if (real_has_object(liburing))
		window_off();
	if (!watch_forks())
		window_off();
}

HOOK pid_t _Fork(void)
{
	pid_t child;

	window_suspend();
	child = real._Fork();
	if (child == 0)
		window_resume_in_child();
	else
		window_resume();
	return child;
}

/* What comes back here twice must not come back through a frame of ours: vfork is
 * jumped to. Its child shares our memory, so that no later moment is its end. */
__attribute__((used)) static void *before_vfork(void)
{
	window_off();
	return (void *)real.vfork;
}

#if defined(__x86_64__)
__asm__(".text\n.globl vfork\n.globl __vfork\n.type vfork, @function\n.type __vfork, @function\n"
	"vfork:\n__vfork:\n.cfi_startproc\n"
	"endbr64\n"
	"subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
	"call before_vfork\n"
	"addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
	"jmp *%rax\n"
	".cfi_endproc\n.size vfork, . - vfork\n.size __vfork, . - __vfork\n");
#elif defined(__i386__)
__asm__(".text\n.globl vfork\n.globl __vfork\n.type vfork, @function\n.type __vfork, @function\n"
	"vfork:\n__vfork:\n.cfi_startproc\n"
	"endbr32\n"
	"subl $12, %esp\n.cfi_adjust_cfa_offset 12\n"
	"call before_vfork\n"
	"addl $12, %esp\n.cfi_adjust_cfa_offset -12\n"
	"jmp *%eax\n"
	".cfi_endproc\n.size vfork, . - vfork\n.size __vfork, . - __vfork\n");
#elif defined(__aarch64__)
/* As in dlopen.c. */
__asm__(".text\n.globl vfork\n.globl __vfork\n.type vfork, %function\n.type __vfork, %function\n"
	"vfork:\n__vfork:\n.cfi_startproc\n"
	"hint 34\n"
	"stp x29, x30, [sp, -16]!\n.cfi_adjust_cfa_offset 16\n.cfi_rel_offset x29, 0\n.cfi_rel_offset x30, 8\n"
	"bl before_vfork\n"
	"mov x16, x0\n"
	"ldp x29, x30, [sp], 16\n.cfi_adjust_cfa_offset -16\n.cfi_restore x29\n.cfi_restore x30\n"
	"br x16\n"
	".cfi_endproc\n.size vfork, . - vfork\n.size __vfork, . - __vfork\n");
#endif

HOOK int clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
	void *a, *b, *c;
	va_list arguments;

	va_start(arguments, argument);
	a = va_arg(arguments, void *);
	b = va_arg(arguments, void *);
	c = va_arg(arguments, void *);
	va_end(arguments);
	window_off();
	return real.clone(function, stack, flags, argument, a, b, c);
}

HOOK int __clone(int (*function)(void *), void *stack, int flags, void *argument, ...) SAME_AS(clone);

/* Our table is of one set of descriptors. */
HOOK int unshare(int flags)
{
	if (flags & CLONE_FILES)
		window_off();
	return real.unshare(flags);
}

HOOK int system(const char *command)
{
	int result;

	window_suspend();
	result = real.system(command);
	window_resume();
	return result;
}

HOOK FILE *popen(const char *command, const char *mode)
{
	FILE *stream;

	window_suspend();
	stream = real.popen(command, mode);
	window_resume();
	return stream;
}

HOOK FILE *_IO_popen(const char *command, const char *mode) SAME_AS(popen);

/* Commands in words are run by a shell, which libc spawns on its own. */
HOOK int wordexp(const char *words, wordexp_t *expansion, int flags)
{
	int error;

	window_suspend();
	error = real.wordexp(words, expansion, flags);
	window_resume();
	return error;
}

#define SPAWN(name)                                                                                \
	HOOK int name(int *pid, const char *path, const posix_spawn_file_actions_t *actions,       \
		      const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) \
	{                                                                                          \
		int error;                                                                         \
                                                                                                   \
		window_suspend();                                                                  \
		error = real.name(pid, path, actions, attributes, argv, envp);                     \
		window_resume();                                                                   \
		return error;                                                                      \
	}
SPAWN(posix_spawn)
SPAWN(posix_spawnp)
SPAWN(pidfd_spawn)
SPAWN(pidfd_spawnp)

/* These write from threads inside libc. */
HOOK int aio_write(struct aiocb *request)
{
	window_end(request->aio_fildes);
	return real.aio_write(request);
}

HOOK int aio_write64(struct aiocb64 *request)
{
	window_end(request->aio_fildes);
	return real.aio_write64(request);
}

HOOK int lio_listio(int mode, struct aiocb *const *list, int count, struct sigevent *event)
{
	window_off();
	return real.lio_listio(mode, list, count, event);
}

HOOK int lio_listio64(int mode, struct aiocb64 *const *list, int count, struct sigevent *event)
{
	window_off();
	return real.lio_listio64(mode, list, count, event);
}
