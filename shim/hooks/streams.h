/* streams.h: the writes of FILE streams. */
#ifndef FASTALLOC_STREAMS_H
#define FASTALLOC_STREAMS_H

#include <stdio.h>

/* Find out whether the writes and closes that libc makes for its streams can be seen
 * safely; says in the log why not. Called once, at load. */
void streams_prepare(void);

/* See them from now on, if that can be done. */
void streams_install(void);

/* Are they seen, if need be from now on? To be asked before a stream can write to a file that
 * is known (window.h). Async-signal-safe. */
int streams_seen(void);

/* Its descriptor, without the lock. */
int streams_number(FILE *stream);

#endif
