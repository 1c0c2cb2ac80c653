# test-write.sh: guest script. Writes that extend files on vfat: windows, and what must not change.
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
act=$BUILD/tests/act grow=$BUILD/tests/grow record=$BUILD/tests/record
with="env LD_PRELOAD=$BUILD/libfastalloc.so"
do_with() { $with $act "$@" | paste -sd' '; }
most_pieces() { for f; do extents "$f"; done | sort -n | tail -n 1; }

# traced NAME=VALUE... -- PROGRAM ARG...: with the library, what it calls in /tmp/trace
traced() { strace -f -qq -o /tmp/trace -E LD_PRELOAD=$BUILD/libfastalloc.so "$@"; }
windows() { grep -c 'fallocate(.*KEEP_SIZE.*) = 0' /tmp/trace; }
cuts() { grep -c 'ftruncate(.*) *= 0' /tmp/trace; }

free_before=$(fat_mount 512 && free_bytes /mnt/fat)

# Side by side. 1024 pieces a file, and more, without the library.
mkdir /mnt/fat/plain && $record write 4K 4M /mnt/fat/plain 4 >/dev/null
at_least 'the order of writes makes pieces of plain files' 1000 "$(most_pieces /mnt/fat/plain/0)"
rm -r /mnt/fat/plain
for method in write pwrite writev pwritev pwritev2 dup threads fwrite fprintf putc sendfile copy_file_range splice; do
	mkdir /mnt/fat/$method
	$with $record $method 4K 4M /mnt/fat/$method 4 >/dev/null
	at_most "$method: pieces a file" 24 "$(most_pieces /mnt/fat/$method/[0-3])"
	ok "$method: every byte, and no other" $record $method 4K 4M /mnt/fat/$method 4 --verify
	is "$method: nothing is left behind the end" 8192 "$(stat -c %b /mnt/fat/$method/0)"
	rm -r /mnt/fat/$method
done
if [ -x $BUILD/tests/recordxx ]; then
	mkdir /mnt/fat/xx && $with $BUILD/tests/recordxx 4K 4M /mnt/fat/xx 4 >/dev/null
	at_most "C++'s ofstream: pieces a file" 24 "$(most_pieces /mnt/fat/xx/*)"
	ok "C++'s ofstream: every byte, and no other" $record write 4K 4M /mnt/fat/xx 4 --verify
	rm -r /mnt/fat/xx
else
	skip "C++'s ofstream" 'no C++ compiler when it was built'
fi
mkdir /mnt/fat/a && $with $record write 500 1M /mnt/fat/a 16 >/dev/null
at_most 'writes of 500 bytes, 16 files: pieces a file' 24 "$(most_pieces /mnt/fat/a/*)"
ok 'writes of 500 bytes: every byte' $record write 500 1M /mnt/fat/a 16 --verify
rm -r /mnt/fat/a

# Growing in turn, without writing. 32 pieces a file without the library.
for method in ftruncate posix_fallocate fallocate; do
	mkdir /mnt/fat/g && $with $grow $method 64K 2M /mnt/fat/g 4 >/dev/null
	at_most "$method: pieces a file" 12 "$(most_pieces /mnt/fat/g/*)"
	ok "$method: the size, and zeros" $grow $method 64K 2M /mnt/fat/g 4 --verify
	is "$method: nothing is left behind the end" 4096 "$(stat -c %b /mnt/fat/g/0)"
	rm -r /mnt/fat/g
done
traced $act /mnt/fat/g rdwr,creat,trunc ft 64K ft 1M ft 1056K >/dev/null
is 'growing in steps: the first allocates what it needs, the second a window for those behind it' 2 "$(windows)"
traced $act /mnt/fat/g rdwr,creat,trunc ft 64K ft 1M ft 64K ft 1056K >/dev/null
is 'a window that was cut off is not counted on' 3 "$(windows)"
rm /mnt/fat/g

# Where there is no window.
none() { # NAME PROGRAM...
	local name=$1
	shift
	traced "$@" >/dev/null
	is "$name: no window" 0 "$(windows)"
}
none 'a small file in many writes' $act /mnt/fat/n wronly,creat,trunc write 4K 1 write 4K 1 write 4K 1 write 4K 1
is 'a small file: no system call of ours' 0 "$(grep -cE 'statx|F_SETLEASE|lseek|statfs' /tmp/trace)"
none 'one large write' dd if=/dev/zero of=/mnt/fat/n bs=512K count=1 status=none
none 'O_APPEND' dd if=/dev/zero of=/mnt/fat/n2 bs=4K count=100 oflag=append conv=notrunc status=none
none 'a file that was there, with data' dd if=/dev/zero of=/mnt/fat/n bs=64K seek=8 count=10 conv=notrunc status=none
none 'writes far past EOF' $act /mnt/fat/n3 wronly,creat,trunc pwrite 0 128K 1 pwrite 64M 1K 1 pwrite 70M 1K 1
none 'overwriting' $act /mnt/fat/n3 rdwr,creat write 1M 1 write 1M 1
exec 7</mnt/fat/n3 # a reader is enough for the proof to fail
none 'a file that others have open' dd if=/dev/zero of=/mnt/fat/n3 bs=64K count=30 status=none
exec 7<&-
rm /mnt/fat/n*

# One large file, grown in one call: all of it at once, when it is worth it.
traced dd if=/dev/zero of=/mnt/fat/big bs=8M count=1 status=none
is 'one write of 8 MiB: one window, before it' 1 "$(windows)"
rm /mnt/fat/big

# The size is what was written, at every instant, and after SIGKILL.
is 'st_size does not change by a window' "$(plain=1 $act /mnt/fat/s wronly,creat,trunc write 512K 1 write 1K 1 size | paste -sd' ')" \
	"$(do_with /mnt/fat/s wronly,creat,trunc write 512K 1 write 1K 1 size)"
at_least 'though there is one' 600000 "$(do_with /mnt/fat/s wronly,creat,trunc write 512K 1 write 1K 1 blocks | sed 's/.* //')"
is 'after close it is gone' 1026 "$(stat -c %b /mnt/fat/s)"
yes | tr -d '\n' | $with dd of=/mnt/fat/killed bs=4K iflag=fullblock status=none &
sleep 1
kill -9 $!
wait $! 2>/dev/null
is 'kill -9: whole writes' 0 $(($(stat -c %s /mnt/fat/killed) % 4096))
is 'kill -9: what they wrote' y "$(tr -d '\0' </mnt/fat/killed | head -c 100M | fold -w 1 | head -n 100000 | sort -u)"
rm /mnt/fat/s /mnt/fat/killed

# Times are the program's.
head -c 3M /dev/zero >/tmp/source && touch -d '2001-02-03 04:05:06' /tmp/source
$with cp -p /tmp/source /mnt/fat/copy
is 'cp -p: the time is kept' "$(stat -c %Y /tmp/source)" "$(stat -c %Y /mnt/fat/copy)"
tar -C /tmp -cf /tmp/tar source && $with tar -C /mnt/fat -xf /tmp/tar
is 'tar x: the time is kept' "$(stat -c %Y /tmp/source)" "$(stat -c %Y /mnt/fat/source)"
atime=$(stat -c %X /mnt/fat/source)
$with $act /mnt/fat/source wronly,append >/dev/null # healed, not written to
is 'healing keeps the times' "$(stat -c '%X %Y' /tmp/source | sed "s/^[0-9]*/$atime/")" "$(stat -c '%X %Y' /mnt/fat/source)"
# Once, however often it is opened, unless there are clusters past its end again.
for flags in rdwr,append rdwr; do
	cp /tmp/source /mnt/fat/source
	traced $act /mnt/fat/source $flags seek 3M write 1K 1 reopen seek 3M write 2K 1 reopen seek 3M write 3K 1 close
	is "$flags: healed once" 1 "$(cuts)"
	traced $act /mnt/fat/source $flags seek 4M write 1K 1 fa keep 5M 64K reopen seek 4M write 2K 1 close
	is "$flags: again where there is something" 2 "$(cuts)"
done
rm /mnt/fat/copy /mnt/fat/source

# Errors are those the program would have got, at the same place.
full() { # RUN...: bytes that fit
	fill_until 20000000 /mnt/fat
	mkdir /mnt/fat/full
	"$@" $record write 4K 8M /mnt/fat/full 4 >/tmp/full 2>&1
	echo "$(cat /mnt/fat/full/* | wc -c) $(grep -o 'No space.*' /tmp/full)"
	rm -r /mnt/fat/full /mnt/fat/fill.*
	sync
}
plain=$(full env)
like 'a full disk: the error' 'No space' "$plain"
is 'a full disk: as many bytes fit, and the same error' "$plain" "$(full $with)"
is 'RLIMIT_FSIZE: the same' \
	"$($act /mnt/fat/l wronly,creat,trunc rlimit fsize 300000 sigxfsz count write 1M 1 write 1M 1 signals size | paste -sd' ')" \
	"$(do_with /mnt/fat/l wronly,creat,trunc rlimit fsize 300000 sigxfsz count write 1M 1 write 1M 1 signals size)"
$act /mnt/fat/plain wronly,creat,trunc write 64K 1 write 64K 2 write 64K 3 write 64K 4 size >/tmp/expected
for call in fcntl statx fstatfs fallocate ftruncate utimensat lseek rt_sigprocmask prlimit64; do
	strace -f -qq -o /dev/null -e trace=$call -e inject=$call:error=EIO -E LD_PRELOAD=$BUILD/libfastalloc.so \
		$act /mnt/fat/failing wronly,creat,trunc write 64K 1 write 64K 2 write 64K 3 write 64K 4 size >/tmp/got 2>&1
	is "$call fails: nobody knows" "$(cat /tmp/expected)" "$(cat /tmp/got)"
	ok "$call fails: the same file" cmp /mnt/fat/plain /mnt/fat/failing
done
rm /mnt/fat/l /mnt/fat/plain /mnt/fat/failing

# Other writers.
for way in thread closed reservations relieved relieved-thread relieved-reservations relieved-opened thread-fork vectors raw duplicate duplicate-raw stream signals fork vfork spawn system passed opened opened-signals; do
	like "another writer, $way" ' lost=0$' "$($with $BUILD/tests/writers $way 1 /mnt/fat/writers)"
done
rm /mnt/fat/writers

is 'all space is there again' "$free_before" "$(umount /mnt/fat && mount -t vfat /dev/ubda /mnt/fat && free_bytes /mnt/fat)"
umount /mnt/fat
ok 'fsck finds nothing' fsck.vfat -n /dev/ubda

fat_mount 512 sync
none 'a sync mount' $record write 4K 256K /mnt/fat 2
umount /mnt/fat

# A quota, with windows on ext4: the same error, and as much fits, but for the file system's own blocks.
printf '[default]\nwrite = preallocate\n' >/tmp/preload.conf && chmod 644 /tmp/preload.conf
limited() { # VARIABLE=VALUE...: bytes that fit into 8 MiB, the error
	mkdir -m 777 /mnt/local/q
	setpriv --reuid 65534 --regid 65534 --clear-groups env "$@" /tmp/record write 4K 4M /mnt/local/q 4 >/tmp/limited 2>&1
	bytes=$(cat /mnt/local/q/* | wc -c)
	rm -r /mnt/local/q
}
if local_mount ext4 -o usrquota -s 300M -m '-O quota -E quotatype=usrquota' && setquota -u 65534 0 8192 0 0 /mnt/local; then
	install -m 755 "$record" "$BUILD/libfastalloc.so" /tmp # the build may be closed to others
	chmod 755 /tmp
	limited LC_ALL=C
	plain=$bytes
	limited LD_PRELOAD=/tmp/libfastalloc.so FASTALLOC_CONFIG=/tmp/preload.conf FASTALLOC_LOG=info
	like 'a quota: the same error' 'record: write: Disk quota exceeded' "$(cat /tmp/limited)"
	like 'a quota: a window met it' 'window .* errno 122' "$(cat /tmp/limited)"
	at_least 'a quota: as much fits' $((plain - 4 * 4096)) $bytes
else
	skip 'a quota' 'ext4 cannot be mounted with one'
fi
finish
