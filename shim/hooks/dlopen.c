/* dlopen, dlmopen: a library that is opened with RTLD_DEEPBIND, or in a namespace of its own, finds
 * libc's functions before ours, or another libc's, so that what it writes to a file that is known
 * would be seen by nobody (window.h). */
#include "hook.h"
#include "policy.h"
#include "report.h"
#include "window.h"

#include <dlfcn.h>

static void no_windows(const char *message)
{
	if (!window_possible())
		return;
	report_message(LOG_INFO, message);
	window_off();
}

static void before_deepbind(long *mode)
{
	if (policy_of_program(KEY_DEEPBIND) == DEEPBIND_IGNORE)
		*mode &= ~(long)RTLD_DEEPBIND;
	else
		no_windows("the program opened a library with RTLD_DEEPBIND: no windows any more "
			   "(see deepbind in preload.conf)");
}

/* Where they search depends on who called them (dlopen(3), RUNPATH and $ORIGIN): they are
 * jumped to, with what this leaves in argument[0], the mode. */
__attribute__((used)) static void *before_dlopen(long *argument)
{
	if (argument[0] & RTLD_DEEPBIND && library_is_active())
		before_deepbind(argument);
	return (void *)real.dlopen;
}

/* argument[2]: the namespace. */
__attribute__((used)) static void *before_dlmopen(long *argument)
{
	if (library_is_active()) {
		if (argument[2] != LM_ID_BASE)
			no_windows("the program opened a library in a namespace of its own: no windows any more");
		else if (argument[0] & RTLD_DEEPBIND)
			before_deepbind(argument);
	}
	return (void *)real.dlmopen;
}

#if defined(__x86_64__)
__asm__(".text\n.globl dlopen\n.type dlopen, @function\n"
	"dlopen:\n.cfi_startproc\n"
	"endbr64\n"
	"pushq %rdi\n.cfi_adjust_cfa_offset 8\n"
	"pushq %rsi\n.cfi_adjust_cfa_offset 8\n"
	"movq %rsp, %rdi\n"
	"subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
	"call before_dlopen\n"
	"addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
	"popq %rsi\n.cfi_adjust_cfa_offset -8\n"
	"popq %rdi\n.cfi_adjust_cfa_offset -8\n"
	"jmp *%rax\n"
	".cfi_endproc\n.size dlopen, . - dlopen\n"
	".globl dlmopen\n.type dlmopen, @function\n"
	"dlmopen:\n.cfi_startproc\n"
	"endbr64\n"
	"pushq %rdi\n.cfi_adjust_cfa_offset 8\n"
	"pushq %rsi\n.cfi_adjust_cfa_offset 8\n"
	"pushq %rdx\n.cfi_adjust_cfa_offset 8\n"
	"movq %rsp, %rdi\n"
	"call before_dlmopen\n"
	"popq %rdx\n.cfi_adjust_cfa_offset -8\n"
	"popq %rsi\n.cfi_adjust_cfa_offset -8\n"
	"popq %rdi\n.cfi_adjust_cfa_offset -8\n"
	"jmp *%rax\n"
	".cfi_endproc\n.size dlmopen, . - dlmopen\n");
#elif defined(__i386__)
/* The arguments lie on the stack, the mode last: it is changed there. */
__asm__(".text\n.globl dlopen\n.type dlopen, @function\n"
	"dlopen:\n.cfi_startproc\n"
	"endbr32\n"
	"leal 8(%esp), %eax\n"
	"subl $8, %esp\n.cfi_adjust_cfa_offset 8\n"
	"pushl %eax\n.cfi_adjust_cfa_offset 4\n"
	"call before_dlopen\n"
	"addl $12, %esp\n.cfi_adjust_cfa_offset -12\n"
	"jmp *%eax\n"
	".cfi_endproc\n.size dlopen, . - dlopen\n"
	".globl dlmopen\n.type dlmopen, @function\n"
	"dlmopen:\n.cfi_startproc\n"
	"endbr32\n"
	"pushl 4(%esp)\n.cfi_adjust_cfa_offset 4\n"
	"pushl 12(%esp)\n.cfi_adjust_cfa_offset 4\n"
	"pushl 20(%esp)\n.cfi_adjust_cfa_offset 4\n"
	"movl %esp, %eax\n"
	"subl $12, %esp\n.cfi_adjust_cfa_offset 12\n"
	"pushl %eax\n.cfi_adjust_cfa_offset 4\n"
	"call before_dlmopen\n"
	"addl $16, %esp\n.cfi_adjust_cfa_offset -16\n"
	"popl %edx\n.cfi_adjust_cfa_offset -4\n"
	"addl $8, %esp\n.cfi_adjust_cfa_offset -8\n"
	"movl %edx, 12(%esp)\n"
	"jmp *%eax\n"
	".cfi_endproc\n.size dlmopen, . - dlmopen\n");
#elif defined(__aarch64__)
/* "hint 34" is BTI's landing pad, "bti c" to newer assemblers; what is jumped to by x16 may have one, too. */
__asm__(".text\n.globl dlopen\n.type dlopen, %function\n"
	"dlopen:\n.cfi_startproc\n"
	"hint 34\n"
	"stp x29, x30, [sp, -32]!\n.cfi_adjust_cfa_offset 32\n.cfi_rel_offset x29, 0\n.cfi_rel_offset x30, 8\n"
	"stp x1, x0, [sp, 16]\n"
	"add x0, sp, 16\n"
	"bl before_dlopen\n"
	"mov x16, x0\n"
	"ldp x1, x0, [sp, 16]\n"
	"ldp x29, x30, [sp], 32\n.cfi_adjust_cfa_offset -32\n.cfi_restore x29\n.cfi_restore x30\n"
	"br x16\n"
	".cfi_endproc\n.size dlopen, . - dlopen\n"
	".globl dlmopen\n.type dlmopen, %function\n"
	"dlmopen:\n.cfi_startproc\n"
	"hint 34\n"
	"stp x29, x30, [sp, -48]!\n.cfi_adjust_cfa_offset 48\n.cfi_rel_offset x29, 0\n.cfi_rel_offset x30, 8\n"
	"stp x2, x1, [sp, 16]\n"
	"str x0, [sp, 32]\n"
	"add x0, sp, 16\n"
	"bl before_dlmopen\n"
	"mov x16, x0\n"
	"ldp x2, x1, [sp, 16]\n"
	"ldr x0, [sp, 32]\n"
	"ldp x29, x30, [sp], 48\n.cfi_adjust_cfa_offset -48\n.cfi_restore x29\n.cfi_restore x30\n"
	"br x16\n"
	".cfi_endproc\n.size dlmopen, . - dlmopen\n");
#endif
