/* fastalloc: see, try and set up what libfastalloc.so does. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "config.h"

static const struct subcommand {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *summary;
} subcommands[] = {
	{"run", run_main, "run a program with the library (also without this word)"},
	{"explain", explain_main, "say what is done with a file, and why"},
	{"check", check_main, "check a configuration file"},
	{"probe", probe_main, "try out what a file system supports"},
	{"tune", tune_main, "measure what is best for a directory, and configure it"},
	{"watch", watch_main, "run a program and report how its files grew"},
	{"extents", extents_main, "show the pieces that files are in"},
	{"trim", trim_main, "give back blocks past the end of files"},
	{"stats", stats_main, "sum what FASTALLOC_STATS wrote"},
};

#define COUNT (sizeof(subcommands) / sizeof(*subcommands))

static int help(void)
{
	printf("Usage: fastalloc SUBCOMMAND [OPTION...] ...\n"
	       "       fastalloc PROGRAM [ARGUMENT...]\n\n"
	       "Makes file allocation fast and truthful for programs as they are.\n\n");
	for (size_t i = 0; i < COUNT; i++)
		printf("  %-9s %s\n", subcommands[i].name, subcommands[i].summary);
	printf("\n  --help, --version\n\n"
	       "fastalloc SUBCOMMAND --help says more; so does fastalloc(1).\n");
	return finish(0);
}

/* The program does not exist: was a subcommand meant? */
static void suggest(const char *word)
{
	const char *names[COUNT + 1] = {NULL}, *nearest;

	for (size_t i = 0; i < COUNT; i++)
		names[i] = subcommands[i].name;
	nearest = config_nearest(names, (struct text){word, strlen(word)});
	if (nearest)
		fprintf(stderr, "Did you mean 'fastalloc %s'?\n", nearest);
}

int main(int argc, char **argv)
{
	static char name[] = "fastalloc"; /* what getopt's messages begin with */
	const char *word = argc > 1 ? argv[1] : NULL;
	int status;

	setlocale(LC_CTYPE, ""); /* names may be UTF-8; numbers stay as they are */
	if (!word) {
		fputs("fastalloc: a program or a subcommand is missing\n", stderr);
		return usage_error(NULL);
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		return help();
	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		printf("fastalloc %s\n", VERSION);
		return finish(0);
	}
	for (size_t i = 0; i < COUNT; i++)
		if (!strcmp(word, subcommands[i].name)) {
			argv[1] = name;
			return subcommands[i].main(argc - 1, argv + 1);
		}
	argv[0] = name;
	status = run_main(argc, argv);
	if (status == 127 && *word != '-') /* without an option, it comes back only where nothing was run */
		suggest(word);
	return status;
}
