# The library built with musl, in programs linked with musl: built here, with the tests' own programs.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
CROSS=$PROJECT/tests/abi/musl.ini B=$W/build
eval "CC=($(sed -n "s/^c = \[\(.*\)\]/\1/p" "$CROSS" | tr -d ,))"
if ! "${CC[@]}" -x c -o "$W/a.out" - <<<'int main(void) { return 0; }' 2>/dev/null || ! "$W/a.out" 2>/dev/null; then
	echo '1..0 # SKIP musl-gcc does not work here (tools/packages abi)'
	exit 0
fi
if ! (meson setup "$B" "$PROJECT" --cross-file "$CROSS" -Dtests=false && ninja -C "$B" libfastalloc.so) >"$W/log" 2>&1; then
	tail -n 30 "$W/log" | sed 's/^/# /'
	is 'the library is built' 0 1
	finish
fi
LIB=$B/libfastalloc.so
is 'no library is needed but musl' 'libc.so' "$(readelf -d "$LIB" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | paste -sd' ')"
is 'no versions' '' "$(readelf -VW "$LIB" | grep Name:)"
# The names of -D_TIME_BITS=64 are glibc's, where long has 32 bits.
listed=$(sed -n 's/^\t\([a-zA-Z0-9_]*\);.*/\1/p' "$PROJECT/shim/shim.map" | sort)
is 'exported symbols are those of shim.map' "$listed" "$(nm -D --defined-only "$LIB" | awk '{print $3}' | sort)"

# It has no strerrorname_np, and no FALLOC_FL_* but two in its own headers.
mkdir "$B/tests"
for source in act job fs/writers fs/streams; do
	"${CC[@]}" -O1 -Wall -Wextra -Werror -D_FILE_OFFSET_BITS=64 -Dstrerrorname_np=strerror -include linux/falloc.h \
		-o "$B/tests/$(basename $source)" "$PROJECT/tests/$source.c" || is "$source.c is compiled" 0 1
done
ACT=$B/tests/act
like 'the programs are linked with musl' 'ld-musl' "$(readelf -l "$ACT")"

# Musl loads what LD_PRELOAD names into everything: so not into the shell's own commands.
act() { env LD_PRELOAD="$LIB" "$ACT" "$@" 2>&1 | flat; }
with() { timeout 60 env LD_PRELOAD="$LIB" "$@"; }

# The shell that system and popen start is linked with glibc, whose loader ends what names a library for musl.
printf '%s\n' '#include <stdlib.h>' '#include <unistd.h>' \
	'int main(int argc, char **argv) { return argc < 1 || unsetenv("LD_PRELOAD") || execv(SHELL, argv); }' >"$W/sh.c"
cp "$(readlink -f /bin/sh)" "$W/shell"
if ! "${CC[@]}" -static -DSHELL="\"$W/shell\"" -o "$W/sh" "$W/sh.c" || ! mount --bind "$W/sh" "$(readlink -f /bin/sh)"; then
	is 'a shell' 0 1
fi

# both NAME PROGRAM...: the same output and files, with the library and without, in an empty directory @.
both() {
	local name=$1 without got
	shift
	rm -rf "$W/on" && mkdir "$W/on"
	without=$(timeout 60 "${@/@/$W/on}" 2>&1; echo $?; cd "$W/on" && cksum -- *)
	rm -rf "$W/on" "$W"/stats.* && mkdir "$W/on"
	got=$(timeout 60 env FASTALLOC_STATS="$W/stats.%p" LD_PRELOAD="$LIB" "${@/@/$W/on}" 2>&1; echo $?; cd "$W/on" && cksum -- *)
	is "$name: as without" "$without" "$got"
	ok "$name: with the library" ls "$W"/stats.*
}

# Musl's posix_fallocate is the kernel's: where that has none, what it refuses is filled.
for way in 'pfa 0 1M' 'ft 1M pfa 0 2M' 'pwrite 0 100 65 pfa 5000 10000'; do
	rm -f "$R/p" "$R/q"
	# shellcheck disable=SC2086 # words
	like "filled, without: $way" 'pfa=Not supported' "$(plain "$R/p" rdwr,creat $way)"
	# shellcheck disable=SC2086 # words
	like "filled: $way" 'pfa=0( |$)' "$(act "$R/q" rdwr,creat $way)"
done
rm -f "$R/p" "$R/q"
is 'filled: all of it' 'pfa=0 size=2097152 blocks=2097152' "$(act "$R/q" rdwr,creat pfa 0 2M size blocks)"
head -c 5000 /dev/urandom >"$R/p" && cp "$R/p" "$R/q"
is 'filled: what is there' 'pfa=0 size=100000' "$(act "$R/q" rdwr pfa 0 100000 size)"
ok 'filled: what was written stays' cmp -n 5000 "$R/p" "$R/q"
for way in 'pfa 5G 1M' 'ft 5G' 'tr 5G' 'fa keep 1M 4096' 'pwrite 4G 5000 65 pread 4G 5000' 'seek 5G write 9 66 pos' \
	'pfa -1 1 pfa 0 0 pfa max 1 ft -1 tr -1 fa 0 -1 1' 'fa 0 0 1T' 'fa 77777 0 1' 'close pfa 0 1 ft 1 write 1 1'; do
	rm -f "$W/p" "$W/q"
	# shellcheck disable=SC2086 # words
	is "the same: $way" "$(plain "$W/p" rdwr,creat $way size blocks fds)" "$(act "$W/q" rdwr,creat $way size blocks fds)"
done
both job "$B/tests/job" @
config '[default]' 'posix_fallocate = refuse'
is 'posix_fallocate is replaced' 'pfa=Not supported' "$(act "$W/f" rdwr,creat pfa 0 1M)"
stock

# Windows, on a disk of our own. A FILE stream's writes are not seen: its file has none.
if [ "$(id -u)" = 0 ] && truncate -s 300M "$E/image" && mkfs.ext4 -q -F -m 0 "$E/image" && mkdir "$E/mnt" &&
	mount -o loop "$E/image" "$E/mnt" 2>/dev/null; then
	trap 'cd / && umount -R "${W:?}" "${E:?}/mnt" 2>/dev/null; rm -rf "${E:?}"; rmdir "$W" 2>/dev/null' EXIT
	cd "$E/mnt" || exit 1
	config '[default]' 'write = preallocate'
	trace=$W/log
	: >"$trace"
	is 'windows: what is written' 'write=524288 write=65536 write=65536 close=0 size=655360 blocks=655360' \
		"$(FASTALLOC_LOG=debug:$trace act a wronly,creat,trunc write 512K 1 write 64K 1 write 64K 1 close size blocks)"
	is 'a window, and the rest cut off' 'window fd 3 [524288, 786432): fallocate|trim fd 3 [655360, 786432): truncated' \
		"$(sed -n 's/.*: \(window\|trim\)/\1/; s/, [0-9]* us$//p' "$trace" | paste -sd'|')"
	for way in fopen fopen-plus unbuffered exit append; do
		is "streams, $way" none "$(with "$B/tests/streams" $way s)"
		timeout 60 "$B/tests/streams" $way t >/dev/null
		ok "streams, $way: the same content" cmp s t
		rm -f s t
	done
	both 'job, with windows' "$B/tests/job" @
	seconds=${LONG:+10}
	for way in thread vectors vfork passed; do
		like "another writer, $way" ' lost=0$' "$(with "$B/tests/writers" $way "${seconds:-1}" w 2>&1)"
	done
	cd / || exit 1
else
	skip windows 'not root, or no loop devices'
fi
finish
