#!/bin/bash
# fuse.sh: filling on a FUSE file system without fallocate that counts requests and injects faults.
. "$PROJECT/tests/tap.sh"
act=$BUILD/tests/act
with="env LD_PRELOAD=$BUILD/libfastalloc.so"
do_with() { $with $act "$@" | paste -sd' '; }

[ -w /dev/fuse ] && command -v fusermount3 >/dev/null || { echo '1..0 # SKIP no /dev/fuse'; exit 0; }
dir=$(mktemp -d)
trap 'fusermount3 -uz "$dir" 2>/dev/null; rmdir "$dir"' EXIT
control=$dir/.control

serve() { # OPTION...: mount afresh
	fusermount3 -u "$dir" 2>/dev/null
	"$BUILD/tests/fusefs" "$dir" "$@" || { echo "1..0 # SKIP FUSE cannot be mounted here"; exit 0; }
}
count() { sed -n "s/^$1=//p" "$control"; }
tell() { echo "$*" >"$control"; }

serve --max-write 1048576
$with $act "$dir/warm" rdwr,creat pfa 0 4K >/dev/null
tell reset
is '256 MiB: size and blocks' 'pfa = 0 size = 268435456 blocks = 268435456 close = 0' \
	"$(do_with "$dir/a" rdwr,creat pfa 0 256M size blocks close)"
at_most '256 MiB: WRITE requests' $((256 + 16)) "$(count write)"
at_least '256 MiB: flushed before the call returned' 1 "$(count fsync)"
tell reset
is 'again: nothing is written' 'pfa = 0' "$(do_with "$dir/warm" rdwr pwrite 0 4K 65 pfa 0 4K | sed 's/pwrite = 4096 //')"
at_most 'again: WRITE requests (one is the test'"'"'s)' 1 "$(count write)"
is 'data in a hole is kept' 'pfa = 0 size = 8388608 pread = 0x00*1000,0x41*100,0x00*900' \
	"$($act "$dir/h" rdwr,creat ft 8M pwrite 3000000 100 65 >/dev/null; do_with "$dir/h" rdwr pfa 0 8M size pread 2999000 2000)"
is 'data in a hole: all is allocated' 'blocks = 8388608' "$(do_with "$dir/h" rdwr blocks)"
is 'ftruncate is not touched on FUSE' 'ft = 0 blocks = 0' "$(do_with "$dir/t" rdwr,creat ft 8M blocks)"
rm "$dir"/?

# A disk that is full, as statfs tells, as it does not, and as only the flush tells.
serve --capacity 64M
is 'too much: ENOSPC, nothing touched, fsync as it was' 'pwrite = 100 pfa = ENOSPC size = 100 blocks = 4096 fsync = 0 close = 0' \
	"$(do_with "$dir/a" rdwr,creat pwrite 0 100 65 pfa 0 100M size blocks fsync close)"
serve --capacity 64M --no-statfs
is 'statfs tells nothing: ENOSPC all the same, data kept' 'pwrite = 100 pfa = ENOSPC pread = 0x41*100' \
	"$(do_with "$dir/a" rdwr,creat pwrite 0 100 65 pfa 0 100M pread 0 100)"

# The same, with writers inside the range and no statfs to warn: undoing would lose what they wrote.
serve --capacity 6M --no-statfs
out=$($with "$BUILD/tests/stress" "$dir/s" 2 posix_fallocate writers 2 size 8M expect-enospc 2>&1 | tail -n 1)
echo "# $out"
like 'a full disk and writers in the range: ENOSPC, nothing acknowledged is lost' \
	' lost=0 lost_appended=0 .*errors=ENOSPC' "$out"

# Faults. An error about space is ours; any other is the program's too.
serve
$with $act "$dir/warm" rdwr,creat pfa 0 4K >/dev/null
for fault in EIO EDQUOT ENOSPC; do
	tell fail write 3+ $fault
	is "$fault while appending: told by the call alone" "pfa = $fault fsync = 0" \
		"$(do_with "$dir/f$fault" rdwr,creat pfa 0 8M fsync)"
	tell clear
done
tell fail write 3+ EIO
is 'EIO while populating: told by the call, and by the next fsync' 'ft = 0 pfa = EIO fsync = EIO fsync = 0' \
	"$(do_with "$dir/p" rdwr,creat ft 8M pfa 0 8M fsync fsync)"
tell clear
tell fail write 3+ ENOSPC
is 'ENOSPC while populating: told by the call alone' 'ft = 0 pfa = ENOSPC fsync = 0' \
	"$(do_with "$dir/q" rdwr,creat ft 8M pfa 0 8M fsync)"
tell clear
tell fail fsync 2 EIO
is 'EIO of the last flush: told by the call, and by the next fsync' 'pfa = EIO fsync = EIO fsync = 0' \
	"$(do_with "$dir/r" rdwr,creat pfa 0 8M fsync fsync)"
tell fail fsync 1 EIO
is 'EIO of older writes: nothing touched, and fsync tells it' 'pfa = EIO size = 0 fsync = EIO fsync = 0' \
	"$(do_with "$dir/g" rdwr,creat pfa 0 8M size fsync fsync)"
tell fail fsync 1 EIO
is 'EIO of older writes: fdatasync tells it' 'pfa = EIO fdatasync = EIO fdatasync = 0' \
	"$(do_with "$dir/g" rdwr,creat pfa 0 8M fdatasync fdatasync)"
tell fail fsync 1 EIO
is 'EIO of older writes: close tells it' 'pfa = EIO close = EIO' "$(do_with "$dir/g" rdwr,creat pfa 0 8M close)"

# No shared mapping: zeros are appended.
serve --direct-io
$with $act "$dir/warm" rdwr,creat pfa 0 4K >/dev/null
is 'direct I/O: size, blocks and data' 'pwrite = 100 pfa = 0 size = 8388608 blocks = 8388608 pread = 0x41*100,0x00*100' \
	"$(do_with "$dir/a" rdwr,creat pwrite 0 100 65 pfa 0 8M size blocks pread 0 200)"
is 'direct I/O: below EOF' 'ft = 0 pwrite = 100 pfa = 0 size = 1048576 blocks = 1048576 pread = 0x00*100,0x42*100,0x00*100' \
	"$(do_with "$dir/b" rdwr,creat ft 1M pwrite 500100 100 66 pfa 0 1M size blocks pread 500000 300)"
tell short write 1 1000
is 'direct I/O: a short write is continued' 'pfa = 0 size = 8388608 blocks = 8388608' \
	"$(do_with "$dir/c" rdwr,creat pfa 0 8M size blocks)"
tell fail write 2 EINTR
is 'direct I/O: EINTR is continued' 'pfa = 0 size = 8388608 blocks = 8388608' \
	"$(do_with "$dir/d" rdwr,creat pfa 0 8M size blocks)"
tell fail write 2+ EIO
is 'direct I/O: EIO is told' 'pfa = EIO' "$(do_with "$dir/e" rdwr,creat pfa 0 8M)"

# What is appended comes short: the N-th WRITE takes so many bytes only, and is continued; or it comes so,
# and the one behind it fails: then the errno is told, zeros are kept as far as they came, and nothing else.
cut_short() { # FLAGS N BYTES [ERROR]: adds to $wrong
	local out size want='pwrite = 100 pfa = 0 size = 3000001 blocks = 3002368 fds' file=$dir/short
	tell short write "$2" "$3"
	[ -z "${4:-}" ] || tell fail write "$((${2%+} + 1))+" "$4"
	out=$(do_with "$file" "$1,creat" pwrite 0 100 65 pfa 100 2999901 size blocks fds fsync close)
	tell clear
	out=${out/fds = $fds fsync = 0 close = 0/fds}
	if [ -n "${4:-}" ]; then
		[[ $out =~ size\ =\ ([0-9]+) ]] && size=${BASH_REMATCH[1]}
		want="pwrite = 100 pfa = $4 size = $size blocks = $(((size + 4095) / 4096 * 4096)) fds"
		[ "$size" -ge 100 ] && [ "$size" -lt 3000001 ] || want=''
		# What was refused comes in once there is room.
		[ "$($act "$file" rdonly pread 0 4M)" = "pread = 0x41*100${size:+,0x00*$((size - 100))}" ] || want=''
		[ "$(do_with "$file" rdwr pfa 0 3000001 size blocks)" = 'pfa = 0 size = 3000001 blocks = 3002368' ] || want=''
	fi
	[ "$out" = "$want" ] || wrong+="$*: $out; "
	[ "$($act "$file" rdonly pread 0 4M)" = 'pread = 0x41*100,0x00*2999901' ] || wrong+="$*: data; "
	rm "$file"
}
turn=0 errors=(ENOSPC EIO EDQUOT)
for option in '' --direct-io; do
	serve $option --no-statfs
	fds=$(do_with "$dir/warm" rdwr,creat pwrite 0 100 65 pfa 0 4K fds)
	fds=${fds##* } wrong=''
	for flags in rdwr wronly rdwr,append; do
		for n in 2 3 ${LONG:+4 5 6}; do
			for bytes in 1 4096 12289 ${LONG:+1000 65537}; do
				cut_short $flags $n $bytes
				if [ -n "${LONG:-}" ]; then
					for error in "${errors[@]}"; do cut_short $flags $n $bytes "$error"; done
				else
					cut_short $flags $n $bytes "${errors[turn++ % 3]}"
				fi
			done
		done
		cut_short $flags 3+ 10000
	done
	tell short write 3+ 0
	like "appends of which nothing is taken $option: told" '^pfa = (ENOSPC|EIO)$' "$(do_with "$dir/none" rdwr,creat pfa 0 3000001)"
	is "short appends $option: continued; an error behind one is told, and no more is kept than came" '' "$wrong"
done
# Others write and append to it meanwhile, in pieces that come whole; there is room, or not. (Without a
# mapping the look before a byte below EOF is no protection: only appenders then.)
among_others() { # NAME SERVE_OPTION OPTION...
	local name=$1 option=$2 error=none out
	shift 2
	serve --no-statfs $option
	[[ $* != *expect-enospc* ]] || error=ENOSPC
	tell short write 1+ 1000
	out=$($with "$BUILD/tests/stress" "$dir/s" "${LONG:+2}1" posix_fallocate size 256K "$@" 2>&1 | tail -n 1)
	echo "# $out"
	like "short appends, $name: nothing acknowledged is lost" "acknowledged=[1-9][0-9]* lost=0 lost_appended=0 badsize=0 errors=$error" "$out"
}
among_others 'writers and an appender' '' writers 2 appenders 1
among_others 'appenders, direct I/O' --direct-io writers 0 appenders 2
among_others 'writers, a full disk' '--capacity 150K' writers 2 expect-enospc

serve --max-write 1048576
config=$(mktemp)
printf '[default]\nftruncate = allocate\n' >"$config"
for call in ft tr; do
	is "$call, allocate: filled, which sets the size, and success" "$call = 0 size = 1048576 blocks = 1048576" \
		"$(FASTALLOC_CONFIG=$config do_with "$dir/$call" rdwr,creat $call 1M size blocks)"
done
ok 'ftruncate, allocate: a program sees success' env FASTALLOC_CONFIG="$config" $with truncate -s 1M "$dir/program"
rm "$config"
finish
