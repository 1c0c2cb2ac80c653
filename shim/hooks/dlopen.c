/* dlopen: a library that is opened with RTLD_DEEPBIND finds libc's functions before ours,
 * so that what it writes to a file that is known would be seen by nobody (window.h). */
#include "hook.h"
#include "policy.h"
#include "report.h"
#include "window.h"

#include <dlfcn.h>

/* Where it searches depends on who called it (dlopen(3), RUNPATH and $ORIGIN): it is
 * jumped to, with what this leaves in `mode`. */
__attribute__((used)) static void *before_dlopen(long *mode)
{
	if (!(*mode & RTLD_DEEPBIND) || !library_is_active())
		return (void *)real.dlopen;
	if (policy_of_program(KEY_DEEPBIND) == DEEPBIND_IGNORE) {
		*mode &= ~(long)RTLD_DEEPBIND;
	} else if (window_possible()) {
		report_message(LOG_INFO, "the program opened a library with RTLD_DEEPBIND: no windows any more "
					 "(see deepbind in preload.conf)");
		window_off();
	}
	return (void *)real.dlopen;
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
	".cfi_endproc\n.size dlopen, . - dlopen\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl dlopen\n.type dlopen, %function\n"
	"dlopen:\n.cfi_startproc\n"
	"stp x29, x30, [sp, -32]!\n.cfi_adjust_cfa_offset 32\n.cfi_rel_offset x29, 0\n.cfi_rel_offset x30, 8\n"
	"stp x1, x0, [sp, 16]\n"
	"add x0, sp, 16\n"
	"bl before_dlopen\n"
	"mov x16, x0\n"
	"ldp x1, x0, [sp, 16]\n"
	"ldp x29, x30, [sp], 32\n.cfi_adjust_cfa_offset -32\n.cfi_restore x29\n.cfi_restore x30\n"
	"br x16\n"
	".cfi_endproc\n.size dlopen, . - dlopen\n");
#endif
