/* config.h: preload.conf -> rules -> the policy for one file.
 *
 * No function here calls malloc, stdio or the locale. Parsing happens once,
 * in the constructor; resolving is async-signal-safe and may run anywhere. */
#ifndef FASTALLOC_CONFIG_H
#define FASTALLOC_CONFIG_H

#include <stddef.h>
#include <stdint.h>

/* The keys of preload.conf, in the order of the table in config.c. */
enum key {
	KEY_POSIX_FALLOCATE,
	KEY_FALLOCATE,
	KEY_FTRUNCATE,
	KEY_FTRUNCATE_MAX,
	KEY_ZERO_FILL_MAX,
	KEY_SYNC,
	KEY_WRITE,
	KEY_WINDOW,
	KEY_WINDOW_MAX,
	KEY_WINDOW_AFTER,
	KEY_STDIO,
	KEY_DEEPBIND,
	KEY_COUNT
};

/* The values, in the order of the words in preload.conf. */
enum { POSIX_FALLOCATE_AUTO, POSIX_FALLOCATE_NATIVE, POSIX_FALLOCATE_SPARSE, POSIX_FALLOCATE_REFUSE };
enum { FALLOCATE_NATIVE, FALLOCATE_AUTO };
enum { FTRUNCATE_NATIVE, FTRUNCATE_PREALLOCATE, FTRUNCATE_ALLOCATE };
enum { SYNC_AUTO, SYNC_ALWAYS, SYNC_NEVER };
enum { WRITE_NATIVE, WRITE_PREALLOCATE };
enum { STDIO_AUTO, STDIO_OFF };
enum { DEEPBIND_NATIVE, DEEPBIND_IGNORE };

/* What "unlimited" means to a size: larger than any off64_t. */
#define SIZE_UNLIMITED UINT64_MAX

/* The decision for one file: an enumerator above, or a size in bytes, per key. */
struct policy {
	uint64_t value[KEY_COUNT];
};

/* A piece of the configuration's text; not terminated. */
struct text {
	const char *at;
	size_t length;
};

enum section { SECTION_DEFAULT, SECTION_FSTYPE, SECTION_MOUNT, SECTION_PATH, SECTION_PROGRAM, SECTION_COUNT };

/* One section of the file: whom it applies to, and the keys it sets. */
struct rule {
	enum section section;
	struct text names;         /* between the section's word and ']' */
	unsigned set;              /* bit 1 << key: the rule sets that key */
	unsigned repeated;         /* bit 1 << key: it does so more than once; the last counts */
	uint64_t value[KEY_COUNT]; /* valid where set */
	const char *at[KEY_COUNT]; /* where the key stands in the text; valid where set */
};

#define CONFIG_MAX_RULES 256
#define CONFIG_MAX_BYTES (1 << 20)

/* Rules point into the parsed text, which must outlive them. */
struct config {
	unsigned count;
	unsigned sections; /* bit 1 << section: some rule is of that kind */
	const struct rule *rule;
	struct rule parsed[CONFIG_MAX_RULES]; /* what rule points to, where they were not built in (source.h) */
};

/* Line and column count from 1; the column is that of the offending word, in bytes. */
struct config_error {
	unsigned line, column;
	char message[256];
};

/* What a file is, as far as rules can tell. A NULL member matches no rule. */
struct subject {
	const char *fstype;  /* the finest name: "ext4", "nfs4.2", "fuse.sshfs" */
	const char *family;  /* the wider name, "nfs" or "fuse", or NULL */
	const char *mount;   /* the mount point */
	const char *path;    /* the file's absolute path */
	const char *program; /* the program's file name, without directories */
};

/* Parse length bytes of text into config (emptied first). Every error goes to
 * report, which may be NULL; parsing goes on behind it, so that all are found.
 * Returns the number of errors; with any, config must not be used. */
unsigned config_parse(struct config *config, const char *text, size_t length,
		      void (*report)(void *context, const struct config_error *error), void *context);

/* The policy for subject: built-in values, then every rule that matches, the
 * least specific kind first; within [fstype], family names before finer ones;
 * among equals later rules win. Async-signal-safe. */
void config_resolve(const struct config *config, const struct subject *subject, struct policy *policy);

/* The same, and by which rule: decided[key] is NULL where the value is the built-in one. */
void config_explain(const struct config *config, const struct subject *subject, struct policy *policy,
		    const struct rule *decided[KEY_COUNT]);

/* The built-in value of every key. */
void config_defaults(struct policy *policy);

/* The word of preload.conf for value of key, or NULL where key is a size. */
const char *config_word(enum key key, uint64_t value);

/* The names of keys and sections in preload.conf. */
const char *config_key(enum key key);
const char *config_section(enum section section);

/* The next of a rule's names, without its quotes; `rest`, at first rule->names, moves behind
 * it. Empty at the end. */
struct text config_next_name(struct text *rest);

/* The one of words, up to NULL, that was meant by word; NULL where none looks like it. */
const char *config_nearest(const char *const *words, struct text word);

/* Does path match the glob? '*' and '?' stay within a directory, '**' crosses
 * them, [a-z] and [!a-z] are sets, '\' quotes. Bytes, no locale; time bounded
 * by the product of the lengths. Async-signal-safe. */
int config_glob(struct text glob, const char *path);

#endif
