#!/bin/bash
# fill-local.sh [ROUNDS]: as fill-nfs.sh, on this machine itself, as root: FUSE (tests/fs/fusefs, write-through to a
# disk; `write=` counts its WRITE requests), ext3, which has no fallocate, and ext4, both on a loop device with
# direct I/O. Variables: QUICK=1 a round of small files; DIR=/var/tmp, for the disk
set -eu
PROJECT=${PROJECT:-$(realpath "$(dirname "$0")/../..")}
BUILD=${BUILD:-$PROJECT/build}
[ "$(id -u)" = 0 ] || {
	echo 'fill-local.sh: needs root' >&2
	exit 77
}
if [ "${1:-}" != inside ]; then exec unshare -m bash "$0" inside "$@"; fi
rounds=${2:-${QUICK:-5}} status=0 sizes='1M 4M 16M 64M 256M 1G' disk=9G
[ -z "${QUICK:-}" ] || sizes='1M 64M' disk=512M
with="env LD_PRELOAD=$BUILD/libfastalloc.so"
sides='glibc fastalloc pwrite16m'
dir=$(mktemp -d "${DIR:-/var/tmp}/bench.XXXXXX")
clean_up() {
	umount "$dir/disk" 2>/dev/null || true
	umount "$dir/fuse" 2>/dev/null || true
	rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# one NAME SIDE
one() {
	local prefix='' method=posix_fallocate line
	[ "$2" = fastalloc ] && prefix=$with
	[ "$2" = pwrite16m ] && method=pwrite16m
	sync -f "$file"
	echo 3 >/proc/sys/vm/drop_caches
	[ "$1" != fuse ] || echo reset >"$dir/fuse/.control"
	line=$($prefix "$BUILD/tests/fill" "$file/f" "$size" $method memory)
	[[ $line == *ret=0* ]] || status=1
	[ "$1" != fuse ] || line+=" $(grep -o '^write=[0-9]*' "$dir/fuse/.control")"
	echo "$1-$size $2 $line"
	rm "$file/f"
}
# each NAME DIR SIZE...
each() {
	local name=$1 file=$2 size r side
	shift 2
	size=1M one "$name" fastalloc >/dev/null
	for size; do
		for ((r = 0; r < rounds; r++)); do
			for side in $sides; do one "$name" "$side"; done
		done
	done
}

mkdir "$dir/fuse" "$dir/store" "$dir/disk"
"$BUILD/tests/fusefs" "$dir/fuse" --backing "$dir/store" --durable --max-write 1048576
# shellcheck disable=SC2086 # a list
each fuse "$dir/fuse" $sizes
umount "$dir/fuse"

head -c $disk /dev/zero >"$dir/image" # or the first run would pay for space on the disk below
for type in ext3 ext4; do
	mkfs.$type -q -F -m 0 -E nodiscard,lazy_itable_init=0 "$dir/image"
	loop=$(losetup -f --show --direct-io=on "$dir/image")
	mount -t $type "$loop" "$dir/disk"
	losetup -d "$loop" # when it is unmounted
	large=
	[ $type = ext4 ] || [ -n "${QUICK:-}" ] || large=8G
	# shellcheck disable=SC2086 # lists
	each $type "$dir/disk" $sizes
	sides='fastalloc pwrite16m' each $type "$dir/disk" $large # libc's would take minutes
	umount "$dir/disk"
done
exit $status
