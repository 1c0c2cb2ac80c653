#!/bin/bash
# server.sh [ROUNDS]: files that a client writes side by side through an NFS server in user space (NFS-Ganesha,
# version 3), against how much is preallocated past each extending write. In the lab, whose disk is a file of this
# machine, through its cache (nice -n -10 taskset -c 1 tests/lab/lab -m 3G -t 1800 tests/bench/server.sh [ROUNDS]);
# or as root on this machine, on a loop device with direct I/O, where times are those of the real disk.
#
# Sides: plain, without the library; 1M 2M 4M 5M 16M, windows of that size from the first byte on (5M is what the
# kernel's server was once patched to do); fastalloc, the section for servers of preload.conf. Cases: a new ext4 (fresh), and
# one that has aged (aged; tests/bench/age.c): every run gets a new one with the same blocks in use, which is checked.
#
#   CASE layout: used_percent= of the blocks, free_extents=, free_average= and free_median= (KiB) before the writing
#   CASE SIDE: seconds= from the first WRITE to the last reply, speed= MB/s; write= requests and sectors= of the disk
#       until all is on it; pieces= of the worst file, mean= of all; windows= the library made; held= MiB past the ends
#       of the files before the server ends. ret=held: when it has ended, more space is taken than without windows.
#   CASE-read SIDE: the files one after the other, from the disk: seconds=, speed=, read= requests of the disk.
#       data=lost-N: not what was written, where N, the status of nfsload, is 1; else it went wrong itself.
#       seeks= how often the next byte is not the next on the disk (FIEMAP), from file to file, too; disk_seconds= is a
#       model, not measured: what a disk with heads would take for those pieces, SEEK_MS each, and MB_S between.
# In any such case, and when there are no windows, the exit status is 1.
#
# Variables (lab -e): QUICK=1 a round of small files and fewer sides; FSTYPE=ext4|xfs (xfs: fresh only); WRITE=64K, the
# size of an NFS WRITE; LOAD='--depth 8 --unstable', options of tests/fs/nfsload; SIDES='plain 4M-64M-64K' (window,
# window_max, window_after); AGES='fresh aged'; FILES='8x64M 32x8M'; SEED=1, of the ageing; PERCENT=65, in use after
# it; DIR=/var/tmp, for the disk
PROJECT=${PROJECT:-$(realpath "$(dirname "$0")/../..")}
BUILD=${BUILD:-$PROJECT/build}
. "$PROJECT/tests/fs/ganesha.sh"
if [ "${1:-}" != inside ]; then ganesha_namespace "$@"; fi
shift
SEEK_MS=8 MB_S=150 # a disk of 7200 rounds a minute
if [ -n "${LAB:-}" ]; then
	disk=/dev/ubdb image=''
else
	image=$(mktemp "${DIR:-/var/tmp}/server.XXXXXX") && exec 9<>"$image" && rm "$image" || exit
	image=/dev/fd/9
fi
. "$PROJECT/tests/lab/guest.sh"
rounds=${1:-5} fstype=${FSTYPE:-ext4} write=${WRITE:-64K} load=${LOAD:-} status=0
sides=${SIDES:-plain 1M 2M 4M 5M 16M fastalloc}
space=4G all=${FILES:-8x64M 32x8M} ages=${AGES:-fresh aged}
if [ -n "${QUICK:-}" ]; then rounds=1 space=1G all=${FILES:-8x8M 32x2M} sides=${SIDES:-plain 5M fastalloc}; fi
[ "$fstype" = ext4 ] || ages=fresh
uuid=5eed5eed-5eed-4eed-8eed-5eed5eed5eed # with the hash's seed, or directories would lie elsewhere each time

# layout: of the ext4 on the disk, $layout: what is free, as key=value, and $layout_sum: which blocks these are
layout() {
	dumpe2fs "$disk" >/run/layout 2>/dev/null
	layout_sum=$(grep '^ *Free blocks: ' /run/layout | cksum)
	layout=$(awk '
		/^Block count:/ { blocks = $3 }
		/^Block size:/ { kib = $3 / 1024 }
		/^  Free blocks: [0-9]/ {
			for (i = 3; i <= NF; i++) {
				split($i, range, /[-,]/)
				last = $i ~ /-/ ? range[2] : range[1]
				if (!count || range[1] != end) count++ # or it goes on in the next group
				end = last + 1
				sizes[count] += end - range[1]
				free += end - range[1]
			}
		}
		END { for (i = 1; i <= count; i++) print sizes[i], sizes[i] * kib, 100 - free * 100 / blocks, free * kib / count }' \
		/run/layout | sort -n | awk '
		{ kib[NR] = $2; used = $3; average = $4 }
		END {
			printf "used_percent=%.1f free_extents=%d free_average=%d free_median=%d", used, NR, average,
				kib[int((NR + 1) / 2)]
		}')
}

# attach: this machine's loop device, until it is unmounted or detach
attach() { [ -z "$image" ] || disk=$(losetup -f --show --direct-io=on $image 2>/dev/null || losetup -f --show $image); }
detach() { [ -z "$image" ] || losetup -d "$disk"; }
# mounted: nothing that is on the disk is in memory then
mounted() {
	unmount /mnt/local && attach && mount -t "$fstype" "$disk" /mnt/local || exit
	detach
}
# make AGE: a new file system on the disk, always on the same blocks, and of an aged one what is left free
make() {
	local options=(-E "nodiscard,lazy_itable_init=0,hash_seed=$uuid" -U $uuid -i 131072)
	[ "$fstype" = ext4 ] || options=()
	unmount /mnt/local && attach && format "$fstype" "$disk" $space "${options[@]}" || exit
	[ "$1" = fresh ] || "$BUILD/tests/age" "$disk" /mnt/local "${SEED:-1}" "${PERCENT:-65}" || exit
	[ "$fstype" != ext4 ] || layout
	detach
}

configure() { # SIDE
	local first largest after
	if [ "$1" = fastalloc ]; then
		sed -n '/^#     \[program ganesha.nfsd\]/,/^# [^ ]/s/^#     //p' "$PROJECT/preload.conf"
	else
		IFS=- read -r first largest after <<<"$1"
		printf '%s\n' '[program ganesha.nfsd]' 'deepbind = ignore' 'write = preallocate' "window = $first" \
			"window_max = ${largest:-$first}" "window_after = ${after:-0}"
	fi >/run/preload.conf
}

requests=() # of the disk: reads completed, merged, sectors, ms, writes completed, merged, sectors, ...
count_requests() { sync -f /mnt/local && read -ra requests <"/sys/block/${disk#/dev/}/stat"; }
blocks() { echo $(($(stat -c %b "${files[@]}" | paste -sd+))); }
speed() { awk -v "line=$1" -v bytes="$bytes" 'BEGIN { split(line, s, "="); printf "speed=%.1f", bytes / s[2] / 1e6 }'; }
# lies: where the files lie, as key=value: pieces=, mean= and, after a |, for who reads them seeks=, disk_seconds=
lies() {
	filefrag -v -b4096 "${files[@]}" | tr '.:' '  ' | awk -v seek_ms=$SEEK_MS -v mb_s=$MB_S '
		/^ *[0-9]+ / && NF >= 6 {
			if ($1 == 0) { count++; pieces = 1 } else if ($4 != end) pieces++
			if ($4 != end) seeks++
			sum += $1 == 0 || $4 != end
			if (pieces > worst) worst = pieces
			end = $5 + 1
			blocks += $6
		}
		END {
			printf "pieces=%d mean=%.2f|", worst, sum / count
			printf "seeks=%d disk_seconds=%.3f\n", seeks, seeks * seek_ms / 1000 + blocks * 4096 / mb_s / 1e6
		}'
}

# one CASE SIDE
one() {
	local case=$1 side=$2 with=() before line held taken ret=0 data=none read lies
	if [ "$side" != plain ]; then
		configure "$side"
		with=(LD_PRELOAD="$BUILD/libfastalloc.so" FASTALLOC_CONFIG=/run/preload.conf FASTALLOC_STATS=/run/stats)
	fi
	make "$age"
	if [ -z "$first_sum" ]; then
		[ "$fstype" != ext4 ] || echo "$case layout $layout"
		first_sum=$layout_sum
	fi
	[ "$layout_sum" = "$first_sum" ] || { echo "server.sh: $case: other blocks are free than before: $layout" >&2; status=1; }
	mounted
	rm -f /run/stats
	ganesha_start "${with[@]}" || exit
	count_requests
	before=("${requests[@]}")
	# shellcheck disable=SC2086 # options
	line=$("$BUILD/tests/nfsload" $GANESHA_URL $count $size "$write" $load) || data=failed-$?
	count_requests
	line+=" $(speed "$line") write=$((requests[4] - before[4])) sectors=$((requests[6] - before[6]))"
	held=$(blocks)
	ganesha_stop
	sync -f /mnt/local
	taken=$(blocks)
	[ "$side" = plain ] && plain_taken=$taken
	[ $((taken - ${plain_taken:-$taken})) -lt $((count * 128)) ] || ret=held # 64K each: they have blocks of their own
	lies=$(lies)
	line+=" ${lies%|*}"
	if [ "$side" != plain ]; then
		line+=" windows=$(grep -o '"window":{"seen":[0-9]*' /run/stats | grep -o '[0-9]*$')"
		[[ $line == *windows=[1-9]* || $size = "$write" ]] || status=1
	fi

	mounted
	count_requests
	before=("${requests[@]}")
	read=$("$BUILD/tests/nfsload" /mnt/local $count $size) || data=lost-$?
	count_requests
	[ $ret$data = 0none ] || status=1
	echo "$case $side $line held=$(((held - taken) / 2048)) ret=$ret data=$data"
	[ $data = none ] && echo "$case-read $side $read $(speed "$read") read=$((requests[0] - before[0])) ${lies#*|}"
}

ganesha_prepare || exit
head -c $space /dev/zero >"${image:-$disk}" # or the first run would pay for space on the disk below
for age in $ages; do
	for load_of in $all; do
		count=${load_of%x*} size=${load_of#*x} files=() plain_taken='' first_sum=''
		bytes=$((count * $(numfmt --from=iec "$size")))
		for ((i = 0; i < count; i++)); do files+=("/mnt/local/$i"); done
		for ((r = 0; r < rounds; r++)); do
			for side in $sides; do one "$fstype-$age-$load_of-$write${load// /}" "$side"; done
		done
	done
done
exit $status
