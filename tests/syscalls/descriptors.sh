# posix_fallocate on every kind of descriptor, and with every kind of wrong argument.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$R" || exit 1

is 'O_WRONLY past EOF appends' "pfa=0 size=1000001 blocks=1003520" "$(act a wronly,creat pfa 0 1000001 size blocks)"
is 'O_WRONLY past EOF, from an odd size' 'pwrite=1001 pfa=0 size=300001 blocks=303104' \
	"$(act b wronly,creat pwrite 0 1001 65 pfa 1001 299000 size blocks)"
is 'O_WRONLY past EOF, data kept' '0x41*1001,0x00*299000' "$(plain b rdonly pread 0 1M | cut -d= -f2)"
is 'O_WRONLY past EOF with a gap' "pfa=0 size=$((2 * MiB))" "$(act b2 wronly,creat pfa 1M 1M size)"
sparse c 1M 0 4096
is 'O_WRONLY below EOF, without FIEMAP: EBADF' "pfa=EBADF size=$MiB" "$(act c wronly pfa 0 1M size)"
is 'O_WRONLY across EOF, without FIEMAP: EBADF and nothing touched' "pfa=EBADF size=$MiB blocks=4096" \
	"$(act c wronly pfa 0 2M size blocks)"
is 'O_APPEND|O_WRONLY' 'pfa=0 size=1000001 blocks=1003520' "$(act d wronly,creat,append pfa 0 1000001 size blocks)"
is 'O_APPEND|O_RDWR' 'pfa=0 size=1000001 blocks=1003520' "$(act e rdwr,creat,append pfa 0 1000001 size blocks)"
is 'O_APPEND, range behind EOF' "write=10 pfa=0 size=300000 pread=0x41*10,0x00*299990" \
	"$(act e2 rdwr,creat,append write 10 65 pfa 100000 200000 size pread 0 1M)"
is 'O_APPEND|O_RDWR below EOF' "ft=0 pfa=0 size=$MiB blocks=$MiB" "$(act f rdwr,creat,append ft 1M pfa 0 1M size blocks)"
is 'O_APPEND|O_RDWR across EOF' "write=10 ft=0 pfa=0 size=$((2 * MiB)) blocks=$((2 * MiB)) pread=0x41*10" \
	"$(act g rdwr,creat,append write 10 65 ft 1M pfa 0 2M size blocks pread 0 10)"
traced -e trace=fcntl,pwritev2 -- h rdwr,creat,append pfa 0 1M >/dev/null
is 'O_APPEND is not switched off meanwhile' 0 "$(calls fcntl '3, F_SETFL')"
is 'O_APPEND still appends' 'pfa=0 write=3 pread=0x41*3' "$(act i rdwr,creat,append pfa 0 4096 write 3 65 pread 4096 100)"
is 'O_DSYNC' "pfa=0 size=$MiB blocks=$MiB" "$(act j rdwr,creat,dsync pfa 0 1M size blocks)"

is 'O_RDONLY: EBADF' "pfa=EBADF size=$MiB" "$(act c rdonly pfa 0 1M size)"
is 'a closed descriptor: EBADF' 'close=0 pfa=EBADF' "$(act c rdwr close pfa 0 1M)"
is 'O_PATH: EBADF' 'pfa=EBADF' "$(act c path pfa 0 1M)"
is 'offset -1: EINVAL' 'pfa=EINVAL' "$(act c rdwr pfa -1 1)"
is 'length 0: EINVAL' 'pfa=EINVAL' "$(act c rdwr pfa 0 0)"
is 'length -1: EINVAL' 'pfa=EINVAL' "$(act c rdwr pfa 0 -1)"
is 'offset + length overflows: EFBIG' 'pfa=EFBIG pfa=EFBIG' "$(act c rdwr pfa 1 max pfa max 1)"
mkfifo fifo
is 'FIFO: ESPIPE' 'pfa=ESPIPE' "$(act fifo rdwr pfa 0 1)"
is 'nothing of that has touched the file' "size=$MiB blocks=4096" "$(plain c rdonly size blocks)"
same 'directory: as without' "$W" rdonly pfa 0 1
same '/dev/null: as without' /dev/null rdwr pfa 0 1M
same '/dev/zero: as without' /dev/zero rdwr pfa 0 1M
is '/proc: as without, but for errno' "$(plain /proc/self/comm rdwr pfa 0 4096 | sed 's/ errno-changed//')" \
	"$(act /proc/self/comm rdwr pfa 0 4096)"
block=$(find /dev -maxdepth 1 -type b -name 'loop*' 2>/dev/null | head -n 1)
if [ -n "$block" ] && [ -r "$block" ]; then
	same 'block device, read-only: as without' "$block" rdonly pfa 0 4096
else
	skip 'block device, read-only' 'none that may be opened'
fi

# Wrong arguments on wrong descriptors: the kernel's order of checks, that is as without.
for arguments in '-1 0' '-1 -1' '-1 max' '0 0' '0 -1' 'max max' 'max 1' '1 max'; do
	for file in 'c rdwr' 'c rdonly' 'c wronly' 'c path' 'fifo rdwr' "$W rdonly" '/dev/null rdwr' "$W/none rdwr" \
		"$W/tmpfile rdwr,creat"; do
		# shellcheck disable=SC2086 # words
		[ "$(plain $file pfa $arguments)" = "$(act $file pfa $arguments)" ] || wrong+=" [$file pfa $arguments: $(act $file pfa $arguments)]"
	done
done
is 'wrong arguments on wrong descriptors: as without' '' "${wrong:-}"
finish
