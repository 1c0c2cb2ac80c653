/*
 * opener LIBRARY [deep]: opens it, with RTLD_DEEPBIND if told to, and says what dlopen says.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int mode = RTLD_NOW | (argc > 2 ? RTLD_DEEPBIND : 0);

	if (argc < 2)
		return 2;
	if (!dlopen(argv[1], mode))
		puts(dlerror());
	return 0;
}
