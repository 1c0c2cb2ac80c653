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
#include "table.h"
#include "watch.h"
#include "window.h"

atomic_int library_active;

static struct source source;
TABLE static struct config config;

/* What the environment says, each NULL where it does not. */
struct environment {
	const char *config, *disable, *log, *statistics, *watch, *xdg_config_home, *home, *audit;
};

/* What follows start in string, or NULL. */
static const char *behind(const char *start, const char *string)
{
	for (; *start; start++, string++)
		if (*start != *string)
			return NULL;
	return string;
}

/* In one pass: there may be many variables. Of two of a name the first counts. */
static void read_environment(struct environment *said, char **envp)
{
	const char *ours, *value;

	for (; *envp; envp++) {
		ours = behind("FASTALLOC_", *envp);
#define TAKE(member, name, string)                              \
	if (!said->member && (value = behind(name "=", string))) \
	said->member = value
		if (ours) {
			TAKE(config, "CONFIG", ours);
			TAKE(disable, "DISABLE", ours);
			TAKE(log, "LOG", ours);
			TAKE(statistics, "STATS", ours);
			TAKE(watch, "WATCH", ours);
		}
		TAKE(xdg_config_home, "XDG_CONFIG_HOME", *envp);
		TAKE(home, "HOME", *envp);
		TAKE(audit, "LD_AUDIT", *envp);
#undef TAKE
	}
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

static void configure(const struct environment *said)
{
	const struct source_environment used = {said->config, said->xdg_config_home, said->home};
	struct first_error first;

	source_find(&source, &used);
	first = (struct first_error){source.path, 0};
	if (source.problem)
		report_configuration(source.path, 0, 0, source.problem);
	/* Most programs run without a file: the built-in one needs no parsing. */
	if (source.problem || !source.path || config_parse(&config, source.text, source.length, tell, &first))
		source_built_in_rules(&config);
	policy_init(&config, program());
	window_init();
	if (!window_possible())
		return;
	process_watch();
	if (policy_may_differ(KEY_STDIO, STDIO_OFF))
		streams_prepare();
}

static void start(const struct environment *said)
{
	if (said->watch && *said->watch) {
		/* Whatever comes of it: nothing but observing is wanted. */
		if (!watch_init(said->watch)) {
			streams_prepare();
			streams_install();
		}
		return;
	}
	report_init(said->log, said->statistics, program());
	configure(said);
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
	struct environment said = {NULL};
	int saved = errno;

	if (!getauxval(AT_SECURE))
		read_environment(&said, envp);
	real_resolve(!!said.audit);
	if (!said.disable || strcmp(said.disable, "1") != 0)
		start(&said);
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
