# small.sh: guest script (taskset -c 0 tests/lab/lab -t 1200 tests/bench/small.sh [ROUNDS]): what
# small files cost: a tree of 2,000 of 1 to 64 KiB, 65 MB, put on vfat by cp -r and by tar x, until it is on the disk.
# `ret=held`: it takes more space there than plain; `data=`: the command failed, or content, names or mtimes are not
# the tree's. In either case the exit status is 1. Variables (lab -e): QUICK=1 a round; SIDES=plain
. "$LAB/guest.sh"
rounds=${1:-${QUICK:-5}}
sides=${SIDES:-plain fastalloc}
with="env LD_PRELOAD=$BUILD/libfastalloc.so"
tree=/tmp/tree
status=0

# Even times, as vfat keeps them to two seconds.
make_tree() {
	mkdir -p $tree/{00..19}
	perl -e 'srand 1;
		for (0..1999) {
			my $name = sprintf "%s/%02d/a file %d.dat", $ARGV[0], $_ % 20, $_;
			open my $file, ">", $name or die;
			print $file pack "N*", map { rand 2 ** 32 } 1 .. 256 + rand 63 * 256;
			close $file;
			utime 1.6e9, 1.6e9 + 2 * $_, $name;
		}' $tree
	tar -cf $tree.tar -C /tmp tree
	wanted=$(list $tree)
}
list() { (cd "$1" && find . -type f -printf '%p %s %T@\n' | sort); }
writes() { sync && awk '{ print $5 }' /sys/block/ubda/stat; }

declare -A plain_free # by case
# one CASE SIDE COMMAND...: COMMAND makes /mnt/fat/tree
one() {
	local case=$1 side=$2 prefix=env start end before after ret=0 data=none
	shift 2
	[ $side = plain ] || prefix=$with
	fat_mount $cluster rw 512M
	before=$(writes)
	start=${EPOCHREALTIME/./}
	$prefix "$@" 2>/tmp/errors && sync -f /mnt/fat || data=failed
	end=${EPOCHREALTIME/./}
	after=$(writes)

	umount /mnt/fat
	mount -t vfat /dev/ubda /mnt/fat # counts in the FAT what is free
	[ $side = plain ] && plain_free[$case]=$(free_bytes /mnt/fat)
	[ "$(free_bytes /mnt/fat)" -ge "${plain_free[$case]:-0}" ] || ret=held
	if [ $data = failed ]; then
		tail -n 1 /tmp/errors
	elif ! diff -r $tree /mnt/fat/tree >/dev/null; then
		data=differs
	elif [ "$(list /mnt/fat/tree)" != "$wanted" ]; then
		data=mtimes
	fi
	[ $ret$data = 0none ] || status=1
	echo $case $side seconds=$((end - start))e-6 write=$((after - before)) ret=$ret data=$data
}

make_tree
for prefix in env "$with"; do $prefix cp -r $tree /tmp/warm-up && $prefix tar -xf $tree.tar -C /tmp/warm-up; done
head -c 512M /dev/zero >/dev/ubda # or the first run would pay for space on the host's disk
for cluster in 512 4096; do
	for ((r = 0; r < rounds; r++)); do
		for side in $sides; do
			one vfat-$cluster-cp $side cp -r --preserve=timestamps $tree /mnt/fat/tree
			one vfat-$cluster-tar $side tar -xf $tree.tar -C /mnt/fat
		done
	done
done
exit $status
