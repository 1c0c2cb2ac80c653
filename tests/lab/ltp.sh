# ltp.sh: guest script, for by hand, as no package brings the Linux Test Project: its tests of files, with the
# verdicts that they have without the library.
#
#   tests/lab/lab -t 7200 -e LTP=/where/it/was/installed [-e ON='fat ext4 3'] [-e ONLY='^(write|AD)'] tests/lab/ltp.sh
#
# Not all of it need be built: what is not there is left out, as is what is not about files. mmap16 fails with the
# library: it expects no space for a page of a file that was extended, and ftruncate = preallocate has reserved it.
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
. "$PROJECT/tests/lab/places.sh"
[ -d "${LTP:-}/testcases/bin" ] || { echo '1..0 # SKIP needs LTP, the directory where the Linux Test Project is installed'; exit 0; }
export PATH=$PATH:$LTP/testcases/bin LTPROOT=$LTP LTP_COLORIZE_OUTPUT=n
about_files='^(AD|ADSP|aio|close|copy_file|creat|dio|dup|fallocate|fcntl|fdatasync|flock|fork|fs_fill|fsync|ftest|'
about_files+='ftruncate|gf|io_|l?lftest|l?lseek|mmap|msync|open|pwrite|pwritev|readahead|sendfile|splice|stream|sync|'
about_files+='tee|truncate|vfork|vmsplice|write)'
modprobe loop

verdict() { # PRELOAD DIR CONFIGURATION COMMAND
	local status
	mkdir "$2/task"
	# What takes longer ends by the limit on either side.
	(cd "$2/task" && TMPDIR=$2/task LTP_SINGLE_FS_TYPE=$kind FASTALLOC_CONFIG=/tmp/conf/$3 LD_PRELOAD=$1 \
		timeout -k 5 70 sh -c "$4" </dev/null >/tmp/ltp 2>&1)
	status=$?
	echo "status $status $(grep -oE 'T(PASS|FAIL|BROK|CONF|WARN)' /tmp/ltp | sort | uniq -c | paste -sd' ' | tr -s ' ')"
	rm -rf "$2/task"
}
all() { # NAME DIR CONFIGURATION
	local name command with plain attempt
	case $1 in FAT) kind=vfat ;; NFS*) kind=tmpfs ;; *) kind=$1 ;; esac
	while read -r name command; do
		for attempt in 1 2; do # not all of them always come to the same verdict
			with=$(verdict "$BUILD/libfastalloc.so" "$2" "$3" "$command")
			cp /tmp/ltp /tmp/ltp.with
			plain=$(verdict '' "$2" "$3" "$command")
			[ "$plain" != "$with" ] || break
		done
		is "$1, $name: $plain" "$plain" "$with"
		[ "$plain" = "$with" ] || grep -v TINFO /tmp/ltp.with | tail -n 12 | sed 's/^/# /'
	done < <(cat "$LTP"/runtest/{syscalls,fs,dio,ltp-aiodio.part[12]} | grep -E "$about_files" | grep -E "${ONLY:-.}" |
		while read -r name command; do if command -v "${command%% *}" >/dev/null; then echo "$name $command"; fi; done)
}
on_each "${ON:-fat ext4 4.1}" all
finish
