# lib.sh: source it first. Brings tap.sh, a private mount namespace (as root, or
# through a user namespace), and in it
#   $W        a tmpfs of our own         $R   a ramfs: no fallocate, no FIEMAP
#   $E        a directory on /var/tmp's file system; `disk` tells whether that is one
#   $LIB      the library                $ACT the program
# The configuration is the stock one unless `config` says otherwise.
# shellcheck shell=bash
# These scripts run as root, mount and remove: without their surroundings none goes on.
set -u
: "${PROJECT:?}" "${BUILD:?}"
here=$(readlink /proc/self/ns/mnt)
if [ -z "${OUTER_NAMESPACE:-}" ]; then
	private=-m
	[ "$(id -u)" = 0 ] || private=-Urm
	if ! unshare $private true 2>/dev/null; then
		echo "1..0 # SKIP unshare $private is not permitted"
		exit 0
	fi
	export OUTER_NAMESPACE=$here
	exec unshare $private bash "$0" "$@"
fi
if [ -z "$here" ] || [ "$here" = "$OUTER_NAMESPACE" ]; then
	echo 'Bail out! not in a mount namespace of our own'
	exit 1
fi
. "$PROJECT/tests/tap.sh" || exit 1
unset FASTALLOC_DISABLE FASTALLOC_LOG FASTALLOC_STATS XDG_CONFIG_HOME LD_PRELOAD
W=$(mktemp -d /tmp/fastalloc-XXXXXX) && E=$(mktemp -d /var/tmp/fastalloc-XXXXXX) || exit 1
trap 'cd / && umount -R "${W:?}" 2>/dev/null; rm -rf "${E:?}"; rmdir "$W" 2>/dev/null' EXIT
R=$W/ram
mount -t tmpfs -o size=64m,mode=755 tmpfs "$W" && mkdir "$R" && mount -t ramfs ramfs "$R" || exit 1
LIB=$BUILD/libfastalloc.so ACT=$BUILD/tests/act
STOCK=$PROJECT/preload.conf
PATH=$PATH:/usr/sbin:/sbin
export HOME=$W/nobody FASTALLOC_CONFIG=$STOCK
TRACE=$W/trace
MiB=1048576

# config LINE...: use this configuration.
config() {
	printf '%s\n' "$@" >"$W/preload.conf"
	export FASTALLOC_CONFIG=$W/preload.conf
}
stock() { export FASTALLOC_CONFIG=$STOCK; }

# Results on one line: "pfa=0 size=1048576".
flat() { sed 's/ = /=/' | paste -sd' '; }

# act FILE FLAGS OP...: with the library; plain: without; traced OPTIONS -- FILE...: under strace.
act() { LD_PRELOAD=$LIB "$ACT" "$@" 2>&1 | flat; }
plain() { "$ACT" "$@" 2>&1 | flat; }
traced() {
	local options=()
	while [ "$1" != -- ]; do options+=("$1") && shift; done
	shift
	strace -f -qq -o "$TRACE" -E LD_PRELOAD="$LIB" "${options[@]}" "$ACT" "$@" 2>&1 | flat
}

# How many calls of the trace match NAME(REGEX; their arguments one a line.
calls() { grep -cE "(^| )$1\\(${2:-}" "$TRACE"; }
# Numbers of the first and last line that matches.
first() { grep -nE "$1" "$TRACE" | head -n 1 | cut -d: -f1; }
last() { grep -nE "$1" "$TRACE" | tail -n 1 | cut -d: -f1; }
populates() { grep -c MADV_POPULATE_WRITE "$TRACE"; }
# How many bytes each of those calls concerned, one a line.
populated() { sed -n 's/.*madvise(0x[0-9a-f]*, \([0-9]*\), MADV_POPULATE_WRITE.*/\1/p' "$TRACE"; }
# Writes to the file, which is descriptor 3: bytes of those that append, one a line; how many others.
appended() { sed -n 's/.*pwritev2(3,.* RWF_APPEND) = \([0-9]*\)$/\1/p' "$TRACE"; }
overwrites() { grep -E '(^| )p?write(v2?|64)?\(3,' "$TRACE" | grep -vc RWF_APPEND; }
sum() { awk '{sum += $1} END {print sum + 0}'; }
# The same with and without the library, for an operation that changes nothing.
same() {
	local name=$1
	shift
	is "$name" "$(plain "$@")" "$(act "$@")"
}
disk() { case $(stat -f -c %T "$E") in tmpfs | ramfs | fuse*) return 1 ;; esac; }
# without_map BYTES: what act says of a file on a disk, but for the block more that it has for its map
# where it lies in many pieces
without_map() { sed "s/blocks=$(($1 + 4096))\$/blocks=$1/"; }

# sparse FILE SIZE [OFFSET BYTES]: a file of that size with a run of 'x'.
sparse() {
	rm -f "$1"
	truncate -s "$2" "$1"
	[ $# -le 2 ] || head -c "$4" /dev/zero | tr '\0' x | dd of="$1" bs=64K oflag=seek_bytes seek="$3" conv=notrunc status=none
}
