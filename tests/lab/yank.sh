# yank.sh: guest script. A FAT card is pulled while programs record on it, or after they stopped.
#
#   tests/lab/lab -t SECONDS tests/lab/yank.sh [NAME=VALUE...]     measures one case
#   tests/lab/lab -t SECONDS tests/lab/yank.sh test                the test, in TAP (-e LONG=1: 100 cuts)
#
#   cuts=20           how often the card is pulled
#   when=recording    or closed: the writers closed their files, then `wait` passed;
#                     or killed: likewise, but they were killed
#   files=long        or segments: a new file every `segment` bytes
#   segment=1M
#   record=plain      or fastalloc: the writers are preloaded; or window: they allocate ahead
#                     themselves and leave the rest to the kernel; or trim: and free it
#   grow=write        or ftruncate: the files grow by it, 256 KiB at a time, and are written then
#   sync=0            the writers fsync every so many writes of 4 KiB
#   append=plain      or fastalloc: who appends to the files of the card that was pulled
#   how=end           or seek: appends without O_APPEND
#   rate=1M           bytes a second, of each of the four writers
#   speed=50          how much faster than usual the kernel writes out (see below)
#   wait=80           seconds, of that faster time (after 50, not all is written out)
#
# tests/bench/yank.sh measures the cases that matter. Prints one line:
#   cuts          how many were looked at
#   read-only     volumes that were so after a few bytes were appended to each file, without fsck
#   files         on a pulled card, on average
#   lost          files without bytes that were fsynced before: on the card as it was pulled,
#                 after fsck.vfat -a, after appending (there, also without what was appended, or
#                 where that failed, unless the volume is read-only)
#   extents       of a recorded file, on average
#   fsck          how often fsck.vfat found each of: a file whose size is larger than its chain of
#                 clusters; one whose chain is longer than its size; clusters that no file has;
#                 files that share clusters
#
# A script that sources it has the function `yank NAME=VALUE...`, which sets $cuts, $read_only,
# $lost (of all three) and $extents.
#
# The card is a loop device over a file on tmpfs: what that file holds, and nothing else, had
# reached the card. The kernel writes out dirty inodes after 30 seconds, looking every 5; here
# both are divided by `speed`, so that a minute of recording takes a second.
. "$LAB/guest.sh"

recorder=$BUILD/tests/recorder
declare -A preload=([fastalloc]=$BUILD/libfastalloc.so)
session=10 # cuts of one recording, then a new card

# card_mount [OPTION]: the card, as it is, at /mnt/fat
card_mount() { mount -t vfat -o "${1:-rw}" "$card" /mnt/fat; }

# card_new: an empty one
card_new() {
	unmount /mnt/fat || return
	if [ -z "${card:-}" ]; then
		modprobe loop && mkdir -p cuts /mnt/fat || return
		truncate -s 512M image
		card=$(losetup -f --show image) || return
	fi
	truncate -s 0 image && truncate -s 512M image
	mkfs.vfat -F 32 -s 8 image >/dev/null && card_mount
}

# start FIRST MILLISECONDS: the writers, as $writers
start() {
	local window=$record size=4G
	case $record in plain | fastalloc) window=none ;; esac
	[ "$grow" = write ] || window=grow
	[ "$files" = long ] || size=$segment
	LD_PRELOAD=${preload[$record]:-} "$recorder" record /mnt/fat synced "$1" "$2" "$(numfmt --from=iec "$rate")" \
		"$(numfmt --from=iec "$size")" "$sync" "$window" &
	writers=$!
}
stop() {
	kill "$writers"
	wait "$writers" 2>/dev/null
}
pass() { sleep "$(awk "BEGIN { print $1 / $speed }")"; } # SECONDS, of the faster time

# pull COUNT: record on a new card, and leave in cuts/0, cuts/1 ... what it held when it was pulled
pull() {
	local i ms
	rm -f synced
	card_new || return
	if [ "$when" = recording ]; then
		start 0 1000000
		pass 60
		"$recorder" cut "$1" 300 image synced cuts/ || return
		stop
	else
		for ((i = 0; i < $1; i++)); do
			ms=$((200 + RANDOM % 400))
			if [ "$when" = closed ]; then
				start $((i * 10)) $ms
				wait "$writers" || return
			else
				start $((i * 10)) 1000000
				sleep "${ms}e-3"
				stop
			fi
			pass "$wait"
			"$recorder" cut 1 0 image synced "cuts/$i." || return
			mv "cuts/$i.0" "cuts/$i" && mv "cuts/$i.0.synced" "cuts/$i.synced"
		done
	fi
	sync -f /mnt/fat
	filefrag -s /mnt/fat/w* | sed -n 's/.*: \([0-9]*\) extents\{0,1\} found.*/\1/p' >>extents
	umount /mnt/fat
}

# look CUT: what happens to who goes on using that card
look() {
	local n failed ro
	cp "cuts/$1" image
	fsck.vfat -a image >fsck.log 2>&1
	found_short=$((found_short + $(grep -c 'cluster chain length is [0-9]' fsck.log)))
	found_long=$((found_long + $(grep -c 'cluster chain length is >' fsck.log)))
	found_lost=$((found_lost + $(sed -n 's/.*Reclaimed \([0-9]*\) unused cluster.*/\1/p' fsck.log | awk '{ n += $1 } END { print n + 0 }')))
	found_shared=$((found_shared + $(grep -c 'share clusters' fsck.log)))
	[ -z "${FSCK_LOG:-}" ] || cat fsck.log >>"$FSCK_LOG"
	card_mount ro || return
	lost_fsck=$((lost_fsck + $("$recorder" verify /mnt/fat "cuts/$1.synced")))
	umount /mnt/fat
	cp "cuts/$1" image
	card_mount || return
	lost_pulled=$((lost_pulled + $("$recorder" verify /mnt/fat "cuts/$1.synced")))
	read -r n failed ro < <(LD_PRELOAD=${preload[$append]:-} "$recorder" append "$how" /mnt/fat appended)
	umount /mnt/fat
	card_mount ro || return
	lost_append=$((lost_append + $("$recorder" verify /mnt/fat "cuts/$1.synced" appended)))
	umount /mnt/fat
	seen=$((seen + n)) read_only=$((read_only + ro)) cuts=$((cuts + 1))
	[ "$ro" = 1 ] || lost_append=$((lost_append + failed))
	rm "cuts/$1" "cuts/$1.synced"
}

yank() {
	local want when=recording files=long segment=1M record=plain sync=0 append=plain how=end rate=1M speed=50 wait=80
	local grow=write found_short=0 found_long=0 found_lost=0 found_shared=0
	local lost_pulled=0 lost_fsck=0 lost_append=0 seen=0 i count writers
	cuts=20 read_only=0 lost=unknown extents=unknown
	for i; do
		[ -v "${i%%=*}" ] || complain "yank: $i" || return
		printf -v "${i%%=*}" %s "${i#*=}"
	done
	echo $((3000 / speed)) >/proc/sys/vm/dirty_expire_centisecs
	echo $((500 / speed)) >/proc/sys/vm/dirty_writeback_centisecs
	echo -1 >/proc/sys/kernel/sched_rt_runtime_us
	rm -f extents
	want=$cuts cuts=0
	while [ $want -gt 0 ]; do
		count=$((want < session ? want : session))
		pull $count || return
		for ((i = 0; i < count; i++)); do look $i || return; done
		want=$((want - count))
	done
	lost=$((lost_pulled + lost_fsck + lost_append))
	extents=$(awk '{ n += $1 } END { printf "%d", n / NR }' extents)
	echo "# yank $*: cuts=$cuts read-only=$read_only files=$((seen / cuts))" \
		"lost=$lost_pulled,$lost_fsck,$lost_append extents=$extents" \
		"fsck=$found_short,$found_long,$found_lost,$found_shared"
}

# safe NAME CASE...: no volume goes read-only, nothing is lost
safe() {
	local name=$1
	shift
	yank "$@" || read_only=unknown
	is "$name: volumes that went read-only" "0 of $cuts" "$read_only of $cuts"
	is "$name: files that lost flushed bytes" 0 "$lost"
}

yank_test() {
	. "$PROJECT/tests/tap.sh"
	local many ours='record=fastalloc append=fastalloc'
	many=cuts=$([ -n "${LONG:-}" ] && echo 100 || echo 10)
	yank $many record=window
	at_least 'windows left to the kernel: the test sees volumes go read-only' 5 "$read_only"
	safe 'long files' $many $ours
	at_most 'long files: extents' 20 "$extents"
	safe 'segments' $many $ours files=segments
	safe 'appending after a seek' $many $ours how=seek
	safe 'growing by ftruncate' $many $ours grow=ftruncate
	safe 'fsync every 16 writes' $many $ours sync=16
	safe 'closed, then used without the library' $many when=closed speed=100 record=fastalloc
	finish
}

case ${BASH_SOURCE[0]} in
	"$0") if [ "${1:-}" = test ]; then yank_test; else yank "$@"; fi ;;
esac
