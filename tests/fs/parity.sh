#!/bin/bash
# parity.sh: what calls return, and what the file is like afterwards, is the same with the library and
# without, but for what parity-compare lists. tests/lab/test-parity.sh has FAT, NFS, quota and swap files.
. "$PROJECT/tests/tap.sh"
. "$PROJECT/tests/fs/parity-lib.sh"
PATH=$PATH:/usr/sbin:/sbin

[ "$(id -u)" = 0 ] || { echo '1..0 # SKIP needs root'; exit 0; }
if [ "${1:-}" != inside ]; then exec unshare -m --propagation private bash "$0" inside; fi
dir=$(mktemp -d)
trap 'umount -l "$dir/over" "$dir/mnt" "$dir" 2>/dev/null; rmdir "$dir"' EXIT
mount -t tmpfs -o size=1G parity "$dir" || { echo '1..0 # SKIP nothing can be mounted here'; exit 0; }
mkdir "$dir/mnt" "$dir/over" "$dir/out"
# The kernel's memory is not accounted for in a namespace: a bug here must not take all of it.
ulimit -v 4000000

fresh() { # SIZE MKFS...: a new file system at $dir/mnt
	local size=$1
	shift
	rm -f "$dir/image"
	truncate -s "$size" "$dir/image"
	"$@" "$dir/image" >/dev/null 2>&1 && mount -o "loop${options:+,$options}" "$dir/image" "$dir/mnt" 2>/dev/null
}
mounted() { # TYPE [SIZE]
	local options=''
	case $1 in
		tmpfs) mount -t tmpfs -o size="${2:-64M}" parity "$dir/mnt" ;;
		ramfs) mount -t ramfs parity "$dir/mnt" ;;
		overlay)
			mount -t tmpfs -o size=64M parity "$dir/mnt" && mkdir "$dir"/mnt/{lower,upper,work} &&
				mount -t overlay overlay "$dir/over" \
					-o "lowerdir=$dir/mnt/lower,upperdir=$dir/mnt/upper,workdir=$dir/mnt/work"
			;;
		fuse) [ -w /dev/fuse ] && "$BUILD/tests/fusefs" "$dir/mnt" --capacity 256M ;;
		ext4) fresh "${2:-400M}" mkfs.ext4 -q -F -b 4096 -m 0 ;;
		ext3) fresh "${2:-400M}" mkfs.ext4 -q -F -b 4096 -m 0 -O '^extent,^64bit' ;;
		xfs) options=allocsize=4k fresh 400M mkfs.xfs -q -f ;;
		btrfs) fresh 400M mkfs.btrfs -q -f ;;
	esac 2>/dev/null
}
unmounted() {
	umount "$dir/over" 2>/dev/null
	umount "$dir/mnt"
}

every=${LONG:+1}
for type in tmpfs ramfs overlay fuse ext4 ext3 xfs btrfs; do
	mounted $type || { skip $type 'cannot be mounted'; continue; }
	if [ $type = overlay ]; then where=$dir/over; else where=$dir/mnt; fi
	parity $type "$where" -f -e "${every:-30}"
	unmounted
done

# Windows for all files: between them and the calls there is no difference to be seen.
printf '[default]\nwrite = preallocate\nftruncate = preallocate\nfallocate = native\n' >"$dir/conf"
for type in ext4 xfs; do
	mounted $type || { skip "$type with windows" 'cannot be mounted'; continue; }
	for kind in grown grown-wronly grown-dup; do
		FASTALLOC_CONFIG=$dir/conf parity $type-windows "$dir/mnt" -k $kind -e "${every:-5}"
	done
	unmounted
done

# No room at all.
for type in tmpfs ext4; do
	mounted $type 24M || { skip "$type, full" 'cannot be mounted'; continue; }
	name=$type
	[ $type = tmpfs ] || name=$type-full
	parity "$name" "$dir/mnt" -k full -e "${every:-30}"
	unmounted
done

# What is no file of any of these.
mounted tmpfs
truncate -s 8M "$dir/image"
device=$(losetup -f --show "$dir/image" 2>/dev/null)
parity tmpfs "$dir/mnt" -o -e "${every:-20}"
# Not all arguments: after an error, a loop device punches no more holes.
[ -z "$device" ] || for kind in block-device block-device-ro; do
	parity tmpfs "$dir/mnt" -k $kind -e 20 -b "$device"
done
[ -z "$device" ] || losetup -d "$device"
unmounted
finish
