/* sys_call (sys.h): what the kernel says of call n, with six arguments, in ebx to ebp. */
	.text
	.globl	sys_call
	.hidden	sys_call
	.type	sys_call, @function
sys_call:
	.cfi_startproc
	pushl	%ebp
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %ebp, 0
	pushl	%edi
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %edi, 0
	pushl	%esi
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %esi, 0
	pushl	%ebx
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %ebx, 0
	movl	20(%esp), %eax
	movl	24(%esp), %ebx
	movl	28(%esp), %ecx
	movl	32(%esp), %edx
	movl	36(%esp), %esi
	movl	40(%esp), %edi
	movl	44(%esp), %ebp
	int	$0x80
	popl	%ebx
	.cfi_adjust_cfa_offset -4
	.cfi_restore %ebx
	popl	%esi
	.cfi_adjust_cfa_offset -4
	.cfi_restore %esi
	popl	%edi
	.cfi_adjust_cfa_offset -4
	.cfi_restore %edi
	popl	%ebp
	.cfi_adjust_cfa_offset -4
	.cfi_restore %ebp
	ret
	.cfi_endproc
	.size	sys_call, . - sys_call
	.section .note.GNU-stack, "", @progbits
