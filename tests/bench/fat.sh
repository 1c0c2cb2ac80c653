# fat.sh: guest script (taskset -c 0 tests/lab/lab -m 3G -d 6G -t 3600 tests/bench/fat.sh [ROUNDS]): files that are
# grown on vfat, which zeroes what it adds; the time is until all is on the disk.
#   CxS          C files grow to S in one call each, one after the other: the table of "fat: preallocate before
#                expanding", a kernel patch
#   CxS-sync     the same on a mount with `sync`, where the library does nothing
#   CxS-by-64K   in steps, each file by one in turn
#   CxS-at-once  by processes of their own, side by side: they come between each other where the kernel waits for a
#                sector of the FAT or for the disk. -cached: all of the FAT is in memory, elsewhere none is
# `write=` and `read=` count what the disk was asked for (`sectors=` how much), `pieces=` is the worst of all files.
# CASE-read: reading the files from the disk, one after the other; the largest once only. `ret=failed`: a call failed;
# `ret=held`: after the program more space was taken than plain takes; `ret=leaked`: after rm and a new mount;
# `data=lost`: a size or a byte is not what it should be. In any of these cases the exit status is 1.
# At most 3 rounds of 16 files of 256 MiB. The disk images are in $TMPDIR: where that is a tmpfs (of 9 GiB, not below /tmp,
# /run, /mnt or /dev/shm, which are the guest's own) the host's disk does not count.
# Variables (lab -e): QUICK=1 a round of small sizes, by ftruncate; SIDES=plain; METHODS=fallocate, as of
# tests/bench/grow.c; CLUSTERS=512; CASES='128x512K 4x64M-at-once'
. "$LAB/guest.sh"
rounds=${1:-${QUICK:-5}}
sides=${SIDES:-plain fastalloc} clusters=${CLUSTERS:-512 4096} methods='ftruncate posix_fallocate'
cases='16x256M 16x1M-sync 128x512K 128x64K-sync 8x16M-by-64K 4x64M-at-once 4x64M-at-once-cached'
disk_size=4608M
if [ -n "${QUICK:-}" ]; then
	cases='16x512K 16x16K-sync 4x1M-by-64K 4x4M-at-once 4x4M-at-once-cached'
	disk_size=288M methods=ftruncate
fi
methods=${METHODS:-$methods}
cases=${CASES:-$cases}
grow=$BUILD/tests/grow
with="env LD_PRELOAD=$BUILD/libfastalloc.so"
status=0

requests=() # of the disk: reads completed, merged, sectors, ms, writes completed, merged, sectors, ...
count_requests() { sync && read -ra requests </sys/block/ubda/stat; }

declare -A plain_taken # by case
# more_than_plain CASE SIDE BYTES: whether a side took more space than plain did
more_than_plain() {
	[ $2 = plain ] && plain_taken[$1]=$3
	[ $3 -gt "${plain_taken[$1]:-$3}" ]
}

# side_by_side: a process for each file
side_by_side() {
	local start=${EPOCHREALTIME/./} i running=() failed=''
	for ((i = 0; i < count; i++)); do
		$prefix "${command[@]}" --only $i >/dev/null &
		running+=($!)
	done
	for i in "${running[@]}"; do wait $i || failed=yes; done
	echo seconds=$((${EPOCHREALTIME/./} - start))e-6
	[ -z "$failed" ]
}
# one CASE SIDE VERIFYING
one() {
	local case=$1 side=$2 verifying=$3 prefix=env free before written seconds='' ret=0 data=none
	[ $side = plain ] || prefix=$with
	local command=("$grow" "$method" "$step" "$size" /mnt/fat "$count")

	fat_mount $cluster $mount $fs_size || exit
	touch $(seq -f /mnt/fat/%g 0 $((count - 1))) && rm /mnt/fat/* # the directory has its size now, and keeps it
	free=$(free_bytes /mnt/fat)                                   # the kernel counts, and has read all of the FAT
	[ -n "$cached" ] || drop_caches
	count_requests
	before=("${requests[@]}")
	if [ $how = at-once ]; then
		written=$(side_by_side) || ret=failed
	else
		written=$($prefix "${command[@]}") || ret=failed
	fi
	count_requests
	written+=" write=$((requests[4] - before[4])) read=$((requests[0] - before[0]))"
	written+=" sectors=$((requests[6] - before[6]))"
	more_than_plain $case $side $((free - $(free_bytes /mnt/fat))) && ret=held
	written+=" pieces=$("$BUILD/tests/pieces" /dev/ubda /mnt/fat/*)"

	if [ $verifying = yes ]; then
		drop_caches
		count_requests
		before=("${requests[@]}")
		seconds=$("${command[@]}" --verify) || data=lost
		count_requests
	fi
	rm /mnt/fat/*
	umount /mnt/fat
	mount -t vfat /dev/ubda /mnt/fat # counts in the FAT what is free
	[ "$(free_bytes /mnt/fat)" = $free ] || ret=leaked
	[ $ret$data = 0none ] || status=1
	echo $case $side $written ret=$ret data=$data
	[ -z "$seconds" ] || [ $data = lost ] ||
		echo $case-read $side $seconds read=$((requests[0] - before[0])) sectors=$((requests[2] - before[2]))
}

# set_case NAME: sets what `one` needs to know of it
set_case() {
	local IFS=-
	set -- $1
	count=${1%x*} size=${1#*x} step=${1#*x} how=${2:-alone} cached=${4:-} mount=rw fs_size=512M most_rounds=$rounds
	case $how in
	sync) mount=rw,sync ;;
	by) step=$3 ;;
	at) how=at-once ;;
	esac
	if [ $size = 256M ]; then
		fs_size=$disk_size
		[ $rounds -lt 3 ] || most_rounds=3
	fi
	[ -z "${QUICK:-}" ] || fs_size=$disk_size
}

head -c $disk_size /dev/zero >/dev/ubda # or the first run would pay for space on the host's disk
sync
fat_mount 4096 rw 288M
for prefix in env "$with"; do $prefix $grow ftruncate 64K 256K /mnt/fat 4 >/dev/null; done # warm up
for cluster in $clusters; do
	for name in $cases; do
		set_case $name
		for method in $methods; do
			for ((r = 0; r < most_rounds; r++)); do
				verifying=yes
				[ $size != 256M ] || [ $r = 0 ] || verifying=no
				for side in $sides; do one vfat-$cluster-$name-$method $side $verifying; done
			done
		done
	done
done
exit $status
