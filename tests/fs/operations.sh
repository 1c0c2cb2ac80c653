#!/bin/bash
# operations.sh: random operations on files of the host's file systems, with the library and
# without: the same results, and the file is what a model in memory says (operations.c).
. "$PROJECT/tests/tap.sh"
. "$PROJECT/tests/fs/operations-lib.sh"
PATH=$PATH:/usr/sbin:/sbin
if [ "${1:-}" != inside ]; then
	[ "$(id -u)" = 0 ] && user= || user=-Ur
	exec unshare $user -m --propagation private bash "$0" inside
fi
dir=$(mktemp -d)
trap 'umount "$dir/mnt" 2>/dev/null; fusermount3 -uz "$dir/mnt" 2>/dev/null; rm -rf "$dir"' EXIT
mkdir "$dir/mnt"
make_configurations "$dir"
[ -z "${LONG:-}" ] || count=5000

loop() { # MKFS...: a new file system at $dir/mnt
	rm -f "$dir/image"
	truncate -s 600M "$dir/image"
	"$@" "$dir/image" >/dev/null 2>&1 && mount -o loop "$dir/image" "$dir/mnt" 2>/dev/null
}
for type in tmpfs ramfs; do
	if mount -t $type none "$dir/mnt" 2>/dev/null; then
		operations $type "$dir/mnt" stock
		umount "$dir/mnt"
	else
		skip $type 'cannot be mounted'
	fi
done
for mkfs in 'mkfs.ext4 -q -F' 'mkfs.ext4 -q -F -O ^extent,^64bit' 'mkfs.xfs -q -f' 'mkfs.btrfs -q -f'; do
	# shellcheck disable=SC2086 # words
	if loop $mkfs; then
		operations "$mkfs" "$dir/mnt" windows
		umount "$dir/mnt"
	else
		skip "$mkfs" 'cannot be mounted'
	fi
done
if [ -w /dev/fuse ] && "$BUILD/tests/fusefs" "$dir/mnt" 2>/dev/null; then
	operations FUSE "$dir/mnt" stock
	fusermount3 -u "$dir/mnt"
else
	skip FUSE 'cannot be mounted'
fi
finish
