# tap.sh: source it in a test script. Results in the Test Anything Protocol, which meson reads.
#   is NAME EXPECTED ACTUAL      equal strings
#   like NAME REGEX ACTUAL       ACTUAL matches the extended regular expression
#   at_most NAME LIMIT ACTUAL    whole numbers
#   at_least NAME LIMIT ACTUAL
#   ok NAME COMMAND...           COMMAND succeeds
#   skip NAME REASON
#   finish                       last line of every script
tap_number=0 tap_failed=0

tap_result() { # ok|not ok, name
	tap_number=$((tap_number + 1))
	echo "$1 $tap_number - $2"
	[ "$1" = ok ] || tap_failed=$((tap_failed + 1))
}
is() {
	if [ "$2" = "$3" ]; then tap_result ok "$1"; else
		tap_result 'not ok' "$1"
		printf '%s\n' "expected: $2" "got:      $3" | sed 's/^/# /'
	fi
}
like() {
	if [[ $3 =~ $2 ]]; then tap_result ok "$1"; else
		tap_result 'not ok' "$1"
		printf '%s\n' "expected to match: $2" "got:               $3" | sed 's/^/# /'
	fi
}
at_most() {
	if [ "$3" -le "$2" ]; then tap_result ok "$1 ($3 <= $2)"; else tap_result 'not ok' "$1 ($3 > $2)"; fi
}
at_least() {
	if [ "$3" -ge "$2" ]; then tap_result ok "$1 ($3 >= $2)"; else tap_result 'not ok' "$1 ($3 < $2)"; fi
}
ok() {
	local name=$1
	shift
	if "$@" >/dev/null; then tap_result ok "$name"; else tap_result 'not ok' "$name"; fi
}
skip() { tap_result ok "$1 # SKIP $2"; }
finish() {
	echo "1..$tap_number"
	exit $((tap_failed > 0))
}
