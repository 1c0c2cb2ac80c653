#!/bin/bash
# server.sh [ROUNDS]: files that a client writes side by side through an NFS server in user space (NFS-Ganesha,
# version 3), the server alone and with windows. As root on this machine (on a loop device), or in the lab
# (tests/lab/lab -m 3G -t 3600 tests/bench/server.sh [ROUNDS]), where times mean less.
#
# A line for writing and one for reading the files from the disk, per side. `pieces=` is the worst file's, `write=`,
# `sectors=` and `read=` are what the disk was asked for, `windows=` is how many the library made, `held=` MiB past
# the ends of the files before the server ends. `ret=held`: when it has ended, more space is taken than without
# windows; `data=lost-N`: not what was written, where N, the status of nfsload, is 1; else it went wrong itself. In
# either case, and when there are no windows, the exit status is 1.
#
# Variables (lab -e): QUICK=1 a round of small files; FSTYPE=ext4|xfs; WRITE=64K, the size of an NFS WRITE;
# LOAD='--depth 8 --unstable', options of tests/fs/nfsload; SIDES='plain fastalloc'; DIR=/var/tmp, for the disk
PROJECT=${PROJECT:-$(realpath "$(dirname "$0")/../..")}
BUILD=${BUILD:-$PROJECT/build}
. "$PROJECT/tests/fs/ganesha.sh"
if [ "${1:-}" != inside ]; then ganesha_namespace "$@"; fi
shift
if [ -n "${LAB:-}" ]; then
	disk=/dev/ubdb image=''
else
	image=$(mktemp "${DIR:-/var/tmp}/server.XXXXXX") && exec 9<>"$image" && rm "$image" || exit
	image=/dev/fd/9
fi
. "$PROJECT/tests/lab/guest.sh"
rounds=${1:-${QUICK:-5}} fstype=${FSTYPE:-ext4} write=${WRITE:-64K} load=${LOAD:-} status=0
# The first window, the largest, and the size of a file below which it has none. "patch" is what the kernel's server
# was once patched to do, "stock" what preload.conf has for all programs, "fastalloc" what it says for servers.
declare -A windows=([patch]='5M 5M 0' [stock]='64K 16M 64K' [fastalloc]='32M 64M 64K')
sides=${SIDES:-plain patch stock fastalloc}

# fresh: a new file system at /mnt/local, always on the same blocks
fresh() {
	local options=()
	unmount /mnt/local
	[ -z "$image" ] || disk=$(losetup -f --show --direct-io=on $image 2>/dev/null || losetup -f --show $image)
	[ "$fstype" = xfs ] || options=(-E nodiscard,lazy_itable_init=0)
	format "$fstype" "$disk" 2G "${options[@]}" && mount -t "$fstype" "$disk" /mnt/local || exit
	[ -z "$image" ] || losetup -d "$disk" # when it is unmounted
}
configure() { # WINDOW WINDOW_MAX WINDOW_AFTER
	printf '%s\n' '[program ganesha.nfsd]' 'deepbind = ignore' 'write = preallocate' "window = $1" "window_max = $2" \
		"window_after = $3" >/run/preload.conf
}

requests=() # of the disk: reads completed, merged, sectors, ms, writes completed, merged, sectors, ...
count_requests() { sync -f /mnt/local && read -ra requests <"/sys/block/${disk#/dev/}/stat"; }
blocks() { echo $(($(stat -c %b "${files[@]}" | paste -sd+))); }
worst() { filefrag -s "${files[@]}" | sed 's/.*: \([0-9]*\) extents* found.*/\1/' | sort -n | tail -n 1; }

# one CASE SIDE
one() {
	local case=$1 side=$2 with=() before line held taken ret=0 data=none read
	if [ "$side" != plain ]; then
		# shellcheck disable=SC2086 # three words
		configure ${windows[$side]}
		with=(LD_PRELOAD="$BUILD/libfastalloc.so" FASTALLOC_CONFIG=/run/preload.conf FASTALLOC_STATS=/run/stats)
	fi
	fresh
	rm -f /run/stats
	ganesha_start "${with[@]}" || exit
	count_requests
	before=("${requests[@]}")
	# shellcheck disable=SC2086 # options
	line=$("$BUILD/tests/nfsload" $GANESHA_URL $count $size "$write" $load) || data=failed-$?
	count_requests
	line+=" write=$((requests[4] - before[4])) sectors=$((requests[6] - before[6])) pieces=$(worst)"
	held=$(blocks)
	ganesha_stop
	count_requests
	taken=$(blocks)
	[ "$side" = plain ] && plain_taken=$taken
	[ $((taken - ${plain_taken:-$taken})) -lt $((count * 128)) ] || ret=held # 64K each: they have blocks of their own
	if [ "$side" != plain ]; then
		line+=" windows=$(grep -o '"window":{"seen":[0-9]*' /run/stats | grep -o '[0-9]*$')"
		[[ $line == *windows=[1-9]* || $size = "$write" ]] || status=1
	fi

	before=("${requests[@]}")
	read=$("$BUILD/tests/nfsload" /mnt/local $count $size) || data=lost-$?
	count_requests
	[ $ret$data = 0none ] || status=1
	echo "$case $side $line held=$(((held - taken) / 2048)) ret=$ret data=$data"
	[ $data = none ] && echo "$case-read $side $read read=$((requests[0] - before[0]))"
}

# rounds COUNT SIZE: that many files of that size
rounds() {
	local r i side
	count=$1 size=$2 files=() plain_taken=''
	for ((i = 0; i < count; i++)); do files+=("/mnt/local/$i"); done
	for ((r = 0; r < rounds; r++)); do
		for side in $sides; do one "$fstype-${count}x$size-$write${load// /}" "$side"; done
	done
}

ganesha_prepare || exit
head -c 2G /dev/zero >"${image:-$disk}" # or the first run would pay for space on the disk below
if [ -n "${QUICK:-}" ]; then rounds 8 8M; else rounds 8 64M; fi
rounds 200 64K
exit $status
