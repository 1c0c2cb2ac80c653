#!/bin/bash
# probe.sh: fastalloc probe: what file systems support, and that nothing is left of the trials.
. "$PROJECT/tests/command/disk.sh" || exit 1

result() { sed -n "s/^$1  *\\([a-zA-Z0-9.]*\\)  *\\(yes\\|no\\) .*/\\1/p" <<<"$out"; }
leaves_nothing() { # NAME
	is "$1: nothing is left" '' "$(find . ! -name . ! -name lost+found)"
}
holds() { # FSTYPE FEATURE=RESULT...
	local type=$1 pair
	shift
	for pair; do is "$type: ${pair%=*}" "${pair#*=}" "$(result "${pair%=*}")"; done
}
if fresh ext4; then
	fastalloc probe .
	is 'ext4: status' '0 ' "$status $err"
	like 'ext4: the type' 'file system +ext4 ' "$out"
	holds ext4 fallocate=yes KEEP_SIZE=yes PUNCH_HOLE=yes SEEK_HOLE=yes FIEMAP=yes 'sparse growth=yes' \
		'fault allocates=yes' 'write lease=yes' 'past EOF after close=yes' 'ENOSPC, written=write' 'ENOSPC, mapped=SIGBUS'
	is 'fits 80 columns' 0 "$(grep -cE '.{81}' <<<"$out")"
	leaves_nothing ext4
	fastalloc probe --json .
	is 'JSON' 'file system ext4' "$(field feature) $(field result)"
	# A signal at each fallocate, while the file has a name and when it has none.
	for when in 1 2 3; do
		strace -qq -o /dev/null -e inject=fallocate:signal=SIGTERM:when=$when "$FASTALLOC" probe . >"$D/out" 2>&1
		is "SIGTERM at fallocate $when: dies of it" 143 $?
		leaves_nothing "SIGTERM at fallocate $when"
	done
	strace -qq -o /dev/null -e inject=fallocate:error=EIO "$FASTALLOC" probe . >"$D/out" 2>&1
	is 'EIO says nothing of what is supported' 1 $?
	like 'it is told as failed' 'fallocate +failed +yes +Input/output error' "$(cat "$D/out")"
	leaves_nothing EIO
	chmod 755 "$D" "$M" && install -d -m 755 theirs
	nobody probe theirs
	is 'no permission' '1 fastalloc: theirs: Permission denied' "$status $err"
	rmdir theirs
	fallocate -l 1G full 2>/dev/null || head -c 1G /dev/zero >full 2>/dev/null
	fastalloc probe .
	is 'a full disk' 1 "$status"
	like 'is said' '^fastalloc: \.: only [0-9.]+ [KMi]*B free, the trials need 4 MiB$' "$err"
	rm full
	mount -o remount,ro "$M"
	fastalloc probe .
	is 'read-only' '1 fastalloc: .: Read-only file system' "$status $err"
else
	skip ext4 'no loop devices'
fi
if fresh ext4 -O '^extent,^64bit'; then
	fastalloc probe .
	holds 'ext4 without extents' fallocate=no KEEP_SIZE=no 'past EOF after close=no' FIEMAP=yes 'fault allocates=yes'
	printf '[default]\nfallocate = auto\n' >"$D/conf"
	LD_PRELOAD=$BUILD/libfastalloc.so FASTALLOC_CONFIG=$D/conf fastalloc probe .
	holds 'under the library: the kernel is asked' fallocate=no
fi
if fresh xfs; then
	fastalloc probe .
	holds xfs fallocate=yes KEEP_SIZE=yes 'past EOF after close=yes' FIEMAP=yes 'fault allocates=yes'
	leaves_nothing xfs
fi
cd / && umount "$M" 2>/dev/null
if [ -w /dev/fuse ] && "$BUILD/tests/fusefs" "$M" 2>/dev/null; then
	cd "$M" || exit 1
	fastalloc probe .
	holds FUSE fallocate=no FIEMAP=no 'fault allocates=no' 'ENOSPC, mapped=fsync'
	is 'FUSE: fits 80 columns' 0 "$(grep -cE '.{81}' <<<"$out")"
	leaves_nothing FUSE
	head -c 1M /dev/zero >file
	fastalloc extents file
	is 'FUSE: no FIBMAP, though it answers' "1 fastalloc: file: its file system has neither FIEMAP nor FIBMAP" "$status $err"
	cd / && umount "$M"
else
	skip FUSE 'cannot be mounted'
fi
# Without /proc, in a root that is no mount: what is told does not hang on the mount.
root=$D/root
for file in "$FASTALLOC" $(ldd "$FASTALLOC" | grep -o '/[^ ]*'); do
	mkdir -p "$root$(dirname "$file")" && cp -L "$file" "$root$file"
done
in_root() { chroot "$root" "$FASTALLOC" "$@" 2>&1; }
like 'no /proc: probe' $'file system +unknown.*\nKEEP_SIZE +yes' "$(in_root probe /)"
is 'no /proc: tune says why it cannot' \
	'fastalloc: /: its mount is not listed in /proc/self/mountinfo, or has too long a path for preload.conf' \
	"$(in_root tune /)"
mount -t ramfs ramfs "$M" && cd "$M" || exit 1
fastalloc probe .
holds ramfs fallocate=no SEEK_HOLE=no FIEMAP=no 'sparse growth=yes'
leaves_nothing ramfs
touch file
fastalloc probe file
is 'not a directory' '1 fastalloc: file: Not a directory' "$status $err"
fastalloc probe nothing
is 'no such directory' '1 fastalloc: nothing: No such file or directory' "$status $err"
fastalloc probe
is 'no directory' 2 "$status"
fastalloc probe . .
is 'two directories' 2 "$status"
fastalloc probe --help
like '--help' '^Usage: fastalloc probe ' "$out"
finish
