# The inputs that are kept, through every fuzz target; then, where clang has libFuzzer, new ones: some
# thousand, or in LONG runs 10 minutes each.
. "${PROJECT:?}/tests/tap.sh" || exit 1
fuzz=$PROJECT/tests/fuzz
W=$(mktemp -d) || exit 1
trap 'rm -rf "$W"' EXIT
export ASAN_OPTIONS=detect_leaks=0
declare -A runs=([config]=1000 [glob]=30000 [mounts]=300 [symbols]=4000 [report]=20000 [stats]=2000)
for target in config glob mounts symbols report stats; do
	[ -x "$BUILD/tests/fuzz_$target" ] || { skip "$target" 'not built' && continue; }
	got=$("$BUILD/tests/fuzz_$target" "$fuzz/corpus/$target" 2>"$W/err")
	is "$target: what is kept" "$(find "$fuzz/corpus/$target" -type f | wc -l)" "$got"
	[ -n "$got" ] || tail -n 4 "$W/err" | sed 's/^/# /'
	if [ -x "$BUILD/tests/live_$target" ]; then
		mkdir "$W/$target"
		limit=-runs=${runs[$target]}
		[ -z "${LONG:-}" ] || limit=-max_total_time=600
		if ! "$BUILD/tests/live_$target" "$limit" -max_len=1024 -rss_limit_mb=1024 \
			-artifact_prefix="$W/" "$W/$target" "$fuzz/corpus/$target" >"$W/err" 2>&1; then
			tail -n 12 "$W/err" | sed 's/^/# /'
			false
		fi
		is "$target: new ones" 0 $?
	else
		skip "$target: new ones" 'clang has no libFuzzer'
	fi
done
finish
