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
pieces() { for f; do extents "$f"; done | sort -n | tail -n 1; }

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

# While another program appends without a pause, a file that grows by ftruncate is cut in pieces.
appended() { # PREFIX RUN...
	local prefix=$1 appender
	shift
	(while :; do head -c 4096 /dev/zero; done >/mnt/fat/append) &
	appender=$!
	for file in 1 2 3 4; do "$@" truncate -s 16M "/mnt/fat/$prefix$file"; done
	kill $appender
	wait $appender 2>/dev/null || true
	rm -f /mnt/fat/append
}
appended plain env
appended ours $with
row 'FAT: truncate -s 16M beside an appender' "$(pieces /mnt/fat/plain*)" "$(pieces /mnt/fat/ours*)" '' 'pieces, in the worst file'
