# test-fat.sh: guest script. Growing files on vfat: one piece each, and the kernel's answers.
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
act=$BUILD/tests/act
with="env LD_PRELOAD=$BUILD/libfastalloc.so"
do_with() { $with $act "$@" | paste -sd' '; }

# most_pieces FILE...: pieces of the file that is in the most of them
most_pieces() { for f; do extents "$f"; done | sort -n | tail -n 1; }

# grow PREFIX RUN...: 128 files grow to 512 KiB while two others append without a pause
grow() {
	local prefix=$1 i appenders=()
	shift
	for i in 1 2; do
		(while :; do head -c 4096 /dev/zero; done >"/mnt/fat/append$i") &
		appenders+=($!)
	done
	for ((i = 0; i < 32; i++)); do "$@" $act /mnt/fat/$prefix$i rdwr,creat ft 512K close >/dev/null; done
	kill "${appenders[@]}"
	wait "${appenders[@]}" 2>/dev/null
	rm -f /mnt/fat/append?
}
for cluster in 512 4096; do
	fat_mount $cluster
	n="vfat, $cluster-byte clusters"
	grow plain env
	grow ours $with
	at_most "$n: ftruncate beside two appenders: pieces a file" 1 "$(most_pieces /mnt/fat/ours*)"
	echo "# plain: $(most_pieces /mnt/fat/plain*)"
	is "$n: size and content" 'ft = 0 size = 524288 blocks = 524288 pread = 0x00*524288' \
		"$(do_with /mnt/fat/x rdwr,creat ft 512K size blocks pread 0 524288)"
	is "$n: what was there stays" 'pwrite = 100 ft = 0 size = 300000 pread = 0x41*100,0x00*100' \
		"$(do_with /mnt/fat/y rdwr,creat pwrite 0 100 65 ft 300000 size pread 0 200)"
	is "$n: shrinking" 'ft = 0 size = 50' "$(do_with /mnt/fat/y rdwr ft 50 size)"
	is "$n: truncate by name" 'tr = 0 size = 600000' "$(do_with /mnt/fat/y rdwr tr 600000 size)"
	is "$n: truncate by name keeps record locks" \
		'plock = 0 tr = 0 size = 700000 islocked = posix write 0 10' \
		"$(do_with /mnt/fat/y rdwr plock 0 10 tr 700000 size islocked)"
	is "$n: truncate of a missing file" 'open = ENOENT tr = ENOENT' "$(do_with /mnt/fat/none rdwr tr 700000)"
	is "$n: RLIMIT_FSIZE" 'rlimit = 0 sigxfsz = 0 ft = EFBIG signals = 1 size = 700000' \
		"$(do_with /mnt/fat/y rdwr rlimit fsize 1M sigxfsz count ft 2M signals size)"
	umount /mnt/fat
	ok "$n: fsck finds nothing" fsck.vfat -n /dev/ubda
done

# On a sync mount nothing is gained, so nothing is done.
fat_mount 4096 sync
strace -o /tmp/trace -e trace=fallocate -E LD_PRELOAD=$BUILD/libfastalloc.so $act /mnt/fat/s rdwr,creat ft 64K >/dev/null
is 'vfat, sync: no fallocate' 0 "$(grep -c 'fallocate(' /tmp/trace)"
umount /mnt/fat
finish
