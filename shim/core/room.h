/* room.h: looking before allocating: can this fit at all? */
#ifndef FASTALLOC_ROOM_H
#define FASTALLOC_ROOM_H

#include "extent.h"
#include "policy.h"

/* Would allocating want take more than is free? Returns 0, or ENOSPC; 0 also
 * where statfs tells nothing. Counts what is certainly missing, so it never
 * refuses what could fit: allocated blocks in the range, also past EOF, cost
 * nothing. One statfs where there is plenty. Async-signal-safe. */
int room_for(int fd, struct extent want, const struct file *file);

/* Has the quota of the file's owner or group been reached? For telling
 * EDQUOT from ENOSPC after a page fault said neither. Async-signal-safe. */
int room_quota_reached(int fd);

#endif
