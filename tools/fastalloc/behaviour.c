#include "behaviour.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "configuration.h"
#include "policy.h"

void sentences_add(struct sentences *s, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(s->text + s->used, sizeof(s->text) - s->used, format, arguments);
	va_end(arguments);
	s->used += (size_t)length;
	if (s->used >= sizeof(s->text))
		s->used = sizeof(s->text) - 1;
}

/* Facts */

static void put_support(struct sentences *s, enum support support)
{
	static const char *const sentences[] = {
		[SUPPORT_UNKNOWN] = "whether fallocate(2) is supported is not known; fastalloc probe tries it",
		[SUPPORT_YES] = "fallocate(2) is supported",
		[SUPPORT_NO] = "fallocate(2) is not supported",
		[SUPPORT_SERVER] = "fallocate(2) is supported where the server can; fastalloc probe tries it",
		[SUPPORT_DAEMON] = "fallocate(2) is supported where the file system's daemon can; fastalloc "
				   "probe tries it",
		[SUPPORT_LOWER] = "fallocate(2) is supported where the file system below does; fastalloc probe "
				  "tries it",
	};

	sentences_add(s, "%s\n", sentences[support]);
}

void behaviour_facts(struct sentences *s, const struct place *place)
{
	if (!(place->traits & TRAIT_KNOWN)) {
		sentences_add(s,
			      "its mount is not listed in /proc/self/mountinfo: only [default], [path] and [program] "
			      "sections apply\n");
		return;
	}
	put_support(s, place->support);
	if (place_is_nfs(place))
		sentences_add(s, "no blocks past the end of file: the NFS client refuses FALLOC_FL_KEEP_SIZE\n");
	if (place->traits & TRAIT_LEAKS && place->support != SUPPORT_NO)
		sentences_add(s,
			      "a fallocate that fails keeps part of the space, so what cannot fit is refused before\n");
	if (place->traits & TRAIT_DENSE)
		sentences_add(s, "no holes: growing a file allocates everything\n");
	if (place->traits & TRAIT_CHAIN)
		sentences_add(s,
			      "clusters that a pulled card left past the end of a file make an append turn the volume "
			      "read-only\n");
	if (place->traits & TRAIT_MEMORY)
		sentences_add(s, "files are in memory\n");
	else if (place->traits & TRAIT_FAULT_ALLOCATES)
		sentences_add(s, "dirtying a page allocates its block at once\n");
	else if (place->support != SUPPORT_YES)
		sentences_add(s, "whether there is room shows only when data is flushed\n");
	if (place->traits & TRAIT_SYNCHRONOUS)
		sentences_add(s, "mounted with sync\n");
}

/* Calls */

static const char *size(const struct place *place, enum key key)
{
	static char text[4][VALUE_TEXT_MAX];
	static unsigned next;

	next = (next + 1) % 4;
	return configuration_value(key, place->policy.value[key], text[next]);
}

static int is_unlimited(const struct place *place, enum key key)
{
	return place->policy.value[key] == SIZE_UNLIMITED;
}

static int flushes(const struct place *place)
{
	if (place->policy.value[KEY_SYNC] == SYNC_AUTO)
		return !(place->traits & TRAIT_FAULT_ALLOCATES);
	return place->policy.value[KEY_SYNC] == SYNC_ALWAYS;
}

static void put_reserve(struct sentences *s, const struct place *place)
{
	if (place->support != SUPPORT_NO) {
		sentences_add(s, "fallocate(2)%s",
			      place->traits & TRAIT_LEAKS ? ", or ENOSPC at once where it cannot fit" : "");
		if (place->support == SUPPORT_YES)
			return;
		sentences_add(s, "; where that is not supported, ");
	}
	if (!place->policy.value[KEY_ZERO_FILL_MAX]) {
		sentences_add(s, "EOPNOTSUPP");
		return;
	}
	sentences_add(s, "the space is reserved by dirtying pages and appending zeros%s",
		      flushes(place) ? ", then flushed" : "");
	if (!is_unlimited(place, KEY_ZERO_FILL_MAX))
		sentences_add(s, "; EOPNOTSUPP for more than %s", size(place, KEY_ZERO_FILL_MAX));
}

static void put_posix_fallocate(struct sentences *s, const struct place *place)
{
	switch (place->policy.value[KEY_POSIX_FALLOCATE]) {
	case POSIX_FALLOCATE_NATIVE:
		sentences_add(s, "left to libc: fallocate(2), or a byte into every block");
		break;
	case POSIX_FALLOCATE_SPARSE:
		sentences_add(s, "sets the size only; nothing is reserved");
		break;
	case POSIX_FALLOCATE_REFUSE:
		sentences_add(s, "EOPNOTSUPP");
		break;
	default:
		put_reserve(s, place);
	}
}

static void put_fallocate(struct sentences *s, const struct place *place)
{
	if (place->policy.value[KEY_FALLOCATE] == FALLOCATE_NATIVE) {
		sentences_add(s, "passed on");
		return;
	}
	sentences_add(s, "mode 0: ");
	put_reserve(s, place);
}

/* Why nothing is allocated ahead of a growth, whatever the policy; or NULL. */
static const char *never_ahead(const struct place *place)
{
	if (!(place->traits & TRAIT_KNOWN))
		return "on no known mount";
	if (place->traits & TRAIT_SYNCHRONOUS)
		return "mounted with sync";
	return place->traits & TRAIT_MEMORY ? "in memory" : NULL;
}

static void put_passed_on(struct sentences *s, const char *why)
{
	sentences_add(s, "passed on: %s", why);
}

static void put_preallocated(struct sentences *s, const struct place *place)
{
	sentences_add(s, "growth is allocated first, where that can be done");
	if (place->traits & TRAIT_DENSE)
		sentences_add(s, ", or ENOSPC at once where it cannot fit");
}

static void put_ftruncate(struct sentences *s, const struct place *place)
{
	uint64_t value = place->policy.value[KEY_FTRUNCATE];

	if (value == FTRUNCATE_NATIVE) {
		sentences_add(s, "passed on");
	} else if (never_ahead(place)) {
		put_passed_on(s, never_ahead(place));
	} else if (value == FTRUNCATE_PREALLOCATE && place->support == SUPPORT_NO) {
		put_passed_on(s, "no fallocate(2) here");
	} else {
		if (value == FTRUNCATE_PREALLOCATE)
			put_preallocated(s, place);
		else
			sentences_add(s, "growth is reserved, or fails");
		if (!is_unlimited(place, KEY_FTRUNCATE_MAX))
			sentences_add(s, "; not for more than %s", size(place, KEY_FTRUNCATE_MAX));
	}
}

static void put_windows(struct sentences *s, const struct place *place)
{
	const uint64_t *value = place->policy.value;

	sentences_add(s, "blocks are allocated ahead while this process alone has the file open: ");
	if (value[KEY_WINDOW] >= value[KEY_WINDOW_MAX])
		sentences_add(s, "%s at a time", size(place, KEY_WINDOW_MAX));
	else
		sentences_add(s, "half as much as the file has, %s to %s", size(place, KEY_WINDOW),
			      size(place, KEY_WINDOW_MAX));
	if (value[KEY_WINDOW_AFTER])
		sentences_add(s, ", in files from %s or some writes on", size(place, KEY_WINDOW_AFTER));
}

static const char *never_windows(const struct place *place)
{
	if (never_ahead(place))
		return never_ahead(place);
	if (place_is_nfs(place))
		return "NFS has no blocks past the end of file";
	if (place->support == SUPPORT_NO)
		return "no fallocate(2) here";
	return place->traits & TRAIT_WINDOWS ? NULL : "not on this type of file system";
}

static void put_write(struct sentences *s, const struct place *place)
{
	if (place->policy.value[KEY_WRITE] == WRITE_NATIVE)
		sentences_add(s, "passed on");
	else if (never_windows(place))
		put_passed_on(s, never_windows(place));
	else
		put_windows(s, place);
}

static void put_streams(struct sentences *s, const struct place *place)
{
	if (place->policy.value[KEY_WRITE] == WRITE_PREALLOCATE && place->policy.value[KEY_STDIO] == STDIO_OFF)
		put_passed_on(s, "stdio = off");
	else if (place->policy.value[KEY_WRITE] == WRITE_PREALLOCATE && !never_windows(place))
		sentences_add(s, "as write");
	else
		put_write(s, place);
}

static void put_append(struct sentences *s, const struct place *place)
{
	if (place->policy.value[KEY_WRITE] == WRITE_PREALLOCATE && place->traits & TRAIT_CHAIN &&
	    !(place->traits & TRAIT_SYNCHRONOUS))
		sentences_add(s, "what lies past the end of the file is given back first");
	else
		sentences_add(s, "passed on");
}

static const struct {
	const char *name;
	void (*put)(struct sentences *s, const struct place *place);
} calls[] = {
	{"posix_fallocate", put_posix_fallocate},
	{"fallocate", put_fallocate},
	{"ftruncate", put_ftruncate},
	{"write", put_write},
	{"fwrite", put_streams},
	{"open O_APPEND", put_append},
};

const char *behaviour_call(struct sentences *s, const struct place *place, size_t number)
{
	if (number >= sizeof(calls) / sizeof(*calls))
		return NULL;
	s->used = 0;
	calls[number].put(s, place);
	return calls[number].name;
}
