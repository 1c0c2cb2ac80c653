#include "source.h"

#include <string.h>

#include "config.h"
#include "layout.h"
#include "sys.h"

#include "stock_conf.h" /* made by the build from preload.conf: stock_conf, its text; stock_rules; STOCK_SECTIONS */

/* Returns NULL, or what is wrong. */
static const char *read_whole(struct source *source, int fd)
{
	unsigned interrupted = 0;
	struct statx stx;
	ssize_t got;
	char *text;

	if (sys_statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE, &stx) < 0 || !S_ISREG(stx.stx_mode))
		return "is not a regular file";
	if (stx.stx_size > CONFIG_MAX_BYTES)
		return "is larger than 1 MiB";
	text = sys_mmap(stx.stx_size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_map_failed(text))
		return "cannot be read";
	while (source->length < stx.stx_size) {
		got = sys_read(fd, text + source->length, stx.stx_size - source->length);
		if (sys_interrupted(got, &interrupted))
			continue;
		if (got < 0)
			return "cannot be read";
		if (got == 0)
			break;
		source->length += (size_t)got;
	}
	source->text = text;
	return NULL;
}

static const char *problem_of_open(int error)
{
	if (error == ENOENT || error == ENOTDIR)
		return "no such file";
	return error == EACCES ? "permission denied" : "cannot be opened";
}

AT_LOAD int source_read(struct source *source, const char *path)
{
	int fd;

	source->path = path;
	source->text = NULL;
	source->length = 0;
	/* A FIFO must not hang us, nor a terminal become ours. */
	fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd < 0) {
		source->problem = problem_of_open(-fd);
		return -fd;
	}
	source->problem = read_whole(source, fd);
	sys_close(fd);
	return source->problem ? EINVAL : 0;
}

AT_LOAD void source_built_in(struct source *source)
{
	source->path = NULL;
	source->text = stock_conf;
	source->length = sizeof(stock_conf) - 1;
	source->problem = NULL;
}

AT_LOAD void source_built_in_rules(struct config *config)
{
	config->count = sizeof(stock_rules) / sizeof(stock_rules[0]);
	config->sections = STOCK_SECTIONS;
	config->rule = stock_rules;
}

CONSTANT_AT_LOAD static const char in_home[] = "/.config/fastalloc/preload.conf";
CONSTANT_AT_LOAD static const char in_xdg[] = "/fastalloc/preload.conf";
CONSTANT_AT_LOAD static const char of_system[] = SYSCONFDIR "/fastalloc/preload.conf";

static int join(char *to, size_t size, const char *directory, const char *rest)
{
	if (directory[0] != '/')
		return 0;
	for (; *directory && size > 0; size--)
		*to++ = *directory++;
	for (; size > 0; size--)
		if (!(*to++ = *rest++))
			return 1;
	return 0;
}

static int has_user_file(const struct source_environment *environment, char *path, size_t size)
{
	const char *xdg = environment->xdg_config_home, *home = environment->home;

	if (xdg && *xdg)
		return join(path, size, xdg, in_xdg);
	return home && join(path, size, home, in_home);
}

/* Not ours to read: HOME is often inherited from another user. */
static int is_absent(int error)
{
	return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP || error == ENAMETOOLONG;
}

/* Most programs find none: to fail, readlink takes half the time of open. */
static int is_there(const char *path)
{
	char target;

	return !is_absent((int)-sys_readlink(path, &target, sizeof(target)));
}

AT_LOAD void source_find(struct source *source, const struct source_environment *environment)
{
	if (environment->config && *environment->config) {
		source_read(source, environment->config);
		return;
	}
	if (has_user_file(environment, source->found, sizeof(source->found)) && is_there(source->found) &&
	    !is_absent(source_read(source, source->found)))
		return;
	if (!is_there(of_system) || is_absent(source_read(source, of_system)))
		source_built_in(source);
}
