#!/bin/bash
# races.sh: the tests of other writers with a library that stays a while wherever it looks and
# then acts (delay.c), on every file system there is; disturbed processes; ThreadSanitizer.
. "$PROJECT/tests/tap.sh"
PATH=$PATH:/usr/sbin:/sbin

if [ "${INSIDE:-}" != 1 ]; then
	[ "$(id -u)" = 0 ] && user= || user=-Ur
	INSIDE=1 exec unshare $user -m --propagation private bash "$0"
fi
dir=$(mktemp -d /var/tmp/fastalloc-XXXXXX)
trap 'cd /; umount "$dir"/* 2>/dev/null; fusermount3 -uz "$dir/fuse" 2>/dev/null; rm -rf "$dir"' EXIT
mkdir "$dir/ramfs" "$dir/tmpfs" "$dir/fuse" "$dir/ext3" "$dir/ext4" "$dir/xfs"
export FASTALLOC_CONFIG=$dir/preload.conf
printf '[default]\nwrite = preallocate\nftruncate = allocate\n' >"$FASTALLOC_CONFIG"
seconds=1
[ -z "${LONG:-}" ] || seconds=20
echo "${SEED:-$$}" >"$dir/seed"

delayed() { # PROGRAM...: with another seed each time
	local status seed

	seed=$(($(cat "$dir/seed") + 1))
	echo $seed >"$dir/seed"
	FASTALLOC_DELAYS=$seed LD_PRELOAD=$BUILD/tests/libfastalloc-delays.so timeout -k 5 $((60 + 20 * seconds)) "$@" 2>&1
	status=$?
	echo "seed=$seed"
	return $status
}

# Fills
fill() { # FILE-SYSTEM METHOD OPTION...
	local out
	out=$(delayed "$BUILD/tests/stress" "$dir/$1/f" "$seconds" "${@:2}")
	rm -f "$dir/$1"/f*
	like "$*: nothing is lost" 'acknowledged=[1-9][0-9]* lost=0 lost_appended=0 .* errors=none write_errors=none' "$out"
}
fills() {
	fill "$1" posix_fallocate writers 2 size 1M
	fill "$1" posix_fallocate writers 2 size 1M presized
	fill "$1" posix_fallocate writers 2 size 1M threads
	fill "$1" posix_fallocate writers 1 appenders 2 size 1M
}
# By descriptors that cannot be mapped, or begin only at the end of file. Below it, where holes are known, one
# byte a block is written after a look (README, Limits): that byte, and the first of a range past the end, may be lost.
filled_by() { # FILE-SYSTEM FLAG...
	fill "$1" posix_fallocate writers 1 size 1M presized slow "${@:2}"
	fill "$1" posix_fallocate writers 1 appenders 2 size 1M from 768K "${@:2}"
}
if mount -t ramfs none "$dir/ramfs"; then
	fills ramfs
	filled_by ramfs append
	fill ramfs posix_fallocate writers 2 size 1M from 512K
else
	skip ramfs 'cannot be mounted'
fi
truncate -s 64M "$dir/image.ext3"
if mkfs.ext4 -q -F -O '^extent,^64bit' -b 4096 "$dir/image.ext3" 2>/dev/null && mount -o loop "$dir/image.ext3" "$dir/ext3" 2>/dev/null; then
	for way in wronly 'wronly append' append direct 'direct append'; do
		filled_by ext3 $way block 4K
	done
	umount "$dir/ext3"
else
	skip 'ext4 without extents' 'cannot be mounted'
fi
mount -t tmpfs none "$dir/tmpfs" && fill tmpfs posix_fallocate writers 1 appenders 2 size 1M || skip tmpfs 'cannot be mounted'
if [ -w /dev/fuse ] && command -v fusermount3 >/dev/null && "$BUILD/tests/fusefs" "$dir/fuse"; then
	fills fuse
	fill fuse ftruncate writers 2 size 1M
	fusermount3 -uz "$dir/fuse"
else
	skip FUSE 'cannot be mounted'
fi

# Windows
truncate -s 600M "$dir/image"
if mkfs.ext4 -q -F -m 0 "$dir/image" 2>/dev/null && mount -o loop "$dir/image" "$dir/ext4" 2>/dev/null; then
	ways='closed relieved relieved-thread relieved-reservations relieved-opened thread-fork opened'
	[ -z "${LONG:-}" ] || ways+=' thread fork duplicate stream reservations vectors raw duplicate-raw signals vfork spawn system passed opened-signals'
	for way in $ways; do
		times=1
		[ "$way" != relieved ] || times=4 # two delays must come together
		like "another writer, $way" ' lost=0 ' "$(delayed "$BUILD/tests/writers" "$way" $((times * seconds)) "$dir/ext4/w" | paste -sd' ')"
	done
	# Small ones, of which there are many.
	cp "$FASTALLOC_CONFIG" "$dir/before"
	printf 'window = 16K\nwindow_max = 16K\nwindow_after = 0\n' >>"$FASTALLOC_CONFIG"
	for way in forks spawns alarms-restart alarms jumps cancels cancels-anywhere descriptors; do
		like "$way: nothing is lost, and the library works" ' left=0 window=yes lost=0 ' \
			"$(delayed "$BUILD/tests/storms" $way "$seconds" "$dir/ext4/s" | paste -sd' ')"
	done
	like 'vforks: nothing is lost' ' left=0 .* lost=0 ' "$(delayed "$BUILD/tests/storms" vforks "$seconds" "$dir/ext4/s" | paste -sd' ')"
	cp "$dir/before" "$FASTALLOC_CONFIG"
	printf 'window = 64K\nwindow_max = 64K\nwindow_after = 0\n' >>"$FASTALLOC_CONFIG"
	like 'forks under a writing thread: the rest is given back' '^0 ' \
		"$(delayed "$BUILD/tests/forked" $((800 * seconds)) "$dir/ext4/s" | paste -sd' ')"
	mv "$dir/before" "$FASTALLOC_CONFIG"
else
	skip 'windows' 'ext4 cannot be mounted'
	rmdir "$dir/ext4" && mkdir "$dir/ext4"
fi

# Copies within the kernel, by which a file with a window grows
truncate -s 600M "$dir/image.xfs"
if mkfs.xfs -q -f "$dir/image.xfs" 2>/dev/null && mount -o loop "$dir/image.xfs" "$dir/xfs" 2>/dev/null; then
	cp "$FASTALLOC_CONFIG" "$dir/before"
	printf 'window = 16K\nwindow_max = 64K\nwindow_after = 0\n' >>"$FASTALLOC_CONFIG"
	for way in cloned cloned-thread cloned-relieved; do
		like "another writer, $way" ' lost=0 ' "$(delayed "$BUILD/tests/writers" $way "$seconds" "$dir/xfs/w" | paste -sd' ')"
	done
	mv "$dir/before" "$FASTALLOC_CONFIG"
	umount "$dir/xfs"
else
	skip 'clones' 'xfs cannot be mounted'
fi

# Threads
if [ -x "$BUILD/tests/tsan" ] && setarch -R true 2>/dev/null; then
	mkdir "$dir/ext4/threads"
	FASTALLOC_DELAYS=$(cat "$dir/seed") setarch -R timeout $((60 + 20 * seconds)) "$BUILD/tests/tsan" $((20 * seconds)) \
		"$dir/ext4/threads" >"$dir/out" 2>"$dir/races"
	is 'ThreadSanitizer finds no race' 'done ' "$(cat "$dir/out") $(grep -m 3 SUMMARY "$dir/races")"
else
	skip ThreadSanitizer 'not there, or addresses cannot be told'
fi
finish
