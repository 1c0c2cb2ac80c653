# ftruncate and truncate.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
watch=(-e trace=ftruncate,truncate,fallocate,statx,fstatfs,pwrite64,pwritev2,madvise,open,openat,fcntl)

# Native, as everywhere but on FAT and NFS 4.2.
cd "$R" || exit 1
traced -P "$R/a" "${watch[@]}" -- a rdwr,creat ft 1M ft 2M ft 1000 ft 1000 >"$W/out"
is 'native: works' 'ft=0 ft=0 ft=0 ft=0' "$(cat "$W/out")"
is 'native: a call each' 4 "$(calls ftruncate)"
traced "${watch[@]}" -- a rdwr ft 1M ft 2M ft 3M >/dev/null
between() { awk -v n="$1" '/ftruncate/ { seen++; next } seen == n' "$TRACE"; }
is 'native, the mount seen before: one statx besides' 'statx' "$(between 2 | grep -oE '^[^ ]* *[a-z0-9]*' | grep -o '[a-z]*$')"
is 'and one more when it grows again: could it have a window?' 'statx statx' \
	"$(between 1 | grep -oE '^[^ ]* *[a-z0-9]*' | grep -o '[a-z]*$' | paste -sd' ')"
config '[default]' 'posix_fallocate = auto'
traced "${watch[@]}" -- a rdwr ft 1M ft 2M >/dev/null
is 'no rule about ftruncate: no call at all besides' 0 "$(sed '1,/"a", O_RDWR/d' "$TRACE" | grep -vc ftruncate)"
config '[default]' 'ftruncate = allocate'
is 'allocate: ramfs is not concerned' 'ft=0 size=1048576 blocks=0' "$(act c rdwr,creat ft 1M size blocks)"
is 'allocate: tmpfs is not concerned' 'ft=0 size=1048576 blocks=0' "$(act "$W/c" rdwr,creat ft 1M size blocks)"
is 'allocate: memfd is not concerned' 'memfd=0 ft=0 size=1048576 blocks=0' "$(act "$W/c" rdwr,creat memfd ft 1M size blocks)"
mkfifo fifo
for file in 'c rdonly' 'c path' 'fifo rdwr' "$W rdonly" '/dev/null rdwr'; do
	for length in -1 0 4096 max; do
		# shellcheck disable=SC2086 # words
		[ "$(plain $file ft $length tr -1)" = "$(act $file ft $length tr -1)" ] || wrong+=" [$file ft $length]"
	done
done
is 'allocate: wrong arguments and descriptors: as without' '' "${wrong:-}"

if ! disk; then
	skip 'on a disk' '/var/tmp is not on one'
	finish
fi
cd "$E" || exit 1
for ft in ft tr; do
	config '[default]' 'ftruncate = allocate'
	is "$ft, allocate: what grows is reserved" "$ft=0 size=$MiB blocks=$MiB" "$(act a$ft rdwr,creat $ft 1M size blocks)"
	is "$ft, allocate: shrinks" "$ft=0 size=1000" "$(act a$ft rdwr $ft 1000 size)"
	is "$ft, allocate: data is kept" "pwrite=5 $ft=0 pread=0x41*5,0x00*995" "$(act b$ft rdwr,creat pwrite 0 5 65 $ft 1000 pread 0 1M)"
	is "$ft, allocate: locks, offset and descriptors stay" same \
		"$(act c$ft rdwr,creat seek 5 fds $ft 1M pos fds | awk '{print $2 == $5 && $4 == "pos=5" ? "same" : $0}')"
	is "$ft, allocate: no room: ENOSPC, size and blocks unchanged" "$ft=ENOSPC size=0 blocks=0" \
		"$(act d$ft rdwr,creat $ft 8T size blocks)"
	is "$ft, allocate: fallocate says ENOSPC: so does it, size unchanged" "$ft=ENOSPC size=0" \
		"$(traced "${watch[@]}" -e inject=fallocate:error=ENOSPC -- d$ft rdwr $ft 1M size)"
	is "$ft, allocate: EINTR goes on" "$ft=0 size=$MiB blocks=$MiB" \
		"$(rm -f d$ft; traced "${watch[@]}" -e inject=fallocate:error=EINTR:when=1 -- d$ft rdwr,creat $ft 1M size blocks)"
	rm -f d$ft
	is "$ft, allocate: when the resizing itself fails the size is as before" "$ft=EIO size=0" \
		"$(traced "${watch[@]}" -e inject=ftruncate,truncate:error=EIO -- d$ft rdwr,creat $ft 1M size)"
	rm -f e$ft
	is "$ft, allocate: without fallocate it is filled, size exact" "$ft=0 size=1000001 fdatasync=0 blocks=1003520" \
		"$(traced "${watch[@]}" -e inject=fallocate:error=EOPNOTSUPP -- e$ft rdwr,creat $ft 1000001 size fdatasync blocks | without_map 1003520)"
	config '[default]' 'ftruncate = preallocate'
	is "$ft, preallocate: reserved" "$ft=0 size=$MiB blocks=$MiB" "$(act f$ft rdwr,creat $ft 1M size blocks)"
	rm -f f$ft
	is "$ft, preallocate: one fallocate, keeping the size" "$ft=0" "$(traced "${watch[@]}" -- f$ft rdwr,creat $ft 1M)"
	is "$ft, preallocate: which is" 1 "$(calls fallocate '[0-9]+, FALLOC_FL_KEEP_SIZE, 0, 1048576')"
	is "$ft, preallocate: and none more" 1 "$(calls fallocate)"
	for error in ENOSPC EOPNOTSUPP EPERM EIO; do
		rm -f g$ft
		is "$ft, preallocate: $error is ignored" "$ft=0 size=$MiB blocks=0" \
			"$(traced "${watch[@]}" -e inject=fallocate:error=$error -- g$ft rdwr,creat $ft 1M size blocks)"
	done
	is "$ft, preallocate: more than is free stays sparse" "$ft=0 size=8796093022208 blocks=0" \
		"$(act h$ft rdwr,creat $ft 8T size blocks)"
	config '[default]' 'ftruncate = allocate' 'ftruncate_max = 512K'
	is "$ft, ftruncate_max: growth up to it is reserved" "$ft=0 blocks=524288" "$(act i$ft rdwr,creat $ft 512K blocks)"
	is "$ft, ftruncate_max: it is the growth that counts" "$ft=0 blocks=1048576" "$(act i$ft rdwr $ft 1M blocks)"
	is "$ft, ftruncate_max: above it stays sparse" "$ft=0 size=524289 blocks=0" "$(act j$ft rdwr,creat $ft 524289 size blocks)"
	config '[default]' 'ftruncate = allocate'
	is "$ft, allocate: POSIX locks stay" 'posix write 0 1' \
		"$(act k$ft rdwr,creat plock 0 1 $ft 1M islocked | sed 's/.*islocked=//')"
done
config '[default]' 'ftruncate = allocate'
is 'truncate by path, the file locked: EBUSY rather than the lock lost' 'plock=0 tr=EBUSY size=0 islocked=posix write 0 1' \
	"$(act l rdwr,creat plock 0 1 tr 1M size islocked)"
is 'truncate by path, a lock on another file: EBUSY too, the lock stays' 'memfd=0 plock=0 tr=EBUSY islocked=posix write 0 1' \
	"$(act l4 rdwr,creat memfd plock 0 1 tr 1M islocked)"
is 'truncate by path, OFD lock, which no close drops: reserved, the lock stays' \
	"lock=0 tr=0 size=$MiB blocks=$MiB islocked=ofd write 0 1" "$(act l2 rdwr,creat lock 0 1 tr 1M size blocks islocked)"
is 'truncate by path, the file locked: shrinks' 'pwrite=9 plock=0 tr=0 size=5 islocked=posix write 0 1' \
	"$(act l3 rdwr,creat pwrite 0 9 65 plock 0 1 tr 5 size islocked)"
is 'truncate by path, no such file: as without' "$(plain none rdwr tr 5)" "$(act none rdwr tr 5)"
config '[default]' 'ftruncate = preallocate'
is 'truncate by path, the file locked, preallocate: goes on without' \
	"plock=0 tr=0 size=$MiB blocks=0 islocked=posix write 0 1" "$(act m rdwr,creat plock 0 1 tr 1M size blocks islocked)"
config "[path $E/*]" 'ftruncate = allocate'
is 'truncate by an absolute path: [path] applies' "tr=0 blocks=$MiB" "$(act "$E/n" rdwr,creat tr 1M blocks)"
is 'truncate by a relative path: [path] applies' "tr=0 blocks=$MiB" "$(act o rdwr,creat tr 1M blocks)"
is 'ftruncate of a relative path: [path] applies' "ft=0 blocks=$MiB" "$(act p rdwr,creat ft 1M blocks)"
finish
