/* streams.h: the writes of FILE streams. */
#ifndef FASTALLOC_STREAMS_H
#define FASTALLOC_STREAMS_H

/* See the writes and closes that libc makes for its streams, if that can be done
 * safely; says in the log why not. Called once, at load. */
void streams_install(void);

#endif
