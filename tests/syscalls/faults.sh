# posix_fallocate when the kernel refuses a step or interrupts it (strace injects errors).
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$R" || exit 1
# inject CALL:error=E[:when=N] FILE FLAGS OP...
inject() {
	local what=$1
	shift
	rm -f "$1"
	traced -e trace="${what%%:*},pwritev2,madvise" -e inject="$what" -- "$@"
}
exact='pfa=0 size=3000001 blocks=3002368 pread=0x00*3000001'
ops=(rdwr,creat pfa 0 3000001 size blocks pread 0 4M)

is 'a kernel without MADV_POPULATE_WRITE: appends, exact' "$exact" "$(inject madvise:error=EINVAL a "${ops[@]}")"
at_least 'by RWF_APPEND' 1 "$(calls pwritev2 '.*RWF_APPEND')"
is 'no mapping (ENODEV): appends, exact' "$exact" "$(rm -f a; traced -P "$R/a" -e trace=mmap,pwritev2 -e inject=mmap:error=ENODEV -- a "${ops[@]}")"
at_least 'no mapping: by RWF_APPEND' 1 "$(calls pwritev2 '.*RWF_APPEND')"
for error in EAGAIN ENOMEM EACCES EPERM; do
	is "mmap refused once ($error): exact" "$exact" "$(rm -f a; traced -P "$R/a" -e trace=mmap,pwritev2 -e inject=mmap:error=$error:when=1 -- a "${ops[@]}")"
	is "mmap refused always ($error): exact" "$exact" "$(rm -f a; traced -P "$R/a" -e trace=mmap,pwritev2 -e inject=mmap:error=$error -- a "${ops[@]}")"
done
is 'mmap refused after the claim: exact' "$exact" "$(rm -f a; traced -P "$R/a" -e trace=mmap,pwritev2 -e inject=mmap:error=ENOMEM:when=2+ -- a "${ops[@]}")"
sparse b 1M 65536 4096
is 'no mapping, below EOF: filled, data kept' "pfa=0 blocks=$MiB pread=0x00*65536,0x78*4096,0x00*978944" \
	"$(traced -P "$R/b" -e trace=mmap,pwritev2 -e inject=mmap:error=ENODEV -- b rdwr pfa 0 1M blocks pread 0 2M)"
at_most 'no mapping, below EOF: a byte in every block of zeros' 255 "$(calls pwritev2 '.*iov_len=1\}')"

is 'EINTR from fallocate: goes on' "$exact" "$(inject fallocate:error=EINTR:when=1 c "${ops[@]}")"
is 'EINTR from fallocate on tmpfs: goes on' "$exact" "$(inject fallocate:error=EINTR:when=1..3 "$W/c" "${ops[@]}")"
for n in 2 3 4 5 6; do
	is "EINTR from madvise call $n: goes on" "$exact" "$(inject madvise:error=EINTR:when=$n c "${ops[@]}")"
done
is 'EINTR from madvise many times: exact' "$exact" "$(inject madvise:error=EINTR:when=4..24 c "${ops[@]}")"
is 'EINTR from madvise many times: is no reason to write zeros' 1 "$(calls pwritev2)"
is 'EINTR from pwritev2: goes on' "$exact" "$(inject pwritev2:error=EINTR:when=1..2 c "${ops[@]}")"
is 'EINTR from pwritev2 appending: goes on' 'pfa=0 size=3000001 blocks=3002368' \
	"$(inject pwritev2:error=EINTR:when=1..2 c wronly,creat pfa 0 3000001 size blocks)"
is 'signals that arrive meanwhile: goes on' 'alarm=0 pfa=0 size=50331648 blocks=50331648' \
	"$(act c2 rdwr,creat alarm 1000 pfa 0 48M size blocks)"
rm -f c2
is 'EFAULT from madvise, no room: ENOSPC' 'pfa=ENOSPC size=3000001' \
	"$(inject madvise:error=EFAULT:when=4 c rdwr,creat pfa 0 3000001 size)"
is 'ENOSPC from the claim: ENOSPC, nothing touched' 'pfa=ENOSPC size=0 blocks=0' \
	"$(inject pwritev2:error=ENOSPC:when=1 c rdwr,creat pfa 0 3000001 size blocks)"

# sync = always: a flush before, to take older errors, and one at the end.
config '[default]' 'sync = always'
flush() { # ERROR:WHEN FILE FLAGS OP...
	local what=$1
	shift
	rm -f "$1"
	traced -e trace=fdatasync,pwritev2,madvise,fsync -e inject=fdatasync:error="$what" -- "$@"
}
traced -e trace=fdatasync,pwritev2,madvise,fsync -- d rdwr,creat pfa 0 1M >/dev/null
is 'sync = always: the flush is the last call' fdatasync "$(tail -n 1 "$TRACE" | sed 's/^[0-9]* *\([a-z]*\).*/\1/')"
is 'sync = always: older errors are taken before anything is written' fdatasync \
	"$(grep -m 1 -oE 'fdatasync|pwritev2' "$TRACE")"
is 'sync = always, appending: the flush is the last call' fdatasync \
	"$(traced -e trace=fdatasync,pwritev2 -- d2 wronly,creat pfa 0 1M >/dev/null; tail -n 1 "$TRACE" | sed 's/^[0-9]* *\([a-z]*\).*/\1/')"
is 'sync = always: exact' "$exact" "$(act d3 "${ops[@]}")"
is 'EINTR from fdatasync: goes on' "$exact" "$(flush EINTR:when=1..2 d "${ops[@]}")"
is 'EIO from the flush: returned by the call, and by the next fsync, once' 'pfa=EIO fsync=EIO fsync=0' \
	"$(flush EIO:when=2 d rdwr,creat pfa 0 1M fsync fsync)"
is 'EIO from the flush: returned by the next fdatasync, once' 'pfa=EIO fdatasync=EIO fdatasync=0' \
	"$(flush EIO:when=2 d rdwr,creat pfa 0 1M fdatasync fdatasync)"
is 'EIO from the flush: returned by close, which closes' 'pfa=EIO close=EIO one less close=EBADF' \
	"$(flush EIO:when=2 d rdwr,creat fds pfa 0 1M close fds close |
		awk '{sub(/fds=/, "", $1); sub(/fds=/, "", $4); print $2, $3, $1 - $4 == 1 ? "one less" : $1 " " $4, $5}')"
is 'EIO from the flush: not told to another descriptor' 'pfa=EIO reopen=0 fsync=0' \
	"$(flush EIO:when=2 d rdwr,creat pfa 0 1M reopen fsync)"
is 'ENOSPC from the last flush is ours: not owed' 'pfa=ENOSPC fsync=0 close=0' \
	"$(flush ENOSPC:when=2 d rdwr,creat pfa 0 1M fsync close)"
is 'EDQUOT from the last flush is ours: not owed' 'pfa=EDQUOT fsync=0' \
	"$(flush EDQUOT:when=2 d rdwr,creat pfa 0 1M fsync)"
is 'EIO from the first flush: nothing touched, and owed' 'pfa=EIO size=0 blocks=0 fsync=EIO fsync=0' \
	"$(flush EIO:when=1 d rdwr,creat pfa 0 1M size blocks fsync fsync)"
is 'ENOSPC from the first flush is about older data: owed' 'pfa=ENOSPC size=0 fsync=ENOSPC fsync=0' \
	"$(flush ENOSPC:when=1 d rdwr,creat pfa 0 1M size fsync fsync)"
is 'EINVAL from fdatasync (cannot be flushed) is no error' 'pfa=0 fsync=0' "$(flush EINVAL d rdwr,creat pfa 0 1M fsync)"
finish
