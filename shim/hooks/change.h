/* change.h */
#ifndef FASTALLOC_CHANGE_H
#define FASTALLOC_CHANGE_H

#include <sys/types.h>

/* Before setresuid(2) with these, or as much of it as setuid and setreuid can do. Ends all windows where
 * their files could not be cut any more. Async-signal-safe. */
void change_user(uid_t uid, uid_t euid, uid_t suid);

#endif
