#include "lint.h"

#include <libmount.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mounts.h"
#include "policy.h"

struct lint {
	const struct config *config;
	struct libmnt_table *mounts; /* NULL where they cannot be read */
	struct policy base;          /* what [default] sections and built-in values make */
	lint_report *report;
	void *context;
};

/* Names go to terminals: no control characters, no broken UTF-8. Returns to. */
#define QUOTED_MAX 64
static char *quoted(char to[QUOTED_MAX], struct text name)
{
	size_t used = 0;

	to[used++] = '"';
	for (size_t i = 0; i < name.length && used < QUOTED_MAX - 5; i++)
		to[used++] = name.at[i];
	for (size_t i = 1; i < used; i++)
		if (to[i] < ' ' || to[i] > '~')
			to[i] = '?';
	snprintf(to + used, QUOTED_MAX - used, "%s\"", used - 1 < name.length ? "..." : "");
	return to;
}

__attribute__((format(printf, 4, 5))) static void say(const struct lint *lint, enum severity severity, const char *at,
						      const char *format, ...)
{
	char message[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	lint->report(lint->context, severity, at, message);
}

static int is_set(const struct rule *rule, enum key key)
{
	return !!(rule->set & 1U << key);
}

/* The bracket that begins the section. */
static const char *start_of(const struct rule *rule)
{
	const char *at = rule->names.at;

	while (*at != '[')
		at--;
	return at;
}

static int text_is(struct text text, const char *string)
{
	return text.length == strlen(string) && !memcmp(text.at, string, text.length);
}

static int has_any(struct text text, const char *characters)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.at[i] && strchr(characters, text.at[i]))
			return 1;
	return 0;
}

static int contains(struct text text, const char *string)
{
	return memmem(text.at, text.length, string, strlen(string)) != NULL;
}

static int ends_in(struct text text, const char *string)
{
	size_t length = strlen(string);

	return text.length >= length && !memcmp(text.at + text.length - length, string, length);
}

/* Returns path, or NULL where it is too long for one. */
static const char *as_path(char path[PATH_MAX], struct text text)
{
	if (text.length >= PATH_MAX)
		return NULL;
	memcpy(path, text.at, text.length);
	path[text.length] = '\0';
	return path;
}

/* [fstype] */

/* Those of Linux, of well-known modules, and the names of our own. */
static const char *const fstypes[] = {
	"9p",          "adfs",           "affs",     "afs",      "apfs",     "autofs", "bcachefs",
	"beegfs",      "befs",           "bfs",      "btrfs",    "ceph",     "cifs",   "coda",
	"cramfs",      "debugfs",        "devtmpfs", "ecryptfs", "efivarfs", "efs",    "erofs",
	"exfat",       "ext2",           "ext3",     "ext4",     "f2fs",     "fuse",   "fuseblk",
	"gfs2",        "gpfs",           "hfs",      "hfsplus",  "hostfs",   "hpfs",   "hugetlbfs",
	"iso9660",     "jffs2",          "jfs",      "lustre",   "minix",    "msdos",  "nfs",
	"nfs2",        "nfs3",           "nfs4.0",   "nfs4.1",   "nfs4.2",   "nilfs2", "ntfs",
	"ntfs3",       "ocfs2",          "omfs",     "orangefs", "overlay",  "aufs",   "pvfs2",
	"qnx4",        "qnx6",           "ramfs",    "reiserfs", "romfs",    "rootfs", "smb3",
	"squashfs",    "sysv",           "tmpfs",    "ubifs",    "udf",      "ufs",    "vboxsf",
	"vfat",        "virtiofs",       "vmhgfs",   "xfs",      "zfs",      "zonefs", "fuse.sshfs",
	"fuse.rclone", "fuse.glusterfs", NULL,
};

static int is_listed(struct text name)
{
	for (const char *const *known = fstypes; *known; known++)
		if (text_is(name, *known))
			return 1;
	return 0;
}

/* Does the running kernel have it? /proc/filesystems: "nodev\tNAME", or "\tNAME". */
static int kernel_has(struct text name)
{
	FILE *list = fopen("/proc/filesystems", "re");
	char line[128], *tab;
	int found = 0;

	while (list && !found && fgets(line, sizeof(line), list)) {
		line[strcspn(line, "\n")] = '\0';
		tab = strchr(line, '\t');
		found = tab && text_is(name, tab + 1);
	}
	if (list)
		fclose(list);
	return found;
}

static void check_fstype(const struct lint *lint, struct text name)
{
	const char *nearest;
	char text[QUOTED_MAX];

	if (text_is(name, "nfs4")) {
		say(lint, SEVERITY_WARNING, name.at,
		    "\"nfs4\" never applies: write nfs4.0, nfs4.1, nfs4.2, or nfs for every version");
		return;
	}
	if ((name.length > 5 && !memcmp(name.at, "fuse.", 5)) || is_listed(name) || kernel_has(name))
		return;
	nearest = config_nearest(fstypes, name);
	say(lint, SEVERITY_WARNING, name.at, "no file system %s is known%s%s%s", quoted(text, name),
	    nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
}

/* [mount], [path], [program] */

static const char *real_directory(char real[PATH_MAX], struct text directory)
{
	char path[PATH_MAX];

	return as_path(path, directory) ? realpath(path, real) : NULL;
}

static struct text without_slashes(struct text path)
{
	while (path.length > 1 && path.at[path.length - 1] == '/')
		path.length--;
	return path;
}

/* Files are known by their real path. Says whether directory is another's name. */
static int check_links(const struct lint *lint, struct text name, struct text directory)
{
	char real[PATH_MAX], text[QUOTED_MAX];

	if (!real_directory(real, directory) || text_is(directory, real))
		return 0;
	say(lint, SEVERITY_WARNING, name.at, "never applies: %s is really \"%s\", which is what files are known by",
	    quoted(text, directory), real);
	return 1;
}

/* A path as no file has it. */
static int is_not_plain(struct text path)
{
	return contains(path, "//") || contains(path, "/./") || contains(path, "/../") || ends_in(path, "/.") ||
	       ends_in(path, "/..");
}

static void check_mount(const struct lint *lint, struct text name)
{
	struct text path = without_slashes(name);
	char string[PATH_MAX], text[QUOTED_MAX];

	quoted(text, name);
	if (name.at[0] != '/')
		say(lint, SEVERITY_WARNING, name.at, "%s never applies: a mount point begins with /", text);
	else if (is_not_plain(path))
		say(lint, SEVERITY_WARNING, name.at, "%s never applies: write it as findmnt(8) does", text);
	else if (!as_path(string, path) || path.length >= MOUNT_POINT_MAX)
		say(lint, SEVERITY_WARNING, name.at, "%s never applies: it is longer than %d bytes", text,
		    MOUNT_POINT_MAX - 1);
	else if (!lint->mounts || mnt_table_find_target(lint->mounts, string, MNT_ITER_BACKWARD))
		return;
	else if (has_any(name, "*?["))
		say(lint, SEVERITY_WARNING, name.at, "%s is taken literally: [mount] knows no wildcards, [path] does",
		    text);
	else if (!check_links(lint, name, path))
		say(lint, SEVERITY_NOTE, name.at, "%s is no mount point now", text);
}

/* Can glob match a path, which begins with a slash? */
static int can_begin_path(struct text glob)
{
	if (glob.at[0] == '*') { /* one star takes nothing of "/..." */
		glob.at++;
		glob.length--;
	}
	if (glob.length && glob.at[0] == '\\') {
		glob.at++;
		glob.length--;
	}
	return glob.length && (glob.at[0] == '/' || (glob.at[0] == '*' && glob.at[-1] == '*'));
}

/* The directory that glob begins with, up to where it may be several. */
static struct text fixed_directory(struct text glob)
{
	struct text directory = {glob.at, 0};

	for (size_t i = 0; i < glob.length && !strchr("*?[\\", glob.at[i]); i++)
		if (glob.at[i] == '/')
			directory.length = i ? i : 1;
	return directory;
}

static int is_directory(struct text name)
{
	char path[PATH_MAX];
	struct stat st;

	return !has_any(name, "*?[\\") && as_path(path, name) && !stat(path, &st) && S_ISDIR(st.st_mode);
}

static void check_path(const struct lint *lint, struct text name)
{
	struct text directory = fixed_directory(name);
	char text[QUOTED_MAX];

	quoted(text, name);
	if (!can_begin_path(name))
		say(lint, SEVERITY_WARNING, name.at, "%s never applies: paths begin with /; write /... or **/...",
		    text);
	else if (ends_in(name, "/") || is_directory(name))
		say(lint, SEVERITY_WARNING, name.at,
		    "%s applies to no file: write .../* for those in a directory, .../** for all below", text);
	else if (!has_any(name, "[") && is_not_plain(name))
		say(lint, SEVERITY_WARNING, name.at, "%s never applies: no path has such a part (//, /./ or /../)",
		    text);
	else if (directory.length)
		check_links(lint, name, directory);
}

static void check_program(const struct lint *lint, struct text name)
{
	char text[QUOTED_MAX];

	if (has_any(name, "/"))
		say(lint, SEVERITY_WARNING, name.at, "%s never applies: write the file name, without directories",
		    quoted(text, name));
	else if (has_any(name, "*?["))
		say(lint, SEVERITY_WARNING, name.at, "%s is taken literally: [program] knows no wildcards",
		    quoted(text, name));
}

static void check_names(const struct lint *lint, const struct rule *rule)
{
	static void (*const check[SECTION_COUNT])(const struct lint *, struct text) = {
		[SECTION_FSTYPE] = check_fstype,
		[SECTION_MOUNT] = check_mount,
		[SECTION_PATH] = check_path,
		[SECTION_PROGRAM] = check_program,
	};
	struct text rest = rule->names, name;

	if (!check[rule->section])
		return;
	while ((name = config_next_name(&rest)).length)
		check[rule->section](lint, name);
}

/* Sections that override each other */

static int same_name(enum section section, struct text a, struct text b)
{
	if (section == SECTION_MOUNT) {
		a = without_slashes(a);
		b = without_slashes(b);
	}
	return a.length == b.length && !memcmp(a.at, b.at, a.length);
}

static int has_name(const struct rule *rule, struct text name)
{
	struct text rest = rule->names, own;

	while ((own = config_next_name(&rest)).length)
		if (same_name(rule->section, own, name))
			return 1;
	return 0;
}

/* Does `by` apply wherever rule does? */
static int covers(const struct rule *by, const struct rule *rule)
{
	struct text rest = rule->names, name;

	if (by->section != rule->section)
		return 0;
	while ((name = config_next_name(&rest)).length)
		if (!has_name(by, name))
			return 0;
	return 1;
}

static const struct rule *overriding(const struct config *config, const struct rule *rule, enum key key)
{
	for (const struct rule *later = rule + 1; later < config->rule + config->count; later++)
		if (is_set(later, key) && covers(later, rule))
			return later;
	return NULL;
}

/* Keys that need another */

/* Can `above` win where both apply? A finer fstype wins over its family, whatever the order. */
static int can_win(const struct rule *above, const struct rule *rule)
{
	return above->section > rule->section ||
	       (above->section == rule->section && (above > rule || rule->section == SECTION_FSTYPE));
}

/* Can a file to which rule applies have value for key? No is certain. */
static int may_have(const struct lint *lint, const struct rule *rule, enum key key, uint64_t value)
{
	const struct rule *other = lint->config->rule, *end = other + lint->config->count;

	if (is_set(rule, key) ? rule->value[key] == value : lint->base.value[key] == value)
		return 1;
	for (; other < end; other++)
		if (other->section != SECTION_DEFAULT && is_set(other, key) && other->value[key] == value &&
		    (!is_set(rule, key) || can_win(other, rule)))
			return 1;
	return 0;
}

static int may_fill(const struct lint *lint, const struct rule *rule)
{
	return may_have(lint, rule, KEY_POSIX_FALLOCATE, POSIX_FALLOCATE_AUTO) ||
	       may_have(lint, rule, KEY_FALLOCATE, FALLOCATE_AUTO) ||
	       may_have(lint, rule, KEY_FTRUNCATE, FTRUNCATE_ALLOCATE);
}

/* What key needs, where no file that rule applies to can have it; else NULL. */
static const char *missing(const struct lint *lint, const struct rule *rule, enum key key)
{
	switch (key) {
	case KEY_WINDOW:
	case KEY_WINDOW_MAX:
	case KEY_WINDOW_AFTER:
	case KEY_STDIO:
		return may_have(lint, rule, KEY_WRITE, WRITE_PREALLOCATE) ? NULL : "write = preallocate";
	case KEY_FTRUNCATE_MAX:
		return may_have(lint, rule, KEY_FTRUNCATE, FTRUNCATE_PREALLOCATE) ||
				       may_have(lint, rule, KEY_FTRUNCATE, FTRUNCATE_ALLOCATE)
			       ? NULL
			       : "ftruncate = preallocate or allocate";
	case KEY_ZERO_FILL_MAX:
	case KEY_SYNC:
		return may_fill(lint, rule) ? NULL : "posix_fallocate = auto, fallocate = auto or ftruncate = allocate";
	default:
		return NULL;
	}
}

/* File systems on which nothing is ever allocated ahead, or for ftruncate (window.c, resize.c). */
static unsigned traits_of(struct text name)
{
	struct mount mount = {.synchronous = 0};

	if (name.length >= sizeof(mount.fstype))
		return 0;
	memcpy(mount.fstype, name.at, name.length);
	return policy_traits(&mount);
}

static int is_in_memory(struct text name)
{
	return !!(traits_of(name) & TRAIT_MEMORY);
}

static int has_no_windows(struct text name)
{
	return !(traits_of(name) & TRAIT_WINDOWS);
}

static int every_name(const struct rule *rule, int (*is)(struct text name))
{
	struct text rest = rule->names, name;

	while ((name = config_next_name(&rest)).length)
		if (!is(name))
			return 0;
	return rule->section == SECTION_FSTYPE;
}

static const char *impossible(const struct rule *rule, enum key key)
{
	if (key == KEY_WRITE && rule->value[key] == WRITE_PREALLOCATE && every_name(rule, has_no_windows))
		return "the library allocates nothing ahead on these file systems";
	if (key == KEY_DEEPBIND && rule->section != SECTION_DEFAULT && rule->section != SECTION_PROGRAM)
		return "it is the program's: set it in [default] or [program]";
	if (key == KEY_FTRUNCATE && rule->value[key] != FTRUNCATE_NATIVE && every_name(rule, is_in_memory))
		return "files in memory are never allocated ahead";
	return NULL;
}

/* The largest window_max of any file. */
static uint64_t largest_window(const struct lint *lint)
{
	uint64_t largest = lint->base.value[KEY_WINDOW_MAX];

	for (unsigned i = 0; i < lint->config->count; i++)
		if (is_set(&lint->config->rule[i], KEY_WINDOW_MAX) &&
		    lint->config->rule[i].value[KEY_WINDOW_MAX] > largest)
			largest = lint->config->rule[i].value[KEY_WINDOW_MAX];
	return largest;
}

static void check_window(const struct lint *lint, const struct rule *rule)
{
	uint64_t most = is_set(rule, KEY_WINDOW_MAX) ? rule->value[KEY_WINDOW_MAX] : largest_window(lint);
	char window[VALUE_TEXT_MAX], max[VALUE_TEXT_MAX];

	if (is_set(rule, KEY_WINDOW) && rule->value[KEY_WINDOW] > most)
		say(lint, SEVERITY_WARNING, rule->at[KEY_WINDOW],
		    "window = %s is more than window_max = %s, which limits it",
		    configuration_value(KEY_WINDOW, rule->value[KEY_WINDOW], window),
		    configuration_value(KEY_WINDOW_MAX, most, max));
}

static void check_key(const struct lint *lint, const struct rule *rule, enum key key)
{
	const struct rule *later = overriding(lint->config, rule, key);
	const char *needs = missing(lint, rule, key), *why = impossible(rule, key);
	struct policy built_in;

	config_defaults(&built_in);
	if (rule->repeated & 1U << key)
		say(lint, SEVERITY_WARNING, rule->at[key], "%s was set before in this section; only this line counts",
		    config_key(key));
	if (later)
		say(lint, SEVERITY_WARNING, rule->at[key], "%s never counts: a later [%s] section sets it for the same",
		    config_key(key), config_section(later->section));
	else if (why)
		say(lint, SEVERITY_WARNING, rule->at[key], "%s has no effect: %s", config_key(key), why);
	else if (needs && rule->value[key] != built_in.value[key]) /* else it but says what is so anyway */
		say(lint, SEVERITY_WARNING, rule->at[key], "%s has no effect here without %s", config_key(key), needs);
}

static void check_rule(const struct lint *lint, const struct rule *rule)
{
	if (!rule->set)
		say(lint, SEVERITY_WARNING, start_of(rule), "this [%s] section sets nothing",
		    config_section(rule->section));
	check_names(lint, rule);
	for (int key = 0; key < KEY_COUNT; key++)
		if (is_set(rule, (enum key)key))
			check_key(lint, rule, (enum key)key);
	check_window(lint, rule);
}

void lint(const struct configuration *configuration, lint_report *report, void *context)
{
	const struct subject any = {.program = NULL};
	struct lint lint = {.config = &configuration->config, .report = report, .context = context};

	config_resolve(lint.config, &any, &lint.base);
	lint.mounts = mnt_new_table_from_file("/proc/self/mountinfo");
	for (unsigned i = 0; i < lint.config->count; i++)
		check_rule(&lint, &lint.config->rule[i]);
	mnt_unref_table(lint.mounts);
}
