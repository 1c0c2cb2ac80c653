/* Models of what protects other writers' bytes, in all interleavings: cutting off a window
 * (shim/core/window.c) and filling past EOF (shim/core/fill.c). Each step is one that the
 * kernel, or an atomic instruction, makes in one piece; its name is the function it mirrors.
 * Of the protocol as it is, nothing may be lost. Of every other one, which lacks one of its
 * parts or was rejected, the model must find the loss, or it would prove nothing. */
#include <stdio.h>
#include <string.h>

#include "explore.h"

static int number, failed;

static void result(const char *name, const struct model *model, int expected)
{
	struct found found;

	explore(model, &found);
	failed += found.bad != expected;
	printf("%s %d - %s: %s (%lu states, %lu ends)\n", found.bad == expected ? "ok" : "not ok", ++number, name,
	       found.bad ? "a byte is lost" : "no byte is lost", found.states, found.ends);
	for (int i = 0; i < found.steps && found.bad != expected; i++)
		printf("# %d: %s\n", found.who[i], found.what[i]);
}

/* A file: cells, each a byte, and who wrote it. */
enum { CELLS = 8, NOBODY = 0 };

struct file {
	signed char size;
	signed char cell[CELLS];
	signed char acknowledged[CELLS]; /* by number of the byte */
};

static void put(struct file *file, int at, int byte)
{
	file->cell[at] = (signed char)byte;
	if (file->size <= at)
		file->size = (signed char)(at + 1);
}

static void cut(struct file *file, int size)
{
	for (int at = size; at < CELLS; at++)
		file->cell[at] = NOBODY;
	file->size = (signed char)size;
}

static int loses(const struct file *file)
{
	for (int byte = 1; byte < CELLS; byte++)
		if (file->acknowledged[byte] && !memchr(file->cell, byte, (size_t)file->size))
			return 1;
	return 0;
}

/* Cutting off a window */

enum {
	COUNTED = 1 << 0,   /* enter, leave: writes are counted, and wait while it is held */
	LEASED = 1 << 1,    /* take_lease: nobody else has the file open */
	SIZE_LAST = 1 << 2, /* cut_if_sole: the size is looked at while there is the lease */
	WAITED = 1 << 3,    /* clear: whoever holds it is waited for before the descriptor is closed */
	ASKED = 1 << 4,     /* is_entry: the descriptor is still one of the description that is held */
	ALL = (1 << 5) - 1,
};

static unsigned parts;

/* What agents do, in turn. */
enum operation { END, WRITE, CLOSE, OPEN, RELIEVE, FORK, FOREIGN_OPEN, FOREIGN_WRITE, FOREIGN_CLOSE };

enum { NONE, FIRST, AGAIN, FOREIGN, DESCRIPTIONS };
enum { A, B, NUMBERS };

static const struct action {
	signed char operation, fd, byte;
} (*programs)[AGENTS][8];

struct windows {
	struct file file;
	signed char opened[NUMBERS]; /* the kernel's: which description a number is */
	signed char foreign;         /* another process has the file open */
	signed char leased;          /* there is a lease */
	struct {
		signed char held, writers, references, windowed, ended;
	} d[DESCRIPTIONS];
	signed char entry[NUMBERS];
	struct agent {
		signed char action, step, known, size, holds;
	} agent[AGENTS];
};

static const char *next(struct agent *agent, int step, const char *what)
{
	agent->step = (signed char)step;
	return what;
}

static const char *done(struct agent *agent, const char *what)
{
	agent->action++;
	agent->step = agent->known = agent->size = agent->holds = 0;
	return what;
}

/* RETURN_KNOWN_WRITE in hooks/write.h, with enter and leave of window.c. */
static const char *step_write(struct windows *w, struct agent *agent, struct action action)
{
	int known = agent->known;

	switch (agent->step) {
	case 0:
		agent->known = w->entry[(int)action.fd];
		return next(agent, (parts & COUNTED) && agent->known ? 1 : 4, "window_of");
	case 1:
		w->d[known].writers++;
		return next(agent, w->d[known].held ? 2 : 4, "enter");
	case 2:
		w->d[known].writers--;
		return next(agent, 3, "enter: it is held");
	case 3:
		return w->d[known].held ? NULL : next(agent, 1, "wait_while_held");
	case 4:
		put(&w->file, w->file.size, action.byte);
		w->file.acknowledged[(int)action.byte] = 1;
		return next(agent, 5, "the write");
	default:
		if (parts & COUNTED && known)
			w->d[known].writers--;
		return done(agent, "leave");
	}
}

/* F_SETLEASE (fs/locks.c): no other description of the file is open. */
static int is_sole(const struct windows *w, int fd)
{
	int other = w->foreign;

	for (int i = 0; i < NUMBERS; i++)
		other |= w->opened[i] && w->opened[i] != w->opened[fd];
	return w->opened[fd] && !other && !w->leased;
}

/* trim and cut_if_sole, of a description that is held; at `after` it is let go. */
enum { TRIM = 20, LOOK_FIRST, LEASE, LOOK, CUT, RETURN };
static const char *step_trim(struct windows *w, struct agent *agent, int fd, int after)
{
	switch (agent->step) {
	case TRIM:
		if (!w->d[(int)agent->known].windowed || w->d[(int)agent->known].ended || !w->opened[fd])
			return next(agent, after, "trim: nothing to do");
		return next(agent, parts & SIZE_LAST ? LEASE : LOOK_FIRST, "trim");
	case LOOK_FIRST:
		agent->size = w->file.size;
		return next(agent, LEASE, "statx, too early");
	case LEASE:
		if (!(parts & LEASED))
			return next(agent, parts & SIZE_LAST ? LOOK : CUT, "no lease");
		if (!is_sole(w, fd))
			return next(agent, after, "take_lease: others have it open");
		w->leased = 1;
		return next(agent, parts & SIZE_LAST ? LOOK : CUT, "take_lease");
	case LOOK:
		agent->size = w->file.size;
		return next(agent, CUT, "statx");
	case CUT:
		cut(&w->file, agent->size);
		return next(agent, RETURN, "ftruncate");
	default:
		if (parts & LEASED)
			w->leased = 0;
		w->d[(int)agent->known].windowed = 0;
		return next(agent, after, "return_lease");
	}
}

/* clear, then what follows. */
enum { CLEAR = 30, WAIT, DROP, AFTER_DROP };
static const char *step_clear(struct windows *w, struct agent *agent, int fd)
{
	switch (agent->step) {
	case CLEAR:
		if (w->entry[fd] != agent->known)
			return next(agent, AFTER_DROP, "clear: it was done by another");
		w->entry[fd] = 0;
		return next(agent, parts & WAITED ? WAIT : DROP, "clear");
	case WAIT:
		return w->d[(int)agent->known].held ? NULL : next(agent, DROP, "wait_while_held");
	default:
		w->d[(int)agent->known].references--;
		return next(agent, AFTER_DROP, "drop");
	}
}

/* close: close_entry, then the kernel's. */
static const char *step_close(struct windows *w, struct agent *agent, int fd)
{
	int known = agent->known;

	switch (agent->step) {
	case 0:
		agent->known = w->entry[fd];
		return next(agent, agent->known ? 1 : AFTER_DROP, "window_closing");
	case 1:
		if (!w->d[known].windowed || w->d[known].references > 1 || w->d[known].held || w->d[known].writers)
			return next(agent, CLEAR, "close_entry: no trim");
		w->d[known].held = 1;
		return next(agent, TRIM, "hold");
	case 2:
		w->d[known].held = 0;
		return next(agent, CLEAR, "let_go");
	case CLEAR:
	case WAIT:
	case DROP:
		return step_clear(w, agent, fd);
	case AFTER_DROP:
		w->opened[fd] = NONE;
		return done(agent, "the close");
	default:
		return step_trim(w, agent, fd, 2);
	}
}

/* window_relieve: give_back. */
static const char *step_relieve(struct windows *w, struct agent *agent, int fd)
{
	int known = agent->known;

	switch (agent->step) {
	case 0:
		agent->known = w->entry[fd];
		return agent->known ? next(agent, 1, "give_back") : done(agent, "each: not known");
	case 1:
		if (!w->d[known].windowed || w->d[known].held || w->d[known].writers)
			return done(agent, "give_back: no");
		w->d[known].held = 1;
		return next(agent, 2, "hold");
	case 2:
		return next(agent, parts & ASKED && w->entry[fd] != known ? 3 : TRIM, "is_entry");
	case 3:
		w->d[known].held = 0;
		return done(agent, "let_go");
	default:
		return step_trim(w, agent, fd, 3);
	}
}

/* window_suspend: share_entry, end_entry, end. Writes in flight may be waited for in vain. */
static const char *step_fork(struct windows *w, struct agent *agent, int fd, int other)
{
	int known = agent->known;

	switch (agent->step) {
	case 0:
		agent->known = w->entry[fd];
		return agent->known ? next(agent, 1, "end_entry") : done(agent, "each: not known");
	case 1:
		return w->d[known].held ? NULL : next(agent, 2, "wait_while_held");
	case 2:
		if (!w->d[known].windowed || w->d[known].held)
			return next(agent, 6, "end: no trim");
		w->d[known].held = 1;
		return next(agent, 3, "hold_when_idle");
	case 3:
		if (w->d[known].writers && !other)
			return NULL;
		return next(agent, w->d[known].writers ? 5 : 4, "hold_when_idle: they are done, or we wait no longer");
	case 4:
		return next(agent, parts & ASKED && w->entry[fd] != known ? 5 : TRIM, "is_entry");
	case 5:
		w->d[known].ended = 1;
		w->d[known].held = 0;
		return next(agent, CLEAR, "let_go");
	case 6:
		w->d[known].ended = 1;
		return next(agent, 7, "end: KNOWN_ENDED");
	case 7:
		return w->d[known].held ? NULL : next(agent, CLEAR, "wait_while_held");
	case CLEAR:
	case WAIT:
	case DROP:
		return step_clear(w, agent, fd);
	case AFTER_DROP:
		return done(agent, "end_entry: done");
	default:
		return step_trim(w, agent, fd, 5);
	}
}

/* The same file, under the same number. An open waits until a lease is given back. */
static const char *step_open(struct windows *w, struct agent *agent, int fd)
{
	if (agent->step == 0) {
		if (w->leased)
			return NULL;
		w->opened[fd] = AGAIN;
		return next(agent, 1, "the open");
	}
	w->d[AGAIN].references = 1;
	w->entry[fd] = AGAIN;
	return done(agent, "window_opened");
}

static const char *step_foreign(struct windows *w, struct agent *agent, struct action action)
{
	switch (action.operation) {
	case FOREIGN_OPEN:
		if (w->leased)
			return NULL;
		w->foreign = 1;
		return done(agent, "another process opens it");
	case FOREIGN_WRITE:
		put(&w->file, w->file.size, action.byte);
		w->file.acknowledged[(int)action.byte] = 1;
		return done(agent, "another process writes");
	default:
		w->foreign = 0;
		return done(agent, "another process closes it");
	}
}

static const char *step_windows(void *state, int i, int other)
{
	struct windows *w = state;
	struct agent *agent = &w->agent[i];
	struct action action = (*programs)[i][(int)agent->action];

	if (other && action.operation != FORK)
		return NULL;
	switch (action.operation) {
	case END:
		return NULL;
	case WRITE:
		return step_write(w, agent, action);
	case CLOSE:
		return step_close(w, agent, action.fd);
	case OPEN:
		return step_open(w, agent, action.fd);
	case RELIEVE:
		return step_relieve(w, agent, action.fd);
	case FORK:
		return step_fork(w, agent, action.fd, other);
	default:
		return step_foreign(w, agent, action);
	}
}

static int is_bad_windows(const void *state)
{
	const struct windows *w = state;

	for (int i = 0; i < AGENTS; i++) /* or it waits for ever */
		if ((*programs)[i][(int)w->agent[i].action].operation != END)
			return 1;
	return loses(&w->file);
}

/* Two descriptors of one description, which has a window. */
static const struct windows duplicated = {
	.file = {.size = 1},
	.opened = {FIRST, FIRST},
	.d = {[FIRST] = {.references = 2, .windowed = 1}},
	.entry = {FIRST, FIRST},
};
static const struct windows single = {
	.file = {.size = 1},
	.opened = {FIRST, NONE},
	.d = {[FIRST] = {.references = 1, .windowed = 1}},
	.entry = {FIRST, NONE},
};

static const struct action two_threads[AGENTS][8] = {
	{{WRITE, A, 1}, {CLOSE, A, 0}},
	{{WRITE, B, 2}, {WRITE, B, 3}, {CLOSE, B, 0}},
	{{RELIEVE, A, 0}, {RELIEVE, B, 0}},
};
static const struct action processes[AGENTS][8] = {
	{{WRITE, A, 1}, {CLOSE, A, 0}},
	{{FOREIGN_OPEN, 0, 0}, {FOREIGN_WRITE, 0, 2}, {FOREIGN_CLOSE, 0, 0}},
	{{RELIEVE, A, 0}},
	{{FORK, A, 0}},
};
static const struct action opened_again[AGENTS][8] = {
	{{WRITE, A, 1}, {CLOSE, A, 0}, {OPEN, A, 0}, {WRITE, A, 2}, {WRITE, A, 3}, {CLOSE, A, 0}},
	{{FOREIGN_OPEN, 0, 0}, {FOREIGN_CLOSE, 0, 0}},
	{{RELIEVE, A, 0}},
};
static const struct action opened_again_fork[AGENTS][8] = {
	{{WRITE, A, 1}, {CLOSE, A, 0}, {OPEN, A, 0}, {WRITE, A, 2}, {WRITE, A, 3}, {CLOSE, A, 0}},
	{{FOREIGN_OPEN, 0, 0}, {FOREIGN_CLOSE, 0, 0}},
	{{FORK, A, 0}},
};

static void windows(const char *name, const struct windows *initial, const struct action (*of)[AGENTS][8],
		    unsigned having, int expected)
{
	const struct model model = {sizeof(*initial), initial, step_windows, is_bad_windows};

	parts = having;
	programs = of;
	result(name, &model, expected);
}

/* Filling past EOF */

enum way { APPEND, CLAIM, ZEROS, BLOCKS };
enum { LONG_PAGE = 4 };

static enum way way;

struct fill {
	struct file file;
	signed char step, size, eof, filled;
	signed char written[AGENTS];
};

struct fill_case {
	signed char size, end;  /* to fill: from size to end */
	signed char at[AGENTS]; /* where agents write a byte each, -1: they append two; 0: they do nothing */
};
static const struct fill_case *fill_case;

static const char *go(struct fill *f, int step, const char *what)
{
	f->step = (signed char)step;
	return what;
}

/* append_zeros, with extend_within_page. */
static const char *step_append(struct fill *f)
{
	int end = fill_case->end, page = (end - 1) / LONG_PAGE * LONG_PAGE;

	switch (f->step) {
	case 0:
		f->size = f->file.size;
		if (f->size >= end)
			return go(f, 9, "size_of: done");
		return go(f, f->size > page ? 1 : 2, "size_of");
	case 1: /* the kernel reads the byte while it has the inode's lock */
		put(&f->file, end - 1, f->file.size > end - 1 ? f->file.cell[end - 1] : NOBODY);
		return go(f, 9, "extend_within_page");
	default:
		put(&f->file, f->file.size, NOBODY);
		return go(f, 0, "append_some");
	}
}

/* Look, then write one zero byte at the end. */
static const char *step_claim(struct fill *f)
{
	if (f->step == 0) {
		f->size = f->file.size;
		return go(f, f->size < fill_case->end ? 1 : 9, "size_of");
	}
	put(&f->file, fill_case->end - 1, NOBODY);
	return go(f, 9, "a zero at the end");
}

/* Write zeros from the size that it had, as QEMU does; a cell at a time. */
static const char *step_zeros(struct fill *f)
{
	if (f->step == 0) {
		f->size = f->file.size;
		return go(f, f->size < fill_case->end ? 1 : 9, "size_of");
	}
	put(&f->file, f->size++, NOBODY);
	return go(f, f->size < fill_case->end ? 1 : 9, "zeros");
}

/* write_blocks: look at each cell, then write a zero to it, as glibc does. */
static const char *step_blocks(struct fill *f)
{
	if (f->step == 0) {
		int missing = f->size >= f->file.size || f->file.cell[(int)f->size] == NOBODY;

		return go(f, missing ? 1 : 2, "is_missing");
	}
	if (f->step == 1)
		put(&f->file, f->size, NOBODY);
	f->size++;
	return go(f, f->size < fill_case->end ? 0 : 9, "write_byte");
}

static const char *step_filler(struct fill *f)
{
	if (f->step == 9)
		return NULL;
	switch (way) {
	case APPEND:
		return step_append(f);
	case CLAIM:
		return step_claim(f);
	case ZEROS:
		return step_zeros(f);
	default:
		return step_blocks(f);
	}
}

static const char *step_fill(void *state, int agent, int other)
{
	struct fill *f = state;
	int at = fill_case->at[agent];

	if (other)
		return NULL;
	if (agent == 0)
		return step_filler(f);
	if (at == 0 || f->written[agent] == (at < 0 ? 2 : 1))
		return NULL;
	put(&f->file, at < 0 ? f->file.size : at, agent + 4 * f->written[agent]);
	f->file.acknowledged[agent + 4 * f->written[agent]] = 1;
	f->written[agent]++;
	return at < 0 ? "an append" : "a write";
}

static int is_bad_fill(const void *state)
{
	const struct fill *f = state;

	return f->step != 9 || f->file.size < fill_case->end || loses(&f->file);
}

static void fill(const char *name, const struct fill_case *of, enum way by, int expected)
{
	const struct fill initial = {.file = {.size = of->size}, .size = by == BLOCKS ? of->size : 0};
	const struct model model = {sizeof(initial), &initial, step_fill, is_bad_fill};

	way = by;
	fill_case = of;
	result(name, &model, expected);
}

int main(void)
{
	/* Cells 0 to 3 and 4 to 7 are a page each. */
	static const struct fill_case inside = {1, 4, {0, 3, 2, 1}}, over = {3, 6, {0, 5, 4, 3}},
				      appended = {1, 3, {0, -1, 0, 0}}, mixed = {2, 5, {0, 1, -1, 0}};
	static const struct fill_case *const cases[] = {&inside, &over, &appended, &mixed};

	windows("trim: two threads", &duplicated, &two_threads, ALL, 0);
	windows("trim: another process, a fork", &single, &processes, ALL, 0);
	windows("trim: closed and opened again, while another thread lacks space", &single, &opened_again, ALL, 0);
	windows("trim: closed and opened again, while another thread forks", &single, &opened_again_fork, ALL, 0);
	windows("without counting writes", &duplicated, &two_threads, ALL & ~COUNTED, 1);
	windows("without a lease", &single, &processes, ALL & ~LEASED, 1);
	windows("the size from before the lease", &single, &processes, ALL & ~SIZE_LAST, 1);
	windows("a close that waits for nobody", &single, &opened_again, ALL & ~WAITED, 1);
	windows("a close that waits for nobody, and a fork", &single, &opened_again_fork, ALL & ~WAITED, 1);
	windows("without a second look at the descriptor", &single, &opened_again, ALL & ~ASKED, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		fill("fill: zeros are appended", cases[i], APPEND, 0);
	fill("a zero byte at the end, then populate", &inside, CLAIM, 1);
	fill("a zero byte at the end, then populate; an append", &appended, CLAIM, 1);
	fill("zeros in bulk", &over, ZEROS, 1);
	fill("zeros in bulk; an append", &mixed, ZEROS, 1);
	/* Kept for below EOF, where there can be no mapping: fill.c says so. */
	fill("glibc's way, a byte in every block", &over, BLOCKS, 1);
	printf("1..%d\n", number);
	return failed > 0;
}
