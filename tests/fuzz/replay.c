/* replay FILE|DIRECTORY...: give a fuzz target the inputs that are kept, without libFuzzer.
 * Prints how many there were. */
#include <dirent.h>

#include "fuzz.h"

static unsigned replayed;

static void replay_file(const char *path)
{
	static uint8_t bytes[1 << 21];
	FILE *file = fopen(path, "rb");
	uint8_t *copy;
	size_t size;

	MUST(file != NULL);
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	fprintf(stderr, "%s\n", path); /* the last one is at fault */
	copy = (uint8_t *)exact_copy(bytes, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	replayed++;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void replay(const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, is_visible, alphasort);
	char name[4096];

	if (count < 0) {
		replay_file(path);
		return;
	}
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
		replay_file(name);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	printf("%u\n", replayed);
	return 0;
}
