# fill-nfs.sh: guest script (tests/lab/lab -m 8G -d 10G -t 3600 tests/bench/fill-nfs.sh [ROUNDS]): how long posix_fallocate takes on
# NFS until the space is durable, by size: libc's emulation, the library, and the limit, which is writing the data
# itself in pieces of 16 MiB (pwrite16m). `dirty=` and `cached=` are the most KiB of dirty and cached pages meanwhile, of
# client and server together, which are one machine here; on NFS 4.2 the kernel allocates, and glibc is the limit.
# Variables (lab -e): QUICK=1 a round of small files
. "$LAB/guest.sh"
rounds=${1:-${QUICK:-5}} status=0
small='1M 4M 16M 64M' large='256M 1G' huge=8G disk=9G
[ -z "${QUICK:-}" ] || small='1M 16M' large=64M huge='' disk=1G
with="env LD_PRELOAD=$BUILD/libfastalloc.so"

# one SIDE
one() {
	local prefix='' method=posix_fallocate writes reads commits line
	[ $1 = fastalloc ] && prefix=$with
	[ $1 = pwrite16m ] && method=pwrite16m
	settle /mnt/export
	drop_caches
	writes=$(nfs_calls WRITE) reads=$(nfs_calls READ) commits=$(nfs_calls COMMIT)
	line=$($prefix "$BUILD/tests/fill" /mnt/nfs/f $size $method memory)
	[[ $line == *ret=0* ]] || status=1
	echo "nfs$version-$size $1 $line write=$(($(nfs_calls WRITE) - writes)) read=$(($(nfs_calls READ) - reads))" \
		"commit=$(($(nfs_calls COMMIT) - commits))"
	rm -f /mnt/nfs/f
}
# each SIDES SIZE...
each() {
	local sides=$1 size r side
	shift
	for size; do
		for ((r = 0; r < rounds; r++)); do
			for side in $sides; do one $side; done
		done
	done
}

head -c $disk /dev/zero >/dev/ubda # or the first run would pay for space on the host's disk
nfs_serve ext4 async || exit
version=3
nfs_mount $version || exit
size=16M one fastalloc >/dev/null
each 'glibc fastalloc pwrite16m' $small $large
each 'fastalloc pwrite16m' $huge # libc's would take minutes
for version in 4.1 4.2; do
	nfs_mount $version || exit
	each 'glibc fastalloc pwrite16m' $large
done
nfs_stop
exit $status
