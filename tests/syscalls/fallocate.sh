# fallocate(2) as the program calls it.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$R" || exit 1

is 'native: EOPNOTSUPP stays' 'fa=EOPNOTSUPP size=0' "$(act a rdwr,creat fa 0 0 1M size)"
traced -P "$R/a" -e trace=fallocate,statx,pwritev2 -- a rdwr fa 0 0 1M >/dev/null
is 'native: one call goes to the kernel' 1 "$(calls fallocate '3, 0, 0, 1048576')"
is 'native: no other on the file' 0 "$(calls '(statx|pwritev2)')"
is 'native: every entry point' 'fallocates=posix_fallocate:0 posix_fallocate64:0 fallocate:EOPNOTSUPP fallocate64:EOPNOTSUPP' \
	"$(act b rdwr,creat fallocates 0 1M)"
for mode in keep punch zero collapse 0x20 0x40 0x1000; do
	is "tmpfs, mode $mode: as without" "$(rm -f "$W/c"; plain "$W/c" rdwr,creat pwrite 0 1M 65 fa $mode 4096 8192 size blocks pread 0 2M)" \
		"$(rm -f "$W/c"; act "$W/c" rdwr,creat pwrite 0 1M 65 fa $mode 4096 8192 size blocks pread 0 2M)"
done

config '[default]' 'fallocate = auto'
is 'auto: fills' "fa=0 size=$MiB blocks=$MiB" "$(act d rdwr,creat fa 0 0 1M size blocks)"
is 'auto: every entry point' 'fallocates=posix_fallocate:0 posix_fallocate64:0 fallocate:0 fallocate64:0' \
	"$(act e rdwr,creat fallocates 0 1M)"
is 'auto: locks and offset stay' 'seek=7 plock=0 fa=0 pos=7 islocked=posix write 0 1' \
	"$(act f rdwr,creat seek 7 plock 0 1 fa 0 0 1M pos islocked)"
is 'auto: O_WRONLY, O_APPEND' "fa=0 size=1000001" "$(act g wronly,creat,append fa 0 0 1000001 size)"
is 'auto: RLIMIT_FSIZE' 'rlimit=0 sigxfsz=0 fa=EFBIG signals=0 size=0' \
	"$(act h rdwr,creat rlimit fsize 1M sigxfsz count fa 0 0 2M signals size)"
for mode in keep punch zero collapse 0x20 0x40 0x1000; do
	traced -P "$R/d" -e trace=fallocate,statx,pwritev2,mmap -- d rdwr fa $mode 4096 8192 >"$W/out"
	is "auto, mode $mode: passed on unchanged" "$(plain d rdwr fa $mode 4096 8192) 1 0" \
		"$(cat "$W/out") $(calls fallocate) $(calls '(statx|pwritev2|mmap)')"
done
wrong=
mkfifo fifo
for arguments in '-1 0' '-1 -1' '0 0' '0 -1' 'max 1' '1 max'; do
	for file in 'd rdwr' 'd rdonly' 'd path' 'fifo rdwr' "$W rdonly" '/dev/null rdwr'; do
		# shellcheck disable=SC2086 # words
		[ "$(plain $file fa 0 $arguments)" = "$(act $file fa 0 $arguments)" ] || wrong+=" [$file fa 0 $arguments]"
	done
done
is 'auto: wrong arguments on wrong descriptors: as without' '' "$wrong"
same 'auto: /dev/null' /dev/null rdwr fa 0 0 1M
same 'auto: directory' "$W" rdonly fa 0 0 1M
same 'auto: block device or none' /dev/loop0 rdonly fa 0 0 4096
config '[default]' 'fallocate = auto' 'zero_fill_max = 64K'
is 'auto: zero_fill_max' 'fa=EOPNOTSUPP fa=0' "$(act i rdwr,creat fa 0 0 65537 fa 0 0 65536)"
finish
