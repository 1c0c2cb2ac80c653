#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Along PATH */

static int try_path(const char *path)
{
	struct stat stat_buffer;

	if (stat(path, &stat_buffer) < 0)
		return errno == ENOTDIR ? ENOENT : errno;
	if (!S_ISREG(stat_buffer.st_mode) || access(path, X_OK) < 0)
		return EACCES;
	return 0;
}

int program_find(const char *name, char path[PATH_MAX])
{
	const char *at = getenv("PATH");
	int result = ENOENT;

	if (!*name)
		return ENOENT;
	if (strchr(name, '/')) {
		if (snprintf(path, PATH_MAX, "%s", name) >= PATH_MAX)
			return ENAMETOOLONG;
		return try_path(path);
	}
	if (!at)
		at = "/bin:/usr/bin";
	for (;; at++) {
		size_t length = strcspn(at, ":");

		/* An empty entry is the current directory. */
		if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, at, length ? "/" : "./", name) < PATH_MAX) {
			int error = try_path(path);

			if (!error)
				return 0;
			if (error == EACCES)
				result = EACCES;
		}
		at += length;
		if (!*at)
			return result;
	}
}

/* Scripts */

/* The program that env runs: the first word that is neither an option nor a variable. */
static const char *after_env(char *arguments)
{
	char *rest = NULL;

	for (char *word = strtok_r(arguments, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
		if (word[0] != '-' && !strchr(word, '='))
			return word;
	return "";
}

/* path is that of a script whose first line is given, without its "#!": make it that of the
 * interpreter. */
static int follow_script(char *line, char path[PATH_MAX])
{
	char *interpreter = line + strspn(line, " \t");
	char *arguments = interpreter + strcspn(interpreter, " \t");

	if (*arguments)
		*arguments++ = '\0';
	if (!strcmp(basename(interpreter), "env"))
		return program_find(after_env(arguments), path);
	snprintf(path, PATH_MAX, "%s", interpreter);
	return *interpreter ? 0 : ENOEXEC;
}

/* ELF */

static int has_go_sections(Elf *elf)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return 0;
	for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (name && (!strcmp(name, ".go.buildinfo") || !strcmp(name, ".note.go.buildid")))
			return 1;
	}
	return 0;
}

/* A shared object without a loader: static-pie says so in its flags, else it is a loader. */
static int is_static_pie(Elf *elf)
{
	for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
		GElf_Shdr header;
		Elf_Data *data;
		GElf_Dyn entry;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC ||
		    !(data = elf_getdata(section, NULL)))
			continue;
		for (int i = 0; gelf_getdyn(data, i, &entry); i++)
			if (entry.d_tag == DT_FLAGS_1)
				return (entry.d_un.d_val & DF_1_PIE) != 0;
	}
	return 0;
}

static void read_loader(Elf *elf, int fd, char loader[PATH_MAX])
{
	GElf_Phdr header;
	size_t count;

	loader[0] = '\0';
	if (elf_getphdrnum(elf, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		ssize_t got;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_INTERP || header.p_filesz >= PATH_MAX)
			continue;
		got = pread(fd, loader, header.p_filesz, (off_t)header.p_offset);
		loader[got > 0 ? got : 0] = '\0';
		return;
	}
}

static int read_elf(int fd, struct program *program)
{
	GElf_Ehdr header;
	Elf *elf;
	int error = ENOEXEC;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header)) {
		program->elf_class = header.e_ident[EI_CLASS];
		program->machine = header.e_machine;
		read_loader(elf, fd, program->loader);
		program->is_go = has_go_sections(elf);
		program->is_loader = header.e_type == ET_DYN && !program->loader[0] && !is_static_pie(elf);
		error = 0;
	}
	elf_end(elf);
	return error;
}

/* As the kernel decides AT_SECURE: file capabilities are nothing to root. */
static int gains_privileges(int fd)
{
	struct stat file;
	struct statvfs mount;

	if (fstat(fd, &file) < 0 || fstatvfs(fd, &mount) < 0 || (mount.f_flag & ST_NOSUID) ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return 0;
	return ((file.st_mode & S_ISUID) && file.st_uid != getuid()) ||
	       ((file.st_mode & S_ISGID) && (file.st_mode & S_IXGRP) && file.st_gid != getgid()) ||
	       (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

/* Returns 0, an errno, or -1 when path now names the interpreter of what it named. */
static int examine_file(char path[PATH_MAX], struct program *program)
{
	char start[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t got;
	int error;

	if (fd < 0)
		return errno;
	got = pread(fd, start, sizeof(start) - 1, 0);
	start[got > 0 ? got : 0] = '\0';
	if (!strncmp(start, "#!", 2)) {
		start[strcspn(start, "\n")] = '\0';
		error = follow_script(start + 2, path);
		error = error ? error : -1;
	} else {
		program->gains_privileges = gains_privileges(fd);
		error = read_elf(fd, program);
	}
	close(fd);
	return error;
}

int program_examine(const char *path, struct program *program)
{
	enum { INTERPRETERS_MAX = 5 }; /* as the kernel */
	int error = -1;

	memset(program, 0, sizeof(*program));
	if (snprintf(program->path, PATH_MAX, "%s", path) >= PATH_MAX)
		return ENAMETOOLONG;
	for (int i = 0; i < INTERPRETERS_MAX && error < 0; i++)
		error = examine_file(program->path, program);
	return error < 0 ? ELOOP : error;
}
