/* delay.h: where something is looked at and then acted upon.
 *
 * In the library that is installed DELAY() is nothing. tests/delay.c makes a copy of it
 * that stays for a random while at each of them, so that whatever others can do in
 * between is done there often. */
#ifndef FASTALLOC_DELAY_H
#define FASTALLOC_DELAY_H

#ifdef FASTALLOC_DELAYS
void delay_here(void);
#define DELAY() delay_here()
#else
#define DELAY() ((void)0)
#endif

#endif
