# nfs.sh: guest script. What QEMU's falloc preallocation costs on NFS: seconds and calls, with glibc
# and with the library, against its own "full" and dd; and three fills that QEMU does not do.
#
#   tests/lab/lab -m 4G -t 1800 tests/bench/nfs.sh [ROUNDS] [CASE...]
#   tests/lab/lab -m 4G -d 8G -t 1800 tests/bench/nfs.sh 3 6G
#
# ROUNDS: 5 if not given.  QUICK=1: one round of small files.  CASE: base version wsize size export
# lock fill (all by default), and 6G, only if named.  Each but fill varies one thing of the base:
# NFS 4.1, 256 MiB, rsize and wsize 1 MiB, `qemu-img create`, which takes byte-range locks, an async
# export.  A name tells all: nfs4.1-256M-1M-create.  -resize is `qemu-img resize` of an empty file,
# which can do without locks (-unlocked).
. "$LAB/guest.sh"
rounds=${1:-5} small=256M large=1G tiny=64M dsync=8M warm=3G
[ "${QUICK:-0}" = 0 ] || rounds=1 small=32M large=64M tiny=8M dsync=1M warm=512M
shift
want=" ${*:-base version wsize size export lock fill} "
wants() { [[ $want == *" $1 "* ]]; }
wants 6G && warm=7G
with="env LD_PRELOAD=$BUILD/libfastalloc.so"
fill=$BUILD/tests/fill
operations='WRITE READ COMMIT ALLOCATE'
failed=0

# settled: wait until the server has given back what was removed
settled() {
	local i
	exportfs -f
	sync
	for ((i = 0; i < 100 && $(free_bytes /mnt/export) < room; i++)); do sleep 0.1; done
}
# measured CASE SIDE COMMAND...: print what it cost; its line of data, if it has one, to be completed
measured() {
	local case=$1 side=$2 start ns ret op line before=()
	shift 2
	settled
	for op in $operations; do before+=("$(nfs_calls "$op")"); done
	start=$(date +%s%N)
	line=$("$@" 2>/tmp/err)
	ret=$?
	ns=$(($(date +%s%N) - start))
	line=$(grep -o 'seconds=.*' <<<"$line") ||
		printf -v line 'seconds=%d.%03d ret=%d' $((ns / 1000000000)) $((ns / 1000000 % 1000)) $ret
	for op in $operations; do
		line+=" ${op,,}=$(($(nfs_calls "$op") - ${before[0]}))"
		before=("${before[@]:1}")
	done
	echo "$case $side $line"
	[[ " $line " == *' ret=0 '* && " $line " != *' data=lost '* ]] && return
	cat /tmp/err >&2
	failed=1
}
# check CASE SIDE SIZE: the server has a file of just that size, all allocated, all zeros
check() {
	local size blocks bytes
	bytes=$(numfmt --from=iec "$3")
	sync
	read -r size blocks < <(stat -c '%s %b' /mnt/export/q)
	if [ "$size" != "$bytes" ] || [ $((blocks * 512)) -lt "$bytes" ] || ! cmp -sn "$bytes" /mnt/export/q /dev/zero; then
		echo "nfs.sh: $1 $2: size $size, blocks $blocks, or not zeros" >&2
		failed=1
	fi
}
# qemu SIZE [PREALLOCATION]: with $verb (create, resize or unlocked)
qemu() {
	local file=driver=raw,file.driver=file,file.filename=/mnt/nfs/q
	case $verb in
		create) ${preload-} qemu-img create -q -f raw -o "preallocation=${2:-falloc}" /mnt/nfs/q "$1" ;;
		*)
			[ $verb = resize-unlocked ] && file+=,file.locking=off
			${preload-} qemu-img resize -q --preallocation="${2:-falloc}" --image-opts "$file" "$1"
			;;
	esac
}
# table CASE SIZE: all sides, alternated
table() {
	local case=$1 size=$2 i side mib
	mib=$(($(numfmt --from=iec "$size") >> 20))
	for ((i = 0; i < rounds; i++)); do
		for side in glibc fastalloc full dd; do
			[ $verb = create ] || : >/mnt/nfs/q
			case $side in
				glibc) measured "$case" $side qemu "$size" ;;
				fastalloc) preload=$with measured "$case" $side qemu "$size" ;;
				full) measured "$case" $side qemu "$size" full ;;
				dd) measured "$case" $side dd bs=16M count=$((mib / 16)) conv=fsync if=/dev/zero of=/mnt/nfs/q ;;
			esac
			check "$case" $side "$size"
			rm -f /mnt/nfs/q
		done
	done
}
# mounted VERSION WSIZE: a mount whose requests are just that large
mounted() {
	local bytes
	bytes=$(numfmt --from=iec "$2")
	nfs_mount "$1" "rsize=$bytes,wsize=$bytes" || exit
	grep -q "^[^ ]* /mnt/nfs .*wsize=$bytes," /proc/mounts && return
	echo "nfs.sh: no requests of $2 on NFS $1" >&2
	exit 1
}
# served EXPORT: a server that takes requests of 1 MiB whatever memory it has, on blocks that have been written before
served() {
	nfs_prepare && nfs_stop && echo 1048576 >/proc/fs/nfsd/max_block_size && nfs_serve ext4 "$1" || exit
	head -c $warm /dev/zero >/mnt/export/warm && sync && rm /mnt/export/warm || exit
	sync
	room=$(($(free_bytes /mnt/export) - 1048576))
}
# varied CASE VERSION WSIZE SIZE [VERB]
varied() {
	verb=${5:-create}
	wants "$1" || return
	mounted "$2" "$3"
	table "nfs$2${export:+-$export}-$4-$3-$verb" "$4"
}
# filled CASE SIZE [OPTION...]
filled() {
	local case=nfs3-$2-1M-$1 i
	for ((i = 0; i < rounds; i++)); do
		measured "$case" glibc $fill /mnt/nfs/f "$2" posix_fallocate "$1"
		measured "$case" fastalloc $with $fill /mnt/nfs/f "$2" posix_fallocate "$1"
		rm -f /mnt/nfs/f
	done
}
export=''
served async
varied base 4.1 1M $small
for version in 3 4.0 4.2; do varied version $version 1M $small; done
for wsize in 64K 256K; do varied wsize 4.1 $wsize $small; done
varied lock 4.1 1M $small resize
varied lock 4.1 1M $small resize-unlocked
for version in 3 4.1; do varied size $version 1M $large; done
varied 6G 4.1 1M 6G
if wants fill; then
	mounted 3 1M
	filled truncated $tiny
	filled dsync $dsync
	filled hole $tiny
fi
if wants export; then
	export=sync
	served sync
	varied export 4.1 1M $small
fi
nfs_umount && nfs_stop || failed=1
exit $failed
