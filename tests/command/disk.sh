# disk.sh: source it first. Brings tap.sh, a private mount namespace, and
#   fresh FSTYPE [MKFS_OPTION...]   a new file system of 600 MB at $M, the working directory then
#   $FASTALLOC                      the command
#   $D                              a directory of our own on the host's disk
# shellcheck shell=bash
set -u
: "${PROJECT:?}" "${BUILD:?}"
. "$PROJECT/tests/tap.sh" || exit 1
FASTALLOC=$BUILD/tools/fastalloc/fastalloc
[ -x "$FASTALLOC" ] || { echo '1..0 # SKIP the command is not built'; exit 0; }
[ "$(id -u)" = 0 ] || { echo '1..0 # SKIP needs root (the lab tests the same as any user)'; exit 0; }
if [ "${1:-}" != inside ]; then exec unshare -m --propagation private bash "$0" inside; fi
PATH=$PATH:/usr/sbin:/sbin
D=$(mktemp -d /var/tmp/fastalloc-XXXXXX) || exit 1
M=$D/mnt
trap 'cd / && umount "$M" 2>/dev/null; rm -rf "${D:?}"' EXIT
mkdir "$M"
MiB=1048576

fresh() {
	local type=$1 force=-f
	shift
	case $type in ext*) force=-F ;; esac
	cd / || return
	umount "$M" 2>/dev/null
	rm -f "$D/image"
	truncate -s 600M "$D/image"
	"mkfs.$type" -q $force "$@" "$D/image" >/dev/null 2>&1 && mount -o loop "$D/image" "$M" 2>/dev/null && cd "$M"
}
blocks() { stat -c %b "$@"; }
# Standard output to $out, standard error to $err, exit status to $status.
fastalloc() {
	out=$("$FASTALLOC" "$@" 2>"$D/err")
	status=$?
	err=$(cat "$D/err")
}
# As another user, who may not do what root may.
nobody() {
	out=$(setpriv --reuid 65534 --regid 65534 --clear-groups "$FASTALLOC" "$@" 2>"$D/err")
	status=$?
	err=$(cat "$D/err")
}
# field NAME [FILTER]: of the first object of the JSON in $out.
field() { printf '%s' "$out" | tr -d '\n' | sed -n "s/[^]}]*\"$1\": *\"\{0,1\}\([^\",}]*\)\"\{0,1\}[,} ].*/\1/p" | sed 's/ *$//'; }
