#!/bin/bash
# server.sh: windows in an NFS server in user space that writes for its clients to ext4.
. "$PROJECT/tests/tap.sh"
. "$PROJECT/tests/fs/ganesha.sh"
if [ "${1:-}" != inside ]; then
	[ "$(id -u)" = 0 ] || { echo '1..0 # SKIP needs root'; exit 0; }
	missing=$(ganesha_missing)
	[ -z "$missing" ] || { echo "1..0 # SKIP not installed: $missing"; exit 0; }
	unshare -mnpf true 2>/dev/null || { echo '1..0 # SKIP no namespaces'; exit 0; }
	ganesha_namespace
fi
ganesha_prepare || { echo 'Bail out! no place for the server'; exit 1; }
image=$(mktemp /var/tmp/fastalloc-XXXXXX)
trap 'umount /mnt/local 2>/dev/null; rm -f "$image"' EXIT
truncate -s 1G "$image"
MiB=1048576 count=4
metadata=$((count * 65536)) # a block for the map of a file in many pieces
files=(/mnt/local/{0..3})

fresh() {
	umount /mnt/local 2>/dev/null
	mkfs.ext4 -q -F -m 0 "$image" && mount -o loop "$image" /mnt/local 2>/dev/null ||
		{ echo '1..0 # SKIP no loop devices'; exit 0; }
}
config() { printf '%s\n' '[program ganesha.nfsd]' 'write = preallocate' "$@" >/run/preload.conf; }
serve_with() {
	rm -f /run/stats
	ganesha_start LD_PRELOAD="$BUILD/libfastalloc.so" FASTALLOC_CONFIG=/run/preload.conf FASTALLOC_STATS=/run/stats \
		FASTALLOC_LOG=info:/run/log || { echo 'Bail out! no server'; exit 1; }
}
load() { "$BUILD/tests/nfsload" $GANESHA_URL $count 16M 64K "$@" >/dev/null || tap_result 'not ok' "the client: $*"; }
kept() { "$BUILD/tests/nfsload" /mnt/local $count 16M; } # compares, too
pieces() { sync && filefrag "${files[@]}" | sed 's/.*: \([0-9]*\) extents* found.*/\1/' | sort -n | tail -n 1; }
windows() { grep -o '"window":{"seen":[0-9]*' /run/stats 2>/dev/null | grep -o '[0-9]*$'; }
past_end() { echo $(($(stat -c '%b*512-%s' "${files[@]}" | paste -sd+))); } # bytes, beside what the files have
sizes() { stat -c %s "${files[@]}" | sort -u | paste -sd' '; }

fresh
ganesha_start && load && plain=$(pieces)
ganesha_stop
at_least 'alone: ext4 puts each file in several pieces' 8 "$plain"

# As preload.conf says for servers.
config 'deepbind = ignore' 'window = 32M' 'window_max = 64M'
fresh
serve_with
load
is 'the sizes are what was written' $((16 * MiB)) "$(sizes)"
at_least 'there are blocks past the ends' $((count * MiB)) "$(past_end)"
at_most "pieces: at most a quarter of $plain" $((plain / 4)) "$(pieces)"
ganesha_stop
at_least 'a window for every file' $count "$(windows)"
at_most 'when the server has ended, nothing is left of them' $metadata "$(past_end)"
ok 'the content' kept

# As the kernel's server was once patched to do.
config 'deepbind = ignore' 'window = 5M' 'window_max = 5M' 'window_after = 0'
fresh
serve_with
load
at_most '5M: pieces' $((plain / 2)) "$(pieces)"
ganesha_stop
is '5M: windows' $((count * 4)) "$(windows)"
at_most '5M: nothing is left of them' $metadata "$(past_end)"
ok '5M: the content' kept

# Several threads of the server write to one file.
for how in '--depth 8' '--depth 8 --unstable'; do
	fresh
	serve_with
	# shellcheck disable=SC2086 # options
	load $how
	ganesha_stop
	at_least "$how: windows" $count "$(windows)"
	at_most "$how: nothing is left of them" $metadata "$(past_end)"
	ok "$how: the content" kept
done

# With NFS 4 the server knows when a client closes a file.
fresh
serve_with
"$BUILD/tests/nfsload" "$GANESHA_URL4" $count 128K 2K >/dev/null || tap_result 'not ok' 'the client, NFS 4'
at_most 'NFS 4: nothing is left when the client has closed the files' $metadata "$(past_end)"
ganesha_stop
at_least 'NFS 4: windows' $count "$(windows)"
ok 'NFS 4: the content' "$BUILD/tests/nfsload" /mnt/local $count 128K

# Killed: what was acknowledged is there, and the sizes are right.
fresh
serve_with
load
ganesha_stop KILL
is 'killed: the sizes' $((16 * MiB)) "$(sizes)"
ok 'killed: the content' kept

# It opens its backend with RTLD_DEEPBIND, whose calls go past the library.
config 'window = 5M'
fresh
serve_with
load
ganesha_stop
is 'without deepbind = ignore: no windows' 0 "$(windows || echo 0)"
like 'and the log says why' 'RTLD_DEEPBIND' "$(cat /run/log)"
ok 'the content' kept
finish
