# What the library adds to calls that it has nothing to do for: system calls, and instructions where valgrind tells.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$W" || exit 1
head -c 4096 /dev/zero >file
stock

# added OF CASE FILE: what one call more costs with the library that it does not cost without
added() { echo $((($("$1" "$LIB" 200 "${@:2}") - $("$1" "$LIB" 100 "${@:2}") - $("$1" '' 200 "${@:2}") + $("$1" '' 100 "${@:2}")) / 100)); }
made() { # LIBRARY COUNT CASE FILE
	strace -f -qq -o "$TRACE" -E LD_PRELOAD="$1" "$BUILD/tests/overhead" -n "$2" "${@:3}"
	wc -l <"$TRACE"
}
executed() {
	LD_PRELOAD=$1 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$BUILD/tests/overhead" -n "$2" "${@:3}" 2>&1 |
		sed -n 's/.*Collected : //p'
}

is 'write to a device: no system call' 0 "$(added made write /dev/null)"
is 'write to a file, where there are no windows: none' 0 "$(added made write file)"
is 'pwrite in place: none' 0 "$(added made pwrite file)"
is 'open for reading, close: none' 0 "$(added made open file)"
is 'open for writing, close: none' 0 "$(added made open-write file)"
is 'open a file that is there, write, close: one' 1 "$(added made rewrite file)"

if type valgrind >/dev/null 2>&1 && [ "$(uname -m)" = x86_64 ] && LD_PRELOAD=$LIB valgrind -q true 2>/dev/null; then
	# With -O2.
	at_most 'write: instructions' 20 "$(added executed write /dev/null)"
	at_most 'pwrite: instructions' 20 "$(added executed pwrite file)"
	at_most 'open for reading, close: instructions' 100 "$(added executed open file)"
	at_most 'open for writing, close: instructions' 400 "$(added executed open-write file)"
	at_most 'open a file that is there, write, close: instructions' 900 "$(added executed rewrite file)"
else
	skip 'instructions' 'without valgrind, or not x86-64'
fi
finish
