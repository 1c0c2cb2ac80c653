# posix_fallocate where fallocate(2) is not supported, here ramfs: what it leaves
# in the file, and the system calls it makes.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$R" || exit 1

is 'returns 0; the size is exact, all blocks allocated, zeros' \
	"pfa=0 size=$MiB blocks=$MiB pread=0x00*$MiB" "$(act a rdwr,creat pfa 0 1M size blocks pread 0 2M)"
is 'the size is exact to the byte' 'pfa=0 size=1000001 blocks=1003520' "$(act b rdwr,creat pfa 0 1000001 size blocks)"
is 'one byte at an odd offset' 'pfa=0 size=12346 blocks=4096' "$(act c rdwr,creat pfa 12345 1 size blocks)"
is 'many windows' 'pfa=0 size=9437307 blocks=9441280' "$(act d rdwr,creat pfa 0 9437307 size blocks)"
is 'past 4 GiB' 'pfa=0 size=5368713216 blocks=4096' "$(act e rdwr,creat pfa 5G 4096 size blocks)"
is 'the gap before the range stays a hole' 'pfa=0 size=3145728 blocks=1048576' \
	"$(act f rdwr,creat pfa 2M 1M size blocks)"
is 'data at the start, in the middle and across EOF is kept' \
	'pwrite=100 pwrite=5000 pfa=0 size=1048576 blocks=1048576 pread=0x41*100,0x00*69900,0x42*5000,0x00*973576' \
	"$(act g rdwr,creat pwrite 0 100 65 pwrite 70000 5000 66 pfa 0 1M size blocks pread 0 2M)"
sparse h 1M 65536 4096
is 'below EOF holes are filled, size and data kept' \
	"pfa=0 size=$MiB blocks=$MiB pread=0x00*65536,0x78*4096,0x00*978944" "$(act h rdwr pfa 0 1M size blocks pread 0 2M)"
sparse h 1M 65536 4096
is 'only the range is filled' "pfa=0 size=$MiB blocks=$((4096 + 8192))" "$(act h rdwr pfa 4096 8192 size blocks)"
sparse h 1000
is 'never shrinks' 'pfa=0 size=1000' "$(act h rdwr pfa 0 10 size)"

# The calls.
traced -e trace='!mprotect' -- t rdwr,creat pfa 0 1M >/dev/null
is 'fallocate is asked first, once' 1 "$(calls fallocate)"
is 'past EOF nothing is written but by appending' 0 "$(overwrites)"
is 'and no more than is missing' $MiB "$(appended | sum)"
is 'first a single byte, to notice others' 1 "$(appended | head -n 1)"
is 'no page of the file is mapped' 0 "$(($(populates) + $(calls mmap '.*MAP_SHARED, 3,')))"
is 'the offset is never moved, not even and back' 0 "$(calls lseek)"
is 'nothing is truncated' 0 "$(calls 'f?truncate')"
is 'sync = auto: ramfs is not flushed' 0 "$(calls 'f(data)?sync')"
for flags in wronly rdwr,append wronly,append; do
	traced -e trace=pwritev2,pwrite64,write -- "t-$flags" $flags,creat pfa 0 300001 >/dev/null
	is "$flags: only appends, what is missing" '0 300001' "$(overwrites) $(appended | sum)"
done
traced -e trace=pwritev2,pwrite64 -- t20 rdwr,creat pfa 0 20M >/dev/null
is '20 MiB: only appends, what is missing' "0 $((20 * MiB))" "$(overwrites) $(appended | sum)"
is 'a piece has at most half of what is missing, or 64 KiB' '' "$(appended |
	awk -v missing=$((20 * MiB)) '$1 > 65536 && $1 > missing / 2 {print $1 " of " missing} {missing -= $1}')"
is 'pieces grow to 4 MiB' 4194304 "$(appended | sort -n | tail -n 1)"
at_most 'and so they are few' 40 "$(appended | grep -c .)"
traced -e trace=pwritev2,pwrite64 -- gap rdwr,creat pfa 2M 1M >/dev/null
is 'a gap before the range: one byte where it begins, then appends' \
	"1 [{iov_base=\"\\0\", iov_len=1}], 1, 2097152, 0) = 1 $((MiB - 1))" \
	"$(overwrites) $(sed -n '1s/.*pwritev2(3, //p' "$TRACE") $(appended | sum)"

# EOF in the page where the range ends: its last byte is written from where it is mapped.
traced -e trace=pwritev2,pwrite64,mmap,munmap -e raw=pwrite64 -- page rdwr,creat pwrite 0 5 65 pfa 0 3000 size blocks pread 0 1M >"$W/out"
is 'EOF in the last page: exact, data kept' 'pwrite=5 pfa=0 size=3000 blocks=4096 pread=0x41*5,0x00*2995' "$(cat "$W/out")"
map=$(sed -n 's/.*mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0) = \(0x.*\)/\1/p' "$TRACE" | tail -n 1)
is 'EOF in the last page: the last byte is written onto itself, and nothing else' \
	"$(printf 'pwrite64(0x3, %#x, 0x1, 0xbb7) = 0x1' $((${map:-0} + 2999)))" \
	"$(grep -E 'pwrite64|pwritev2' "$TRACE" | sed '1d; s/^[0-9]* *//')"
is 'EOF in the last page: the mapping is taken down' 1 "$(calls munmap "${map:-none}, 4096")"
traced -e trace=pwritev2,pwrite64 -- page2 wronly,creat pwrite 0 5 65 pfa 5 2995 >/dev/null
is 'EOF in the last page, O_WRONLY: appends' '1 2995' "$(overwrites) $(appended | sum)"

# Below EOF: pages are dirtied through a mapping.
traced -e trace='!mprotect' -- p rdwr,creat ft 20M pfa 0 20M size blocks >"$W/out"
is 'below EOF: reserved' "ft=0 pfa=0 size=$((20 * MiB)) blocks=$((20 * MiB))" "$(cat "$W/out")"
is 'below EOF: nothing is written' 0 "$(calls '(p?write(v2?|64)?)' '3,')"
is 'below EOF: all pages are populated' $((20 * MiB)) "$(populated | sum)"
is 'below EOF: the offset is never moved, not even and back' 0 "$(calls lseek)"
is 'memory: the largest mapping has 16 MiB' 16777216 \
	"$(sed -n 's/.*mmap(NULL, \([0-9]*\), PROT_READ|PROT_WRITE, MAP_SHARED, 3,.*/\1/p' "$TRACE" | sort -n | tail -n 1)"
is '2 MiB are populated in one call at most' 2097152 "$(populated | sort -n | tail -n 1)"
at_least 'the file is mapped a window at a time' 2 "$(calls mmap '.*MAP_SHARED, 3,')"
is 'mappings are not inherited by children' "$(grep -c 'mmap(.*MAP_SHARED, 3,' "$TRACE")" "$(calls madvise '.*MADV_DONTFORK')"
is 'every mapping of the file is taken down' 0 "$(comm -23 \
	<(sed -n 's/.*MAP_SHARED, 3, .*= \(0x.*\)/\1/p' "$TRACE" | sort -u) \
	<(sed -n 's/.*munmap(\(0x[0-9a-f]*\),.*/\1/p' "$TRACE" | sort -u) | grep -c .)"

traced -e trace=fallocate,madvise,pwritev2,pwrite64 -- t2 rdwr,creat pfa 0 1M pfa 0 1M >/dev/null
is 'a second call writes nothing' '2 0' "$(calls fallocate) $(sed "1,$(last 'fallocate\(')d" "$TRACE" | grep -cE 'pwrite64|pwritev2')"

sparse full 1M 0 1M
traced -e trace=madvise,pwritev2,pwrite64 -- full rdwr pfa 0 1M >/dev/null
is 'below EOF a file full of data is not touched' 0 "$(($(populates) + $(calls '(pwrite64|pwritev2)')))"
sparse hole 1M 0 1M
dd if=/dev/zero of=hole bs=4096 seek=10 count=1 conv=notrunc status=none
traced -e trace=madvise,pwritev2,pwrite64 -- hole rdwr pfa 0 1M >/dev/null
is 'below EOF only the blocks of zeros are populated' 1 "$(populates)"
is 'and no more of it than they are' 4096 "$(populated | sum)"

# What must not change.
# act sets errno before the call and says "errno-changed".
is 'errno is not touched on success, nor on failure' 'pfa=0 pfa=EINVAL pfa=EFBIG' \
	"$(act u rdwr,creat pfa 0 1M pfa 0 0 pfa 1 max)"
is 'no descriptor is left open' same "$(act v rdwr,creat fds pfa 0 1M fds | awk '{print $1 == $3 ? "same" : $0}')"
is 'the offset stays' 'seek=5 pfa=0 pos=5' "$(act w rdwr,creat seek 5 pfa 0 1M pos)"
is 'POSIX locks stay' 'plock=0 pfa=0 islocked=posix write 0 100' "$(act x rdwr,creat plock 0 100 pfa 0 1M islocked)"
is 'POSIX locks stay below EOF' 'ft=0 plock=0 pfa=0 islocked=posix write 0 100' \
	"$(act x2 rdwr,creat ft 1M plock 0 100 pfa 0 1M islocked)"
is 'OFD locks stay' 'lock=0 pfa=0 islocked=ofd write 5 7' "$(act y rdwr,creat lock 5 7 pfa 0 1M islocked)"
is 'it can be called on a duplicate' "dup=0 pfa=0 size=$MiB" "$(act z rdwr,creat dup pfa 0 1M size)"

# Where fallocate works its answer stands.
traced -e trace=fallocate,pwritev2,pwrite64,madvise,fdatasync,ftruncate -- "$W/native" rdwr,creat pfa 0 1M >/dev/null
is 'tmpfs: fallocate, and nothing else' 1 "$(grep -c . "$TRACE")"
is 'tmpfs: size and blocks' "pfa=0 size=$MiB blocks=$MiB" "$(act "$W/native" rdwr,trunc pfa 0 1M size blocks)"
is 'tmpfs: full says ENOSPC' 'pfa=ENOSPC' "$(act "$W/native" rdwr,trunc pfa 0 1G)"
is 'memfd' "memfd=0 pfa=0 size=$MiB blocks=$MiB" "$(act "$W/native" rdwr memfd pfa 0 1M size blocks)"
traced -e trace=fallocate -e inject=fallocate:error=EIO -- inj rdwr,creat pfa 0 1M size >"$W/out"
is "any errno but EOPNOTSUPP and ENOSYS is final" 'pfa=EIO size=0' "$(cat "$W/out")"
is 'ENOSYS: fills' "pfa=0 size=$MiB blocks=$MiB" \
	"$(traced -e trace=fallocate -e inject=fallocate:error=ENOSYS -- inj rdwr,creat pfa 0 1M size blocks)"

# A real disk where fallocate is refused: FIEMAP tells what is missing.
if disk; then
	refused=(-e 'trace=fallocate,pwritev2,pwrite64,madvise,fdatasync,ioctl,lseek' -e inject=fallocate:error=EOPNOTSUPP)
	is 'disk: exact' "pfa=0 size=1000001 blocks=1003520" \
		"$(traced "${refused[@]}" -- "$E/a" rdwr,creat pfa 0 1000001 size fdatasync blocks | sed 's/fdatasync=0 //' | without_map 1003520)"
	is 'disk: only appends, what is missing' '0 1000001' "$(overwrites) $(appended | sum)"
	fallocate -l 1M "$E/b"
	is 'disk: unwritten extents are reserved' 'pfa=0' "$(traced "${refused[@]}" -- "$E/b" rdwr pfa 0 1M)"
	is 'disk: and not touched' 0 "$(($(populates) + $(calls '(pwrite64|pwritev2)')))"
	is 'disk: no lseek(SEEK_HOLE), which moves the offset' 0 "$(calls lseek)"
	sparse "$E/c" 1M 65536 4096
	sync "$E/c"
	cp --sparse=always "$E/c" "$E/c2"
	sync "$E/c2"
	traced "${refused[@]}" -- "$E/c2" rdwr pfa 0 1M >/dev/null
	is 'disk: below EOF the holes FIEMAP tells are populated, no more, nothing written' "$((MiB - 4096)) 0" \
		"$(populated | sum) $(calls '(pwrite64|pwritev2)')"
	is 'disk: O_WRONLY below EOF, where FIEMAP tells the holes' "pfa=0 size=$MiB fdatasync=0 blocks=$MiB" \
		"$(traced "${refused[@]}" -- "$E/c" wronly pfa 0 1M size fdatasync blocks | without_map $MiB)"
	is 'disk: its data is kept' "$(printf 'x%.0s' {1..4096} | md5sum)" "$(dd if="$E/c" bs=4096 skip=16 count=1 status=none | md5sum)"
	is 'disk: O_DIRECT, exact' "pfa=0 size=1000001 fdatasync=0 blocks=1003520" \
		"$(traced "${refused[@]}" -- "$E/d" rdwr,creat,direct pfa 0 1000001 size fdatasync blocks | without_map 1003520)"
	is 'disk: O_DIRECT, from an odd size' "ft=0 pfa=0 size=300001" \
		"$(traced "${refused[@]}" -- "$E/e" rdwr,creat,direct ft 1001 pfa 0 300001 size)"
	is 'disk: O_DIRECT populates nothing' 0 "$(calls madvise)"
	same 'disk: more than is free, where fallocate works' "$E/f" rdwr,creat pfa 0 4000T size
	is 'disk: more than is free touches nothing' 'pfa=ENOSPC size=0 blocks=0' \
		"$(traced "${refused[@]}" -- "$E/g" rdwr,creat pfa 0 8T size blocks)"
else
	skip 'disk' '/var/tmp is not on a disk'
fi
finish
