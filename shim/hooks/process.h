/* process.h */
#ifndef FASTALLOC_PROCESS_H
#define FASTALLOC_PROCESS_H

/* Have windows end before every fork; none where liburing is loaded. Called once, at load. */
void process_watch(void);

#endif
