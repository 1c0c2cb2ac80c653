/* The delays of a library that is built with them (delay.h): of 16 times, a yield four
 * times and once a sleep of up to a millisecond. Which, depends on FASTALLOC_DELAYS, a
 * number; without it there is none. */
#include "delay.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "sys.h"

static atomic_uint count;
static uint64_t seed;

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* environ is not set yet (load.c). */
static __attribute__((constructor)) void read_seed(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
	for (; *envp; envp++)
		if (!strncmp(*envp, "FASTALLOC_DELAYS=", 17))
			seed = strtoull(*envp + 17, NULL, 0) + 1;
}

void delay_here(void)
{
	uint64_t random;

	if (!seed)
		return;
	random = mix(seed << 32 ^ atomic_fetch_add(&count, 1));
	if (random % 16 == 0) {
		const struct {
			long seconds, nanoseconds;
		} time = {0, (long)(random >> 32) % 1000000};

		SYS2(SYS_nanosleep, &time, NULL);
	} else if (random % 16 < 5) {
		SYS0(SYS_sched_yield);
	}
}
