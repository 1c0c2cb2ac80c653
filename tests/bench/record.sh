# record.sh: guest script (taskset -c 0 tests/lab/lab -t 3600 tests/bench/record.sh [ROUNDS]):
# files that are written side by side on vfat, a piece to each in turn; for each case a line for writing and one for
# reading them from the disk. `write=` and `read=` count what the disk was asked for (`sectors=` how much), `pieces=`
# is the worst of four files. `ret=held`: after the program more space was taken than plain takes; `ret=leaked`: after
# rm and a new mount; `data=lost`: not what was written. In any of these cases the exit status is 1.
# Variables (lab -e): QUICK=1 a round of 8 files of 4 MiB; METHOD=... as of tests/record.c; SIDES=plain; SIZES=4096;
# FILE_SIZES='16M 13M', of which 13M by 64 KiB only. On one processor of the host (taskset): times of the lab vary
# fivefold when the host spreads it over several.
. "$LAB/guest.sh"
rounds=${1:-${QUICK:-5}} file_sizes=${FILE_SIZES:-16M 13M} counts='8 16'
[ -z "${QUICK:-}" ] || file_sizes=4M counts=8
method=${METHOD:-write} sides=${SIDES:-plain fastalloc}
record=$BUILD/tests/record
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
worst_of_four() {
	local f
	for f in 0 1 $((count / 2)) $((count - 1)); do extents /mnt/fat/$f; done | sort -n | tail -n 1
}
# one CASE SIDE
one() {
	local case=$1 side=$2 prefix=env free before written seconds pieces ret=0 data=none
	[ $side = plain ] || prefix=$with
	local command=("$record" "$method" "$size" "$file_size" /mnt/fat "$count")

	fat_mount $cluster rw 512M
	free=$(free_bytes /mnt/fat)
	count_requests
	before=("${requests[@]}")
	written=$($prefix "${command[@]}")
	more_than_plain $case $side $((free - $(free_bytes /mnt/fat))) && ret=held
	count_requests
	written+=" write=$((requests[4] - before[4])) sectors=$((requests[6] - before[6]))"
	pieces=$(worst_of_four)

	drop_caches
	count_requests
	before=("${requests[@]}")
	seconds=$("${command[@]}" --verify) || data=lost
	count_requests

	rm /mnt/fat/*
	umount /mnt/fat
	mount -t vfat /dev/ubda /mnt/fat # counts in the FAT what is free
	[ "$(free_bytes /mnt/fat)" = $free ] || ret=leaked
	[ $ret$data = 0none ] || status=1
	echo $case $side $written pieces=$pieces ret=$ret data=$data
	[ $data = lost ] ||
		echo $case-read $side $seconds read=$((requests[0] - before[0])) sectors=$((requests[2] - before[2]))
}

# cases: of one file system, one number of files and one size of them
cases() {
	local size case sizes=${SIZES:-500 4096 65536}

	[ "$file_size" != 13M ] || sizes=${SIZES:-65536}
	for size in $sizes; do
		case=vfat-$cluster-${count}x$file_size-$size
		[ $method = write ] || case+=-$method
		for ((r = 0; r < rounds; r++)); do
			for side in $sides; do one $case $side; done
		done
	done
}

head -c 512M /dev/zero >/dev/ubda # or the first run would pay for space on the host's disk
for cluster in 512 4096; do
	for count in $counts; do
		for file_size in $file_sizes; do cases; done
	done
done
exit $status
