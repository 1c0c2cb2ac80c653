/*
 * opener LIBRARY [deep|apart]: opens it, with RTLD_DEEPBIND or in a namespace of its own if told to, and
 * says what dlopen says.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int apart = argc > 2 && argv[2][0] == 'a';
	int mode = RTLD_NOW | (argc > 2 && !apart ? RTLD_DEEPBIND : 0);

	if (argc < 2)
		return 2;
	if (!(apart ? dlmopen(LM_ID_NEWLM, argv[1], mode) : dlopen(argv[1], mode)))
		puts(dlerror());
	return 0;
}
