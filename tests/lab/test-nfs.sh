# test-nfs.sh: guest script. What filling costs in RPCs, and that nothing is lost by it.
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
act=$BUILD/tests/act
with="env LD_PRELOAD=$BUILD/libfastalloc.so"
do_with() { $with $act "$@" | paste -sd' '; }

# rpcs OP COMMAND...: how many OP calls COMMAND makes; its output to $out
rpcs() {
	local op=$1 before
	shift
	before=$(nfs_calls "$op")
	out=$("$@")
	count=$(($(nfs_calls "$op") - before))
}
for version in 3 4.0 4.1; do
	nfs_serve ext4 async
	nfs_mount $version
	n=nfs$version
	transfer=$(stat -c %o /mnt/nfs)
	limit=$((67108864 / transfer * 2)) # a client that is short of time writes back early, in parts; libc makes 16,384

	rpcs WRITE do_with /mnt/nfs/a rdwr,creat pfa 0 64M size blocks close
	is "$n: 64 MiB" 'pfa = 0 size = 67108864 blocks = 67108864 close = 0' "$out"
	at_most "$n: WRITE calls" $limit $count
	is "$n: the server has it" 67108864 "$(stat -c %s /mnt/export/a)"
	at_least "$n: allocated on the server" 131072 "$(stat -c %b /mnt/export/a)"

	rpcs WRITE do_with /mnt/nfs/b rdwr,creat lock 100 1 pfa 0 64M size
	is "$n: under a byte-range lock" 'lock = 0 pfa = 0 size = 67108864' "$out"
	at_most "$n: WRITE calls under a byte-range lock" $limit $count

	rpcs WRITE do_with /mnt/nfs/c rdwr,creat,dsync pfa 0 8M size
	is "$n: O_DSYNC" 'pfa = 0 size = 8388608' "$out"
	at_most "$n: WRITE calls of O_DSYNC, 8 MiB" $((8388608 / transfer + 16)) $count

	rpcs WRITE do_with /mnt/nfs/d wronly,creat pfa 0 64M size blocks
	is "$n: O_WRONLY" 'pfa = 0 size = 67108864 blocks = 67108864' "$out"
	at_most "$n: WRITE calls of O_WRONLY" $limit $count
	is "$n: O_APPEND" 'write = 5000 pfa = 0 size = 16777216 pread = 0x43*5000,0x00*120' \
		"$(do_with /mnt/nfs/e rdwr,creat,append write 5000 67 pfa 0 16M size pread 0 5120)"
	is "$n: O_DIRECT, an exact size" 'pfa = 0 size = 1000001' \
		"$(do_with /mnt/nfs/f rdwr,creat,direct pfa 0 1000001 size)"

	$act /mnt/nfs/g rdwr,creat ft 64M pwrite 30000000 100 68 fsync close >/dev/null
	rpcs WRITE do_with /mnt/nfs/g rdwr pfa 0 64M size pread 29999000 2000 blocks
	like "$n: truncated before, its data kept" \
		'^pfa = 0 size = 67108864 pread = 0x00\*1000,0x44\*100,0x00\*900 blocks = ' "$out"
	at_least "$n: truncated before: allocated" 67108864 "${out##* }"
	at_most "$n: truncated before: WRITE calls" $((limit + 4)) $count

	$act /mnt/nfs/h rdwr,creat pwrite 0 32M 69 pwrite 33558528 33550336 69 fsync close >/dev/null
	drop_caches
	rpcs WRITE do_with /mnt/nfs/h rdwr pfa 0 64M size close
	at_most "$n: full but for one 4 KiB hole: WRITE calls" 16 $count
	rpcs WRITE do_with /mnt/nfs/h rdwr pwrite 33554432 4096 69 fsync pfa 0 64M
	at_most "$n: fully written: WRITE calls (one is the test's)" 1 $count
	rm -rf /mnt/nfs/[a-z]
	for options in 'writers 2' 'writers 1 appenders 1'; do
		out=$($with $BUILD/tests/stress /mnt/nfs/s 3 posix_fallocate $options size 4M 2>&1 | tail -n 1)
		echo "# $out"
		like "$n: $options: nothing is lost" 'acknowledged=[1-9][0-9]* lost=0 lost_appended=0 ' "$out"
		rm -f /mnt/nfs/s*
	done
	nfs_umount
	nfs_stop
done

# NFS 4.2 has ALLOCATE; over ext3 it fails once, and from then on we fill.
nfs_serve ext4 async
nfs_mount 4.2
rpcs ALLOCATE do_with /mnt/nfs/a rdwr,creat pfa 0 64M size blocks
is 'nfs4.2: 64 MiB' 'pfa = 0 size = 67108864 blocks = 67108864' "$out"
is 'nfs4.2: one ALLOCATE' 1 $count
rpcs ALLOCATE do_with /mnt/nfs/b rdwr,creat ft 64M size blocks
is 'nfs4.2: ftruncate preallocates' 'ft = 0 size = 67108864 blocks = 67108864' "$out"
is 'nfs4.2: ftruncate is one ALLOCATE' 1 $count
rpcs ALLOCATE do_with /mnt/nfs/c rdwr,creat ft 2G size blocks
is 'nfs4.2: ftruncate above ftruncate_max stays sparse' 'ft = 0 size = 2147483648 blocks = 0' "$out"
is 'nfs4.2: and makes no call' 0 $count
rm -rf /mnt/nfs/[a-z]
nfs_umount
nfs_stop
nfs_serve ext3 async
nfs_mount 4.2
for i in 1 2; do
	is "nfs4.2 over ext3, time $i: filled" 'pfa = 0 size = 16777216 blocks = 16797696' \
		"$(do_with /mnt/nfs/$i rdwr,creat pfa 0 16M size fsync blocks | sed 's/fsync = 0 //')"
done
nfs_umount
nfs_stop
finish
