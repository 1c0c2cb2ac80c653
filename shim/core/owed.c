#include "owed.h"

#include "delay.h"
#include "sys.h"
#include "layout.h"

#define SLOTS 32

enum { SLOT_FREE, SLOT_BUSY, SLOT_OWED };

atomic_int owed_debts;
TABLE static struct {
	atomic_int state, fd; /* fd is looked at before the slot is ours */
	int error;
	uint32_t major, minor;
	uint64_t inode;
} slot[SLOTS];

static int identify(int fd, struct statx *stx)
{
	return sys_statx(fd, "", AT_EMPTY_PATH, STATX_INO, stx);
}

void owed_note(int fd, int error)
{
	struct statx stx;

	if (identify(fd, &stx) < 0)
		return;
	for (int i = 0; i < SLOTS; i++) {
		int expected = SLOT_FREE;

		if (!atomic_compare_exchange_strong(&slot[i].state, &expected, SLOT_BUSY))
			continue;
		DELAY();
		atomic_store(&slot[i].fd, fd);
		slot[i].error = error;
		slot[i].major = stx.stx_dev_major;
		slot[i].minor = stx.stx_dev_minor;
		slot[i].inode = stx.stx_ino;
		atomic_store(&slot[i].state, SLOT_OWED);
		atomic_fetch_add(&owed_debts, 1);
		return;
	}
}

int owed_take(int fd)
{
	int error = 0;

	if (!owed_any())
		return 0;
	for (int i = 0; i < SLOTS; i++) {
		int expected = SLOT_OWED;
		struct statx stx;

		if (atomic_load(&slot[i].state) != SLOT_OWED || atomic_load(&slot[i].fd) != fd ||
		    !atomic_compare_exchange_strong(&slot[i].state, &expected, SLOT_BUSY))
			continue;
		DELAY();
		if (atomic_load(&slot[i].fd) != fd) { /* taken and given again in between */
			atomic_store(&slot[i].state, SLOT_OWED);
			continue;
		}
		if (error == 0 && identify(fd, &stx) == 0 && stx.stx_ino == slot[i].inode &&
		    stx.stx_dev_major == slot[i].major && stx.stx_dev_minor == slot[i].minor)
			error = slot[i].error;
		atomic_fetch_sub(&owed_debts, 1);
		atomic_store(&slot[i].state, SLOT_FREE);
	}
	return error;
}
