# The library for aarch64: built here, and run by qemu's user mode.
#
# What qemu 7.2 does not do is not tested: MADV_POPULATE_WRITE (its madvise says 0 to any advice), pwritev2,
# ids of mounts in statx, vfork (a fork there), and an arm's own order of accesses to memory.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
. "$PROJECT/tests/abi/caller.sh"
CROSS=$PROJECT/tests/abi/aarch64.ini SYSROOT=/usr/aarch64-linux-gnu
CC=(aarch64-linux-gnu-gcc -O1 -Wall -Wextra -Werror)
run() { timeout 60 qemu-aarch64 -L "$SYSROOT" -cpu "${CPU:-cortex-a57}" "$@"; }
if ! "${CC[@]}" -x c -o "$W/a.out" - <<<'int main(void) { return 0; }' 2>/dev/null || ! run "$W/a.out" 2>/dev/null; then
	echo '1..0 # SKIP no aarch64-linux-gnu-gcc or qemu-aarch64 here (tools/packages abi)'
	exit 0
fi

# As it is, and with what distributions add: code that may only be entered where it says so (BTI). All of
# an object has to be so, and libgcc's atomics are not.
build() { # NAME [OPTION...]
	local name=$1
	shift
	meson setup "$W/$name" "$PROJECT" --cross-file "$CROSS" -Dtests=false "$@" && ninja -C "$W/$name" libfastalloc.so
}
if ! { build plain && build bti '-Dc_args=-mbranch-protection=standard -mno-outline-atomics'; } >"$W/log" 2>&1; then
	tail -n 30 "$W/log" | sed 's/^/# /'
	is 'the library is built' 0 1
	finish
fi
listed=$(sed -n 's/^\t\([a-zA-Z0-9_]*\);.*/\1/p' "$PROJECT/shim/shim.map" | sort)
jump='bl?[a-z]* +[0-9a-f]+ <before_[a-z]+>'
for build in plain bti; do
	so=$W/$build/libfastalloc.so
	like "$build: one for aarch64" 'AArch64' "$(readelf -h "$so")"
	is "$build: exported symbols are those of shim.map" "$listed" "$(nm -D --defined-only "$so" | awk '{print $3}' | sort)"
	is "$build: no version newer than glibc 2.28 is needed" 2.28 \
		"$( (readelf -VW "$so" | sed -n 's/.*Name: GLIBC_\([0-9.]*\) .*/\1/p'; echo 2.28) | sort -V | tail -n 1)"
	is "$build: no library is needed but libc" 'ld-linux-aarch64.so.1 libc.so.6' \
		"$(readelf -d "$so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | paste -sd' ')"
	is "$build: no relocations in its code, executable stack, or thread-local storage" '' \
		"$(readelf -dlW "$so" | grep -E 'TEXTREL|GNU_STACK.*RWE|^ *TLS')"
	is "$build: pages of 64 KiB" '0x10000 0x10000' "$(readelf -lW "$so" | awk '$1 == "LOAD" {print $NF}' | paste -sd' ')"
	for name in dlopen dlmopen vfork; do
		like "$build: $name is entered by a landing pad, and left by x16" "^(bti c|hint #0x22).* $jump .*br x16( nop)* *$" \
			"$(aarch64-linux-gnu-objdump -d --no-show-raw-insn "$so" | awk -v name="<(__)?$name>:" '$2 ~ "^" name "$" {on = 1; next} !NF {on = 0} on' |
				cut -f2- | tr '\t\n' '  ')"
	done
	is "$build: vfork and __vfork are one" 1 "$(nm "$so" | awk '/ (__)?vfork$/ {print $1}' | uniq | wc -l)"
done
like 'with landing pads only' 'BTI' "$(readelf -n "$so" 2>/dev/null)"

mkdir "$W/tests"
for source in act job fs/writers fs/streams syscalls/opener; do
	"${CC[@]}" -D_FILE_OFFSET_BITS=64 -o "$W/tests/$(basename $source)" "$PROJECT/tests/$source.c" -pthread -ldl ||
		is "$source is compiled" 0 1
done
cat >"$W/shares.c" <<'C'
/* A child of vfork, and what its parent gets. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	int status = 0;
	for (volatile int i = 0; i < 3; i++) {
		pid_t child = vfork();
		if (child == 0)
			_exit((int)write(1, "child\n", 6) + i);
		printf("%d %d\n", waitpid(child, &status, 0) == child, WEXITSTATUS(status));
		fflush(stdout);
	}
	return 0;
}
C
"${CC[@]}" -o "$W/tests/shares" "$W/shares.c" || is 'shares.c is compiled' 0 1

# $LIB of LD_PRELOAD: this library or, in the shell that an emulated program starts, that of the machine.
lib_of() { "$@" --help | sed -n 's/^ *\/\(lib[^ ]*\) (system search path)$/\1/p' | head -n 1; }
host=$(lib_of /lib64/ld-linux-x86-64.so.2) || host=
put() { # BUILD: use that one
	local of
	for of in "$(lib_of run "$SYSROOT/lib/ld-linux-aarch64.so.1")" "$host"; do
		mkdir -p "$W/root/$of" || exit 1
		if [ "$of" = "$host" ]; then cp "$BUILD/libfastalloc.so" "$W/root/$of/"; else cp "$W/$1/libfastalloc.so" "$W/root/$of/"; fi
	done
}
ARM=$W/root/\$LIB/libfastalloc.so
with() { run -E LD_PRELOAD="$ARM" "$@"; }
act() { with "$W/tests/act" "$@" 2>&1 | flat; }
plain() { run "$W/tests/act" "$@" 2>&1 | flat; }

# both NAME PROGRAM...: the same output and files, with the library and without, in an empty directory @.
both() {
	local name=$1 without got
	shift
	rm -rf "$W/on" && mkdir "$W/on"
	without=$(run "${@/@/$W/on}" 2>&1; echo $?; cd "$W/on" && cksum -- * 2>&1)
	rm -rf "$W/on" "$W"/stats.* && mkdir "$W/on"
	got=$(with -E FASTALLOC_STATS="$W/stats.%p" "${@/@/$W/on}" 2>&1; echo $?; cd "$W/on" && cksum -- * 2>&1)
	is "$name: as without" "$without" "$got"
	ok "$name: with the library" grep -q "\"program\":\"$(basename "$1")\"" "$W"/stats.*
}

make_caller
for build in plain bti; do
	put $build
	[ $build = plain ] || CPU=max # which has BTI
	stock
	both "$build: job" "$W/tests/job" @
	both "$build: vfork" "$W/tests/shares"
	for way in '' deep apart; do
		# shellcheck disable=SC2086 # maybe no word
		is "$build: dlopen ${way:-plain}: the same" \
			"$(for so in "$W/none.so" "$W/plain/libfastalloc.so"; do run "$W/tests/opener" "$so" $way; echo $?; done)" \
			"$(for so in "$W/none.so" "$W/plain/libfastalloc.so"; do with "$W/tests/opener" "$so" $way; echo $?; done)"
	done
	is "$build: dlopen searches by its caller's RUNPATH" found "$(with "$W/caller/program")"
	config '[default]' 'posix_fallocate = refuse'
	is "$build: every name is replaced" \
		'fallocates=posix_fallocate:EOPNOTSUPP posix_fallocate64:EOPNOTSUPP fallocate:0 fallocate64:0' \
		"$(act "$W/f" rdwr,creat fallocates 0 1M)"
	rm -f "$W/f"
done

# What has neither fallocate nor madvise is filled as glibc does. A page is 4 KiB, or 64.
stock
truncate -s 64M "$E/ext3" && mkfs.ext4 -q -F -m 0 -O ^extent,^64bit "$E/ext3" && mkdir "$E/old" &&
	mount -o loop "$E/ext3" "$E/old" 2>/dev/null || rmdir "$E/old"
trap 'cd / && umount -R "${W:?}" "${E:?}"/* 2>/dev/null; rm -rf "${E:?}"; rmdir "$W" 2>/dev/null' EXIT
for page in 4096 65536; do
	for way in 'pfa 0 1M sum' 'ft 1M pfa 0 1M' 'pwrite 0 100 65 pfa 5000 10000 pfa 77 1000 sum' 'ft 10000 pfa 9999 200000 ft 1 pfa 0 3' \
		'pfa -1 1 pfa 0 0 pfa max 1 ft -1 tr -1 fa 0 -1 1' 'pwrite 5G 5 65 pread 5G 5 tr 6G' 'close pfa 0 1 ft 1 write 1 1'; do
		for directory in "$W" "$R" "$E/old"; do
			[ -d "$directory" ] || continue
			rm -f "$directory/p" "$directory/q"
			# shellcheck disable=SC2086 # words
			is "${directory##*/}, pages of $page: $way" "$(plain "$directory/p" rdwr,creat $way size blocks fds)" \
				"$(with -p $page "$W/tests/act" "$directory/q" rdwr,creat $way size blocks fds 2>&1 | flat)"
			rm -f "$directory/p" "$directory/q"
		done
	done
done

# Windows, on a disk of our own.
if [ "$(id -u)" = 0 ] && truncate -s 300M "$E/image" && mkfs.ext4 -q -F -m 0 "$E/image" && mkdir "$E/mnt" &&
	mount -o loop "$E/image" "$E/mnt" 2>/dev/null; then
	cd "$E/mnt" || exit 1
	config '[default]' 'write = preallocate'
	trace=$W/trace
	is 'windows: what is written' 'write=524288 write=65536 write=65536 close=0 size=655360 blocks=655360' \
		"$(with -E FASTALLOC_LOG=debug:"$trace" "$W/tests/act" a wronly,creat,trunc write 512K 1 write 64K 1 write 64K 1 close size blocks | flat)"
	# It passes no ids on, and before Linux 6.8 nothing tells that from an id.
	if grep -q window "$trace" || [ "$(printf '%s\n' 6.8 "$(uname -r)" | sort -V | head -n 1)" = 6.8 ]; then
		is 'a window, and the rest cut off' 'window fd 3 [524288, 786432): fallocate|trim fd 3 [655360, 786432): truncated' \
			"$(sed 's/.*: \(window\|trim\)/\1/; s/, [0-9]* us$//' "$trace" | paste -sd'|')"
		for way in fopen fopen-plus wide unbuffered exit append; do
			case $way in append) has=none ;; *) has=window ;; esac
			is "streams, $way" $has "$(with "$W/tests/streams" $way s)"
			run "$W/tests/streams" $way t >/dev/null
			ok "streams, $way: the same content" cmp s t
			at_most "streams, $way: the rest is given back" $((($(stat -c %s s) + 40960) / 512)) "$(stat -c %b s)"
			rm -f s t
		done
		both 'job, with windows' "$W/tests/job" @
		seconds=1
		[ -z "${LONG:-}" ] || seconds=20
		for way in thread vectors signals passed; do
			like "another writer, $way" ' lost=0$' "$(with "$W/tests/writers" $way "$seconds" w 2>&1)"
		done
	else
		skip windows 'this qemu tells no mounts'
	fi
	cd / || exit 1
else
	skip windows 'not root, or no loop devices'
fi
finish
