# show.sh: guest script. What tools/quickstart shows: real programs, without and with the library.
. "$LAB/guest.sh"
with="env LD_PRELOAD=$BUILD/libfastalloc.so"

row() { printf '%-46s %12s %12s %8s   %s\n' "$@"; }
seconds() { awk "BEGIN { printf \"%.2f s\", $1 / 1e9 }"; }
ratio() { awk "BEGIN { printf \"%.1fx\", $1 / ($2 ? $2 : 1) }"; }

# on_nfs COMMAND...: nanoseconds and WRITE calls of COMMAND, until the data is on the server
on_nfs() {
	local writes start
	writes=$(nfs_calls WRITE) start=$(date +%s%N)
	"$@" >/dev/null && sync -f /mnt/nfs
	ns=$(($(date +%s%N) - start)) calls=$(($(nfs_calls WRITE) - writes))
}
compare() { # TITLE COMMAND...
	local title=$1 ns calls plain_ns plain_calls
	shift
	on_nfs "$@"
	plain_ns=$ns plain_calls=$calls
	rm -f /mnt/nfs/disk
	on_nfs $with "$@"
	row "$title" "$(seconds $plain_ns)" "$(seconds $ns)" "$(ratio $plain_ns $ns)" "WRITE calls: $plain_calls -> $calls"
	rm -f /mnt/nfs/disk
}

row '' without with '' ''
nfs_serve ext4 async
nfs_mount 3
compare 'NFS 3: fallocate --posix -l 256M' fallocate --posix -l 256M /mnt/nfs/disk
if command -v qemu-img >/dev/null; then
	compare 'NFS 3: qemu-img create, preallocated, 512M' \
		qemu-img create -f raw -o preallocation=falloc /mnt/nfs/disk 512M
else
	echo 'NFS 3: qemu-img is not installed (package qemu-utils)'
fi
nfs_umount
nfs_stop

fat_mount 512
start=$(date +%s%N)
truncate -s 64M /mnt/fat/a && sync -f /mnt/fat
plain=$(($(date +%s%N) - start))
rm /mnt/fat/a
start=$(date +%s%N)
$with truncate -s 64M /mnt/fat/a && sync -f /mnt/fat
ours=$(($(date +%s%N) - start))
rm /mnt/fat/a
row 'FAT: truncate -s 64M, alone' "$(seconds $plain)" "$(seconds $ours)" "$(ratio $plain $ours)" '(nothing to gain alone)'

# More than there is room for: the kernel takes every cluster before it says no.
fat_mount 512 rw 64M
start=$(date +%s%N)
truncate -s 200M /mnt/fat/a 2>/dev/null || true
plain=$(($(date +%s%N) - start))
rm -f /mnt/fat/a
start=$(date +%s%N)
$with truncate -s 200M /mnt/fat/a 2>/dev/null || true
ours=$(($(date +%s%N) - start))
row 'FAT: truncate past what is free, ENOSPC' "$(seconds $plain)" "$(seconds $ours)" "$(ratio $plain $ours)" ''
