/* table.h: where large tables lie. */
#ifndef FASTALLOC_TABLE_H
#define FASTALLOC_TABLE_H

/* Behind all that is small (the linker sorts by name: --sort-section in meson.build). So what
 * every program writes at load is one page, rather than a page fault between each two tables. */
#define TABLE __attribute__((section(".bss.tables")))

#endif
