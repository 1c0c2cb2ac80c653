/* The lookup of next definitions (real.c) in GNU hash tables, made here as linkers make them of
 * any names: what is found is what a look at every symbol finds. */
#include "fuzz.h"

#include "real.c"

enum { SYMBOLS = 64, BUCKETS = 16, WORDS = 8 };

static struct {
	ElfW(Sym) symbol[SYMBOLS];
	ElfW(Half) version[SYMBOLS];
	char strings[SYMBOLS * 24];
	uint32_t table[4 + WORDS * 2 + BUCKETS + SYMBOLS];
	uint32_t hash[SYMBOLS];
	unsigned count, first, used;
} object;

/* One of ours, or nearly, or any. */
static void take_name(struct bytes *bytes, char *to)
{
	unsigned kind = take(bytes) % 4, length;

	strcpy(to, names[take(bytes) % NAMES].text);
	length = (unsigned)strlen(to);
	if (kind == 1)
		to[take(bytes) % length] ^= 1;
	if (kind == 2)
		to[take(bytes) % length] = '\0';
	if (kind == 3) {
		length = take(bytes) % 20;
		for (unsigned i = 0; i < length; i++)
			to[i] = (char)(1 + take(bytes) % 255);
		to[length] = '\0';
	}
}

static void make_symbols(struct bytes *bytes, unsigned buckets)
{
	char name[SYMBOLS][24], swap[24];

	object.count = 1 + take(bytes) % (SYMBOLS - 1);
	object.first = 1 + take(bytes) % object.count;
	object.used = 1;
	memset(object.symbol, 0, sizeof(object.symbol));
	for (unsigned i = 1; i < object.count; i++)
		take_name(bytes, name[i]);
	/* By bucket, as the table wants it. */
	for (unsigned i = object.first; i < object.count; i++)
		for (unsigned j = i; j > object.first && gnu_hash(name[j]) % buckets < gnu_hash(name[j - 1]) % buckets;
		     j--) {
			memcpy(swap, name[j], sizeof(swap));
			memcpy(name[j], name[j - 1], sizeof(swap));
			memcpy(name[j - 1], swap, sizeof(swap));
		}
	for (unsigned i = 1; i < object.count; i++) {
		unsigned what = take(bytes);

		object.symbol[i].st_name = object.used;
		strcpy(object.strings + object.used, name[i]);
		object.used += (unsigned)strlen(name[i]) + 1;
		object.hash[i] = gnu_hash(name[i]);
		object.symbol[i].st_shndx = what & 1 ? SHN_UNDEF : 7;
		object.symbol[i].st_value = what & 2 ? 0 : 0x1000 + i;
		object.version[i] = (ElfW(Half))(2 | (what & 4 ? 0x8000 : 0));
		object.symbol[i].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	}
}

static void make_table(unsigned buckets, unsigned words, unsigned shift)
{
	const unsigned bits = 8 * sizeof(ElfW(Addr));
	ElfW(Addr) bloom[WORDS] = {0};
	uint32_t *bucket = object.table + 4 + words * sizeof(ElfW(Addr)) / 4, *chain = bucket + buckets;

	memset(object.table, 0, sizeof(object.table));
	object.table[0] = buckets;
	object.table[1] = object.first;
	object.table[2] = words;
	object.table[3] = shift;
	for (unsigned i = object.first; i < object.count; i++) {
		uint32_t hash = object.hash[i];

		bloom[hash / bits & (words - 1)] |= (ElfW(Addr))1 << hash % bits | (ElfW(Addr))1
											   << (hash >> shift) % bits;
		if (!bucket[hash % buckets])
			bucket[hash % buckets] = i;
		chain[i - object.first] = hash & ~1U;
		if (i + 1 == object.count || object.hash[i + 1] % buckets != hash % buckets)
			chain[i - object.first] |= 1;
	}
	memcpy(object.table + 4, bloom, words * sizeof(ElfW(Addr)));
}

static const ElfW(Sym) * look_at_all(const char *name, int versions)
{
	for (unsigned i = object.first; i < object.count; i++)
		if (object.symbol[i].st_value && object.symbol[i].st_shndx != SHN_UNDEF &&
		    !(versions && object.version[i] & 0x8000) &&
		    !strcmp(object.strings + object.symbol[i].st_name, name))
			return &object.symbol[i];
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = {data, data + size};
	unsigned buckets = 1 + take(&bytes) % BUCKETS, words = 1U << take(&bytes) % 4, shift = take(&bytes) % 32;
	int versions = (int)take(&bytes) & 1;
	struct definitions in;
	char *symbols, *strings, *table;

	make_symbols(&bytes, buckets);
	make_table(buckets, words, shift);
	/* Each in a block of its own, without a byte to spare. */
	symbols = exact_copy(object.symbol, object.count * sizeof(object.symbol[0]));
	strings = exact_copy(object.strings, object.used);
	table = exact_copy(object.table, (4 + buckets + object.count - object.first) * 4 + words * sizeof(ElfW(Addr)));
	{
		ElfW(Dyn) dynamic[] = {
			{DT_GNU_HASH, {(ElfW(Addr))table}},
			{DT_SYMTAB, {(ElfW(Addr))symbols}},
			{DT_STRTAB, {(ElfW(Addr))strings}},
			{versions ? DT_VERSYM : DT_DEBUG, {(ElfW(Addr))object.version}},
			{DT_NULL, {0}},
		};
		struct link_map map = {.l_ld = dynamic};

		MUST(read_definitions(&map, &in) == 1);
	}
	for (size_t i = 0; i < NAMES; i++) {
		const ElfW(Sym) *found = find_symbol(&in, names[i].text, names[i].hash);
		const ElfW(Sym) *expected = look_at_all(names[i].text, versions);

		MUST(names[i].hash == gnu_hash(names[i].text));
		MUST(!found == !expected);
		/* Which of two of a name comes first in a chain is the linker's choice. */
		MUST(!found || found - (const ElfW(Sym) *)symbols == expected - object.symbol);
	}
	free(symbols);
	free(strings);
	free(table);
	return 0;
}
