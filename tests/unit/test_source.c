#include "source.h"

#include "config.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct source source;
static char directory[64];

static void in_directory(void)
{
	snprintf(directory, sizeof(directory), "/tmp/fastalloc-XXXXXX");
	cr_assert_not_null(mkdtemp(directory));
	cr_assert_eq(chdir(directory), 0);
}

static void remove_directory(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(system(command), 0);
}

TestSuite(source, .init = in_directory, .fini = remove_directory);

static void make(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file, "%s", path);
	fputs(text, file);
	fclose(file);
}

static void text_is(const char *text)
{
	cr_assert_null(source.problem, "%s", source.problem);
	cr_assert_eq(source.length, strlen(text));
	cr_expect_eq(memcmp(source.text, text, source.length), 0);
}

Test(source, reads_the_whole_of_a_file)
{
	make("a", "[default]\n");
	cr_expect_eq(source_read(&source, "a"), 0);
	text_is("[default]\n");
	cr_expect_str_eq(source.path, "a");
}

Test(source, an_empty_file_is_a_configuration)
{
	make("a", "");
	cr_expect_eq(source_read(&source, "a"), 0);
	text_is("");
}

static void fails(const char *path, int error, const char *problem)
{
	cr_expect_eq(source_read(&source, path), error, "%s", path);
	cr_expect_str_eq(source.problem, problem);
	cr_expect_null(source.text);
	cr_expect_str_eq(source.path, path);
}

Test(source, says_what_is_wrong)
{
	make("file", "");
	make("large", "");
	cr_assert_eq(truncate("large", (1 << 20) + 1), 0);
	cr_assert_eq(mkfifo("fifo", 0600), 0);
	cr_assert_eq(symlink("loop", "loop"), 0);
	fails("none", ENOENT, "no such file");
	fails("file/none", ENOTDIR, "no such file");
	fails("loop", ELOOP, "cannot be opened");
	fails("fifo", EINVAL, "is not a regular file");
	fails(".", EINVAL, "is not a regular file");
	fails("large", EINVAL, "is larger than 1 MiB");
}

Test(source, built_in_is_the_stock_file)
{
	static char text[1 << 20];
	FILE *file = fopen(STOCK_CONF, "r");

	cr_assert_not_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	source_built_in(&source);
	cr_expect_null(source.path);
	text_is(text);
}

Test(source, built_in_rules_are_those_of_the_stock_file)
{
	static struct config parsed, built_in;

	source_built_in(&source);
	cr_assert_eq(config_parse(&parsed, source.text, source.length, NULL, NULL), 0);
	source_built_in_rules(&built_in);
	cr_expect_eq(built_in.sections, parsed.sections);
	cr_assert_eq(built_in.count, parsed.count);
	for (unsigned i = 0; i < parsed.count; i++) {
		const struct rule *a = &built_in.rule[i], *b = &parsed.rule[i];

		cr_expect(a->section == b->section && a->names.at == b->names.at && a->names.length == b->names.length,
			  "rule %u: section and names", i);
		cr_expect(a->set == b->set && a->repeated == b->repeated, "rule %u: keys", i);
		cr_expect_arr_eq(a->value, b->value, sizeof(a->value), "rule %u: values", i);
		cr_expect_arr_eq(a->at, b->at, sizeof(a->at), "rule %u: places", i);
	}
}

/* Of $FASTALLOC_CONFIG, $XDG_CONFIG_HOME and $HOME, the first that has one. */
static void finds(const char *config, const char *xdg, const char *home, const char *text)
{
	struct source_environment environment = {config, xdg, home};

	source_find(&source, &environment);
	text_is(text);
}

Test(source, is_looked_for_in_order)
{
	char xdg[80], home[80];

	snprintf(xdg, sizeof(xdg), "%s/xdg", directory);
	snprintf(home, sizeof(home), "%s/home", directory);
	cr_assert_eq(system("mkdir -p xdg/fastalloc home/.config/fastalloc"), 0);
	make("named", "# named\n");
	make("xdg/fastalloc/preload.conf", "# xdg\n");
	make("home/.config/fastalloc/preload.conf", "# home\n");
	finds("named", xdg, home, "# named\n");
	finds("", xdg, home, "# xdg\n");
	finds(NULL, xdg, home, "# xdg\n");
	finds(NULL, "", home, "# home\n");
	finds(NULL, NULL, home, "# home\n");
}

Test(source, a_named_file_must_be_there)
{
	struct source_environment environment = {"none", NULL, NULL};

	source_find(&source, &environment);
	cr_expect_str_eq(source.problem, "no such file");
	cr_expect_str_eq(source.path, "none");
}
