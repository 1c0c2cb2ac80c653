#include "config.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef STOCK_CONF
#define STOCK_CONF "preload.conf"
#endif

/* What the last parse left; every test runs in a process of its own. */
static struct config config;
static struct config_error errors[1024];
static unsigned error_count;

static void note_error(void *context, const struct config_error *error)
{
	(void)context;
	if (error_count < sizeof(errors) / sizeof(errors[0]))
		errors[error_count] = *error;
	error_count++;
}

static unsigned parse_bytes(const char *text, size_t length)
{
	/* A copy without a byte to spare, so that the sanitizer sees what is read beyond. */
	static char *copy;

	free(copy);
	copy = malloc(length ? length : 1);
	cr_assert_not_null(copy);
	memcpy(copy, text, length);
	error_count = 0;
	return config_parse(&config, copy, length, note_error, NULL);
}

static void parse(const char *text)
{
	unsigned count = parse_bytes(text, strlen(text));

	cr_assert_eq(count, 0, "%u errors, the first: %u:%u: %s", count, errors[0].line, errors[0].column,
		     errors[0].message);
}

static uint64_t resolve(struct subject subject, enum key key)
{
	struct policy policy;

	config_resolve(&config, &subject, &policy);
	return policy.value[key];
}

#define RESOLVE(key, ...) resolve((struct subject){__VA_ARGS__}, key)

static void is_error(unsigned i, unsigned line, unsigned column, const char *message)
{
	cr_assert_lt(i, error_count, "only %u errors", error_count);
	cr_expect_str_eq(errors[i].message, message);
	cr_expect_eq(errors[i].line, line, "line %u of: %s", errors[i].line, message);
	cr_expect_eq(errors[i].column, column, "column %u of: %s", errors[i].column, message);
}

/* text has one error, this one. */
static void fails(const char *text, unsigned line, unsigned column, const char *message)
{
	cr_expect_eq(parse_bytes(text, strlen(text)), 1, "%u errors in: %s", error_count, text);
	is_error(0, line, column, message);
}

static void size_is(const char *word, uint64_t value)
{
	char text[128];

	snprintf(text, sizeof(text), "[default]\nzero_fill_max = %s\n", word);
	parse(text);
	cr_expect_eq(RESOLVE(KEY_ZERO_FILL_MAX), value, "%s", word);
}

static void no_size(const char *word)
{
	char text[128], message[192];

	snprintf(text, sizeof(text), "[default]\nzero_fill_max = %s\n", word);
	snprintf(message, sizeof(message), "\"%s\" is not a size; write e.g. 64K, 16M, 1G or unlimited", word);
	fails(text, 2, 17, message);
}

static int glob(const char *pattern, const char *path)
{
	return config_glob((struct text){pattern, strlen(pattern)}, path);
}

/* Built-in values */

Test(defaults, are_those_of_the_manual)
{
	struct policy policy;

	config_defaults(&policy);
	cr_expect_eq(policy.value[KEY_POSIX_FALLOCATE], POSIX_FALLOCATE_AUTO);
	cr_expect_eq(policy.value[KEY_FALLOCATE], FALLOCATE_NATIVE);
	cr_expect_eq(policy.value[KEY_FTRUNCATE], FTRUNCATE_NATIVE);
	cr_expect_eq(policy.value[KEY_FTRUNCATE_MAX], SIZE_UNLIMITED);
	cr_expect_eq(policy.value[KEY_ZERO_FILL_MAX], SIZE_UNLIMITED);
	cr_expect_eq(policy.value[KEY_SYNC], SYNC_AUTO);
}

Test(defaults, rule_where_nothing_is_configured)
{
	struct policy policy, built_in;
	struct subject subject = {.fstype = "ext4", .mount = "/", .path = "/a", .program = "p"};

	parse("");
	config_defaults(&built_in);
	config_resolve(&config, &subject, &policy);
	cr_expect_arr_eq(&policy, &built_in, sizeof(policy));
}

/* Keys and words */

static void word_is(enum key key, const char *name, const char *word, uint64_t value)
{
	char text[128];

	snprintf(text, sizeof(text), "[default]\n%s = %s\n", name, word);
	parse(text);
	cr_expect_eq(resolve((struct subject){0}, key), value, "%s = %s", name, word);
	cr_expect_eq(config.rule[0].set, 1U << key);
	cr_expect_str_eq(config_word(key, value), word);
}

Test(keys, posix_fallocate_takes_its_words)
{
	word_is(KEY_POSIX_FALLOCATE, "posix_fallocate", "auto", POSIX_FALLOCATE_AUTO);
	word_is(KEY_POSIX_FALLOCATE, "posix_fallocate", "native", POSIX_FALLOCATE_NATIVE);
	word_is(KEY_POSIX_FALLOCATE, "posix_fallocate", "sparse", POSIX_FALLOCATE_SPARSE);
	word_is(KEY_POSIX_FALLOCATE, "posix_fallocate", "refuse", POSIX_FALLOCATE_REFUSE);
}

Test(keys, fallocate_takes_its_words)
{
	word_is(KEY_FALLOCATE, "fallocate", "native", FALLOCATE_NATIVE);
	word_is(KEY_FALLOCATE, "fallocate", "auto", FALLOCATE_AUTO);
}

Test(keys, ftruncate_takes_its_words)
{
	word_is(KEY_FTRUNCATE, "ftruncate", "native", FTRUNCATE_NATIVE);
	word_is(KEY_FTRUNCATE, "ftruncate", "preallocate", FTRUNCATE_PREALLOCATE);
	word_is(KEY_FTRUNCATE, "ftruncate", "allocate", FTRUNCATE_ALLOCATE);
}

Test(keys, sync_takes_its_words)
{
	word_is(KEY_SYNC, "sync", "auto", SYNC_AUTO);
	word_is(KEY_SYNC, "sync", "always", SYNC_ALWAYS);
	word_is(KEY_SYNC, "sync", "never", SYNC_NEVER);
}

Test(keys, ftruncate_max_takes_a_size)
{
	parse("[default]\nftruncate_max = 5M\n");
	cr_expect_eq(RESOLVE(KEY_FTRUNCATE_MAX), 5 << 20);
	cr_expect_eq(RESOLVE(KEY_ZERO_FILL_MAX), SIZE_UNLIMITED);
}

Test(keys, zero_fill_max_takes_a_size)
{
	parse("[default]\nzero_fill_max = 5M\n");
	cr_expect_eq(RESOLVE(KEY_ZERO_FILL_MAX), 5 << 20);
	cr_expect_eq(RESOLVE(KEY_FTRUNCATE_MAX), SIZE_UNLIMITED);
}

Test(keys, a_size_has_no_word)
{
	cr_expect_null(config_word(KEY_FTRUNCATE_MAX, 0));
	cr_expect_null(config_word(KEY_ZERO_FILL_MAX, SIZE_UNLIMITED));
}

Test(keys, a_value_out_of_range_has_no_word)
{
	cr_expect_null(config_word(KEY_FALLOCATE, FALLOCATE_AUTO + 1));
	cr_expect_null(config_word(KEY_POSIX_FALLOCATE, POSIX_FALLOCATE_REFUSE + 1));
	cr_expect_null(config_word(KEY_SYNC, UINT64_MAX));
	cr_expect_null(config_word(KEY_COUNT, 0));
}

Test(keys, blanks_around_the_equals_sign_do_not_matter)
{
	parse("[default]\nsync=never\n\t fallocate\t=  auto \t\n");
	cr_expect_eq(RESOLVE(KEY_SYNC), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_FALLOCATE), FALLOCATE_AUTO);
}

/* Sizes */

Test(sizes, digits_are_bytes)
{
	size_is("0", 0);
	size_is("1", 1);
	size_is("007", 7);
	size_is("1234567890123", 1234567890123);
	size_is("64B", 64);
}

Test(sizes, suffixes_are_powers_of_1024)
{
	size_is("3K", 3ULL << 10);
	size_is("3M", 3ULL << 20);
	size_is("3G", 3ULL << 30);
	size_is("3T", 3ULL << 40);
}

Test(sizes, suffixes_come_in_either_case)
{
	size_is("3k", 3ULL << 10);
	size_is("3m", 3ULL << 20);
	size_is("3g", 3ULL << 30);
	size_is("3t", 3ULL << 40);
}

Test(sizes, suffixes_may_end_in_b_or_ib)
{
	size_is("3KB", 3ULL << 10);
	size_is("3kb", 3ULL << 10);
	size_is("3MiB", 3ULL << 20);
	size_is("3gib", 3ULL << 30);
}

Test(sizes, unlimited_is_a_word)
{
	parse("[default]\nzero_fill_max = 1\n[fstype a]\nzero_fill_max = unlimited\n");
	cr_expect_eq(RESOLVE(KEY_ZERO_FILL_MAX, .fstype = "a"), SIZE_UNLIMITED);
}

Test(sizes, anything_else_is_an_error)
{
	const char *words[] = {"12X", "K",   "-1", "+1",  "1.5G",     "0x10", "1KK",       "1KiBB",
			       "1iB", "1Ki", "1P", "1BB", "unlimite", "1e9",  "Unlimited", "1\\"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		no_size(words[i]);
}

Test(sizes, the_largest_is_int64_max)
{
	size_is("9223372036854775807", INT64_MAX);
	size_is("8388607T", 8388607ULL << 40);
	size_is("9007199254740991K", 9007199254740991ULL << 10);
}

static void too_large(const char *word)
{
	char text[128], message[192];

	snprintf(text, sizeof(text), "[default]\nftruncate_max = %s\n", word);
	snprintf(message, sizeof(message), "\"%s\" is too large for a size; write less than 8388608T, or unlimited",
		 word);
	fails(text, 2, 17, message);
}

Test(sizes, one_more_than_int64_max_is_an_error)
{
	too_large("9223372036854775808");
	too_large("9223372036854775810");
}

Test(sizes, overflow_of_the_digits_is_an_error)
{
	too_large("18446744073709551616");
	too_large("18446744073709551617");
	too_large("184467440737095516160");
	too_large("99999999999999999999999999999999");
}

Test(sizes, overflow_by_the_suffix_is_an_error)
{
	too_large("8388608T");
	too_large("16777216T");
	too_large("9007199254740992K");
	too_large("9223372036854775807K");
}

/* Sections */

Test(sections, default_applies_to_an_unknown_file)
{
	parse("[default]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC), SYNC_NEVER);
}

Test(sections, fstype_applies_to_each_of_its_names)
{
	parse("[fstype vfat msdos]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .fstype = "vfat"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .fstype = "msdos"), SYNC_NEVER);
}

Test(sections, fstype_names_are_exact)
{
	parse("[fstype vfat]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .fstype = "vfat2"), SYNC_AUTO);
	cr_expect_eq(RESOLVE(KEY_SYNC, .fstype = "vfa"), SYNC_AUTO);
	cr_expect_eq(RESOLVE(KEY_SYNC, .fstype = "VFAT"), SYNC_AUTO);
	cr_expect_eq(RESOLVE(KEY_SYNC, .fstype = ""), SYNC_AUTO);
}

Test(sections, fstype_applies_to_the_family)
{
	parse("[fstype fuse]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .fstype = "fuse.sshfs", .family = "fuse"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .fstype = "fuse.sshfs"), SYNC_AUTO);
}

Test(sections, mount_applies_to_that_mount_only)
{
	parse("[mount /srv]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "/srv"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "/srv/a"), SYNC_AUTO);
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "/"), SYNC_AUTO);
}

Test(sections, mount_ignores_trailing_slashes)
{
	parse("[mount /srv/ /mnt//]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "/srv"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "/mnt"), SYNC_NEVER);
}

Test(sections, mount_of_the_root_keeps_its_slash)
{
	parse("[mount /]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "/"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = ""), SYNC_AUTO);
}

Test(sections, mount_is_no_glob)
{
	parse("[mount /m*]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "/mnt"), SYNC_AUTO);
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "/m*"), SYNC_NEVER);
}

Test(sections, path_is_a_glob)
{
	parse("[path /var/*.db /home/**]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .path = "/var/a.db"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .path = "/var/b/a.db"), SYNC_AUTO);
	cr_expect_eq(RESOLVE(KEY_SYNC, .path = "/home/me/b/c"), SYNC_NEVER);
}

Test(sections, path_may_hold_sets)
{
	parse("[path /a/[xy] /b/[]z] /c/[0-9]]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .path = "/a/y"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .path = "/b/]"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .path = "/c/7"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .path = "/c/7]"), SYNC_AUTO);
}

Test(sections, program_is_exact)
{
	parse("[program qbittorrent mysqld]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .program = "mysqld"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .program = "mysqld_safe"), SYNC_AUTO);
}

Test(sections, match_nothing_where_the_subject_does_not_say)
{
	parse("[fstype a]\nsync = never\n[mount a]\nsync = never\n[path **]\nsync = never\n[program a]\nsync = "
	      "never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC), SYNC_AUTO);
}

Test(sections, match_their_own_kind_only)
{
	parse("[program x]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .fstype = "x", .family = "x", .mount = "x", .path = "x"), SYNC_AUTO);
}

Test(sections, kinds_in_use_are_noted)
{
	parse("[fstype a]\n[program b]\n");
	cr_expect_eq(config.sections, 1U << SECTION_FSTYPE | 1U << SECTION_PROGRAM);
	parse("");
	cr_expect_eq(config.sections, 0);
}

Test(sections, parsing_empties_what_was_there)
{
	parse("[default]\nsync = never\n");
	parse("[default]\n");
	cr_expect_eq(config.count, 1);
	cr_expect_eq(RESOLVE(KEY_SYNC), SYNC_AUTO);
}

Test(sections, may_be_as_many_as_there_is_room_for)
{
	static char text[CONFIG_MAX_RULES * 16];
	size_t used = 0;

	for (int i = 0; i < CONFIG_MAX_RULES; i++)
		used += (size_t)sprintf(text + used, "[program p%d]\n", i);
	strcpy(text + used, "sync = never\n");
	parse(text);
	cr_expect_eq(config.count, CONFIG_MAX_RULES);
	cr_expect_eq(RESOLVE(KEY_SYNC, .program = "p255"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .program = "p254"), SYNC_AUTO);
}

Test(sections, too_many_are_one_error)
{
	static char text[(CONFIG_MAX_RULES + 9) * 32];
	size_t used = 0;

	for (int i = 0; i < CONFIG_MAX_RULES + 9; i++)
		used += (size_t)sprintf(text + used, "[default]\nsync = never\n");
	fails(text, 2 * CONFIG_MAX_RULES + 1, 2, "too many sections");
	cr_expect_eq(config.count, CONFIG_MAX_RULES);
}

Test(sections, too_many_do_not_hide_later_errors)
{
	static char text[(CONFIG_MAX_RULES + 9) * 16];
	size_t used = 0;

	for (int i = 0; i < CONFIG_MAX_RULES + 1; i++)
		used += (size_t)sprintf(text + used, "[default]\n");
	strcpy(text + used, "[default x]\nsync = nevr\n");
	cr_expect_eq(parse_bytes(text, strlen(text)), 3);
}

/* Precedence */

/* Every kind of section matches this one. */
static const struct subject everything = {
	.fstype = "nfs4.2", .family = "nfs", .mount = "/m", .path = "/m/f", .program = "p"};

static void wins(const char *winner, const char *loser)
{
	char text[128];

	snprintf(text, sizeof(text), "[%s]\nftruncate_max = 1\n[%s]\nftruncate_max = 2\n", winner, loser);
	parse(text);
	cr_expect_eq(resolve(everything, KEY_FTRUNCATE_MAX), 1, "[%s] first", winner);
	snprintf(text, sizeof(text), "[%s]\nftruncate_max = 2\n[%s]\nftruncate_max = 1\n", loser, winner);
	parse(text);
	cr_expect_eq(resolve(everything, KEY_FTRUNCATE_MAX), 1, "[%s] last", winner);
}

Test(precedence, family_over_default)
{
	wins("fstype nfs", "default");
}

Test(precedence, finer_fstype_over_family)
{
	wins("fstype nfs4.2", "fstype nfs");
}

Test(precedence, mount_over_fstype)
{
	wins("mount /m", "fstype nfs4.2");
}

Test(precedence, path_over_mount)
{
	wins("path /m/*", "mount /m");
}

Test(precedence, program_over_path)
{
	wins("program p", "path /m/f");
}

Test(precedence, a_section_naming_both_counts_as_the_finer)
{
	wins("fstype nfs nfs4.2", "fstype nfs");
}

Test(precedence, later_section_among_equals)
{
	parse("[fstype nfs4.2]\nftruncate_max = 1\n[fstype nfs4.2]\nftruncate_max = 2\n");
	cr_expect_eq(resolve(everything, KEY_FTRUNCATE_MAX), 2);
}

Test(precedence, later_glob_even_where_the_earlier_is_exact)
{
	parse("[path /m/f]\nftruncate_max = 1\n[path /**]\nftruncate_max = 2\n");
	cr_expect_eq(resolve(everything, KEY_FTRUNCATE_MAX), 2);
}

Test(precedence, later_line_in_a_section)
{
	parse("[default]\nftruncate_max = 1\nftruncate_max = 2\n");
	cr_expect_eq(resolve(everything, KEY_FTRUNCATE_MAX), 2);
}

Test(precedence, is_by_key)
{
	parse("[default]\nsync = never\nftruncate_max = 1\n[program p]\nftruncate_max = 2\n");
	cr_expect_eq(resolve(everything, KEY_SYNC), SYNC_NEVER);
	cr_expect_eq(resolve(everything, KEY_FTRUNCATE_MAX), 2);
}

Test(precedence, a_built_in_value_can_be_restored)
{
	parse("[default]\nsync = never\n[program p]\nsync = auto\n");
	cr_expect_eq(resolve(everything, KEY_SYNC), SYNC_AUTO);
}

/* Syntax */

Test(syntax, empty_text_has_no_rules)
{
	cr_expect_eq(config_parse(&config, NULL, 0, NULL, NULL), 0);
	cr_expect_eq(config.count, 0);
}

Test(syntax, comments_and_blank_lines_are_skipped)
{
	parse("# sync = no\n; [nothing\n\n \t\n  # x\n\t; x\n[default]\nsync = never\n#sync = always\n");
	cr_expect_eq(RESOLVE(KEY_SYNC), SYNC_NEVER);
}

Test(syntax, comments_may_trail_a_value)
{
	parse("[default]\nsync = never # as \"fast\" as it gets\nftruncate_max = 1K\t# [x]\n");
	cr_expect_eq(RESOLVE(KEY_SYNC), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_FTRUNCATE_MAX), 1024);
}

Test(syntax, comments_may_trail_a_section)
{
	parse("[fstype vfat] # [sticks]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .fstype = "vfat"), SYNC_NEVER);
}

Test(syntax, a_hash_within_a_word_is_no_comment)
{
	parse("[path /a#b \"/c #d\"]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .path = "/a#b"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .path = "/c #d"), SYNC_NEVER);
}

Test(syntax, blanks_within_brackets_do_not_matter)
{
	parse("\t[ fstype\tvfat  msdos ] \nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .fstype = "vfat"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .fstype = "msdos"), SYNC_NEVER);
}

Test(syntax, quotes_hold_names_with_blanks)
{
	parse("[mount \"/mnt/My Disk\" /b \"/c d/\"]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "/mnt/My Disk"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "/b"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "/c d"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "/mnt/My"), SYNC_AUTO);
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "Disk"), SYNC_AUTO);
}

Test(syntax, quotes_may_hold_a_bracket)
{
	parse("[mount \"/a] b\"]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "/a] b"), SYNC_NEVER);
}

Test(syntax, quotes_around_a_plain_name_do_not_matter)
{
	parse("[program \"p\"]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .program = "p"), SYNC_NEVER);
}

Test(syntax, quotes_leave_a_glob_a_glob)
{
	parse("[path \"/a b/*\"]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .path = "/a b/c"), SYNC_NEVER);
}

Test(syntax, backslash_in_quotes_is_itself)
{
	parse("[mount \"/a\\\"]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .mount = "/a\\"), SYNC_NEVER);
}

Test(syntax, crlf_ends_lines)
{
	parse("# x\r\n\r\n[program p]\r\nsync = never\r\nftruncate_max = 1K\r\nfallocate = auto # x\r\n");
	cr_expect_eq(RESOLVE(KEY_SYNC, .program = "p"), SYNC_NEVER);
	cr_expect_eq(RESOLVE(KEY_FTRUNCATE_MAX, .program = "p"), 1024);
	cr_expect_eq(RESOLVE(KEY_FALLOCATE, .program = "p"), FALLOCATE_AUTO);
}

Test(syntax, cr_elsewhere_is_an_error)
{
	fails("[default]\nsync = nev\rer\n", 2, 8, "unknown value \"nev?er\" for sync; did you mean \"never\"?");
}

Test(syntax, last_line_needs_no_newline)
{
	parse("[default]\nsync = never");
	cr_expect_eq(RESOLVE(KEY_SYNC), SYNC_NEVER);
	parse("[default]");
	cr_expect_eq(config.count, 1);
}

Test(syntax, last_line_may_end_in_cr)
{
	parse("[default]\r\nsync = never\r");
	cr_expect_eq(RESOLVE(KEY_SYNC), SYNC_NEVER);
}

Test(syntax, byte_order_mark_is_skipped)
{
	parse("\xef\xbb\xbf[default]\nsync = never\n");
	cr_expect_eq(RESOLVE(KEY_SYNC), SYNC_NEVER);
}

Test(syntax, byte_order_mark_alone_is_an_empty_file)
{
	parse("\xef\xbb\xbf");
	cr_expect_eq(config.count, 0);
}

Test(syntax, byte_order_mark_is_in_no_column)
{
	fails("\xef\xbb\xbf[defalt]\n", 1, 2, "unknown section \"defalt\"; did you mean \"default\"?");
}

Test(syntax, byte_order_mark_elsewhere_is_an_error)
{
	cr_expect_eq(parse_bytes("[default]\n\xef\xbb\xbfsync = never\n", 26), 1);
	is_error(0, 2, 1, "unknown key \"???sync\"; did you mean \"sync\"?");
}

Test(syntax, nul_is_an_error_even_in_a_comment)
{
	const char text[] = "# \0\n[default]\nsync = \0never\nfallocate = auto\n";

	cr_expect_eq(parse_bytes(text, sizeof(text) - 1), 2);
	is_error(0, 1, 3, "NUL byte; this is not a text file");
	is_error(1, 3, 8, "NUL byte; this is not a text file");
}

Test(syntax, nul_is_one_error_a_line)
{
	static char text[4096];

	cr_expect_eq(parse_bytes(text, sizeof(text)), 1);
	is_error(0, 1, 1, "NUL byte; this is not a text file");
}

Test(syntax, files_up_to_the_limit_are_read)
{
	static char text[CONFIG_MAX_BYTES + 1];

	memset(text, '\n', sizeof(text));
	cr_expect_eq(parse_bytes(text, CONFIG_MAX_BYTES), 0);
	cr_expect_eq(parse_bytes(text, CONFIG_MAX_BYTES + 1), 1);
	is_error(0, 1, 1, "the file is larger than 1 MiB");
}

/* Errors */

Test(errors, unknown_key_names_the_nearest)
{
	fails("[default]\n  ftruncat = native\n", 2, 3, "unknown key \"ftruncat\"; did you mean \"ftruncate\"?");
	fails("[default]\nftruncatemax = 1\n", 2, 1, "unknown key \"ftruncatemax\"; did you mean \"ftruncate_max\"?");
	fails("[default]\nposix-fallocate=auto\n", 2, 1,
	      "unknown key \"posix-fallocate\"; did you mean \"posix_fallocate\"?");
}

Test(errors, unknown_key_unlike_any_lists_all)
{
	fails("[default]\nbanana = 1\n", 2, 1,
	      "unknown key \"banana\"; write posix_fallocate, fallocate, ftruncate, ftruncate_max, zero_fill_max, "
	      "sync, write, window, window_max, window_after, stdio or deepbind");
}

Test(errors, unknown_section_names_the_nearest)
{
	fails("\n [ fstpye vfat]\n", 2, 4, "unknown section \"fstpye\"; did you mean \"fstype\"?");
	fails("[prog x]\n", 1, 2, "unknown section \"prog\"; did you mean \"program\"?");
}

Test(errors, unknown_section_unlike_any_lists_all)
{
	fails("[x]\n", 1, 2, "unknown section \"x\"; write default, fstype, mount, path or program");
}

Test(errors, unknown_value_names_the_nearest)
{
	fails("[default]\nftruncate = preallocat\n", 2, 13,
	      "unknown value \"preallocat\" for ftruncate; did you mean \"preallocate\"?");
	fails("[default]\nsync = Never\n", 2, 8, "unknown value \"Never\" for sync; did you mean \"never\"?");
}

Test(errors, unknown_value_unlike_any_lists_those_of_its_key)
{
	fails("[default]\nsync =\t\tno # x\n", 2, 9, "unknown value \"no\" for sync; write auto, always or never");
	fails("[default]\nfallocate = 1\n", 2, 13, "unknown value \"1\" for fallocate; write native or auto");
	fails("[default]\nposix_fallocate = x\n", 2, 19,
	      "unknown value \"x\" for posix_fallocate; write auto, native, sparse or refuse");
}

Test(errors, a_word_of_another_key_is_unknown)
{
	fails("[default]\nsync = sparse\n", 2, 8, "unknown value \"sparse\" for sync; write auto, always or never");
}

Test(errors, half_of_a_word_is_near_and_more_is_not)
{
	fails("[default]\nsync = auxx\n", 2, 8, "unknown value \"auxx\" for sync; did you mean \"auto\"?");
	fails("[default]\nsync = axxx\n", 2, 8, "unknown value \"axxx\" for sync; write auto, always or never");
}

Test(errors, size_where_a_word_belongs_and_word_where_a_size)
{
	fails("[default]\nftruncate = 1G\n", 2, 13,
	      "unknown value \"1G\" for ftruncate; write native, preallocate or allocate");
	fails("[default]\nftruncate_max = native\n", 2, 17,
	      "\"native\" is not a size; write e.g. 64K, 16M, 1G or unlimited");
}

Test(errors, words_behind_the_value)
{
	fails("[default]\nftruncate_max = 64 K\n", 2, 20, "unexpected \"K\" after the value");
}

Test(errors, missing_value)
{
	fails("[default]\n sync = \n", 2, 2, "missing value for \"sync\"");
	fails("[default]\nsync = # never\n", 2, 1, "missing value for \"sync\"");
	fails("[default]\nsync =", 2, 1, "missing value for \"sync\"");
}

Test(errors, missing_equals_sign)
{
	fails("[default]\n sync never\n", 2, 2, "missing \"=\" after \"sync\"");
	fails("[default]\nsync", 2, 1, "missing \"=\" after \"sync\"");
}

Test(errors, missing_key)
{
	fails("[default]\n = never\n", 2, 2, "missing key before \"=\"");
}

Test(errors, key_before_any_section)
{
	fails("\n sync = never\n[default]\n", 2, 2, "\"sync\" stands before any [section]");
}

Test(errors, keys_of_a_bad_section_are_checked_but_not_before_any_section)
{
	parse_bytes("[fstpye x]\nsync = never\nsnc = never\n", 36);
	cr_expect_eq(error_count, 2);
	is_error(0, 1, 2, "unknown section \"fstpye\"; did you mean \"fstype\"?");
	is_error(1, 3, 1, "unknown key \"snc\"; did you mean \"sync\"?");
}

Test(errors, keys_of_a_bad_section_do_not_go_to_the_one_before)
{
	parse_bytes("[default]\n[fstpye x]\nsync = never\n", 34);
	cr_expect_eq(RESOLVE(KEY_SYNC), SYNC_AUTO);
}

Test(errors, default_with_a_name)
{
	fails("[default  vfat]\n", 1, 11, "[default] takes no names, but here is \"vfat\"");
}

Test(errors, others_without_a_name)
{
	fails("[fstype]\n", 1, 2, "section \"fstype\" needs at least one name");
	fails("[mount ]\n", 1, 2, "section \"mount\" needs at least one name");
	fails("[path]\n", 1, 2, "section \"path\" needs at least one name");
	fails("[program]\n", 1, 2, "section \"program\" needs at least one name");
}

Test(errors, empty_brackets)
{
	fails(" [ ]\n", 1, 2, "missing section word after \"[\"");
}

Test(errors, missing_bracket)
{
	fails(" [default\n", 1, 2, "this section line does not end with \"]\"");
	fails("[\n", 1, 1, "this section line does not end with \"]\"");
	fails("[default] sync = never\n", 1, 1, "this section line does not end with \"]\"");
	fails("[program \"a]\"\n", 1, 1, "this section line does not end with \"]\"");
}

Test(errors, empty_name)
{
	fails("[mount /a \"\"]\n", 1, 11, "empty name");
}

Test(errors, stray_quotes)
{
	fails("[mount \"/a b]\n", 1, 8, "stray quote in \"\"/a\"; quotes stand around a whole name");
	fails("[mount /a\"b\"]\n", 1, 8, "stray quote in \"/a\"b\"\"; quotes stand around a whole name");
	fails("[mount \"a\"b]\n", 1, 8, "stray quote in \"\"a\"b\"; quotes stand around a whole name");
	fails("[mount \"]\n", 1, 8, "stray quote in \"\"\"; quotes stand around a whole name");
}

Test(errors, malformed_globs)
{
	fails("[path /a /[b]\n", 1, 10, "\"/[b\" is not a glob; write \\[ for a plain [ and \\\\ for a plain \\");
	fails("[path /a\\]\n", 1, 7, "\"/a\\\" is not a glob; write \\[ for a plain [ and \\\\ for a plain \\");
	parse("[mount /[b /a\\]\n");
}

Test(errors, are_all_reported_in_order)
{
	const char *text =
		"sync = auto\n[fstpye a]\n[fstype \"\" b\"]\nsnc = 1\nsync = x y\n\nftruncate_max = 1X\n[path";

	cr_expect_eq(parse_bytes(text, strlen(text)), 9);
	is_error(0, 1, 1, "\"sync\" stands before any [section]");
	is_error(1, 2, 2, "unknown section \"fstpye\"; did you mean \"fstype\"?");
	is_error(2, 3, 9, "empty name");
	is_error(3, 3, 12, "stray quote in \"b\"\"; quotes stand around a whole name");
	is_error(4, 4, 1, "unknown key \"snc\"; did you mean \"sync\"?");
	is_error(5, 5, 8, "unknown value \"x\" for sync; write auto, always or never");
	is_error(6, 5, 10, "unexpected \"y\" after the value");
	is_error(7, 7, 17, "\"1X\" is not a size; write e.g. 64K, 16M, 1G or unlimited");
	is_error(8, 8, 1, "this section line does not end with \"]\"");
}

Test(errors, are_counted_without_a_report)
{
	cr_expect_eq(config_parse(&config, "a\n[b]\n", 6, NULL, NULL), 3);
}

static void see_context(void *context, const struct config_error *error)
{
	(void)error;
	++*(int *)context;
}

Test(errors, come_with_the_context)
{
	int calls = 0;

	config_parse(&config, "[a]\n[b]\n", 8, see_context, &calls);
	cr_expect_eq(calls, 2);
}

Test(errors, show_no_control_characters)
{
	fails("[default]\nsync = a\x1b[1m\x7f\xc3\xa9z\n", 2, 8,
	      "unknown value \"a?[1m???z\" for sync; write auto, always or never");
}

Test(errors, long_words_leave_room_for_what_to_write)
{
	char text[4096] = "[default]\nposix_fallocate = ";

	memset(text + strlen(text), 'x', 4000);
	fails(text, 2, 19,
	      "unknown value \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\" for posix_fallocate; "
	      "write auto, native, sparse or refuse");
}

Test(errors, messages_fit_their_buffer)
{
	/* The longest there is: a long unknown key and the list of all. */
	char text[4096] = "[default]\n";
	size_t length;

	memset(text + strlen(text), 'x', 4000);
	cr_expect_eq(parse_bytes(text, strlen(text)), 1);
	length = strnlen(errors[0].message, sizeof(errors[0].message));
	cr_expect_lt(length, sizeof(errors[0].message));
	cr_expect_str_eq(errors[0].message + length - 11, "or deepbind");
}

/* Globs */

Test(glob, plain_bytes_match_themselves)
{
	cr_expect(glob("/a/b", "/a/b"));
	cr_expect_not(glob("/a/b", "/a/c"));
	cr_expect_not(glob("/a/b", "/a/bc"));
	cr_expect_not(glob("/a/b", "/a/"));
	cr_expect_not(glob("/a", "/A"));
}

Test(glob, ends_at_its_length)
{
	cr_expect(config_glob((struct text){"/a*]", 3}, "/ab"));
	cr_expect_not(config_glob((struct text){"/a[b]", 4}, "/ab"));
}

Test(glob, empty_matches_empty_only)
{
	cr_expect(glob("", ""));
	cr_expect_not(glob("", "a"));
	cr_expect_not(glob("a", ""));
	cr_expect(glob("*", ""));
	cr_expect(glob("**", ""));
	cr_expect_not(glob("?", ""));
	cr_expect_not(glob("[!a]", ""));
}

Test(glob, star_matches_any_bytes)
{
	cr_expect(glob("/*.db", "/.db"));
	cr_expect(glob("/*.db", "/a.db"));
	cr_expect(glob("/*.db", "/a.db.db"));
	cr_expect_not(glob("/*.db", "/a.dbx"));
	cr_expect(glob("/a*", "/a\xff\x01"));
}

Test(glob, star_stays_within_a_directory)
{
	cr_expect_not(glob("/*", "/a/b"));
	cr_expect_not(glob("/*b", "/a/b"));
	cr_expect(glob("/*/b", "/a/b"));
	cr_expect_not(glob("/*/b", "/a/c/b"));
	cr_expect_not(glob("*", "/"));
}

Test(glob, several_stars)
{
	cr_expect(glob("/*a*b*c", "/xxaxbxbxc"));
	cr_expect_not(glob("/*a*b*c", "/xxbxaxc"));
	cr_expect(glob("/*aab*", "/aaaab"));
	cr_expect(glob("/*/x*y/*z", "/a/xyy/zz"));
}

Test(glob, double_star_crosses_directories)
{
	cr_expect(glob("/a/**", "/a/b/c/d"));
	cr_expect(glob("/a/**", "/a/"));
	cr_expect_not(glob("/a/**", "/a"));
	cr_expect(glob("**.db", "/a/b.db"));
	cr_expect(glob("/**/x", "/a/b/x"));
	cr_expect_not(glob("/**/x", "/a/b/xy"));
	cr_expect(glob("***", "/a/b"));
}

Test(glob, double_star_before_a_star_tries_every_directory)
{
	cr_expect(glob("/**/a*b/c", "/a/b/axx/ab/c"));
	cr_expect(glob("**a*/b*c", "/a1/a2/a3/bxc"));
	cr_expect(glob("**/a/*/b", "/a/a/a/x/b"));
	cr_expect_not(glob("**/a/*/b", "/a/a/x/y/b"));
	cr_expect(glob("**x*/**y*z", "/xx/q/yy/yaz"));
}

Test(glob, question_mark_is_one_byte_but_no_slash)
{
	cr_expect(glob("/?", "/a"));
	cr_expect_not(glob("/?", "/"));
	cr_expect_not(glob("/?", "/ab"));
	cr_expect_not(glob("/a?b", "/a/b"));
}

Test(glob, sets_hold_bytes_and_ranges)
{
	cr_expect(glob("[abx-z]", "b"));
	cr_expect(glob("[abx-z]", "y"));
	cr_expect_not(glob("[abx-z]", "c"));
	cr_expect_not(glob("[abx-z]", "-"));
	cr_expect_not(glob("[z-a]", "m"));
	cr_expect(glob("[\x80-\xff]", "\xc3"));
	cr_expect_not(glob("[a-z]", "B"));
}

Test(glob, sets_can_be_negated)
{
	cr_expect(glob("[!a-c]", "d"));
	cr_expect_not(glob("[!a-c]", "b"));
	cr_expect(glob("[a!]", "!"));
}

Test(glob, sets_match_no_slash)
{
	cr_expect_not(glob("/a[!b]c", "/a/c"));
	cr_expect_not(glob("/a[/]c", "/a/c"));
	cr_expect_not(glob("/a[.-0]c", "/a/c"));
}

Test(glob, sets_take_bracket_first_and_dash_last)
{
	cr_expect(glob("[]a]", "]"));
	cr_expect(glob("[]a]", "a"));
	cr_expect_not(glob("[!]a]", "]"));
	cr_expect(glob("[a-]", "-"));
	cr_expect(glob("[-a]", "-"));
}

Test(glob, backslash_quotes)
{
	cr_expect(glob("\\*", "*"));
	cr_expect_not(glob("\\*", "a"));
	cr_expect(glob("\\?\\[a]\\\\", "?[a]\\"));
	cr_expect(glob("[\\]\\-]", "]"));
	cr_expect(glob("[a\\-c]", "-"));
	cr_expect_not(glob("[a\\-c]", "b"));
	cr_expect(glob("[a-\\c]", "b"));
}

Test(glob, malformed_matches_nothing)
{
	cr_expect_not(glob("[a", "a"));
	cr_expect_not(glob("[a", "[a"));
	cr_expect_not(glob("[]", "]"));
	cr_expect_not(glob("[\\]", "\\"));
	cr_expect_not(glob("a\\", "a\\"));
}

/* Exponential or cubic time would not end within these seconds. */

static void is_quick(const char *piece, int pieces, const char *glob_end, const char *part, int parts,
		     const char *path_end, int expected)
{
	static char pattern[1 << 16], path[1 << 16];
	clock_t start = clock();

	strcpy(pattern, "/**");
	strcpy(path, "/");
	for (int i = 0; i < pieces; i++)
		strcat(pattern, piece);
	strcat(pattern, glob_end);
	for (int i = 0; i < parts; i++)
		strcat(path, part);
	strcat(path, path_end);
	cr_expect_eq(glob(pattern, path), expected);
	cr_expect_lt((double)(clock() - start) / CLOCKS_PER_SEC, 4.0);
}

Test(glob, many_stars_take_no_exponential_time, .timeout = 20)
{
	is_quick("*a", 1000, "b", "a", 4000, "", 0);
}

Test(glob, many_double_stars_take_no_exponential_time, .timeout = 20)
{
	is_quick("**a", 1000, "b", "/a", 4000, "", 0);
}

Test(glob, stars_behind_a_double_star_take_no_cubic_time, .timeout = 20)
{
	is_quick("/*a*a", 300, "/b", "/aaaaaaaaa", 2000, "", 0);
}

Test(glob, a_double_star_and_a_star_before_a_long_name_take_no_quadratic_time, .timeout = 20)
{
	is_quick("", 0, "a*b/c", "aaaaaaaa", 7500, "/c", 0);
}

/* The stock file */

static void parse_stock(void)
{
	static char text[CONFIG_MAX_BYTES];
	FILE *file = fopen(STOCK_CONF, "r");
	size_t length;

	cr_assert_not_null(file, "%s", STOCK_CONF);
	length = fread(text, 1, sizeof(text), file);
	fclose(file);
	cr_assert_eq(parse_bytes(text, length), 0, "%u:%u: %s", errors[0].line, errors[0].column, errors[0].message);
}

static void stock_policy_is(struct subject subject, uint64_t ftruncate, uint64_t ftruncate_max)
{
	int is_fat = subject.fstype && (!strcmp(subject.fstype, "vfat") || !strcmp(subject.fstype, "msdos"));
	struct policy policy, expected;

	parse_stock();
	config_defaults(&expected);
	expected.value[KEY_FTRUNCATE] = ftruncate;
	expected.value[KEY_FTRUNCATE_MAX] = ftruncate_max;
	expected.value[KEY_WRITE] = is_fat ? WRITE_PREALLOCATE : WRITE_NATIVE;
	config_resolve(&config, &subject, &policy);
	for (int key = 0; key < KEY_COUNT; key++)
		cr_expect_eq(policy.value[key], expected.value[key], "key %d", key);
}

Test(stock, sets_every_key_to_its_built_in_value)
{
	parse_stock();
	cr_expect_eq(config.rule[0].section, SECTION_DEFAULT);
	cr_expect_eq(config.rule[0].set, (1U << KEY_COUNT) - 1);
	stock_policy_is((struct subject){0}, FTRUNCATE_NATIVE, SIZE_UNLIMITED);
}

Test(stock, preallocates_on_fat)
{
	stock_policy_is((struct subject){.fstype = "vfat"}, FTRUNCATE_PREALLOCATE, SIZE_UNLIMITED);
	stock_policy_is((struct subject){.fstype = "msdos"}, FTRUNCATE_PREALLOCATE, SIZE_UNLIMITED);
}

Test(stock, preallocates_up_to_1g_on_nfs_with_allocate)
{
	stock_policy_is((struct subject){.fstype = "nfs4.2", .family = "nfs"}, FTRUNCATE_PREALLOCATE, 1ULL << 30);
}

Test(stock, leaves_older_nfs_alone)
{
	stock_policy_is((struct subject){.fstype = "nfs4.1", .family = "nfs"}, FTRUNCATE_NATIVE, SIZE_UNLIMITED);
}

Test(stock, leaves_ext4_alone)
{
	stock_policy_is((struct subject){.fstype = "ext4"}, FTRUNCATE_NATIVE, SIZE_UNLIMITED);
}

/* What the fastalloc command tells */

Test(explain, names_the_rule_that_decided_each_key)
{
	const struct rule *decided[KEY_COUNT];
	struct policy policy, resolved;

	parse("[default]\nsync = never\n  write = preallocate\n[program p]\n\nsync = always\n[program q]\nwrite = "
	      "native\n");
	config_explain(&config, &everything, &policy, decided);
	config_resolve(&config, &everything, &resolved);
	cr_expect_arr_eq(&policy, &resolved, sizeof(policy));
	cr_expect_eq(decided[KEY_SYNC], &config.rule[1]);
	cr_expect_eq(decided[KEY_WRITE], &config.rule[0]);
	cr_expect_null(decided[KEY_STDIO]);
	cr_expect_eq(strncmp(decided[KEY_WRITE]->at[KEY_WRITE], "write = preallocate\n[", 21), 0);
}

Test(explain, of_a_repeated_key_the_last_counts)
{
	parse("[default]\nsync = never\nwrite = native\nsync = always\n");
	cr_expect_eq(config.rule[0].repeated, 1U << KEY_SYNC);
	cr_expect_eq(strncmp(config.rule[0].at[KEY_SYNC], "sync = always", 13), 0);
}

Test(explain, names_come_without_quotes)
{
	struct text rest, name;

	parse("[mount /a \"/b c\"]\nsync = never\n");
	rest = config.rule[0].names;
	name = config_next_name(&rest);
	cr_expect_eq(strncmp(name.at, "/a ", 3), 0);
	cr_expect_eq(name.length, 2);
	name = config_next_name(&rest);
	cr_expect_eq(strncmp(name.at, "/b c\"", 5), 0);
	cr_expect_eq(name.length, 4);
	cr_expect_eq(config_next_name(&rest).length, 0);
}
