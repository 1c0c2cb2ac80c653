/* apply.h: putting a section that tune found into a configuration. */
#ifndef FASTALLOC_APPLY_H
#define FASTALLOC_APPLY_H

/* What begins and ends tune's part of a section; whole lines. */
#define TUNED_BEGIN "# Found by fastalloc tune"
#define TUNED_END   "# End of what fastalloc tune found"

/* Could apply() change the file, now? NULL is the one that the library would use. It must be in
 * order, and its directory writable. Says why not; returns 0, or 1. */
int apply_check(const char *file);

/* Add the section, whose first line is `head`, after showing the difference and, unless `agreed`, asking.
 * What tune found before for the same mount is replaced. A new file begins with the stock
 * configuration, as the built-in one is not used beside a file. Returns the exit status. */
int apply(const char *file, const char *head, const char *section, int agreed);

#endif
