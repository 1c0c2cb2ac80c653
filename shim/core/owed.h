/* owed.h: write errors we took from a descriptor and owe to its program.
 *
 * The kernel reports a failed write-back once per open file description, to
 * whoever flushes next (errseq_t, Documentation/core-api/errseq.rst). When our
 * flush meets an error that may be about the program's own data, the next
 * fsync, fdatasync or close of that descriptor reports it as it would have. */
#ifndef FASTALLOC_OWED_H
#define FASTALLOC_OWED_H

#include <stdatomic.h>

#include "active.h"

/* Remember that fd owes its program this errno. Async-signal-safe. With more
 * than 32 debts open the call that met the error was the only one to tell. */
void owed_note(int fd, int error);

/* The errno fd owes, which is then settled, or 0. One load where nothing is
 * owed by anybody. A number that meanwhile names another file owes nothing. */
int owed_take(int fd);

/* Does any descriptor owe anything? One load. */
extern INTERNAL atomic_int owed_debts;
static inline int owed_any(void)
{
	return __builtin_expect(atomic_load_explicit(&owed_debts, memory_order_relaxed) != 0, 0);
}

#endif
