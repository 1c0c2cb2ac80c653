/*
 * As record, by std::ofstream: recordxx WRITE_SIZE FILE_SIZE DIR COUNT. The content is record's,
 * whose --verify judges it.
 *
 * Timed: open, write, close, fsync (on a descriptor of its own: a stream has none to show).
 */
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>
#include <fcntl.h>
#include <unistd.h>

static const std::uint64_t period = 1048573, step = 65537;

static std::vector<char> make_content(std::uint64_t more)
{
	std::vector<char> content(period + more);
	std::uint32_t state = 1;

	for (std::size_t i = 0; i < content.size(); i++) {
		state = state * 1103515245 + 12345;
		content[i] = i < period ? static_cast<char>(1 + (state >> 16) % 255) : content[i - period];
	}
	return content;
}

static std::uint64_t parse_size(const char *text)
{
	char *end;
	std::uint64_t value = std::strtoull(text, &end, 0);

	return *end == 'K' ? value << 10 : *end == 'M' ? value << 20 : value;
}

static bool sync_file(const std::string &path)
{
	int fd = open(path.c_str(), O_RDONLY);
	bool synced = fd >= 0 && fsync(fd) == 0;

	close(fd);
	return synced;
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		std::fputs("usage: recordxx WRITE_SIZE FILE_SIZE DIR COUNT\n", stderr);
		return 2;
	}
	const std::uint64_t write_size = parse_size(argv[1]), file_size = parse_size(argv[2]);
	const std::size_t count = std::strtoul(argv[4], nullptr, 0);
	const std::string dir = argv[3];
	const std::vector<char> content = make_content(write_size);
	std::vector<std::ofstream> files;
	bool good = true;

	const auto start = std::chrono::steady_clock::now();
	for (std::size_t i = 0; i < count; i++)
		files.emplace_back(dir + "/" + std::to_string(i), std::ios::binary);
	for (std::uint64_t at = 0; at < file_size; at += write_size)
		for (std::size_t i = 0; i < count; i++)
			files[i].write(&content[(at + i * step) % period],
				       static_cast<std::streamsize>(std::min(write_size, file_size - at)));
	for (std::size_t i = 0; i < count; i++) {
		files[i].close();
		good = good && files[i] && sync_file(dir + "/" + std::to_string(i));
	}
	const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
	std::printf("seconds=%.4f\n", seconds.count());
	return good ? 0 : 3;
}
