#include "preload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elf.h>

#include "child.h"
#include "command.h"
#include "program.h"

#define FILE_NAME "/libfastalloc.so"

static int ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), count = strlen(end);

	return length >= count && !strcmp(text + length - count, end);
}

/* What $LIB means to the programs of a loader, with a slash before it: glibc's loader lies in that
 * directory, below / or /usr. Empty where that cannot be told. */
static void lib_of(const char *loader, char lib[PATH_MAX])
{
	char real[PATH_MAX], *slash;
	size_t usr;

	lib[0] = '\0';
	if (!loader[0] || !realpath(loader, real))
		return;
	slash = strrchr(real, '/');
	*slash = '\0';
	usr = strncmp(real, "/usr/", 5) ? 0 : 4;
	memcpy(lib, real + usr, strlen(real + usr) + 1);
}

/* Finding it */

static int is_there(const char *path)
{
	return access(path, R_OK) == 0;
}

/* The command may have been installed below another root (DESTDIR). */
static int find_path(char path[PATH_MAX])
{
	static const char installed[] = BINDIR "/fastalloc";
	char command[PATH_MAX] = "", *end;
	ssize_t length = readlink("/proc/self/exe", command, sizeof(command) - 1);

	command[length > 0 ? length : 0] = '\0';
	if (ends_with(command, installed)) {
		int root = (int)(strlen(command) - strlen(installed));

		if (snprintf(path, PATH_MAX, "%.*s" LIBDIR FILE_NAME, root, command) < PATH_MAX && is_there(path))
			return 0;
	} else if (ends_with(command, "/tools/fastalloc/fastalloc")) {
		end = command + strlen(command) - strlen("/tools/fastalloc/fastalloc");
		snprintf(end, (size_t)(command + PATH_MAX - end), FILE_NAME);
		memcpy(path, command, PATH_MAX);
		if (is_there(path))
			return 0;
	}
	snprintf(path, PATH_MAX, LIBDIR FILE_NAME);
	return is_there(path) ? 0 : ENOENT;
}

/* How LD_PRELOAD names it: $LIB in place of our own, where the path has that. */
static void name_it(struct library *library)
{
	char lib[PATH_MAX], end[PATH_MAX + sizeof(FILE_NAME)];
	struct program self;

	memcpy(library->preload, library->path, PATH_MAX);
	if (program_examine("/proc/self/exe", &self))
		return;
	lib_of(self.loader, lib);
	snprintf(end, sizeof(end), "%s" FILE_NAME, lib);
	if (lib[0] && ends_with(library->path, end) && strlen(end) > strlen("/$LIB" FILE_NAME))
		snprintf(library->preload + strlen(library->path) - strlen(end), sizeof("/$LIB" FILE_NAME),
			 "/$LIB" FILE_NAME);
}

int library_find(struct library *library)
{
	if (find_path(library->path)) {
		complain(library->path, "no such library; is fastalloc installed?");
		return 1;
	}
	if (strpbrk(library->path, " :")) {
		complain(library->path, "LD_PRELOAD cannot name a path with blanks or colons; install it elsewhere");
		return 1;
	}
	name_it(library);
	return 0;
}

/* LD_PRELOAD */

int library_preload(const struct library *library)
{
	const char *before = getenv("LD_PRELOAD");
	char *rest = strdup(before ? before : ""), *value = NULL, *at = NULL;
	size_t size;
	FILE *stream = open_memstream(&value, &size);
	int failed = 1;

	if (rest && stream) {
		fputs(library->preload, stream);
		for (char *word = strtok_r(rest, " :", &at); word; word = strtok_r(NULL, " :", &at))
			if (!ends_with(word, FILE_NAME) && strcmp(word, &FILE_NAME[1]) != 0)
				fprintf(stream, ":%s", word);
		failed = fclose(stream) || setenv("LD_PRELOAD", value, 1);
	}
	if (failed)
		complain_errno("LD_PRELOAD", ENOMEM);
	free(value);
	free(rest);
	return failed;
}

/* Programs */

static int is_musl(const struct program *program)
{
	return strstr(program->loader, "/ld-musl") != NULL;
}

/* Is there a library for programs of another ABI than ours? Its path is told. */
static int has_other(const struct library *library, const struct program *program, char path[PATH_MAX])
{
	char lib[PATH_MAX];
	int length = (int)(strlen(library->preload) - strlen("/$LIB" FILE_NAME));
	struct program other;

	lib_of(program->loader, lib);
	if (!ends_with(library->preload, "/$LIB" FILE_NAME) || !lib[0]) {
		memcpy(path, library->path, PATH_MAX);
		return 0;
	}
	return snprintf(path, PATH_MAX, "%.*s%s" FILE_NAME, length, library->preload, lib) < PATH_MAX &&
	       !program_examine(path, &other) && other.elf_class == program->elf_class &&
	       other.machine == program->machine;
}

static int refuse(const struct program *program, const char *reason, const char *detail)
{
	complain(program->path, "not run: %s %s", reason, detail);
	return 1;
}

static int without(const struct program *program, const char *reason)
{
	complain(program->path, "runs without the library: %s", reason);
	return 0;
}

int library_suits(const struct library *library, const char *path)
{
	struct program self, program;
	char other[PATH_MAX];

	/* What cannot be read or is no ELF file is for exec to judge. */
	if (program_examine("/proc/self/exe", &self) || program_examine(path, &program))
		return 0;
	if (!program.loader[0] && !program.is_loader)
		return without(&program, "it is statically linked");
	if (is_musl(&program) != is_musl(&self))
		return refuse(&program, "it has another libc than the library:", program.loader);
	if ((program.elf_class != self.elf_class || program.machine != self.machine) &&
	    !has_other(library, &program, other))
		return refuse(&program,
			      program.elf_class == self.elf_class
				      ? "it is for another machine, and no such library is at"
			      : program.elf_class == ELFCLASS32 ? "it is a 32-bit program, and no such library is at"
								: "it is a 64-bit program, and no such library is at",
			      other);
	if (program.gains_privileges)
		return without(&program, "it is set-user-ID, set-group-ID or has capabilities");
	if (program.is_go)
		return without(&program, "it is a Go program, which makes its own system calls");
	return 0;
}

int library_prepare(const char *program, char path[PATH_MAX])
{
	struct library library;
	int error = program_find(program, path);

	if (error) {
		complain_errno(program, error);
		return child_exec_status(error);
	}
	return library_find(&library) || library_suits(&library, path) || library_preload(&library);
}
