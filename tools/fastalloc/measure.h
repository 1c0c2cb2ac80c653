/* measure.h: one run of a way to reserve or write, in a process of its own, with or without
 * the library.
 *
 * The process is this command again: its calls go through the library as any program's do.
 * It works in a temporary directory that is removed however the measuring ends. */
#ifndef FASTALLOC_MEASURE_H
#define FASTALLOC_MEASURE_H

enum method {
	METHOD_POSIX_FALLOCATE,
	METHOD_FALLOCATE, /* mode 0 */
	METHOD_KEEP_SIZE, /* FALLOC_FL_KEEP_SIZE, then ftruncate */
	METHOD_FTRUNCATE,
	METHOD_ZEROS,  /* pwrite of 16 MiB at a time */
	METHOD_APPEND, /* a record to each file in turn */
};

struct job {
	enum method method;
	unsigned files;
	unsigned long long bytes; /* of each file */
	unsigned record;          /* bytes of an append */
	int flushed;              /* fsync after each append */
};

/* What a run is judged by. Times are in seconds. */
enum figure {
	FIGURE_TIME,   /* open, the method, fsync, close */
	FIGURE_PIECES, /* of the file that has most */
	FIGURE_READ,   /* after METHOD_APPEND: all files, one after the other, from the device */
	FIGURE_COUNT
};

#define MEASURE_FILES_MAX 64

/* NAN is a figure that this machine does not tell. */
struct outcome {
	int error; /* positive errno: what the method answered */
	double figure[FIGURE_COUNT];
};

/* Make the temporary directory in dir. From now on INT, TERM, HUP and QUIT end measure_run with
 * EINTR. Returns 0, or a positive errno. */
int measure_begin(const char *dir);

/* The temporary directory. */
int measure_directory(void);

/* Run the job; with the library if there are keys (lines of preload.conf). Its files are removed
 * again. Returns 0, or a positive errno: of the job, of starting it, ELIBACC where the library is
 * not loaded, ECANCELED where its process died, EINTR. */
int measure_run(const char *keys, const struct job *job, struct outcome *outcome);

/* Remove the directory. If a signal came meanwhile, the command now dies of it. */
void measure_end(void);

/* Find the library that is measured. Returns 0, or 1 where there is none (that is said). */
int measure_library(void);

/* The process itself: takes a struct job from stdin, writes a struct outcome to stdout, works
 * in the current directory. Returns the exit status. */
int worker_main(int library_wanted);

#endif
