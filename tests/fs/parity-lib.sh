# parity-lib.sh: source it after tap.sh.
# shellcheck shell=bash

# parity FSTYPE DIR OPTION...: run parity (see there) without the library and with it, and compare
parity() {
	local type=$1 where=$2 out line some=(--some)
	shift 2
	[ -z "${LONG:-}" ] || some=()
	mkdir "$where/parity"
	out=$(mktemp -d)
	timeout 1200 "$BUILD/tests/parity" "$@" "$where/parity" >"$out/without"
	is "$type: all cases run without the library" 0 $?
	# A file system of the other run's leavings would have other blocks free.
	rm -r "$where/parity" && mkdir "$where/parity"
	LD_PRELOAD=$BUILD/libfastalloc.so timeout 1200 "$BUILD/tests/parity" "$@" "$where/parity" >"$out/with"
	is "$type: all cases run with it" 0 $?
	while read -r line; do
		case $line in
			ok\ *) tap_result ok "${line#ok }" ;;
			not\ ok\ *) tap_result 'not ok' "${line#not ok }" ;;
			*) echo "$line" ;;
		esac
	done < <(python3 "$PROJECT/tests/fs/parity-compare" "${some[@]}" "$type" "$out/without" "$out/with")
	[ -z "${KEEP:-}" ] || cp "$out/without" "$out/with" "$KEEP"
	rm -r "$where/parity" "$out"
}
