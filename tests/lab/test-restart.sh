# test-restart.sh: guest script. The NFS server goes away in the middle of a fill, and comes back.
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
act=$BUILD/tests/act

for version in 3 4.1; do
	nfs_serve ext4 sync
	nfs_mount $version
	for attempt in 1 2 3 4 5; do # a machine that is busy may look at the server too late
		before=$(awk '/^io/ { print $3 }' /proc/net/rpc/nfsd)
		LD_PRELOAD=$BUILD/libfastalloc.so "$act" /mnt/nfs/a rdwr,creat pwrite 0 5000 65 ft 48M pwrite 40M 5000 66 \
			pfa 0 96M size blocks fsync close >/tmp/restart.out &
		filler=$!
		written=0 # bytes the server was given; without a fork, which takes as long as the fill
		for ((i = 0; i < 1000000 && written < before + 4194304; i++)); do
			while read -r word _ value; do [ "$word" = io ] && written=$value; done </proc/net/rpc/nfsd
		done
		echo 0 >/proc/fs/nfsd/threads
		reached=$(stat -c %b /mnt/export/a)
		[ "$reached" -ge 196608 ] && [ $attempt -lt 5 ] || break
		echo 8 >/proc/fs/nfsd/threads
		echo Y >/proc/fs/nfsd/v4_end_grace
		wait $filler
		rm /mnt/nfs/a
	done
	ok "nfs$version: the server stops in the middle of the fill" [ "$reached" -lt 196608 ]
	sleep 1
	ok "nfs$version: which goes on waiting" kill -0 $filler
	rpc.nfsd 8 || echo 8 >/proc/fs/nfsd/threads
	echo Y >/proc/fs/nfsd/v4_end_grace
	wait $filler
	# Some blocks more are the server's own, for its map of the file.
	like "nfs$version: then succeeds" \
		'^pwrite = 5000 ft = 0 pwrite = 5000 pfa = 0 size = 100663296 blocks = 1006[67][0-9]* fsync = 0 close = 0$' \
		"$(paste -sd' ' /tmp/restart.out)"
	at_least "nfs$version: allocated on the server" 196608 "$(stat -c %b /mnt/export/a)"
	is "nfs$version: the data are there, the rest is zeros" 'pread = 0x41*5000,0x00*41938040,0x42*5000,0x00*58715256' \
		"$("$act" /mnt/export/a rdonly pread 0 96M)"
	nfs_stop
done
finish
