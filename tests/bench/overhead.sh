#!/bin/bash
# overhead.sh [ROUNDS]: what it costs to be loaded, beside other libraries that are preloaded: on the host, no root.
#
#     tests/bench/overhead.sh 7
#
# Sides: plain; eatmydata and nocache, which do not interpose write; socket-wrapper; fastalloc; fastalloc-window:
# write = preallocate everywhere, and the process has a file with a window; for starts, fastalloc-file: with its
# configuration in a file, as installed. What is not there is left out, with a message. `ns=` is for a call, or a
# pair of open and close; `us=` for a start of /bin/true.
#
#     write-null, pwrite-tmpfs      a byte to /dev/null; 4 KiB to the same place on tmpfs
#     write-stub, pwrite-stub       the same with nothing behind the libraries: the interposition alone
#                                   (fastalloc-window: to the file that has the window)
#     open-close, open-close-write  on tmpfs, for reading and for writing
#     rewrite                       open, write a byte in place, close, on tmpfs
#     threads-N, threads-N-one      write-null in N threads, with a descriptor each and with one; `rate=` is of all
#     descriptors-N-open, -write    with N others open for writing; descriptors-N: the process's memory then, `rss=`
#                                   and `dirty=`, what it shares with nobody (KiB)
#     exec, exec-N                  with the usual limit of descriptors, and with N (RLIMIT_NOFILE)
#
# `instructions=`, in user space (callgrind), and `syscalls=` (strace) come in lines of their own: what N calls more
# cost, divided by N; for exec, all of a run of /bin/true.
# Variables: QUICK=1 a round of 20 ms; CASES='write open descriptors threads exec' (parts of it); DESCRIPTORS='10
# 1000'; SHM=/dev/shm; DISK=/var/tmp, where files can have windows.
set -euo pipefail
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-$PWD/build} rounds=${1:-${QUICK:-7}} ms=200
[ -z "${QUICK:-}" ] || ms=20
cases=${CASES:-write open descriptors threads exec}
overhead=$BUILD/tests/overhead stub=$BUILD/tests/libstub.so true=$(type -P true)
shm=$(mktemp -d "${SHM:-/dev/shm}/bench.XXXXXX") disk=$(mktemp -d "${DISK:-/var/tmp}/bench.XXXXXX")
trap 'rm -rf "$shm" "$disk"' EXIT
unset "${!FASTALLOC_@}" "${!SOCKET_WRAPPER_@}" LD_PRELOAD
ulimit -S -n 1024
status=0

say() { echo "overhead.sh: $*" >&2; }

declare -A library=([plain]='')
sides='plain'
# side NAME FILE...: the first of these that is there
side() {
	local name=$1 file
	shift
	for file; do
		[ -f "$file" ] || continue
		library[$name]=$file
		sides+=" $name"
		return
	done
	say "$name is not installed"
}
places=(/usr/lib/*-linux-gnu* /usr/lib64 /usr/lib)
side eatmydata "${places[@]/%//libeatmydata.so}" "${places[@]/%//libeatmydata.so.1}"
side nocache "${places[@]/%//nocache/nocache.so}" "${places[@]/%//nocache.so}"
side socket-wrapper "${places[@]/%//libsocket_wrapper.so}" "${places[@]/%//libsocket_wrapper.so.0}"
side fastalloc "$BUILD/libfastalloc.so"
side fastalloc-window "$BUILD/libfastalloc.so"
library[fastalloc-file]=$BUILD/libfastalloc.so
# only NAME...: those of the sides
only() {
	local side
	for side in $sides; do case " $* " in *" $side "*) echo "$side" ;; esac done
}

mkdir "$shm/sockets"
head -c 4096 /dev/zero >"$shm/file"
printf '%s\n' '[default]' 'write = preallocate' 'window = 16M' 'window_after = 0' >"$shm/windows.conf"

# load CASE SIDE: the variables for it, and the program's options and file
load() {
	local preload=${library[$2]}
	options=() file=$shm/file
	case $1 in
	*-stub) preload+=:$stub ;;&
	write-* | threads-* | descriptors-*-write) file=/dev/null ;;
	exec*) file=$true ;;
	esac
	variables=(XDG_CONFIG_HOME="$shm" LD_PRELOAD="${preload#:}")
	case $2 in
	socket-wrapper) variables+=(SOCKET_WRAPPER_DIR="$shm/sockets") ;;
	fastalloc-file) variables+=(FASTALLOC_CONFIG="$PWD/preload.conf") ;;
	fastalloc-window)
		variables+=(FASTALLOC_CONFIG="$shm/windows.conf")
		options=(-w "$disk/windowed")
		[[ $1 != *-stub ]] || file=$disk/windowed
		;;
	esac
}

# one CASE SIDE ARGUMENT...: a line of what the program prints
one() {
	local case=$1 side=$2 printed failed=0
	shift 2
	load "$case" "$side"
	printed=$(env "${variables[@]}" "$overhead" "${options[@]}" -m $ms "$@" "$file") || failed=$?
	case $failed in
	0) echo "$case $side $printed" ;;
	77) say "$case $side: left out" ;;
	*) say "$case $side: status $failed" && status=1 ;;
	esac
}

# timed CASE SIDES ARGUMENT...: rounds of it
timed() {
	local i side
	for ((i = 0; i < rounds; i++)); do
		for side in $2; do one "$1" "$side" "${@:3}"; done
	done
}

# instructions COMMAND...; calls COMMAND...: of the whole run
instructions() {
	env "${variables[@]}" valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null |
		sed -n 's/.*Collected : //p'
}
calls() {
	strace -f -qq -e signal=none -o "$shm/trace" "${variables[@]/#/-E}" "$@" >/dev/null 2>&1 &&
		grep -vc resumed\> "$shm/trace"
}
# per N COUNTER COMMAND...: what a call costs, by N and by twice as many
per() {
	local less more
	less=$("$2" "${@:3}" -n "$1" "${arguments[@]}") && more=$("$2" "${@:3}" -n $(($1 * 2)) "${arguments[@]}") &&
		awk "BEGIN { print ($more - $less) / $1 }"
}
# counted CASE SIDES ARGUMENT...: a line for each side
counted() ( # a process with few descriptors, or nocache's start takes seconds under strace
	ulimit -n 1024
	local side number arguments line
	for side in $2; do
		load "$1" "$side"
		arguments=("${@:3}" "$file") line=
		if type valgrind &>/dev/null && number=$(per 1000 instructions "$overhead" "${options[@]}"); then
			line+=" instructions=$number"
		fi
		if type strace &>/dev/null && number=$(per 100 calls "$overhead" "${options[@]}"); then
			line+=" syscalls=$number"
		fi
		[ -z "$line" ] || echo "$1 $side$line"
	done
)
# measured CASE SIDES ARGUMENT...: both
measured() { counted "$@" && timed "$@"; }

# counted_start CASE SIDES
counted_start() {
	local side line
	for side in $2; do
		load "$1" "$side"
		line=
		! type valgrind &>/dev/null || line+=" instructions=$(instructions "$true")"
		! type strace &>/dev/null || line+=" syscalls=$(calls "$true")"
		[ -z "$line" ] || echo "$1 $side$line"
	done
}

may_have() { (ulimit -S -n "$1") 2>/dev/null || (ulimit -n "$1") 2>/dev/null; }

loaded=$(only plain eatmydata nocache socket-wrapper fastalloc) interposed=$(only plain socket-wrapper fastalloc)
windowed=$(only fastalloc-window)
for part in $cases; do
	case $part in
	write)
		measured write-null "$sides" write
		measured pwrite-tmpfs "$sides" pwrite
		[ -n "${QUICK:-}" ] || counted write-stub "$sides" write
		timed write-stub "$interposed $windowed" write
		[ -n "${QUICK:-}" ] || counted pwrite-stub "$sides" pwrite
		timed pwrite-stub "$interposed $windowed" pwrite
		;;
	open)
		measured open-close "$loaded" open
		measured open-close-write "$loaded" open-write
		measured rewrite "$loaded" rewrite
		;;
	descriptors)
		for others in ${DESCRIPTORS:-10 1000 100000}; do
			may_have $((others + 100)) || { say "$others descriptors: more than $(ulimit -H -n)" && others=10000; }
			may_have $((others + 100)) || continue
			timed "descriptors-$others-open" "$loaded" -d "$others" open
			timed "descriptors-$others-write" "$interposed" -d "$others" write
			rounds=1 timed "descriptors-$others" "$loaded" -d "$others" memory
		done
		;;
	threads)
		for number in 1 2 4; do
			timed "threads-$number" "$interposed $windowed" -t $number write
			[ $number = 1 ] ||
				timed "threads-$number-one" "$interposed $windowed" -t $number -1 write
		done
		;;
	exec)
		timed exec "$loaded fastalloc-file" exec
		counted_start exec "$loaded fastalloc-file"
		many=1000000
		may_have $many || { say "exec-$many: more than $(ulimit -H -n)" && many=$(ulimit -H -n); }
		(ulimit -n "$many" && timed "exec-$many" "$loaded" exec && exit $status) || status=1
		;;
	*) say "no such part: $part" && exit 2 ;;
	esac
done
exit $status
