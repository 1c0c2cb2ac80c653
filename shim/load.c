/* load.c: the constructor. It runs before the program's own code and before other
 * libraries' constructors (-z initfirst): resolve, configure, switch on.
 *
 * There is no tearing down: other destructors, and stdio after them, still call us. */
#include <sys/auxv.h>

#include "active.h"
#include "bytes.h"
#include "config.h"
#include "policy.h"
#include "process.h"
#include "real.h"
#include "report.h"
#include "source.h"
#include "streams.h"
#include "sys.h"
#include "layout.h"
#include "watch.h"
#include "window.h"

atomic_int library_active;

static struct source source;
TABLE static struct config config;

/* What the environment can say, and what it says: values, NULL where it does not. */
enum { CONFIG, DISABLE, LOG, STATS, WATCH, XDG_CONFIG_HOME, HOME, LD_AUDIT, VARIABLES };
CONSTANT_AT_LOAD static const char names[VARIABLES][20] = {
	"FASTALLOC_CONFIG=", "FASTALLOC_DISABLE=", "FASTALLOC_LOG=", "FASTALLOC_STATS=",
	"FASTALLOC_WATCH=",  "XDG_CONFIG_HOME=",   "HOME=",          "LD_AUDIT=",
};

/* In one pass: there may be many variables, few of which begin as ours. Of two of a name the
 * first counts. */
static void read_environment(const char *said[VARIABLES], char **envp)
{
	const char *value;

	for (; *envp; envp++) {
		if (**envp != 'F' && **envp != 'X' && **envp != 'H' && **envp != 'L')
			continue;
		for (int i = 0; i < VARIABLES; i++)
			if ((value = bytes_behind(names[i], *envp)) && !said[i])
				said[i] = value;
	}
}

static const char *last_component(const char *path)
{
	const char *last = path;

	for (; *path; path++)
		if (*path == '/')
			last = path + 1;
	return last;
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

static void configure(const char *const said[VARIABLES])
{
	const struct source_environment used = {said[CONFIG], said[XDG_CONFIG_HOME], said[HOME]};
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

static void start(const char *const said[VARIABLES])
{
	if (said[WATCH] && *said[WATCH]) {
		/* Whatever comes of it: nothing but observing is wanted. */
		if (!watch_init(said[WATCH])) {
			streams_prepare();
			streams_install();
		}
		return;
	}
	report_init(said[LOG], said[STATS], program());
	configure(said);
	atomic_store(&library_active, 1);
}

/* glibc hands constructors main's arguments (elf/dl-init.c), musl does not. environ
 * itself is set by libc's constructor, which runs after ours. */
#ifdef __GLIBC__
AT_LOAD __attribute__((constructor)) static void load(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
#else
extern char **environ;
AT_LOAD __attribute__((constructor)) static void load(void)
{
	char **envp = environ;
#endif
	const char *said[VARIABLES] = {NULL};
	int saved = errno;

	if (!getauxval(AT_SECURE))
		read_environment(said, envp);
	real_resolve(!!said[LD_AUDIT]);
	if (!said[DISABLE] || said[DISABLE][0] != '1' || said[DISABLE][1])
		start(said);
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
