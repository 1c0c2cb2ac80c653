# nfs.sh: guest script (tests/lab/lab tests/bench/nfs.sh [ROUNDS] [CASE...]): the fill against glibc
# and against plain writing, sides alternated; one line of data a run:
#   CASE SIDE seconds=... ret=... write=RPCs read=RPCs commit=RPCs
. "$LAB/guest.sh"
rounds=${1:-${QUICK:-5}}
shift
want=" ${*:-fill lock truncated dsync hole qemu} "
with="env LD_PRELOAD=$BUILD/libfastalloc.so"
fill=$BUILD/tests/fill

# one CASE SIDE COMMAND...: run it and print what it cost
one() {
	local case=$1 side=$2 w r c line
	shift 2
	settle /mnt/export >/dev/null 2>&1
	w=$(nfs_calls WRITE) r=$(nfs_calls READ) c=$(nfs_calls COMMIT)
	line=$("$@" 2>&1 | grep -o 'seconds=.*')
	echo "$case $side $line write=$(($(nfs_calls WRITE) - w)) read=$(($(nfs_calls READ) - r)) commit=$(($(nfs_calls COMMIT) - c))"
	rm -f /mnt/nfs/f /mnt/nfs/q
	sync
}
# three CASE SIZE [OPTION...]: glibc, ours, and the limit
three() {
	local case=$1 size=$2 i
	shift 2
	for ((i = 0; i < rounds; i++)); do
		one "$case" glibc $fill /mnt/nfs/f "$size" posix_fallocate "$@"
		one "$case" fastalloc $with $fill /mnt/nfs/f "$size" posix_fallocate "$@"
		case $case in *hole | *truncated) ;; *) one "$case" pwrite16m $fill /mnt/nfs/f "$size" pwrite16m "$@" ;; esac
	done
}
timed() {
	local s e
	s=$(date +%s%N)
	"$@" >/dev/null
	e=$(date +%s%N)
	echo "seconds=$(((e - s) / 1000000))e-3"
}
for export in async sync; do
	nfs_serve ext4 $export
	for version in 3 4.1; do
		nfs_mount $version
		p=nfs$version-$export
		[[ $want == *' fill '* ]] && three $p-256M 256M
		[[ $want == *' lock '* ]] && three $p-256M-lock 256M lock
		if [ $version$export = 3async ]; then
			[[ $want == *' truncated '* ]] && three $p-64M-truncated 64M truncated
			[[ $want == *' dsync '* ]] && three $p-8M-dsync 8M dsync
			[[ $want == *' hole '* ]] && three $p-64M-hole 64M hole
			if [[ $want == *' qemu '* ]]; then
				for ((i = 0; i < rounds; i++)); do
					one $p-qemu-1G glibc timed qemu-img create -f raw -o preallocation=falloc /mnt/nfs/q 1G
					one $p-qemu-1G fastalloc timed $with qemu-img create -f raw -o preallocation=falloc /mnt/nfs/q 1G
					one $p-qemu-1G full timed qemu-img create -f raw -o preallocation=full /mnt/nfs/q 1G
				done
			fi
		fi
		nfs_umount
	done
	nfs_stop
done
