/* program.h: what a program is, as far as preloading is concerned: found along PATH, followed
 * through #!, read with libelf. */
#ifndef FASTALLOC_PROGRAM_H
#define FASTALLOC_PROGRAM_H

#include <limits.h>
#include <sys/stat.h>

struct program {
	char path[PATH_MAX];    /* what is executed in the end: for a script its interpreter */
	char loader[PATH_MAX];  /* the dynamic loader it names; empty: none, it is static */
	int elf_class, machine; /* as in elf.h */
	int is_go;              /* built by the Go compiler */
	int is_loader;          /* it is a dynamic loader itself */
	int gains_privileges;   /* set-user-ID, set-group-ID or with file capabilities, for us */
};

/* Find name along PATH as execvp(3) does; path receives it. Returns 0, or ENOENT, EACCES,
 * ENAMETOOLONG. */
int program_find(const char *name, char path[PATH_MAX]);

/* Look at the program at path, and behind its #! line (and env) at the interpreter. Returns 0;
 * ENOEXEC where it is no ELF file; or another errno where it cannot be read. */
int program_examine(const char *path, struct program *program);

#endif
