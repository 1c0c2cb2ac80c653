#!/bin/bash
# local.sh [ROUNDS]: the fill against libc's on this machine itself: FUSE, and ext4 without extents on a loop
# device (root). Lines of data as of nfs.sh; `write=` counts FUSE WRITE requests.
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-$PWD/build} rounds=${1:-5}
with="env LD_PRELOAD=$BUILD/libfastalloc.so"
dir=$(mktemp -d /var/tmp/bench.XXXXXX)
mkdir "$dir/fuse" "$dir/store" "$dir/ext3"
trap 'umount "$dir/fuse" "$dir/ext3" 2>/dev/null || true; rm -rf "$dir"' EXIT
sides() { # CASE FILE
	local i side prefix method
	for ((i = 0; i < rounds; i++)); do
		for side in glibc fastalloc pwrite16m; do
			prefix= method=posix_fallocate
			[ $side = fastalloc ] && prefix=$with
			[ $side = pwrite16m ] && method=pwrite16m
			[ -e "$dir/$1/.control" ] && echo reset >"$dir/$1/.control"
			echo "$1-256M $side $($prefix "$BUILD/tests/fill" "$dir/$1/f" 256M $method)$(sed -n 's/^write=/ write=/p' "$dir/$1/.control" 2>/dev/null)"
			rm -f "$dir/$1/f"
			sync
		done
	done
}
"$BUILD/tests/fusefs" "$dir/fuse" --backing "$dir/store" --durable --max-write 1048576
sides fuse
truncate -s 1G "$dir/image"
mkfs.ext4 -q -F -O '^extent,^64bit' "$dir/image"
mount -o loop "$dir/image" "$dir/ext3"
sides ext3
