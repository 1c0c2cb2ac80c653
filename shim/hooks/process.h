/* process.h */
#ifndef FASTALLOC_PROCESS_H
#define FASTALLOC_PROCESS_H

/* Have windows end before every fork. Called once, at load. */
void process_watch_forks(void);

#endif
