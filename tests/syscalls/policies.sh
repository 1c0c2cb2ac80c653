# Every value of posix_fallocate, zero_fill_max and sync, and the sections that choose it.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$R" || exit 1
watch=(-e trace=fallocate,pwrite64,pwritev2,madvise,fdatasync,fsync,ftruncate,statx,fstatfs)

config '[default]' 'posix_fallocate = native'
is 'native: as glibc' "pfa=0 size=$MiB blocks=$MiB" "$(traced "${watch[@]}" -- a rdwr,creat pfa 0 1M size blocks)"
is 'native: a byte in every block' 256 "$(calls pwrite64)"
is 'native: nothing of ours' 0 "$(calls '(pwritev2|madvise|fdatasync)')"

config '[default]' 'posix_fallocate = sparse'
is 'sparse: the size, nothing reserved' "pfa=0 size=$((4 * MiB)) blocks=4096" "$(traced "${watch[@]}" -- b rdwr,creat pfa 0 4M size blocks)"
is 'sparse: one byte is written' 1 "$(calls '(pwrite64|pwritev2)')"
is 'sparse: no fallocate, no ftruncate' 0 "$(calls '(fallocate|ftruncate)')"
is 'sparse: below EOF nothing happens' "pfa=0 size=$((4 * MiB)) blocks=4096" "$(act b rdwr pfa 0 1M size blocks)"
is 'sparse: data is kept' 'pwrite=5 pfa=0 pread=0x41*5,0x00*8187' "$(act c rdwr,creat pwrite 0 5 65 pfa 0 8192 pread 0 1M)"
is 'sparse: O_WRONLY' 'pfa=0 size=1000001 blocks=4096' "$(act d wronly,creat pfa 0 1000001 size blocks)"
is 'sparse: O_APPEND' 'pfa=0 size=1000001' "$(act e wronly,creat,append pfa 0 1000001 size)"
is 'sparse: tmpfs too' "pfa=0 size=$MiB blocks=4096" "$(act "$W/f" rdwr,creat pfa 0 1M size blocks)"
is 'sparse: errno, offset, locks stay' 'seek=5 plock=0 pfa=0 pos=5 islocked=posix write 0 9' \
	"$(act g rdwr,creat seek 5 plock 0 9 pfa 0 1M pos islocked)"
mkfifo fifo
wrong=
for arguments in '-1 0' '-1 -1' '0 0' '0 -1' 'max 1' '1 max' '0 1'; do
	for file in 'b rdonly' 'b path' 'fifo rdwr' "$W rdonly" '/dev/null rdwr'; do
		# shellcheck disable=SC2086 # words
		[ "$(plain $file pfa $arguments)" = "$(act $file pfa $arguments)" ] || wrong+=" [$file pfa $arguments: $(act $file pfa $arguments), not $(plain $file pfa $arguments)]"
	done
done
is 'sparse: errors as without' '' "$wrong"
is 'sparse: a closed descriptor' 'close=0 pfa=EBADF' "$(act b rdwr close pfa 0 1)"

config '[default]' 'posix_fallocate = refuse'
is 'refuse: EOPNOTSUPP, nothing touched' 'pfa=EOPNOTSUPP size=0' "$(traced "${watch[@]}" -- h rdwr,creat pfa 0 1M size)"
is 'refuse: the kernel is not asked' 0 "$(calls '(fallocate|pwrite64|pwritev2)')"
is 'refuse: tmpfs too' 'pfa=EOPNOTSUPP size=0' "$(act "$W/h" rdwr,creat pfa 0 1M size)"

config '[default]' 'zero_fill_max = 64K'
is 'zero_fill_max: up to it is filled' 'pfa=0 blocks=65536' "$(act i rdwr,creat pfa 0 64K blocks)"
is 'zero_fill_max: a byte more is EOPNOTSUPP, nothing touched' 'pfa=EOPNOTSUPP size=0 blocks=0' \
	"$(act j rdwr,creat pfa 0 65537 size blocks)"
is 'zero_fill_max: it is the length that counts' 'pfa=0 size=1052672' "$(act k rdwr,creat pfa 1M 4096 size)"
is 'zero_fill_max: not where fallocate works' "pfa=0 blocks=$MiB" "$(act "$W/k" rdwr,creat pfa 0 1M blocks)"
config '[default]' 'zero_fill_max = 0'
is 'zero_fill_max = 0: never' 'pfa=EOPNOTSUPP' "$(act l rdwr,creat pfa 0 1)"

config '[default]' 'sync = never'
traced "${watch[@]}" -- m rdwr,creat pfa 0 1M >/dev/null
is 'sync = never: no flush' 0 "$(calls 'f(data)?sync')"
if disk; then
	traced "${watch[@]}" -e inject=fallocate:error=EOPNOTSUPP -- "$E/m" rdwr,creat pfa 0 1M >/dev/null
	is 'sync = never: not on a disk either' 0 "$(calls 'f(data)?sync')"
else
	skip 'sync = never: not on a disk either' '/var/tmp is not on a disk'
fi

# Sections.
config '[default]' 'posix_fallocate = refuse' '[fstype ramfs]' 'posix_fallocate = sparse'
is '[fstype]' "pfa=0 blocks=4096" "$(act n rdwr,creat pfa 0 1M blocks)"
is '[fstype]: not another' 'pfa=EOPNOTSUPP' "$(act "$W/n" rdwr,creat pfa 0 1M)"
config '[default]' 'posix_fallocate = refuse' "[mount $R]" 'posix_fallocate = sparse'
is '[mount]' 'pfa=0 blocks=4096' "$(act o rdwr,creat pfa 0 1M blocks)"
is '[mount]: not the one around it' 'pfa=EOPNOTSUPP' "$(act "$W/o" rdwr,creat pfa 0 1M)"
config '[default]' 'posix_fallocate = refuse' "[path $R/*.data]" 'posix_fallocate = sparse'
is '[path]' 'pfa=0 blocks=4096' "$(act p.data rdwr,creat pfa 0 1M blocks)"
is '[path]: not another' 'pfa=EOPNOTSUPP' "$(act p.other rdwr,creat pfa 0 1M)"
config '[default]' 'posix_fallocate = refuse' '[program act]' 'posix_fallocate = sparse' '[program other]' 'posix_fallocate = native'
is '[program]' 'pfa=0 blocks=4096' "$(act q rdwr,creat pfa 0 1M blocks)"
config '[program act]' 'posix_fallocate = refuse' "[path $R/**]" 'posix_fallocate = sparse' '[fstype ramfs]' 'posix_fallocate = native'
is 'program beats path beats fstype, whatever the order' 'pfa=EOPNOTSUPP' "$(act r rdwr,creat pfa 0 1M)"
config '[default]' 'posix_fallocate = refuse'
is 'memfd: [default]' 'memfd=0 pfa=EOPNOTSUPP' "$(act s rdwr,creat memfd pfa 0 1M)"
finish
