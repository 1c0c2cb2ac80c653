# allocate.sh: guest script (tests/lab/lab -t 1200 tests/bench/allocate.sh [ROUNDS]): does it help
# to send ALLOCATE (NFS 4.2) ahead of each write? Two files of 64 MiB side by side, on ext4 behind the kernel's server;
# `pieces=` is the worse file's, there; `write=` counts WRITE, and is the same.
. "$LAB/guest.sh"
rounds=${1:-${QUICK:-5}}
nfs_serve ext4 && nfs_mount 4.2 || exit
for size in 64K 1M 8M; do
	for ((r = 0; r < rounds; r++)); do
		for side in plain allocate; do
			before=$(nfs_calls WRITE) option=--$side
			[ $side = allocate ] || option=''
			seconds=$("$BUILD/tests/record" write $size 64M /mnt/nfs 2 $option) || exit
			sync
			pieces=$(for f in 0 1; do extents /mnt/export/$f; done | sort -n | tail -n 1)
			result nfs4.2-2x64M-$size $side "$seconds" write=$(($(nfs_calls WRITE) - before)) pieces=$pieces
			rm /mnt/nfs/[01]
		done
	done
done
