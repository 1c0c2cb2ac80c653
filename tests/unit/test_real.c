#include "real.h"

#include <criterion/criterion.h>
#include <string.h>

/* dlsym, which auditors are to see, and the tables: what is behind this program. */
Test(real, is_what_dlsym_finds)
{
	static struct real bare, looked_up;

	bare = real;
	real_resolve(1);
	looked_up = real;
	cr_expect_neq(real.write, bare.write);
	real = bare;
	real_resolve(0);
	cr_expect_neq(real.write, bare.write);
#define IS_SAME(type, name, parameters) cr_expect_eq(real.name, looked_up.name, "%s", #name);
	REAL_FUNCTIONS(IS_SAME)
}
