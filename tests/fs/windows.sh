#!/bin/bash
# windows.sh: windows on ext4, where they are asked for; descriptors and streams; what they cost.
. "$PROJECT/tests/tap.sh"
act=$BUILD/tests/act
PATH=$PATH:/usr/sbin:/sbin

[ "$(id -u)" = 0 ] || { echo '1..0 # SKIP needs root (lab/test-write.sh tests vfat as any user)'; exit 0; }
if [ "${1:-}" != inside ]; then exec unshare -m --propagation private bash "$0" inside; fi
dir=$(mktemp -d /var/tmp/fastalloc-XXXXXX)
chmod 755 "$dir"
trap 'cd /; umount "$dir/mnt" 2>/dev/null; rm -rf "$dir"' EXIT
mkdir "$dir/mnt"
truncate -s 600M "$dir/image"
mkfs.ext4 -q -F -m 0 "$dir/image" && mount -o loop "$dir/image" "$dir/mnt" 2>/dev/null ||
	{ echo '1..0 # SKIP no loop devices'; exit 0; }
cd "$dir/mnt" || exit 1

config() { printf '%s\n' "$@" >"$dir/preload.conf"; }
export FASTALLOC_CONFIG=$dir/preload.conf
with="env LD_PRELOAD=$BUILD/libfastalloc.so"
do_with() { $with "$act" "$@" | paste -sd' '; }
plain() { "$act" "$@" | paste -sd' '; }
traced() { strace -f -qq -o "$dir/trace" -E LD_PRELOAD="$BUILD/libfastalloc.so" "$@"; }
windows() { sed -n 's/.*fallocate([0-9]*, FALLOC_FL_KEEP_SIZE, \([0-9]*\), \([0-9]*\)) = 0$/\1+\2/p' "$dir/trace" | paste -sd' '; }
MiB=1048576

# Sizes
config '[fstype vfat]' 'write = preallocate'
traced "$act" a wronly,creat,trunc write 1M 1 write 1M 1 >/dev/null
is 'not on ext4 unless it is said' '' "$(windows)"
config '[default]' 'write = preallocate'
traced dd if=/dev/zero of=a bs=64K count=20 status=none
is 'windows are half as large as the file, to round offsets' \
	'65536+131072 196608+131072 327680+196608 524288+262144 786432+262144 1048576+524288' "$(windows)"
is 'the rest is given back' $((20 * 65536)) "$(($(stat -c %b a) * 512))"
is 'and its size is what was written' $((20 * 65536)) "$(stat -c %s a)"
config '[default]' 'write = preallocate' 'window = 5M' 'window_max = 5M' 'window_after = 0'
traced dd if=/dev/zero of=a bs=4K count=2 status=none
is 'as the NFS server patch: 5M with the first write' "0+$((5 * MiB + 4096))" "$(windows)"
config '[default]' 'write = preallocate' 'window_max = 256K'
traced dd if=/dev/zero of=a bs=64K count=20 status=none
at_most 'no window is larger than window_max' $((256 * 1024 + 65536)) "$(windows | tr ' ' '\n' | sed 's/.*+//' | sort -n | tail -n 1)"
config '[default]' 'write = preallocate' 'window_after = 1M'
traced dd if=/dev/zero of=a bs=256K count=6 status=none
is 'window_after' "$MiB+524288" "$(windows)"
traced dd if=/dev/zero of=a bs=4K count=40 status=none
is 'many small writes do not wait for it' 0 "$(windows | grep -c '^65536')"
like 'they begin after eight' '^32768+' "$(windows)"
config '[default]' 'write = preallocate'
"$act" a wronly,creat,trunc write 1M 1 >/dev/null
traced dd if=/dev/zero of=a bs=64K seek=16 count=4 conv=notrunc status=none
is 'ext4: a file that was there gets one' "$MiB+524288" "$(windows)"

# Signals could not be blocked: then there is no window, and the mask is not touched.
strace -f -qq -o "$dir/trace" -e inject=rt_sigprocmask:error=EPERM -E LD_PRELOAD="$BUILD/libfastalloc.so" \
	"$act" a wronly,creat,trunc write 1M 1 write 1M 1 >/dev/null
is 'signals cannot be blocked: no window' '' "$(windows)"
is 'and the mask is not set to anything' 0 "$(grep -c SIG_SETMASK "$dir/trace")"

# What is not ours
is "the program's own preallocation stays" "$(plain b wronly,creat,trunc fa keep 0 8M write 256K 1 write 256K 1 close blocks)" \
	"$(do_with b wronly,creat,trunc fa keep 0 8M write 256K 1 write 256K 1 close blocks)"
inside=(write 512K 1 write 64K 1 fa keep 0 4K close blocks)
is 'an allocation of blocks that are there: the window goes' "$(plain b2 wronly,creat,trunc "${inside[@]}")" \
	"$(do_with b2 wronly,creat,trunc "${inside[@]}")"
inserted=(write 512K 1 write 64K 1 fa 32 0 4M close size blocks)
is 'FALLOC_FL_INSERT_RANGE: the window goes' "$(plain b2 wronly,creat,trunc "${inserted[@]}")" \
	"$(do_with b2 wronly,creat,trunc "${inserted[@]}")"
rm b2
before=$(stat -c %b b)
is "a preallocation from before stays" "pwrite = $((MiB / 2)) close = 0 blocks = $((before * 512))" \
	"$(do_with b wronly pwrite 512K 512K 1 close blocks)"
traced "$act" c wronly,creat,trunc write 512K 1 write 64K 1 seek 0 ft 4096 seek 4096 write 64K 2 write 64K 3 close blocks >"$dir/out"
is 'truncated in between: right' "$(plain c2 wronly,creat,trunc write 512K 1 write 64K 1 seek 0 ft 4096 seek 4096 write 64K 2 write 64K 3 close blocks)" "$(cat "$dir/out" | paste -sd' ')"
ok 'truncated in between: the content' cmp c c2

traced "$act" c wronly,creat,trunc write 64K 1 write 64K 1 pwrite 8M 64K 1 pwrite 16M 64K 1 close >"$dir/out"
is 'a sparse file gets no windows in its holes' '65536+131072' "$(windows)"
# What the program holds: record locks of both kinds, flock and leases stay what they are.
cat >"$dir/locks.py" <<'PYTHON'
import fcntl, os, struct, sys
def held(inode):
	with open("/proc/locks") as lines:
		return sorted(" ".join(line.split()[1:4] + line.split()[6:]) for line in lines if line.split()[5].endswith(":%d" % inode))
for kind in "posix", "ofd", "flock", "lease":
	for late in 0, 1:
		fd = os.open("locked", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
		def take():
			if kind == "posix":
				fcntl.lockf(fd, fcntl.LOCK_EX, 100, 7)
			elif kind == "ofd": # l_type, l_whence, l_start, l_len, l_pid
				fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 3, 50, 0))
			elif kind == "flock":
				fcntl.flock(fd, fcntl.LOCK_EX)
			else:
				fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
		def act():
			os.write(fd, bytes(512 << 10))
			os.write(fd, bytes(1000))
			os.posix_fallocate(fd, 0, 1 << 20)
			os.ftruncate(fd, 2 << 20)
			os.ftruncate(fd, 600 << 10)
			if kind != "lease": # which it would break
				os.truncate("locked", 700 << 10)
			os.fsync(fd)
		if not late:
			take()
		act()
		if late:
			take()
			act()
		print(kind, late, held(os.fstat(fd).st_ino))
		other = os.dup(fd)
		if kind != "posix": # which goes with any descriptor that is closed
			os.close(other)
			print(held(os.fstat(fd).st_ino))
		os.write(fd, bytes(1000))
		print(held(os.fstat(fd).st_ino))
		os.close(fd)
		if kind == "posix":
			os.close(other)
PYTHON
config '[default]' 'write = preallocate' 'ftruncate = preallocate' 'fallocate = auto'
held=$(timeout 20 /usr/bin/python3 "$dir/locks.py" 2>&1)
is 'locks and leases: all are taken without the library' 22 "$(grep -c WRITE <<<"$held")"
is 'locks and leases: the same' "$held" "$($with timeout 20 /usr/bin/python3 "$dir/locks.py" 2>&1)"
config '[default]' 'write = preallocate'
mkdir -m 777 u
python() { env LD_PRELOAD="$BUILD/libfastalloc.so" /usr/bin/python3 -c "import os, ctypes
libc = ctypes.CDLL(None, use_errno=True)
def errno(result):
	return os.strerror(ctypes.get_errno()) if result < 0 else result
fd = os.open('u/f', os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o755)
for i in range(40): os.write(fd, bytes(4000))
$1"; }
(
	python() { env LD_PRELOAD="$BUILD/libfastalloc.so" setpriv --reuid 65534 --clear-groups /usr/bin/python3 -c "import os
fd = os.open('u/s', os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o755)
for i in range(40): os.write(fd, bytes(4000))
os.fchmod(fd, 0o4755)
os.close(fd)"; }
	python
)
is 'the set-user-ID bit stays' 4755 "$(stat -c %a u/s)"
is 'file capabilities stay' "b'\\x01\\x00\\x00\\x02\\x00 '" "$(python "
os.setxattr(fd, 'security.capability', b'\x01\0\0\2\0 \0\0\0\0\0\0\0\0\0\0\0\0\0\0')
os.close(fd)
print(os.getxattr('u/f', 'security.capability')[:6])")"

# What a program hands to a call is the kernel's to refuse
is 'nonsense: EFAULT, as without' 'Bad address Bad address Bad address' "$(python "
import socket
a, b = socket.socketpair()
print(errno(libc.sendmsg(a.fileno(), 16, 0)), errno(libc.sendmmsg(a.fileno(), 16, 1, 0)),
	errno(libc.copy_file_range(fd, 16, fd, None, 4096, 0)))")"

# What changes a file, or needs its space
rm -f u/f
at_least "a preallocation by ioctl stays" $((8 * MiB)) "$(python "
import fcntl, struct
fcntl.ioctl(fd, 0x4030582a, struct.pack('hhxxxxqqiI16x', 0, 0, 0, 8 << 20, 0, 0)) # FS_IOC_RESVSP64
os.close(fd)
print(os.stat('u/f').st_blocks * 512)")"
for change in 'os.fchown(fd, 1, 1)' 'os.fchmod(fd, 0o4755)'; do
	rm -f u/f
	at_most "$change: the rest is given back before" 336 "$(
		python() { setpriv --bounding-set -lease env LD_PRELOAD="$BUILD/libfastalloc.so" /usr/bin/python3 -c "import os
fd = os.open('u/f', os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o755)
for i in range(40): os.write(fd, bytes(4000))
$change
os.close(fd)"; }
		python
		stat -c %b u/f)"
done
# A daemon that opens its files as root, and then is somebody else.
written="write = $MiB write = 32768 user = 0"
for way in {,SYS_}set{,re,res}uid {,SYS_}capset for-a-while; do
	install -o 1 /dev/null u/d # which root without capabilities is not the owner of
	after="$(do_with u/d wronly,trunc write 1M 1 write 32K 1 user $way blocks write 64K 1 blocks)"
	case $way in
	for-a-while) is "$way, as servers do: it stays" "$written blocks = $((MiB + 65536)) write = 65536 blocks = 1572864" "$after" ;;
	*) is "$way: the rest is given back before, there is none after" \
		"$written blocks = $((MiB + 32768)) write = 65536 blocks = $((MiB + 98304))" "$after" ;;
	esac
done
is 'a fork under a writing thread: the rest is given back' 0 "$($with "$BUILD/tests/forked" 20 u/t)"
rm -f u/*
for way in append posix_fallocate; do
	is "the last space, by $way" "ok" "$(python "
others = [os.open(f'u/{i}', os.O_RDWR | os.O_CREAT | os.O_TRUNC) for i in range(12)]
for i in range(130):
	for other in others: os.write(other, bytes(16384))
windows = sum(os.fstat(other).st_blocks * 512 - os.fstat(other).st_size for other in others)
status = os.statvfs('.')
want = status.f_bavail * status.f_frsize + windows // 2
log = os.open('u/log', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
if '$way' == 'append':
	while want > 0: want -= os.write(log, bytes(min(want, 65536)))
else:
	os.posix_fallocate(log, 0, want)
print('ok')")"
	rm -f u/*
done
# A reader, then a writer open the file while it is trimmed
strace -f -qq -o "$dir/trace" -e trace=ftruncate -e inject=ftruncate:delay_enter=1500000 -E LD_PRELOAD="$BUILD/libfastalloc.so" \
	dd if=/dev/zero of=a bs=64K count=20 status=none &
sleep 0.7
(: <a) &
sleep 0.3
(: >>a) &
wait %1
is 'a lease that is broken twice: nothing of it is left to the program' 0 $?
wait
if [ -n "${LONG:-}" ]; then # lease-break-time is 45 seconds
	strace -f -qq -o "$dir/trace" -e trace=fgetxattr -e inject=fgetxattr:delay_enter=50000000 \
		-E LD_PRELOAD="$BUILD/libfastalloc.so" dd if=/dev/zero of=a bs=64K count=20 status=none &
	sleep 1
	printf appended >>a
	wait
	is 'a lease that was taken away: what was appended stays' $((20 * 65536 + 8)) "$(stat -c %s a)"
fi

# Others change the file, by its name, while it has a window.
changed() { # CHANGE PREFIX...: what is in the file, and in whatever has its name
	rm -f o p
	{
		head -c 1M /dev/zero | tr '\0' x
		until [ "$(stat -c %s o 2>/dev/null)" = $MiB ]; do sleep 0.01; done
		eval "$1"
		head -c 32K /dev/zero | tr '\0' y
	} | timeout 20 "${@:2}" dd of=o bs=32K iflag=fullblock status=none
	sum o p 2>&1
	stat -c '%n %s' o p 2>&1
}
blocks_of() { stat -c %b o p 2>/dev/null | sort -n | tail -n 1; }
for change in 'truncate -s 100000 o' 'truncate -s 1100000 o' 'truncate -s 4M o' 'fallocate -l 8M o' 'mv o p' 'ln o p; rm o' 'echo z >p; mv p o'; do
	content=$(changed "$change") blocks=$(blocks_of)
	is "$change, by another: as without" "$content" "$(changed "$change" $with)"
	at_most "$change: and the rest is given back, but for a block of the map" $((blocks + 8)) "$(blocks_of)"
done

# Streams
for way in fopen fopen-plus exclusive fdopen freopen freopen-other unbuffered wide exit; do
	is "$way: a window" window "$($with "$BUILD/tests/streams" $way s)"
	"$BUILD/tests/streams" $way s2 >/dev/null
	ok "$way: the same content" cmp s s2
	at_most "$way: the rest is given back" $((($(stat -c %s s) + 40960) / 512)) "$(stat -c %b s)"
	rm -f s s2
done
for way in append fdopen-append dprintf; do
	is "$way: no window" none "$($with "$BUILD/tests/streams" $way s)"
	"$BUILD/tests/streams" $way s2 >/dev/null
	ok "$way: the same content" cmp s s2
	rm -f s s2
done
config '[default]' 'write = preallocate' 'stdio = off'
is 'stdio = off: no window' none "$($with "$BUILD/tests/streams" fopen s)"
config '[default]' 'write = preallocate' '[fstype ext4]' 'stdio = off'
is 'stdio = off for some: no window there' none "$($with "$BUILD/tests/streams" fopen s)"
config '[default]' 'write = preallocate'
traced -e trace=mprotect "$BUILD/tests/streams" fopen s >"$dir/out"
first=$(grep -n 'PROT_READ|PROT_WRITE' "$dir/trace" | head -n 1 | cut -d: -f1)
is "libc's tables are read-only again, at the only other change" "$first $((first + 1))" \
	"$(grep -n 'PROT_READ|PROT_WRITE' "$dir/trace" | tail -n 1 | cut -d: -f1) $(grep -c . "$dir/trace")"
traced -e trace=mprotect -e inject=mprotect:error=EACCES:when=$first -E FASTALLOC_LOG=info \
	"$BUILD/tests/streams" fopen s >"$dir/out" 2>"$dir/log"
is 'the tables cannot be changed: no window' none "$(cat "$dir/out")"
like 'and the log says so' 'stream tables cannot be changed' "$(cat "$dir/log")"
rm -f s
traced -e trace=mprotect true
is 'a program that opens no stream for writing does not change them' '' "$(grep 'PROT_READ|PROT_WRITE' "$dir/trace")"

# Writes through a ring are not seen
traced -E LD_PRELOAD="$BUILD/libfastalloc.so:$BUILD/tests/liburing-dummy.so" dd if=/dev/zero of=a bs=64K count=20 status=none
is 'no window where liburing is loaded' '' "$(windows)"

# Descriptors
bash -c 'ulimit -n 200000 2>/dev/null || ulimit -n hard; ulimit -n' >"$dir/limit"
high=$(($(cat "$dir/limit") - 10))
(
	ulimit -n hard
	traced bash -c "exec $high>d; for i in {1..100}; do printf %4000s x; done >&$high; exec $high>&-"
) 2>/dev/null
at_least "descriptor $high: windows" 2 "$(windows | wc -w)"
is 'and the rest is given back' $((100 * 4000)) "$(stat -c %s d)"
at_most 'all of it' 800 "$(stat -c %b d)"
traced bash -c 'exec 5>d; exec 6>&5 5>&-; for i in {1..100}; do printf %4000s x; done >&6'
at_least 'a duplicate, the first closed: windows' 2 "$(windows | wc -w)"
at_most 'given back at exit' 800 "$(stat -c %b d)"
traced bash -c 'exec 5>d; for i in {1..50}; do printf %4000s x; done >&5; (printf %4000s y >&5); for i in {1..50}; do printf %4000s x; done >&5'
last=$(grep -n 'KEEP_SIZE' "$dir/trace" | tail -n 1 | cut -d: -f1)
fork=$(grep -nE '(clone|fork)\(' "$dir/trace" | tail -n 1 | cut -d: -f1)
ok 'after a fork there is no window any more' [ "${last:-0}" -lt "${fork:-0}" ]
cut=$(grep -nE 'ftruncate\(.*= 0' "$dir/trace" | tail -n 1 | cut -d: -f1)
ok 'and what was left is given back before it' [ "${cut:-999999}" -lt "${fork:-0}" ]

# Cost
traced dd if=/dev/zero of=/dev/null bs=1 count=1000 status=none
calls=$(grep -vE 'write\(|read\(|exit' "$dir/trace" | wc -l)
traced dd if=/dev/zero of=/dev/null bs=1 count=5000 status=none
is '/dev/null: 4000 writes more, no other call more' "$calls" "$(grep -vE 'write\(|read\(|exit' "$dir/trace" | wc -l)"
traced "$act" e wronly,creat,trunc write 2560 1 write 10240 1 write 10240 1 write 10240 1 close >/dev/null
is 'a small file, the first write smaller: no call of ours' 0 \
	"$(sed '1,/openat.*"e"/d; /close(/,$d' "$dir/trace" | grep -vc ' write(')"
head -c 3M /dev/zero >"$dir/large" && traced cp "$dir/large" .
at_least 'cp, which tries to clone first: windows' 1 "$(windows | wc -w)"
rm "$dir/large" large
mkdir small && for i in {1..20}; do head -c 60000 /dev/zero >small/$i; done
traced cp -r small /dev/shm/small.$$ && rm -r small && mv /dev/shm/small.$$ "$dir/small"
traced cp -r "$dir/small" .
at_most '20 files from another file system: calls of ours, for the first' 14 "$(grep -cE 'statx|lseek|getpid|rt_sigprocmask' "$dir/trace")"
traced dd if=/dev/zero of=e bs=4K count=2000 status=none
at_most '2000 writes, 8 MB: calls of ours' 250 "$(grep -vcE ' (write|read|openat|mmap|mprotect|pread64|close|brk|munmap|newfstatat)\(' "$dir/trace")"

# Cancellation
for end in - "$dir/fifo"; do
	is "cancelling a write that blocks (${end##*/})" 'cancelled, cleaned up' "$($with timeout 20 "$BUILD/tests/cancel" "$end")"
done

# Other writers
for way in thread closed reservations relieved relieved-thread relieved-reservations relieved-opened thread-fork vectors raw duplicate duplicate-raw stream signals fork vfork spawn system \
	passed opened opened-signals; do
	case $way in closed | reservations | opened*) seconds=4 ;; *) seconds=1 ;; esac
	like "another writer, $way" ' lost=0$' "$($with "$BUILD/tests/writers" $way "${LONG:+3}$seconds" w)"
done
finish
