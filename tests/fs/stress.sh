#!/bin/bash
# stress.sh [SECONDS]: nobody loses a byte while a range is being reserved. Each line of
# stress.c says how many records were acknowledged, and how many of them were lost.
. "$PROJECT/tests/tap.sh"
seconds=${1:-${FASTALLOC_STRESS:-4}}
if [ "${INSIDE:-}" != 1 ]; then
	[ "$(id -u)" = 0 ] && user= || user=-Ur
	exec env INSIDE=1 unshare $user -m bash "$0" "$seconds"
fi
dir=$(mktemp -d)
trap 'umount "$dir"; rmdir "$dir"' EXIT
mount -t ramfs none "$dir" || { echo '1..0 # SKIP no ramfs'; exit 0; }

run() { # OPTION...
	out=$(LD_PRELOAD=$BUILD/libfastalloc.so "$BUILD/tests/stress" "$dir/f" "$seconds" posix_fallocate "$@" 2>&1)
	rm -f "$dir"/f*
	echo "# $out"
	like "$*: nothing is lost" ' lost=0 lost_appended=0 ' "$out "
	# The size may end beyond the range, by a byte, when its last record is written in that very moment.
	read -r rounds beyond < <(sed -n 's/.*rounds=\([0-9]*\).*badsize=\([0-9]*\).*/\1 \2/p' <<<"$out" | tail -n 1)
	at_most "$*: size beyond the range, of $rounds rounds" $((rounds / 10 + 1)) "$beyond"
	at_least "$*: records were written" 10000 "$(sed -n 's/.*acknowledged=\([0-9]*\).*/\1/p' <<<"$out" | tail -n 1)"
}
run writers 2
run writers 2 presized
run writers 2 threads
run writers 1 appenders 2
run writers 0 appenders 2
finish
