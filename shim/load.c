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
#include "source.h"
#include "streams.h"
#include "sys.h"
#include "watch.h"
#include "window.h"

atomic_int library_active;

static struct source source;
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

static void configure(char **envp, int trusted)
{
	struct source_environment used = {NULL, NULL, NULL};
	struct first_error first;

	if (trusted) {
		used.config = environment(envp, "FASTALLOC_CONFIG");
		used.xdg_config_home = environment(envp, "XDG_CONFIG_HOME");
		used.home = environment(envp, "HOME");
	}
	source_find(&source, &used);
	first = (struct first_error){source.path, 0};
	if (source.problem)
		report_configuration(source.path, 0, 0, source.problem);
	if (source.problem || config_parse(&config, source.text, source.length, tell, &first)) {
		source_built_in(&source);
		config_parse(&config, source.text, source.length, NULL, NULL);
	}
	policy_init(&config, program());
	window_init();
	if (!window_possible())
		return;
	process_watch();
	if (policy_may_differ(KEY_STDIO, STDIO_OFF))
		streams_install();
}

static void start(char **envp, int trusted)
{
	const char *watched = trusted ? environment(envp, "FASTALLOC_WATCH") : NULL;

	if (watched && *watched) {
		/* Whatever comes of it: nothing but observing is wanted. */
		if (!watch_init(watched))
			streams_install();
		return;
	}
	report_init(trusted ? environment(envp, "FASTALLOC_LOG") : NULL,
		    trusted ? environment(envp, "FASTALLOC_STATS") : NULL, program());
	configure(envp, trusted);
	atomic_store(&library_active, 1);
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
	if (!disabled || strcmp(disabled, "1") != 0)
		start(envp, trusted);
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
