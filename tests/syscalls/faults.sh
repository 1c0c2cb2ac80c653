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
# The same below EOF, where pages are populated: two runs of zeros, 731 blocks.
below='ft=0 pwrite=5000 pfa=0 size=3000001 blocks=3002368 pread=0x00*70000,0x41*5000,0x00*2925001'
below_ops=(rdwr,creat ft 3000001 pwrite 70000 5000 65 pfa 0 3000001 size blocks pread 0 4M)
# refuse ERROR FIRST LAST: these mmaps of the file fail. Blocks tell nothing on ramfs: reading a hole makes a page.
refuse() {
	rm -f a
	traced -e trace=mmap,madvise,pwritev2 -e inject=mmap:error="$1:when=$((others + $2))..$((others + $3))" -- a "${below_ops[@]}"
}
traced -e trace=mmap -- a "${below_ops[@]}" >/dev/null
others=$(($(first 'MAP_SHARED, 3,') - 1))

is 'a kernel without MADV_POPULATE_WRITE: past EOF exact' "$exact" "$(inject madvise:error=EINVAL a "${ops[@]}")"
is 'a kernel without MADV_POPULATE_WRITE: within a page' 'pfa=0 size=3000 blocks=4096 pfa=0 size=4096 blocks=4096' \
	"$(inject madvise:error=EINVAL a rdwr,creat pfa 0 3000 size blocks pfa 0 4096 size blocks)"
is 'a kernel without MADV_POPULATE_WRITE: filled, data kept' "$below" "$(inject madvise:error=EINVAL a "${below_ops[@]}")"
is 'a kernel without MADV_POPULATE_WRITE: a byte in every block of zeros' 731 "$(calls pwritev2 '.*iov_len=1\}')"
is 'a madvise that does nothing, as of an emulator: filled, data kept' "$below" "$(inject madvise:retval=0 a "${below_ops[@]}")"
is 'a madvise that does nothing: a byte in every block of zeros' 731 "$(calls pwritev2 '.*iov_len=1\}')"
is 'no mapping (ENODEV), past EOF: exact' "$exact" "$(rm -f a; traced -P "$R/a" -e trace=mmap,pwritev2 -e inject=mmap:error=ENODEV -- a "${ops[@]}")"
is 'no mapping (ENODEV), EOF in the last page: appends' 'pwrite=5 pfa=0 size=3000 blocks=4096 pread=0x41*5,0x00*2995 2995' \
	"$(rm -f a; traced -P "$R/a" -e trace=mmap,pwritev2,pwrite64 -e inject=mmap:error=ENODEV -- a rdwr,creat pwrite 0 5 65 pfa 0 3000 size blocks pread 0 1M) $(appended | sum)"
for error in EAGAIN ENOMEM EACCES EPERM; do
	is "mmap refused once ($error): filled, data kept" "$below" "$(refuse $error 1 1)"
	is "mmap refused once ($error): populated all the same, nothing written" "1 $((3000001 - 8192)) 0" \
		"$(grep -c INJECTED "$TRACE") $(populated | sum) $(calls pwritev2)"
	is "mmap refused always ($error): filled, data kept" "$below" "$(refuse $error 1 99)"
	is "mmap refused always ($error): nothing populated, a byte in every block of zeros" '0 731' "$(populates) $(calls pwritev2)"
done
is 'mmap refused after the first window: filled, data kept' "$below" "$(refuse ENOMEM 2 99)"
is 'mmap refused after the first window: the rest is written' '69632 714' "$(populated | sum) $(calls pwritev2)"
sparse b 1M 65536 4096
is 'no mapping (ENODEV), below EOF: filled, data kept' "pfa=0 blocks=$MiB pread=0x00*65536,0x78*4096,0x00*978944" \
	"$(traced -P "$R/b" -e trace=mmap,pwritev2 -e inject=mmap:error=ENODEV -- b rdwr pfa 0 1M blocks pread 0 2M)"
is 'no mapping (ENODEV), below EOF: a byte in every block of zeros' 255 "$(calls pwritev2 '.*iov_len=1\}')"

is 'EINTR from fallocate: goes on' "$exact" "$(inject fallocate:error=EINTR:when=1 c "${ops[@]}")"
is 'EINTR from fallocate on tmpfs: goes on' "$exact" "$(inject fallocate:error=EINTR:when=1..3 "$W/c" "${ops[@]}")"
for n in 1 2 3 4 5; do
	is "EINTR from madvise call $n: goes on" "$below 1" "$(inject madvise:error=EINTR:when=$n c "${below_ops[@]}") $(grep -c INJECTED "$TRACE")"
done
is 'EINTR from madvise many times: goes on' "$below" "$(inject madvise:error=EINTR:when=4..24 c "${below_ops[@]}")"
is 'EINTR from madvise many times: is no reason to write zeros' '21 0' "$(grep -c INJECTED "$TRACE") $(calls pwritev2)"
is 'EINTR from pwritev2: goes on' "$exact" "$(inject pwritev2:error=EINTR:when=1..2 c "${ops[@]}")"
is 'EINTR from pwritev2 appending: goes on' 'pfa=0 size=3000001 blocks=3002368' \
	"$(inject pwritev2:error=EINTR:when=1..2 c wronly,creat pfa 0 3000001 size blocks)"
for n in {1..20}; do
	is "EINTR from statx call $n: goes on" "$exact" "$(inject statx:error=EINTR:when=$n c "${ops[@]}")"
done
is 'signals that arrive meanwhile: goes on' 'alarm=0 pfa=0 size=50331648 blocks=50331648' \
	"$(act c2 rdwr,creat alarm 1000 pfa 0 48M size blocks)"
rm -f c2
is 'signals that arrive meanwhile, below EOF: goes on' 'ft=0 alarm=0 pfa=0 size=50331648 blocks=50331648' \
	"$(act c2 rdwr,creat ft 48M alarm 1000 pfa 0 48M size blocks)"
rm -f c2
# What answers EINTR to everything is no signal: told, as libc does at the first.
ever() { # CALL FIRST FILE FLAGS OP...
	local call=$1 first=$2
	shift 2
	rm -f "$1"
	traced --seccomp-bpf -e trace="$call" -e inject="$call:error=EINTR:when=$first+" -- "$@"
}
is 'EINTR from pwritev2 for ever: told' 'pfa=EINTR size=1 blocks=4096' "$(ever pwritev2 2 c rdwr,creat pfa 0 3000001 size blocks)"
is 'EINTR from statx for ever: told' 'pfa=EINTR' "$(ever statx 4 c rdwr,creat pfa 0 3000001)"
is 'EINTR from fallocate for ever: told, nothing touched' 'pfa=EINTR size=0 blocks=0' \
	"$(ever fallocate 1 c rdwr,creat pfa 0 3000001 size blocks)"
is 'EINTR from madvise for ever: told, data kept' 'ft=0 pwrite=5000 pfa=EINTR pread=0x00*70000,0x41*5000,0x00*2925001' \
	"$(ever madvise 4 c rdwr,creat ft 3000001 pwrite 70000 5000 65 pfa 0 3000001 pread 0 4M)"
is 'EFAULT from madvise, no room: ENOSPC, size and data as before' \
	"$(echo "$below" | sed 's/pfa=0/pfa=ENOSPC/')" "$(inject madvise:error=EFAULT:when=5 c "${below_ops[@]}")"
is 'EHWPOISON from madvise: EIO' 'ft=0 pfa=EIO' "$(inject madvise:error=EHWPOISON:when=3 c rdwr,creat ft 3000001 pfa 0 3000001)"
is 'ENOSPC from the first append: ENOSPC, nothing touched' 'pfa=ENOSPC size=0 blocks=0' \
	"$(inject pwritev2:error=ENOSPC:when=1 c rdwr,creat pfa 0 3000001 size blocks)"
is 'ENOSPC from a later append: ENOSPC, the size stays as reached' 'pfa=ENOSPC size=65536 blocks=65536' \
	"$(inject pwritev2:error=ENOSPC:when=3 c rdwr,creat pfa 0 3000001 size blocks)"

# sync = always: a flush before, to take older errors, and one at the end.
config '[default]' 'sync = always'
flush() { # ERROR:WHEN FILE FLAGS OP...
	local what=$1
	shift
	rm -f "$1"
	traced -e trace=fdatasync,pwritev2,madvise,fsync -e inject=fdatasync:error="$what" -- "$@"
}
steps() { grep -oE 'fdatasync|pwritev2|MADV_POPULATE_WRITE' "$TRACE" | uniq | paste -sd' '; }
traced -e trace=fdatasync,pwritev2,madvise -- d rdwr,creat ft 1M pfa 0 1M >/dev/null
is 'sync = always, below EOF: a flush before, to take older errors, and one at the end' \
	'fdatasync MADV_POPULATE_WRITE fdatasync' "$(steps)"
traced -e trace=fdatasync,pwritev2,madvise -- d1 rdwr,creat pfa 0 1M >/dev/null
is 'sync = always, past EOF: a flush before, and one at the end' 'fdatasync pwritev2 fdatasync' "$(steps)"
traced -e trace=fdatasync,pwritev2,madvise -- d2 wronly,creat pfa 0 1M >/dev/null
is 'sync = always, O_WRONLY: a flush before, and one at the end' 'fdatasync pwritev2 fdatasync' "$(steps)"
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
