# Every system call the library makes, failing: each scenario is traced once, then run again for
# each call of the library's own (those made from its code) and each error, which strace injects.
# Then the program must see what it saw without the fault, or the error where it is the answer to
# what it asked; what was written must be there, and what was to be given back be given back.
# By default each call fails in one way, in turn; LONG=1: in every way.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$R" || exit 1
errors=(ENOSPC EIO EPERM EINTR ENOMEM ENOSYS EDQUOT)
builtin='fastalloc: [^;]*; using the built-in configuration'

# The scenario: what is run, in `scene`; before each time, in `before`; and what may differ.
begin() { # NAME
	name=$1 scene=() variables=() told='' told_as='' late='' early='' quiet='' doubt='' doubt_as='' startup='' runs=0 same=0 tell=0 wrong=''
	before() { rm -f a; }
}

# result: what the program said, on one line, to $out (no processes: there are many runs)
result() {
	local lines
	mapfile -t lines <"$W/out"
	lines=("${lines[@]/ = /=}")
	out=${lines[*]}
	# How many blocks the file system needs for so many extents is its own matter.
	if [ -n "$late" ] && [[ $out =~ size=([0-9]+)\ blocks=([0-9]+) ]]; then
		out=${out/ blocks=${BASH_REMATCH[2]}/ kept=$((BASH_REMATCH[2] > BASH_REMATCH[1] + 16384))}
	fi
}

# run STRACE_OPTION...: the scenario; its results, and how it ended if not well, to $out
run() {
	before
	timeout 20 strace -f -qq -i -o "$TRACE" -E LD_PRELOAD="$LIB" "${variables[@]}" "$@" "$ACT" "${scene[@]}" >"$W/out" 2>&1
	local status=$?
	result
	[ $status = 0 ] || out+=" status=$status"
}

# own: of a full trace, the calls that come from the library's code, a line each: NAME, the how
# manieth of that name it is in its process (as strace counts), and "late" after the program's last
# write to its file, or where windows are given back before
own() {
	awk -v startup="$startup" -v early="$early" '
		function number(hex,    i, n) {
			for (i = 1; i <= length(hex); i++)
				n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
			return n
		}
		{
			at = $2; gsub(/[][]/, "", at)
			call = $3; sub(/\(.*/, "", call)
			if ($3 !~ /^[a-z0-9_]+\(/) next
			count[$1, call]++
		}
		/openat\(.*libfastalloc\.so/ { opening = 1 }
		opening && call == "mmap" {
			size = $4; sub(/,/, "", size); base = $NF; sub(/0x/, "", base)
			low = number(base); high = low + size; opening = 0
			next
		}
		{ ours = low && number(at) >= low && number(at) < high }
		!ours && /write(v|64)?\(3,/ { last = NR }
		!ours && call == "openat" && /O_CREAT/ { opened = 1 }
		# A lease is always given up.
		ours && (startup || opened) && !/F_UNLCK/ { line[NR] = call " " count[$1, call] }
		END {
			for (i = 1; i <= NR; i++)
				if (i in line && !seen[line[i]]++)
					print line[i], (early || (last && i > last) ? "late" : "")
		}' "$TRACE"
}

# permitted OUTPUT CALL ERROR LATE: is this, which differs from what is wanted, an answer?
permitted() {
	local pattern fds='fds=[0-9]+' kept='kept=[01]'
	# The configuration cannot be read, and a message says so; or the log has nowhere to go.
	[ -z "$quiet" ] || [ "$(sed -E "s/($quiet) ?//" <<<"$1")" != "$want" ] || return 0
	# The library stands aside, or (EPERM from the first flush) lets libc try, and tells later.
	[ "$1" != "$without" ] || return 0
	[ "$2" != fdatasync ] || [ "${1/fsync=$3/fsync=0}" != "$without" ] || return 0
	[[ " $doubt " != *" $2 "* ]] || [[ ! $1 =~ $doubt_as ]] || return 0
	# A close that strace made fail has not closed; the kernel's has (close(2)).
	[ "$2" != close ] || [ "$(sed -E "s/$fds//" <<<"$1")" != "$(sed -E "s/$fds//" <<<"$want")" ] || return 0
	# Not given back, as the call that would have done so, or proves that it may be done, failed.
	[ "$4" != late ] || [[ " $late " != *" $2 "* ]] ||
		[ "$(sed -E "s/$kept//" <<<"$1")" != "$(sed -E "s/$kept//" <<<"$want")" ] || return 0
	# After EINTR it goes on; but F_GETFL does not wait.
	[[ " $told " = *" $2 "* ]] && { [ "$3" != EINTR ] || [ "$2" = fcntl ]; } || return 1
	pattern=${told_as//ERROR/$3}
	[[ $want =~ $fds ]] && pattern=${pattern//FDS/${BASH_REMATCH[0]}}
	[[ $1 =~ ^$pattern$ ]]
}

# once CALL NUMBER ERROR LATE: run with that call failing
once() {
	local trace
	run -e trace="$1" -e inject="$1:error=$3:when=$2"
	runs=$((runs + 1))
	trace=$(<"$TRACE")
	if [[ $trace != *INJECTED* ]]; then
		# Files of /proc can be shorter by now.
		[ "$1" = read ] && [ "$out" = "$want" ] && same=$((same + 1)) && return
		wrong+="$1 $2 $3: was not made; "
	elif [ "$out" = "$want" ]; then
		same=$((same + 1))
	elif permitted "$out" "$1" "$3" "${4:-}"; then
		tell=$((tell + 1))
	else
		wrong+="$1 $2 $3: $out; "
	fi
}

# inject LEAST: every call, of which there are so many at least
inject() {
	local call number late_call turn=0 error i calls
	before
	"$ACT" "${scene[@]}" >"$W/out" 2>&1
	result
	without=$out
	run
	want=$out
	mapfile -t calls < <(own)
	for i in "${calls[@]}"; do
		read -r call number late_call <<<"$i"
		if [ -n "${LONG:-}" ]; then
			for error in "${errors[@]}"; do once "$call" "$number" "$error" "$late_call"; done
		else
			once "$call" "$number" "${errors[turn % 7]}" "$late_call"
			turn=$((turn + 3))
		fi
	done
	is "$name: every fault is silent, or told" '' "${wrong%; }"
	at_least "$name: calls of the library" "$1" "${#calls[@]}"
	echo "# $name: ${#calls[@]} calls, $runs runs: $same as without the fault, $tell told; $want"
}

# Windows, in a directory on ext4 or FAT: whatever fails, all is as without the library.
windows() { # NAME
	begin "$1"
	late='fcntl statx ftruncate fgetxattr getpid gettid clock_gettime rt_sigprocmask'
	before() { rm -f "$dir/a"; }
}
unseen() { # LEAST
	inject "$1"
	is "$name: all is as without the library" "$without" "$want"
}
windows_in() { # DIRECTORY
	dir=$1
	config '[default]' 'write = preallocate'
	windows 'window'
	scene=("$dir/a" rdwr,creat,trunc write 100000 1 write 200000 2 write 300000 3 pwrite 5000 90000 4)
	scene+=(close size blocks reopen pread 0 1M fds)
	unseen 30
	windows 'window of a FILE stream'
	scene=("$dir/a" rdwr,creat close fopen w+ fwrite 200000 1 fwrite 300000 2 fclose size blocks reopen pread 0 1M fds)
	unseen 30
	# A child's own, given back before it forks.
	windows 'windows, and forks'
	scene=("$dir/a" rdwr,creat,trunc write 100000 1 close fork reopen pwrite 100000 120000 2 fork pwrite 220000 5000 3)
	scene+=(close size blocks reopen pread 0 1M fds)
	early=1
	quiet=$builtin # strace counts for each process: the one that reads the configuration may be hit
	unseen 20
	windows 'windows, and a write that RLIMIT_FSIZE cuts short'
	scene=("$dir/a" rdwr,creat,trunc sigxfsz ignore rlimit fsize 350000 write 100000 1 write 200000 2 write 300000 3)
	scene+=(write 10000 4 close size blocks reopen pread 0 1M fds)
	unseen 30
}
# On FAT what a killed process left is cut before the file is extended, or was opened for that.
healing_in() { # DIRECTORY
	local open
	dir=$1
	config '[default]' 'write = preallocate'
	for open in rdwr,creat rdwr,creat,append; do
		windows "healing: $open"
		before() {
			rm -f "$dir/a"
			{ LD_PRELOAD=$LIB "$ACT" "$dir/a" rdwr,creat,trunc write 100000 1 write 200000 2 die >/dev/null; } 2>/dev/null
		}
		scene=("$dir/a" "$open" blocks pwrite 300000 10000 3 close size blocks reopen pread 0 1M fds)
		inject 15
		like "$name: cut" 'size=310000 kept=0' "$want"
		like "$name: not so without" 'size=310000 kept=1' "$without"
	done
	windows 'windows of a file that ftruncate extends'
	scene=("$dir/a" rdwr,creat,trunc ft 100000 ft 200000 pwrite 0 1000 1 ft 300000 close size blocks reopen pread 0 1M fds)
	unseen 30
}
# With an argument, a directory on FAT, that alone: tests/lab/test-inject.sh.
if [ -n "${1:-}" ]; then
	healing_in "$1"
	[ -z "${LONG:-}" ] || windows_in "$1"
	finish
fi

# Filling. An error about the file is told; whatever was reached holds zeros or the data.
past() {
	told='fallocate pwritev2 pwrite64 fdatasync statx pread64'
	told_as='pfa=ERROR size=([0-9]+) blocks=[0-9]+ pread=(0|0x00\*[0-9]+) FDS'
}
below() {
	past
	told_as='ft=0 pwrite=5000 pfa=ERROR size=3000001 blocks=[0-9]+ pread=0x00\*70000,0x41\*5000,0x00\*2925001 FDS'
}
past_scene=(a rdwr,creat pfa 0 3000001 size blocks pread 0 4M fds)
below_scene=(a rdwr,creat ft 3000001 pwrite 70000 5000 65 pfa 0 3000001 size blocks pread 0 4M fds)

begin 'past EOF'
past
scene=("${past_scene[@]}")
inject 10
begin 'below EOF'
below
scene=("${below_scene[@]}")
inject 20
begin 'without a mapping'
below
scene=(a rdwr,creat ft 40000 pwrite 8192 100 65 rlimit as 4M pfa 0 48000 size blocks pread 0 1M)
told_as='ft=0 pwrite=100 rlimit=0 pfa=ERROR size=[0-9]+ blocks=[0-9]+ pread=0x00\*8192,0x41\*100,0x00\*[0-9]+'
inject 30
begin 'O_WRONLY'
past
scene=(a wronly,creat pfa 0 3000001 size blocks fds)
told_as='pfa=ERROR size=[0-9]+ blocks=[0-9]+ FDS'
inject 10
begin 'O_APPEND'
past
scene=(a rdwr,creat,append pfa 0 300001 size blocks pread 0 1M fds)
inject 10
begin 'from behind EOF, flushed'
past
config '[default]' 'sync = always' 'fallocate = auto'
scene=(a rdwr,creat fa 0 100000 300001 size blocks pread 0 1M fsync fds)
told_as='fa=ERROR size=[0-9]+ blocks=[0-9]+ pread=(0|0x00\*[0-9]+) fsync=(0|ERROR) FDS'
inject 12
begin 'below EOF, flushed'
below
scene=("${below_scene[@]}" fsync)
told_as+=' fsync=(0|ERROR)'
inject 20
begin 'sparse'
past
config '[default]' 'posix_fallocate = sparse'
scene=("${past_scene[@]}")
inject 10

# On FUSE, whose blocks tell, by a mapping and without; the last of them is the server's to close.
fuse() { # OPTION...: serve at $W/fuse
	mkdir -p "$W/fuse"
	umount "$W/fuse" 2>/dev/null
	"$BUILD/tests/fusefs" "$W/fuse" "$@" 2>/dev/null
}
stock
for option in '' --direct-io; do
	# shellcheck disable=SC2086 # none, where empty
	fuse $option || continue
	begin "FUSE $option"
	below
	before() { rm -f "$W/fuse/a"; }
	scene=("$W/fuse/a" rdwr,creat ft 40000 pwrite 8192 100 65 pfa 0 50000 blocks size pread 0 1M fds fsync close)
	told_as='ft=0 pwrite=100 pfa=ERROR blocks=[0-9]+ size=[0-9]+ pread=0x00\*8192,0x41\*100,0x00\*[0-9]+ FDS fsync=(0|ERROR) close=(0|ERROR)'
	inject 15
done
umount "$W/fuse" 2>/dev/null

# On ext4.
mkdir "$W/disk"
truncate -s 40M "$E/image"
if mkfs.ext4 -q -F -b 4096 -m 0 "$E/image" 2>/dev/null && mount -o loop "$E/image" "$W/disk" 2>/dev/null; then
	windows_in "$W/disk"
	windows 'windows that end: truncated, duplicated, allocated'
	scene=("$dir/a" rdwr,creat,trunc write 150000 1 ft 100000 seek 100000 write 200000 2 pfa 0 310000 write 100000 3)
	scene+=(dup write 100000 4 fsync close size reopen pread 0 1M fds)
	told='fallocate'
	told_as='write=150000 ft=0 seek=100000 write=200000 pfa=ERROR .*'
	inject 30
	# Not knowing, the kernel is asked, which takes all there is.
	windows 'a full disk, refused'
	doubt='statx mmap openat read fstatfs fallocate' doubt_as='pfa=ENOSPC size=3[0-9]{7} '
	scene=("$dir/a" rdwr,creat pwrite 0 5000 1 pfa 0 1G size pread 0 1M fds)
	told=fallocate
	told_as='pwrite=5000 pfa=ERROR size=5000 pread=0x01\*5000 FDS'
	inject 8
	windows 'windows, and a write that a full disk cuts short'
	fallocate -l 28M "$dir/others"
	scene=("$dir/a" rdwr,creat,trunc write 100000 1 write 200000 2 write 60M 3 close size blocks reopen pread 0 1M fds)
	unseen 30
else
	skip 'windows' 'no loop devices'
fi

# Resizing: without an allocation, where it is only preferred.
for policy in preallocate allocate; do
	config '[default]' "ftruncate = $policy"
	for op in ft tr; do
		for where in ram disk; do
			if [ $where = disk ]; then disk || continue; fi
			begin "ftruncate = $policy, $op, $where"
			told='fallocate pwritev2 pwrite64 fdatasync statx pread64'
			[ $policy = allocate ] && told+=' fcntl' || told=''
			# Whether the process has locks that opening the file would drop is not known then.
			[ "$policy $op" != 'allocate tr' ] || doubt='mmap openat read' doubt_as='tr=EBUSY size=5000 '
			[ $where = ram ] && file=a || file=$E/a
			before() { rm -f "$file"; }
			scene=("$file" rdwr,creat pwrite 0 5000 65 $op 300001 size blocks pread 0 1M)
			told_as="pwrite=5000 $op=ERROR size=[0-9]+ blocks=[0-9]+ pread=0x41\*5000(,0x00\*[0-9]+)? FDS"
			scene+=(fds)
			inject 4
		done
	done
done

# Loading the configuration, the log and the statistics are the library's own matter.
begin 'start, configured'
config '[default]' 'posix_fallocate = auto'
startup=1
told=''
quiet=$builtin
scene=(a rdwr,creat pfa 0 4096 size blocks pread 0 4K fds)
past
inject 14
begin 'start, configured at home'
unset FASTALLOC_CONFIG
mkdir -p "$W/home/.config/fastalloc" && printf '[default]\n' >"$W/home/.config/fastalloc/preload.conf"
startup=1
variables=(-E HOME="$W/home")
quiet=$builtin
scene=(a rdwr,creat ft 4096 size fds)
inject 7
begin 'log and statistics'
stock
startup=1
quiet=$builtin
variables=(-E FASTALLOC_LOG="debug:$W/log" -E FASTALLOC_STATS="$W/stats")
scene=(a rdwr,creat ft 4096 pfa 0 0 size fds)
inject 15
finish
