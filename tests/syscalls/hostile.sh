# What surrounds a program, as an enemy or an accident would have it: the configuration's file, the
# variables, the mounts, /proc. The program runs on, the library is quick, and silent but for one message.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$R" || exit 1
ERR=$W/err
unset FASTALLOC_CONFIG

# run NAME=VALUE...: what the program prints with them; stderr to $ERR. It must not wait for anything.
run() { timeout 20 env LD_PRELOAD="$LIB" "$@" "$ACT" a rdwr,creat,trunc pfa 0 4K blocks 2>"$ERR" </dev/null | flat; }
expected="pfa=0 blocks=4096"
# survives NAME REGEX VARIABLE...: the program's results are those of the built-in configuration, and
# stderr is one line like REGEX, or empty.
survives() {
	local name=$1 told=$2
	shift 2
	is "$name: the program runs on" "$expected" "$(run "$@")"
	if [ -n "$told" ]; then
		like "$name: told" "^fastalloc: [^[:cntrl:]]*$told[^[:cntrl:]]*\$" "$(cat "$ERR")"
	else
		is "$name: silent" '' "$(cat "$ERR")"
	fi
}
# syscalls VARIABLE...: how many system calls the library itself makes of the file, and how many bytes it reads.
reads() {
	strace -f -qq -o "$TRACE" -e trace=read,pread64,mmap -E LD_PRELOAD="$LIB" "${@/#/-E}" "$ACT" a rdwr,creat,trunc >/dev/null 2>&1 </dev/null
	awk '/ read\(/ && !/ELF/ {n++; sum += $NF} END {print n + 0, sum + 0}' "$TRACE"
}

# The configuration's file.
head -c $((10 << 20)) /dev/zero | tr '\0' '#' >"$W/huge"
survives '10 MiB' 'is larger than 1 MiB' FASTALLOC_CONFIG="$W/huge"
is '10 MiB: not a byte is read of it' "$(reads FASTALLOC_CONFIG=)" "$(reads FASTALLOC_CONFIG="$W/huge")"
truncate -s 8E "$W/holes" 2>/dev/null || truncate -s 1T "$W/holes"
survives 'a file of holes' 'is larger than 1 MiB' FASTALLOC_CONFIG="$W/holes"
for seed in 1 2 3 $(seq 4 "${LONG:+100}" 2>/dev/null); do
	python3 -c "import random, sys; random.seed($seed); sys.stdout.buffer.write(random.randbytes(9999 * $seed))" >"$W/binary"
	survives "binary ($seed)" 'binary:[0-9]+:[0-9]+: ' FASTALLOC_CONFIG="$W/binary"
done
head -c 100000 /dev/zero >"$W/zeros"
survives 'zeros' 'zeros:1:1: NUL byte' FASTALLOC_CONFIG="$W/zeros"
cp "$LIB" "$W/elf"
survives 'a program' 'elf:1:[0-9]+: ' FASTALLOC_CONFIG="$W/elf"
head -c 1000000 /dev/zero | tr '\0' '[' >"$W/bracket"
survives 'a line of brackets' 'bracket:1:1: ' FASTALLOC_CONFIG="$W/bracket"
printf '[path %s]\nsync = auto\nx' "$(head -c 100000 /dev/zero | tr '\0' '*')" >"$W/stars"
survives 'a name of 100,000 stars' 'stars:3:1: ' FASTALLOC_CONFIG="$W/stars"
mkfifo "$W/fifo"
survives 'a FIFO' 'is not a regular file' FASTALLOC_CONFIG="$W/fifo"
survives 'a directory' 'is not a regular file' FASTALLOC_CONFIG="$W"
survives '/dev/zero' 'is not a regular file' FASTALLOC_CONFIG=/dev/zero
survives '/dev/full' 'is not a regular file' FASTALLOC_CONFIG=/dev/full
survives 'a terminal' '(is not a regular file|cannot be opened)' FASTALLOC_CONFIG=/dev/tty
survives 'stdin' 'is not a regular file' FASTALLOC_CONFIG=/dev/stdin
ln -s loop "$W/loop"
survives 'a loop of links' 'cannot be opened' FASTALLOC_CONFIG="$W/loop"
survives 'below a file' 'no such file' FASTALLOC_CONFIG="$W/huge/x"
survives 'its own memory' '(cannot be read|is not a regular file)|' FASTALLOC_CONFIG=/proc/self/mem
: >"$W/closed" && chmod 0 "$W/closed"
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups true 2>/dev/null; then
	cp "$LIB" "$ACT" "$W" && chmod 755 "$W" && mkdir -m 777 "$W/open"
	is 'unreadable: the program runs on' "pfa=0" "$(env LD_PRELOAD="$W/libfastalloc.so" FASTALLOC_CONFIG="$W/closed" setpriv \
		--reuid 65534 --clear-groups "$W/act" "$W/open/a" rdwr,creat pfa 0 1M 2>"$ERR" | flat)"
	like 'unreadable: told' 'permission denied' "$(tail -n 1 "$ERR")"
else
	skip 'unreadable' 'needs root'
fi
# Work that grows with the file, not with its square: twice the bytes, twice the instructions.
if command -v valgrind >/dev/null; then
	instructions() { # LINE BYTES
		yes "$1" | head -c "$2" >"$W/lines"
		FASTALLOC_CONFIG=$W/lines LD_PRELOAD=$LIB valgrind --tool=none --stats=yes --log-file="$W/vg" "$ACT" a rdwr,creat >/dev/null 2>&1
		valgrind_blocks "$W/vg"
	}
	valgrind_blocks() { sed -n 's/.*scheduler: *\([0-9,]*\) event checks.*/\1/p' "$1" | tr -d ,; }
	none=$(instructions '' 0)
	for kind in x '""""""" """"'; do
		some=$(($(instructions "$kind" 20000) - none)) twice=$(($(instructions "$kind" 40000) - none))
		at_least "'$kind': counted" 10000 "$some"
		at_most "twice of '$kind': no more than twice the work" $((some * 22 / 10)) "$twice"
	done
else
	skip 'work' 'no valgrind'
fi

# Variables.
long=$(head -c 100000 /dev/zero | tr '\0' 'x')
binary=$(printf '\001\377\376%%n%%s\033[31m')
survives 'FASTALLOC_CONFIG: 100,000 bytes' 'cannot be opened' FASTALLOC_CONFIG="/$long"
survives 'FASTALLOC_CONFIG: bytes that are no text' 'no such file' FASTALLOC_CONFIG="$binary"
survives 'FASTALLOC_CONFIG: relative, and not there' 'none: no such file' FASTALLOC_CONFIG=none
survives 'empty ones' '' FASTALLOC_CONFIG= FASTALLOC_LOG= FASTALLOC_STATS= FASTALLOC_DISABLE= FASTALLOC_WATCH= XDG_CONFIG_HOME= HOME=
for name in HOME XDG_CONFIG_HOME FASTALLOC_STATS FASTALLOC_LOG FASTALLOC_DISABLE FASTALLOC_WATCH; do
	for value in "/$long" "$binary" / "$W/loop" /dev/full; do
		survives "$name=${value:0:9}" '' "$name=$value"
	done
done
for value in "debug:/$long" "debug:$long" "debug:$W" "debug:$W/loop" "debug:$W/none/none" "debug:$W/fifo" debug:/dev/full "debug$long" 4 DEBUG; do
	survives "FASTALLOC_LOG=${value:0:20}" '' FASTALLOC_LOG="$value"
done
for value in "/$(printf '%%p%.0s' {1..2000})" "$W/fifo" "$W/none/%p" "/$(printf '%%%.0s' {1..1022})" '%'; do
	survives "FASTALLOC_STATS=${value:0:20}" '' FASTALLOC_STATS="$value"
done
is 'no environment at all' "$expected" "$(timeout 20 env -i LD_PRELOAD="$LIB" "$ACT" a rdwr,creat,trunc pfa 0 4K blocks 2>&1 | flat)"
rm -rf "$W/huge" "$W/holes" "$R/a"

# The mounts. What is decided of a file on $M is told by what posix_fallocate does there.
mounted() { # NAME: a ramfs at $M, found among the mounts there are
	config '[fstype ramfs]' 'posix_fallocate = refuse' "[mount \"$M\"]" 'posix_fallocate = sparse'
	mount -t ramfs ramfs "$M" || { skip "$1" 'cannot be mounted' && return; }
	is "$1" "${2:-pfa=0 blocks=0}" "$(act "$M/f" rdwr,creat pfa 0 1000 blocks | sed 's/blocks=4096/blocks=0/')"
	umount "$M"
}
for name in 'with blank' '\040' '\' '\\' 'ümläut ★' '#' ' - ext4 ' '%s%n' '[x]' '*' "$(printf 'tab\tx')" "$(printf '\377\376\001\033')" '\999' 'a\040b c'; do
	M="$W/p/$name" && mkdir -p "$M"
	mounted "a mount at '$(tr -c '[:print:]' '?' <<<"$name" | head -c 20)'"
done
# Paths of which no configuration and no open can say the whole.
deep() { # COUNT BYTE: so many directories of 255 bytes each below $M
	local name i
	name=$(head -c 255 /dev/zero | tr '\0' "$2")
	mkdir -p "$W/deep" && cd "$W/deep" || exit 1
	for ((i = 0; i < $1; i++)); do mkdir -p "$name" && cd "./$name" || exit 1; done
	mkdir m && mount -t ramfs ramfs m
}
lines() { wc -L </proc/self/mountinfo; }
for depth in '2 d' '15 e' ${LONG:+'100 f' '300 g'}; do
	(deep ${depth% *} "${depth#* }") 2>/dev/null
done
(deep 70 "$(printf '\t')") 2>/dev/null
at_least 'a line of mountinfo that is longer than 64 KiB' 65537 "$(lines)"
M="$W/behind" && mkdir "$M"
mounted 'a mount behind lines of that length'
umount -R -l "$W/deep" 2>/dev/null
# Thousands.
count=${LONG:+20000} count=${count:-2000}
python3 - "$W/many" "$count" <<'EOF'
import ctypes, os, sys
libc = ctypes.CDLL(None)
os.makedirs(sys.argv[1])
for i in range(int(sys.argv[2])):
	path = b"%s/%d" % (sys.argv[1].encode(), i)
	os.mkdir(path)
	if libc.mount(b"x", path, b"tmpfs", 0, b"size=4k"):
		break
EOF
at_least 'mounts' $((count / 2)) "$(wc -l </proc/self/mountinfo)"
mounted 'a mount behind all of those'
strace -f -qq -o "$TRACE" -e trace=openat,read -E LD_PRELOAD="$LIB" "$ACT" "$W/behind/g" rdwr,creat write 1 1 write 1 1 write 1 1 write 1 1 close >/dev/null 2>&1
at_most 'mountinfo is read once for four writes' 1 "$(calls openat '.*mountinfo')"
umount -R -l "$W/many" 2>/dev/null

# /proc is not there, or not what it says. The [default] and [program] rules apply.
config '[default]' 'posix_fallocate = sparse' '[fstype ramfs]' 'posix_fallocate = refuse' '[path /**]' 'sync = never'
export LIB ACT
without_proc() {
	timeout 20 unshare -m sh -c "$1"'; LD_PRELOAD=$LIB exec "$ACT" p rdwr,creat,trunc pfa 0 1M write 1 1 size' 2>&1 | flat
}
is '/proc: empty' 'pfa=0 write=1 size=1048576' "$(without_proc 'mount -t tmpfs none /proc')"
for what in 'mkfifo' 'mkdir' ': >' 'ln -s mountinfo'; do
	is "/proc: mountinfo by $what" 'pfa=0 write=1 size=1048576' \
		"$(without_proc "mount -t tmpfs none /proc; mkdir /proc/self; $what /proc/self/mountinfo")"
done
head -c 3000000 /dev/urandom >"$W/random"
is '/proc: mountinfo of 3 MB of random bytes' 'pfa=0 write=1 size=1048576' \
	"$(without_proc "mount -t tmpfs none /proc; mkdir /proc/self; cp $W/random /proc/self/mountinfo")"
finish
