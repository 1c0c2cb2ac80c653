/* layout.h: what lies beside what in the library.
 *
 * A program that is started pays for the pages that are touched by then: a microsecond each,
 * and as much for 16 of code, which the kernel maps at once. So what is needed at load lies
 * together; the linker sorts by these names (--sort-section in meson.build). */
#ifndef FASTALLOC_LAYOUT_H
#define FASTALLOC_LAYOUT_H

/* Large, and mostly never touched: behind all that is small. */
#define TABLE              __attribute__((section(".bss.tables")))
#define TABLE_OF_CONSTANTS __attribute__((section(".rodata.tables")))

/* Functions of the constructor: first in the code. */
#define AT_LOAD __attribute__((section(".text.startup")))

/* Its constants: in the two pages that relocation writes anyway. */
#define CONSTANT_AT_LOAD __attribute__((section(".data.rel.ro.load")))
#define TABLE_AT_LOAD    __attribute__((section(".data.load")))

#endif
