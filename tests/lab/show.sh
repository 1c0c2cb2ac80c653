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
compare() { # TITLE NOTE COMMAND...; the note, or the WRITE calls
	local title=$1 note=$2 ns calls plain_ns plain_calls
	shift 2
	on_nfs "$@"
	plain_ns=$ns plain_calls=$calls
	rm -f /mnt/nfs/disk
	on_nfs $with "$@"
	row "$title" "$(seconds $plain_ns)" "$(seconds $ns)" "$(ratio $plain_ns $ns)" "${note:-WRITE calls: $plain_calls -> $calls}"
	rm -f /mnt/nfs/disk
}

row '' without with '' ''
nfs_serve ext4 async
nfs_mount 3
# Where nobody holds a lock, the client gathers libc's single bytes, too.
compare 'NFS 3: fallocate --posix -l 256M' 'the same WRITE calls' fallocate --posix -l 256M /mnt/nfs/disk
if command -v qemu-img >/dev/null; then
	compare 'NFS 3: qemu-img create, preallocated, 512M' '' \
		qemu-img create -f raw -o preallocation=falloc /mnt/nfs/disk 512M
else
	echo 'NFS 3: qemu-img is not installed (package qemu-utils)'
fi
nfs_umount
nfs_stop

# Eight files that one program writes in turn.
side_by_side() { # COMMAND...: nanoseconds, and the pieces of all files
	local start name
	start=$(date +%s%N)
	head -c 16M /dev/zero | "$@" /mnt/fat/{1,2,3,4,5,6,7,8} >/dev/null && sync -f /mnt/fat
	ns=$(($(date +%s%N) - start)) pieces=0
	for name in /mnt/fat/*; do pieces=$((pieces + $(extents "$name"))); done
	rm /mnt/fat/*
}
fat_mount 512
side_by_side tee
plain=$ns plain_pieces=$pieces
side_by_side $with tee
row 'FAT: tee, 8 files of 16M' "$(seconds $plain)" "$(seconds $ns)" "$(ratio $plain $ns)" "pieces: $plain_pieces -> $pieces"

# More than there is room for: the kernel takes every cluster before it says no.
fat_mount 512 rw 64M
start=$(date +%s%N)
truncate -s 200M /mnt/fat/a 2>/dev/null || true
plain=$(($(date +%s%N) - start))
rm -f /mnt/fat/a
start=$(date +%s%N)
$with truncate -s 200M /mnt/fat/a 2>/dev/null || true
ours=$(($(date +%s%N) - start))
row 'FAT: truncate past what is free, ENOSPC' "$(seconds $plain)" "$(seconds $ours)" "$(ratio $plain $ours)" \
	'(with: before anything is touched)'
