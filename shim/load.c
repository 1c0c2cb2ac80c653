/* load.c: the constructor. It runs before the program's own code and before other
 * libraries' constructors (-z initfirst): resolve, configure, switch on.
 *
 * There is no tearing down: other destructors, and stdio after them, still call us. */
#include <string.h>
#include <sys/auxv.h>

#include "active.h"
#include "config.h"
#include "policy.h"
#include "process.h"
#include "real.h"
#include "report.h"
#include "streams.h"
#include "sys.h"
#include "window.h"

#include "stock_conf.h" /* preload.conf itself, made by the build: const char stock_conf[] */

atomic_int library_active;

static struct config config;

static const char *environment(char **envp, const char *name)
{
	size_t length = strlen(name);

	for (; *envp; envp++)
		if (!strncmp(*envp, name, length) && (*envp)[length] == '=')
			return *envp + length + 1;
	return NULL;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The program's file name: for a script its own, not the interpreter's. */
static const char *program(void)
{
	/* Through long, as getauxval's result is an address here (getauxval(3)). */
	const char *executed = (const char *)getauxval(AT_EXECFN);

	return executed ? last_component(executed) : "";
}

/* The first error only: one message, whatever the number. */
struct first_error {
	const char *file;
	int told;
};

static void tell(void *context, const struct config_error *error)
{
	struct first_error *first = context;

	if (first->told++)
		return;
	report_configuration(first->file, error->line, error->column, error->message);
}

/* The whole of a file, or NULL with *problem set; kept mapped, as rules point into it. */
static const char *read_whole(int fd, size_t *length, const char **problem)
{
	struct statx stx;
	size_t done = 0;
	ssize_t got;
	char *text;

	*problem = "is not a regular file";
	if (sys_statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE, &stx) < 0 || !S_ISREG(stx.stx_mode))
		return NULL;
	*problem = "is larger than 1 MiB";
	if (stx.stx_size > CONFIG_MAX_BYTES)
		return NULL;
	*problem = "cannot be read";
	text = sys_mmap(stx.stx_size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_map_failed(text))
		return NULL;
	while (done < stx.stx_size) {
		got = sys_read(fd, text + done, stx.stx_size - done);
		if (got == -EINTR)
			continue;
		if (got < 0)
			return NULL;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	*length = done;
	return text;
}

/* Returns 0 when path was there and in order, ENOENT when not there, EACCES when
 * it cannot be read, EINVAL when told about. */
static int configure_from(const char *path)
{
	struct first_error first = {path, 0};
	const char *text, *problem;
	size_t length;
	int fd;

	/* A FIFO must not hang us, nor a terminal become ours. */
	fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd == -ENOENT || fd == -ENOTDIR)
		return ENOENT;
	if (fd == -EACCES)
		return EACCES;
	if (fd < 0) {
		report_configuration(path, 0, 0, "cannot be opened");
		return EINVAL;
	}
	text = read_whole(fd, &length, &problem);
	sys_close(fd);
	if (!text) {
		report_configuration(path, 0, 0, problem);
		return EINVAL;
	}
	return config_parse(&config, text, length, tell, &first) ? EINVAL : 0;
}

static int join(char *to, size_t size, const char *directory, const char *rest)
{
	size_t a = strlen(directory), b = strlen(rest);

	if (a == 0 || directory[0] != '/' || a + b + 1 > size)
		return 0;
	memcpy(to, directory, a);
	memcpy(to + a, rest, b + 1);
	return 1;
}

/* Returns 0 when one of the files was used. */
static int configure_from_files(char **envp, int trusted)
{
	const char *named = trusted ? environment(envp, "FASTALLOC_CONFIG") : NULL;
	const char *xdg = trusted ? environment(envp, "XDG_CONFIG_HOME") : NULL;
	const char *home = trusted ? environment(envp, "HOME") : NULL;
	char path[1024];
	int result;

	if (named && *named) {
		result = configure_from(named);
		if (result == ENOENT || result == EACCES)
			report_configuration(named, 0, 0, result == ENOENT ? "no such file" : "permission denied");
		return result;
	}
	if ((xdg && join(path, sizeof(path), xdg, "/fastalloc/preload.conf")) ||
	    ((!xdg || !*xdg) && home && join(path, sizeof(path), home, "/.config/fastalloc/preload.conf"))) {
		result = configure_from(path);
		/* Not ours to read: HOME is often inherited from another user. */
		if (result != ENOENT && result != EACCES)
			return result;
	}
	return configure_from(SYSCONFDIR "/fastalloc/preload.conf");
}

static void configure(char **envp, int trusted)
{
	if (configure_from_files(envp, trusted))
		config_parse(&config, stock_conf, sizeof(stock_conf) - 1, NULL, NULL);
	policy_init(&config, program());
	window_init();
	if (!window_possible())
		return;
	process_watch();
	if (policy_may_differ(KEY_STDIO, STDIO_OFF))
		streams_install();
}

/* glibc hands constructors main's arguments (elf/dl-init.c), musl does not. environ
 * itself is set by libc's constructor, which runs after ours. */
#ifdef __GLIBC__
__attribute__((constructor)) static void load(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
#else
extern char **environ;
__attribute__((constructor)) static void load(void)
{
	char **envp = environ;
#endif
	int saved = errno;
	int trusted = !getauxval(AT_SECURE);
	const char *disabled = trusted ? environment(envp, "FASTALLOC_DISABLE") : NULL;

	real_resolve();
	if (!disabled || strcmp(disabled, "1") != 0) {
		report_init(trusted ? environment(envp, "FASTALLOC_LOG") : NULL,
			    trusted ? environment(envp, "FASTALLOC_STATS") : NULL, program());
		configure(envp, trusted);
		atomic_store(&library_active, 1);
	}
	errno = saved;
}

/* Ours is loaded first and so unloaded last: what is counted is complete but for
 * calls that stdio's own last flush makes. _exit, exec and signals write nothing. */
__attribute__((destructor)) static void unload(void)
{
	int saved = errno;

	/* What stdio flushes after us is written without windows. */
	window_off();
	if (library_is_active())
		report_statistics();
	errno = saved;
}
