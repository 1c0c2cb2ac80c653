#!/bin/bash
# local.sh: real file systems of the host, on loop devices: ext4 without extents (no fallocate), ext4, xfs, overlay.
. "$PROJECT/tests/tap.sh"
act=$BUILD/tests/act
with="env LD_PRELOAD=$BUILD/libfastalloc.so"
do_with() { $with $act "$@" | paste -sd' '; }
PATH=$PATH:/usr/sbin:/sbin

[ "$(id -u)" = 0 ] || { echo '1..0 # SKIP needs root (the lab tests the same as any user)'; exit 0; }
if [ "${1:-}" != inside ]; then exec unshare -m --propagation private bash "$0" inside; fi
dir=$(mktemp -d)
trap 'umount "$dir/over" "$dir/mnt" 2>/dev/null; rm -rf "$dir"' EXIT
mkdir "$dir/mnt" "$dir/over"

fresh() { # SIZE MKFS...: a new file system at $dir/mnt
	local size=$1
	shift
	umount "$dir/mnt" 2>/dev/null
	rm -f "$dir/image"
	truncate -s "$size" "$dir/image"
	"$@" "$dir/image" >/dev/null 2>&1 && mount -o loop "$dir/image" "$dir/mnt" 2>/dev/null
}
each() { # NAME: what holds everywhere
	local out
	out=$(do_with "$dir/mnt/a" rdwr,creat pwrite 1000 10 65 pfa 0 8M size pread 0 2000 blocks)
	like "$1: reserved, data kept" '^pwrite = 10 pfa = 0 size = 8388608 pread = 0x00\*1000,0x41\*10,0x00\*990 ' "$out"
	at_least "$1: blocks" 8388608 "${out##* }"
	is "$1: more than there is" 'pfa = ENOSPC size = 8388608' "$(do_with "$dir/mnt/a" rdwr pfa 0 4G size)"
	is "$1: read-only descriptor, on a full disk too" 'pfa = EBADF' "$(do_with "$dir/mnt/a" rdonly pfa 0 4G)"
	is "$1: truncate -s 10T stays sparse" 0 \
		"$($with truncate -s 10T "$dir/mnt/sparse" 2>/dev/null; stat -c %b "$dir/mnt/sparse")"
	chattr +i "$dir/mnt/a" 2>/dev/null && is "$1: the kernel's own errno, on an immutable file" \
		"$($act "$dir/mnt/a" rdonly tr 1 | paste -sd' ')" "$(do_with "$dir/mnt/a" rdonly tr 1)"
	chattr -i "$dir/mnt/a" 2>/dev/null
}
if fresh 300M mkfs.ext4 -q -F -O '^extent,^64bit'; then
	each 'ext4 without extents'
	strace -o "$dir/trace" -E LD_PRELOAD="$BUILD/libfastalloc.so" "$act" "$dir/mnt/b" rdwr,creat pfa 0 8M >/dev/null
	is 'ext4 without extents: a fault allocates, so nothing is flushed' 0 "$(grep -c fdatasync "$dir/trace")"
	is 'O_WRONLY below EOF: FIEMAP tells the holes' 'ft = 0 pwrite = 10 pfa = 0 size = 1048576' \
		"$(do_with "$dir/mnt/c" wronly,creat ft 1M pwrite 5000 10 66 pfa 0 1M size)"
	at_least 'O_WRONLY below EOF: all allocated' 2048 "$(stat -c %b "$dir/mnt/c")"
	is 'O_WRONLY below EOF: data kept' 'pread = 0x42*10' "$(do_with "$dir/mnt/c" rdonly pread 5000 10)"
	is 'O_DIRECT: an exact size, unaligned' 'pfa = 0 size = 1000001' "$(do_with "$dir/mnt/d" rdwr,creat,direct pfa 0 1000001 size)"
	is 'O_DIRECT: what lies before the range is kept' 'pwrite = 100 pfa = 0 size = 4096 pread = 0x41*100,0x00*100' \
		"$($act "$dir/mnt/h" rdwr,creat pwrite 0 100 65 | paste -sd' ') $(do_with "$dir/mnt/h" rdwr,direct pfa 4000 96 size) $(do_with "$dir/mnt/h" rdonly pread 0 200)"
	is 'O_APPEND far past EOF: what cannot fit touches nothing' 'pfa = ENOSPC size = 0' \
		"$(do_with "$dir/mnt/i" rdwr,creat,append pfa 2G 4K size)"
	is 'O_APPEND' 'write = 10 pfa = 0 size = 1000001' "$(do_with "$dir/mnt/e" rdwr,creat,append write 10 66 pfa 0 1000001 size)"
	is 'the file offset does not move' 'seek = 77 pfa = 0 pos = 77' "$(do_with "$dir/mnt/f" rdwr,creat seek 77 pfa 0 1M pos)"
	is 'signals at 1 kHz: the fill goes on' 'alarm = 0 pfa = 0 size = 134217728' \
		"$(do_with "$dir/mnt/g" rdwr,creat alarm 1000 pfa 0 128M size)"
else
	skip 'ext4 without extents' 'cannot be mounted'
fi
if fresh 300M mkfs.ext4 -q -F; then
	each ext4
	free() { stat -f -c '%f' "$dir/mnt"; }
	before=$(free)
	do_with "$dir/mnt/full" rdwr,creat pfa 0 4G >/dev/null
	is 'ext4: a refused request keeps no space (the kernel alone does)' "$before" "$(free)"
	printf '[default]\nposix_fallocate = sparse\n' >"$dir/conf"
	is 'sparse on O_DIRECT: data kept, an exact size' 'pwrite = 100 pfa = 0 size = 200 pread = 0x41*100,0x00*100' \
		"$($act "$dir/mnt/s" rdwr,creat pwrite 0 100 65 | paste -sd' ') $(FASTALLOC_CONFIG=$dir/conf do_with "$dir/mnt/s" rdwr,direct pfa 0 200 size) $(do_with "$dir/mnt/s" rdonly pread 0 300)"
	$act "$dir/mnt/x" rdwr,creat close >/dev/null
	chattr +a "$dir/mnt/x"
	is 'ext4: an append-only file on a full disk: the kernel'"'"'s own errno' 'pfa = ENOSPC' \
		"$(do_with "$dir/mnt/x" rdwr,append pfa 0 4G)"
	chattr -a "$dir/mnt/x"
	rm "$dir/mnt/x"
	is 'ext4: 17T is EFBIG before it is ENOSPC' 'pfa = EFBIG' "$(do_with "$dir/mnt/full" rdwr pfa 0 17T)"
	mkdir "$dir/mnt/u" "$dir/mnt/w"
	if mount -t overlay -o "lowerdir=$dir/mnt/lost+found,upperdir=$dir/mnt/u,workdir=$dir/mnt/w" o "$dir/over" 2>/dev/null; then
		is 'overlay: reserved' 'pfa = 0 size = 1048576 blocks = 1048576' \
			"$(do_with "$dir/over/a" rdwr,creat pfa 0 1M size blocks)"
		umount "$dir/over"
	fi
else
	skip ext4 'cannot be mounted'
fi
fresh 400M mkfs.xfs -q -f && each xfs || skip xfs 'cannot be mounted'
finish
