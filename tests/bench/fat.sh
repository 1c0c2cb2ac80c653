# fat.sh: guest script (tests/lab/lab tests/bench/fat.sh [ROUNDS]): 128 files grow to 512 KiB by ftruncate, alone
# and while two others append a cluster in between; lines of data as of nfs.sh, `pieces=` of the worst file.
. "$LAB/guest.sh"
rounds=${1:-5}
act=$BUILD/tests/act
with="env LD_PRELOAD=$BUILD/libfastalloc.so"
one() { # CASE SIDE PREFIX...
	local case=$1 side=$2 start end i worst=0 n
	shift 2
	start=$(date +%s%N)
	for ((i = 0; i < 128; i++)); do "$@" $act /mnt/fat/f$i rdwr,creat ft 512K close; done >/dev/null
	sync -f /mnt/fat
	end=$(date +%s%N)
	for ((i = 0; i < 128; i += 16)); do
		n=$(extents /mnt/fat/f$i)
		[ "$n" -gt $worst ] && worst=$n
	done
	echo "$case $side seconds=$(((end - start) / 1000000))e-3 pieces=$worst"
	rm -f /mnt/fat/f*
}
for cluster in 512 4096; do
	fat_mount $cluster
	for ((r = 0; r < rounds; r++)); do
		one vfat-$cluster-alone plain env
		one vfat-$cluster-alone fastalloc $with
	done
	for ((r = 0; r < rounds; r++)); do
		for side in plain fastalloc; do
			prefix=env
			[ $side = fastalloc ] && prefix=$with
			for i in 1 2; do (while :; do head -c $cluster /dev/zero; done >"/mnt/fat/append$i") & done
			one vfat-$cluster-beside-2 $side $prefix
			kill $(jobs -p)
			wait 2>/dev/null
			rm -f /mnt/fat/append?
		done
	done
	unmount /mnt/fat
done
