# Resource limits are the program's: they make a call fail as the kernel's would,
# or cost a mapping, and never raise a signal.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$R" || exit 1

is 'RLIMIT_FSIZE: EFBIG, no SIGXFSZ, nothing touched' 'rlimit=0 sigxfsz=0 pfa=EFBIG signals=0 size=0 blocks=0' \
	"$(act a rdwr,creat rlimit fsize 1M sigxfsz count pfa 0 2M signals size blocks)"
is 'RLIMIT_FSIZE: up to the limit' "rlimit=0 sigxfsz=0 pfa=0 signals=0 size=$MiB" \
	"$(act b rdwr,creat rlimit fsize 1M sigxfsz count pfa 0 1M signals size)"
is 'RLIMIT_FSIZE: one byte more' 'rlimit=0 pfa=EFBIG size=0' "$(act c rdwr,creat rlimit fsize 1M pfa 1M 1 size)"
is 'RLIMIT_FSIZE, O_WRONLY' 'rlimit=0 sigxfsz=0 pfa=EFBIG signals=0 size=0' \
	"$(act d wronly,creat rlimit fsize 1M sigxfsz count pfa 0 2M signals size)"
is 'RLIMIT_FSIZE, O_APPEND' 'rlimit=0 sigxfsz=0 pfa=EFBIG signals=0 size=0' \
	"$(act d rdwr,append rlimit fsize 1M sigxfsz count pfa 0 2M signals size)"
is 'RLIMIT_FSIZE, size already beyond: no signal' 'rlimit=0 sigxfsz=0 pfa=0 signals=0' \
	"$(sparse e 2M; act e rdwr rlimit fsize 1M sigxfsz count pfa 0 2M signals)"
config '[default]' 'posix_fallocate = sparse'
is 'RLIMIT_FSIZE, sparse: EFBIG, no SIGXFSZ' 'rlimit=0 sigxfsz=0 pfa=EFBIG signals=0 size=0' \
	"$(act f rdwr,creat rlimit fsize 1M sigxfsz count pfa 0 2M signals size)"
is 'RLIMIT_FSIZE, sparse, O_APPEND: EFBIG, no SIGXFSZ' 'rlimit=0 sigxfsz=0 pfa=EFBIG signals=0 size=0' \
	"$(act f rdwr,append rlimit fsize 1M sigxfsz count pfa 0 2M signals size)"
config '[default]' 'ftruncate = allocate'
is 'RLIMIT_FSIZE, ftruncate: as without' \
	"$(plain "$E/g" rdwr,creat rlimit fsize 1M sigxfsz count ft 2M signals size blocks)" \
	"$(act "$E/g" rdwr,creat rlimit fsize 1M sigxfsz count ft 2M signals size blocks)"
stock

is 'RLIMIT_AS: no room for a mapping' "rlimit=0 pfa=0 size=3000001 blocks=3002368" \
	"$(act h rdwr,creat rlimit as 1 pfa 0 3000001 size blocks)"
is 'RLIMIT_AS, below EOF: filled, data kept' "pwrite=5000 ft=0 rlimit=0 pfa=0 size=$MiB blocks=$MiB pread=0x00*70000,0x41*5000,0x00*973576" \
	"$(act i rdwr,creat pwrite 70000 5000 65 ft 1M rlimit as 1 pfa 0 1M size blocks pread 0 2M)"
used=$(LD_PRELOAD=$LIB sh -c 'read -r pages rest </proc/self/statm; echo $((pages * 4096))')
for more in 131072 262144 524288 1048576 2097152 3145728; do
	is "RLIMIT_AS, $((more / 1024))K to spare" "ft=0 rlimit=0 pfa=0 size=3000001 blocks=3002368" \
		"$(rm -f j; act j rdwr,creat ft 3000001 rlimit as $((used + more)) pfa 0 3000001 size blocks)"
done
is 'mlockall' "ft=0 mlockall=0 pfa=0 size=3000001 blocks=3002368 pread=0x00*3000001" \
	"$(ulimit -l unlimited 2>/dev/null; act k rdwr,creat ft 3000001 mlockall pfa 0 3000001 size blocks pread 0 4M)"
if [ "$(id -u)" = 0 ] && chmod 777 "$R" "$W" && setpriv --reuid 65534 --clear-groups true 2>/dev/null; then
	touch l && chmod 666 l
	# Not privileged, nothing may be locked beyond what is: mmap says EAGAIN.
	is 'mlockall, not privileged' "ft=0 mlockall=0 rlimit=0 drop=0 pfa=0 size=3000001 blocks=3002368" \
		"$(act l rdwr ft 3000001 mlockall rlimit memlock 0 drop pfa 0 3000001 size blocks)"
else
	skip 'mlockall, not privileged' 'cannot become another user'
fi
is 'RLIMIT_NOFILE used up' "rlimit=0 pfa=0 size=$MiB blocks=$MiB" "$(act m rdwr,creat rlimit nofile 0 pfa 0 1M size blocks)"
is 'RLIMIT_NOFILE used up: the errno stays' 'rlimit=0 pfa=0' "$(act m2 rdwr,creat rlimit nofile 0 pfa 0 1M)"
finish
