/* The files that fastalloc stats reads. */
#include <stdarg.h>

#include "command.h"
#include "fuzz.h"
#include "stats.h"

static unsigned complaints;

/* In place of the command's own (--wrap): counted, not printed. */
void __wrap_complain(const char *subject, const char *reason, ...);
void __wrap_complain_errno(const char *subject, int error);

void __wrap_complain(const char *subject, const char *reason, ...)
{
	MUST(subject && reason);
	complaints++;
}

void __wrap_complain_errno(const char *subject, int error)
{
	MUST(subject && error);
	complaints++;
}

static size_t count_lines(const uint8_t *data, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += data[i] == '\n';
	return count + (size && data[size - 1] != '\n');
}

/* Every count of the total is no less than that of any process. */
static void total_is_sound(const struct stats *stats)
{
	const char *name, *member;
	json_t *process, *call, *value;
	size_t i;

	json_array_foreach(stats->processes, i, process)
	{
		json_object_foreach(process, name, call)
		{
			json_t *total = json_object_get(stats->total, name);

			if (!json_is_object(call))
				continue;
			MUST(json_is_object(total));
			json_object_foreach(call, member, value)
			{
				MUST(json_integer_value(json_object_get(total, member)) >= json_integer_value(value));
				MUST(json_integer_value(value) >= 0);
			}
		}
	}
}

static void read_input(struct stats *stats, const uint8_t *data, size_t size)
{
	FILE *file = fmemopen((void *)data, size, "r");

	MUST(file != NULL);
	complaints = 0;
	MUST(stats_read(stats, file, "input") == !!complaints);
	fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stats stats;
	char *text = NULL;
	size_t length;
	FILE *out;

	if (!size)
		return 0;
	stats_init(&stats);
	stats_want_processes(&stats);
	read_input(&stats, data, size);
	MUST(stats.count + stats.errors == count_lines(data, size));
	MUST(json_array_size(stats.processes) == stats.count);
	total_is_sound(&stats);
	read_input(&stats, data, size);
	MUST(stats.count + stats.errors == 2 * count_lines(data, size));
	total_is_sound(&stats);
	out = open_memstream(&text, &length);
	MUST(out != NULL);
	stats_print(&stats, out);
	fclose(out);
	MUST(length > 0);
	free(text);
	stats_free(&stats);
	return 0;
}
