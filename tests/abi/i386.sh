# The library for 32-bit x86, in 32-bit programs: built here, with the tests' own programs.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
. "$PROJECT/tests/abi/caller.sh"
CROSS=$PROJECT/tests/abi/i386.ini B=$W/build
eval "CC=($(sed -n "s/^c = \[\(.*\)\]/\1/p" "$CROSS" | tr -d ,))"
if ! "${CC[@]}" -x c -o "$W/a.out" - <<<'int main(void) { return 0; }' 2>/dev/null || ! "$W/a.out" 2>/dev/null; then
	echo '1..0 # SKIP gcc -m32 does not work here (tools/packages abi)'
	exit 0
fi
if ! (meson setup "$B" "$PROJECT" --cross-file "$CROSS" -Dtests=false && ninja -C "$B" libfastalloc.so) >"$W/log" 2>&1; then
	tail -n 30 "$W/log" | sed 's/^/# /'
	is 'the library is built' 0 1
	finish
fi
like 'the library is one for i386' 'Intel (i386|80386)' "$(readelf -h "$B/libfastalloc.so")"
is 'without relocations in its code' '' "$(readelf -d "$B/libfastalloc.so" | grep TEXTREL)"
listed=$(sed -n '/global:/,/local:/p' "$PROJECT/shim/shim.map" | grep -oE '[a-zA-Z0-9_]+;' | sort)
is 'exported symbols are those of shim.map' "$listed" "$(nm -D --defined-only "$B/libfastalloc.so" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3 ";"}' | sort -u)"
for name in fcntl:fcntl64 ioctl:ioctl prctl:prctl sendmsg:sendmsg sendmmsg:sendmmsg; do
	is "-D_TIME_BITS=64: ${name%:*} is hooked, too" 1 \
		"$(nm -D "$B/libfastalloc.so" | grep -E " T (${name#*:}|__${name%:*}(64|_time64))$" | cut -d' ' -f1 | uniq -c | awk '$1 == 2' | wc -l)"
done

# Programs: off_t of 64 bits in tests/, of 32 in narrow/.
mkdir "$B/tests" "$B/narrow"
compile() { # DIRECTORY OPTION SOURCE [OPTION...]
	local directory=$1 option=$2 source=$3
	shift 3
	"${CC[@]}" -O1 -Wall -Wextra -Werror "$option" -o "$B/$directory/$(basename "$source" .c)" "$PROJECT/tests/$source" -pthread -ldl "$@" ||
		is "$source is compiled" 0 1
}
for source in act job record fs/operations fs/writers fs/streams fs/forked; do
	compile tests -D_FILE_OFFSET_BITS=64 $source.c
done
for source in act job syscalls/opener; do compile narrow -U_FILE_OFFSET_BITS $source.c; done
LIB=$B/libfastalloc.so
W32=$B/tests N32=$B/narrow

# The tests of the calls, as they are, with this library and program. These assertions name system
# calls by which x86-64 does the same: mmap (here mmap2), ftruncate and truncate (ftruncate64, truncate64),
# pwrite64 of four arguments (five).
cat >"$W/other-calls" <<'NAMES'
EOF in the last page: the last byte is written onto itself, and nothing else
EOF in the last page: the mapping is taken down
memory: the largest mapping has 16 MiB
the file is mapped a window at a time
mappings are not inherited by children
native: a call each
native, the mount seen before: one statx besides
and one more when it grows again: could it have a window?
ft, allocate: when the resizing itself fails the size is as before
tr, allocate: when the resizing itself fails the size is as before
NAMES
for suite in policies posix_fallocate fallocate resize limits; do
	BUILD=$B bash "$PROJECT/tests/syscalls/$suite.sh" >"$W/out" 2>"$W/errors"
	like "$suite: all is run" '1\.\.[0-9]+$' "$(tail -n 1 "$W/out")"
	at_least "$suite: assertions" 15 "$(grep -c '^ok' "$W/out")"
	is "$suite: all hold" '' "$(sed -nE 's/^not ok [0-9]+ - //; T; s/ \([0-9]+ [<>]=? [0-9]+\)$//; p' "$W/out" | grep -vxFf "$W/other-calls")"
done

# both NAME PROGRAM...: the same output and files, with the library and without, in an empty directory @.
both() {
	local name=$1 without with
	shift
	rm -rf "$W/on" && mkdir "$W/on"
	without=$(timeout 60 "${@/@/$W/on}" 2>&1; echo $?; cd "$W/on" && cksum -- *)
	rm -rf "$W/on" "$W"/stats.* && mkdir "$W/on"
	with=$(FASTALLOC_STATS=$W/stats.%p LD_PRELOAD=$LIB32 timeout 60 "${@/@/$W/on}" 2>&1; echo $?; cd "$W/on" && cksum -- *)
	is "$name: as without" "$without" "$with"
	ok "$name: with the library" ls "$W"/stats.*
}

# $LIB of LD_PRELOAD: the library of either kind, in one directory each below $W/root.
lib_of() { local loader; loader=$(readlink -f "$1") && loader=${loader%/*} && echo "${loader#/usr}"; }
lib32=$(lib_of /lib/ld-linux.so.2) lib64=$(lib_of /lib64/ld-linux-x86-64.so.2)
mkdir -p "$W/root$lib32" "$W/root$lib64" && cp "$LIB" "$W/root$lib32/" && cp "$BUILD/libfastalloc.so" "$W/root$lib64/"
LIB32=$W/root/\$LIB/libfastalloc.so

config '[default]' 'posix_fallocate = refuse'
from_64() { LD_PRELOAD=$LIB32 bash -c '"$@"; exit' - "$@" 2>&1 | flat; }
is '$LIB: a 64-bit program starts a 32-bit one' 'pfa=EOPNOTSUPP' "$(from_64 "$N32/act" "$W/f" rdwr,creat pfa 0 1M)"
is '$LIB: a 64-bit one' 'pfa=EOPNOTSUPP' "$(from_64 "$ACT" "$W/f" rdwr,creat pfa 0 1M)"
cat >"$W/starter.c" <<'C'
#include <unistd.h>
int main(int argc, char **argv) { return argc < 2 || execv(argv[1], argv + 1); }
C
"${CC[@]}" -o "$W/starter" "$W/starter.c"
is '$LIB: a 32-bit program starts a 64-bit one' 'pfa=EOPNOTSUPP' "$(from_64 "$W/starter" "$ACT" "$W/f" rdwr,creat pfa 0 1M)"

# Both widths of off_t.
for act in "$W32/act" "$N32/act"; do
	width=${act%/act} width=${width##*/} ACT=$act
	is "$width: every name is replaced" \
		'fallocates=posix_fallocate:EOPNOTSUPP posix_fallocate64:EOPNOTSUPP fallocate:0 fallocate64:0' \
		"$(act "$W/$width" rdwr,creat fallocates 0 1M)"
done
config '[default]' 'posix_fallocate = sparse'
is 'statistics count more than 32 bits' '"bytes":5368709120' "$(FASTALLOC_STATS=$W/stats act "$W/f" rdwr,creat pfa 0 5G >/dev/null
	grep -o '"bytes":5368709120' "$W/stats")"
rm -f "$W/f" "$W/stats"
stock
for width in tests narrow; do
	ACT=$B/$width/act
	both "job, $width" "$B/$width/job" @
	for way in 'pfa 5G 1M' 'ft 5G' 'tr 5G' 'fa keep 5G 4096' 'ft 5G pfa 4294967295 2' 'pwrite 4G 5000 65 pread 4G 5000' \
		'seek 5G write 9 66 pos' 'ft 4294967297 size ft 1 size' 'pfa -1 1 pfa 0 0 pfa max 1 ft -1 tr -1 fa 0 -1 1' \
		'pfa 0 1T' 'fa 0 0 1T' 'fa 77777 0 1' 'close pfa 0 1 ft 1 write 1 1'; do
		rm -f "$W/p" "$W/q"
		# shellcheck disable=SC2086 # words
		is "$width: $way" "$(plain "$W/p" rdwr,creat $way size blocks fds)" "$(act "$W/q" rdwr,creat $way size blocks fds)"
	done
	# A ramfs has no fallocate: filled, as glibc does.
	# shellcheck disable=SC2086 # words
	for way in 'pfa 4294967000 1000' 'pwrite 5G 5 65 pfa 4G 8192'; do
		rm -f "$R/p" "$R/q"
		is "$width, filled: $way" "$(plain "$R/p" rdwr,creat $way size pread 4G 8192)" "$(act "$R/q" rdwr,creat $way size pread 4G 8192)"
	done
done

# A file that off_t cannot hold is EOVERFLOW to open, and to no one who asks for 64 bits; more than
# 2 GiB is EFBIG to whoever opened it so.
truncate -s 5G "$W/large"
cat >"$W/wide.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>
static void say(const char *call, long long result)
{
	printf("%s %lld %d\n", call, result, errno);
	errno = 0;
}
#define SAY(call) say(#call, (call))
int main(int argc, char **argv)
{
	struct iovec iov = {"12345", 5};
	off_t offset = 3;
	off64_t offset64 = 5LL << 30, to = 6LL << 30;
	int fd, in;

	if (argc < 2)
		return 2;
	SAY(open(argv[1], O_RDWR));
	SAY(openat(AT_FDCWD, argv[1], O_WRONLY));
	SAY(fopen(argv[1], "r+") != NULL);
	SAY(truncate(argv[1], -1));
	in = open64(argv[1], O_RDWR);
	SAY(in);
	SAY(lseek(in, 0, SEEK_END));
	SAY(lseek64(in, 0, SEEK_END));
	SAY(pwrite(in, "abc", 3, 5));
	SAY(pwrite64(in, "abc", 3, 5LL << 30));
	SAY(pwritev(in, &iov, 1, 100));
	SAY(pwritev64(in, &iov, 1, (5LL << 30) + 100));
	SAY(pwritev2(in, &iov, 1, -1, 0));
	SAY(pwritev64v2(in, &iov, 1, (5LL << 30) + 1000, 0));
	unlink(argv[2]);
	fd = open(argv[2], O_RDWR | O_CREAT, 0644);
	SAY(sendfile(fd, in, &offset, 10));
	SAY(offset);
	SAY(sendfile64(fd, in, &offset64, 10));
	SAY(offset64);
	SAY(sendfile64(fd, in, NULL, 10));
	SAY(pwrite64(fd, "abc", 3, 5LL << 30));
	SAY(write(fd, "abc", 3));
	SAY(lseek(fd, 0x7fffffff, SEEK_SET));
	SAY(write(fd, "abc", 3));
	SAY(ftruncate(fd, 100));
	close(fd);
	fd = open64(argv[2], O_RDWR);
	offset64 = 5LL << 30;
	SAY(copy_file_range(in, &offset64, fd, &to, 10, 0));
	SAY(offset64);
	SAY(to);
	SAY(lseek64(fd, 0, SEEK_END));
	SAY(posix_fallocate(fd, 0x7ffffff0, 0x7ffffff0));
	SAY(posix_fallocate64(fd, 7LL << 30, 4096));
	SAY(lseek64(fd, 0, SEEK_END));
	return 0;
}
C
"${CC[@]}" -Wall -o "$W/wide" "$W/wide.c" || is 'wide.c is compiled' 0 1
expected=$("$W/wide" "$W/large" "$W/out" 2>&1)
like 'without the library: EOVERFLOW' 'open\(argv\[1\], O_RDWR\) -1 75' "$expected"
truncate -s 0 "$W/large" && truncate -s 5G "$W/large"
is 'offsets and sizes that off_t cannot hold' "$expected" "$(LD_PRELOAD=$LIB "$W/wide" "$W/large" "$W/out" 2>&1)"
rm -f "$W/large" "$W/out"

# dlopen, which looks at who calls it, and vfork, by their entries in assembly.
cp "$LIB" "$W/other.so"
for way in '' deep apart; do
	# shellcheck disable=SC2086 # maybe no word
	is "dlopen ${way:-plain}: the same" "$("$N32/opener" "$W/none.so" $way; "$N32/opener" "$W/other.so" $way; echo $?)" \
		"$(LD_PRELOAD=$LIB "$N32/opener" "$W/none.so" $way; LD_PRELOAD=$LIB "$N32/opener" "$W/other.so" $way; echo $?)"
done
make_caller
is "dlopen searches by its caller's RUNPATH" found "$(LD_PRELOAD=$LIB "$W/caller/program")"

# fcntl of before glibc 2.28, which took F_OFD_* locks of 64 bits, and today's, of 32.
cat >"$W/ofd.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#ifdef OLD
__asm__(".symver fcntl, fcntl@GLIBC_2.0");
#endif
int main(int argc, char **argv)
{
	struct flock narrow = {.l_type = F_WRLCK, .l_start = 11, .l_len = 7};
	struct flock64 wide = {.l_type = F_WRLCK, .l_start = 5LL << 30, .l_len = 7};
	int fd = open(argv[argc - 1], O_RDWR | O_CREAT, 0644);
	int first = fcntl(fd, F_OFD_SETLK, &narrow), second = fcntl(fd, F_OFD_SETLK, &wide);
	printf("%d %d\n", first, second);
	return 0;
}
C
for of in 'OLD -1 0' 'NEW 0 -1'; do
	"${CC[@]}" "-D${of%% *}" -o "$W/ofd" "$W/ofd.c" || is 'ofd.c is compiled' 0 1
	is "F_OFD_* locks, ${of%% *}: without the library" "${of#* }" "$("$W/ofd" "$W/f")"
	is "F_OFD_* locks, ${of%% *}: with it" "${of#* }" "$(LD_PRELOAD=$LIB "$W/ofd" "$W/f")"
done

# Windows, on a disk of our own; not FAT, which few kernels of machines that run this have: the lab's has it,
# but runs no 32-bit programs (User-Mode Linux has no CONFIG_IA32_EMULATION).
if [ "$(id -u)" = 0 ] && truncate -s 300M "$E/image" && mkfs.ext4 -q -F -m 0 "$E/image" && mkdir "$E/mnt" &&
	mount -o loop "$E/image" "$E/mnt" 2>/dev/null; then
	trap 'cd / && umount -R "${W:?}" "${E:?}/mnt" 2>/dev/null; rm -rf "${E:?}"; rmdir "$W" 2>/dev/null' EXIT
	cd "$E/mnt" || exit 1
	config '[default]' 'write = preallocate'
	windows() { sed -n 's/.*fallocate([0-9]*, FALLOC_FL_KEEP_SIZE, \([0-9]*\), \([0-9]*\)) = 0$/\1+\2/p' "$TRACE" | paste -sd' '; }
	for width in tests narrow; do
		ACT=$B/$width/act
		rm -f a b
		is "$width, windows: what is written" 'write=524288 write=65536 write=65536 close=0 size=655360 blocks=655360' \
			"$(traced -- a wronly,creat,trunc write 512K 1 write 64K 1 write 64K 1 close size blocks)"
		is "$width, windows" '524288+262144' "$(windows)"
		like "$width, windows: the rest is cut off, and the time set again" 'ftruncate64\(3, 655360\) += 0.*utimensat_time64\(3, .* = 0' \
			"$(grep -E 'ftruncate|utimensat' "$TRACE" | paste -sd' ')"
		rm -f a b
		over4=(ft 4G seek 4G write 1M 1 write 1M 1 write 64K 2 close size blocks)
		is "$width, windows past 4 GiB: the same" "$(plain b rdwr,creat "${over4[@]}")" "$(traced -- a rdwr,creat "${over4[@]}")"
		like "$width, windows past 4 GiB" '(^| )4[23][0-9]{8}\+' "$(windows)"
		ok "$width, windows past 4 GiB: the content" cmp -n 1M -i 4G a b
	done
	truncate -s 3G large
	config '[default]' 'ftruncate = allocate'
	is 'truncate opens what off_t cannot hold' 'tr=0 size=3222274048 blocks=1048576' "$(act large rdonly tr 3073M size blocks)"
	rm large
	config '[default]' 'write = preallocate'
	for way in fopen fopen-plus wide unbuffered exit append; do
		case $way in append) has=none ;; *) has=window ;; esac
		is "streams, $way" $has "$(LD_PRELOAD=$LIB "$W32/streams" $way s)"
		"$W32/streams" $way t >/dev/null
		ok "streams, $way: the same content" cmp s t
		at_most "streams, $way: the rest is given back" $((($(stat -c %s s) + 40960) / 512)) "$(stat -c %b s)"
		rm -f s t
	done
	LIB32=$W/root/\$LIB/libfastalloc.so both 'job, with windows' "$N32/job" @
	seconds=${LONG:+10}
	for way in thread vectors signals vfork passed; do
		like "another writer, $way" ' lost=0$' "$(LD_PRELOAD=$LIB32 "$W32/writers" $way "${seconds:-1}" w 2>&1)"
	done
	cd / || exit 1
else
	skip windows 'not root, or no loop devices'
fi
finish
