#include "real.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
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

/* Where there is no dlsym. */
Test(real, finds_what_dlsym_finds)
{
#define IS_FOUND(type, name, parameters) cr_expect_eq(real_find(#name), dlsym(RTLD_NEXT, #name), "%s", #name);
	REAL_FUNCTIONS(IS_FOUND)
	cr_expect_null(real_find("no_such_function"));
}

/* With as many threads as this process has. */
Test(real, knows_of_threads)
{
	real_resolve(0);
	cr_expect_eq(real.single_threaded, dlsym(RTLD_DEFAULT, "__libc_single_threaded"));
}

Test(real, knows_what_is_loaded)
{
	cr_expect(real_has_object("/libc.so"));
	cr_expect_not(real_has_object("/libc.so.77"));
	cr_expect_not(real_has_object("/no_such_library"));
}
