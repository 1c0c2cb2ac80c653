#!/bin/bash
# stats.sh: fastalloc stats on files with and without mistakes.
. "$PROJECT/tests/tap.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
PATH=$BUILD/tools/fastalloc:$PATH

# What the library itself writes, and lines made by hand.
record() { FASTALLOC_STATS=$dir/$1 LD_PRELOAD=$BUILD/libfastalloc.so "$BUILD/tests/act" "${@:2}" >/dev/null; }
record real a rdwr,creat pfa 0 1M pfa 0 2M ft 100
record real b rdwr,creat ft 5000
line() { # PID PROGRAM CALL MEMBERS
	printf '{"pid":%s,"program":"%s","%s":{%s},"heal":{"seen":0,"passed":0,"failed":0,"bytes":0,"nanoseconds":0}}\n' "$@"
}
line 7 recorder posix_fallocate '"seen":3,"passed":0,"written":2,"refused":1,"failed":1,"bytes":1048576,"nanoseconds":2500000' >one
line 7 recorder window '"seen":2,"fallocate":2,"failed":0,"bytes":3145728,"nanoseconds":1200' >two
line 8 'q\u001b[31m\"' posix_fallocate '"seen":2,"fallocate":1,"populated":1,"failed":0,"bytes":4097,"nanoseconds":12000000000' >>two

is 'two files: per process, and in total' '3 processes
PID PROGRAM    CALL            SEEN FAILED   BYTES   TIME ANSWERED
  7 recorder   posix_fallocate    3      1   1 MiB 2.5 ms written 2
                                                          refused 1
  7 recorder   window             2      0   3 MiB 1.2 us fallocate 2
  8 q\x1b[31m" posix_fallocate    2      0 4.0 KiB   12 s fallocate 1
                                                          populated 1
    total      posix_fallocate    5      1 1.0 MiB   12 s written 2
                                                          refused 1
                                                          fallocate 1
                                                          populated 1
    total      window             2      0   3 MiB 1.2 us fallocate 2
Without the library, libc would have made up to 258 writes for
posix_fallocate (estimated: one to each 4 KiB).' "$(fastalloc stats one two)"
is '--total' '1 process
CALL            SEEN FAILED BYTES   TIME ANSWERED
posix_fallocate    3      1 1 MiB 2.5 ms written 2
                                         refused 1
Without the library, libc would have made about 256 writes for
posix_fallocate (estimated: one to each 4 KiB).' "$(fastalloc stats --total one)"
is 'standard input' "$(fastalloc stats one)" "$(fastalloc stats - <one)"
is 'the same program and number twice are two processes' '4 processes' "$(fastalloc stats one one two | head -n 1)"
is 'what no process did' '0 processes, none of which made a call that the library answers' "$(fastalloc stats /dev/null)"

json() { fastalloc stats --json "${@:2}" | python3 -c "import json, sys; x = json.load(sys.stdin); print($1)"; }
is '--json: the total' '5 1 1052673 258' \
	"$(json "x['total']['posix_fallocate']['seen'], x['total']['posix_fallocate']['failed'], x['total']['posix_fallocate']['bytes'], x['libc_writes']" one two)"
is '--json: processes, and only calls that were seen' "3 3 ['pid', 'posix_fallocate', 'program']" \
	"$(json "x['count'], len(x['processes']), sorted(x['processes'][0])" one two)"
is '--json --total' False "$(json "'processes' in x" --total one)"
is "what the library writes" "2 act 2 3145728 2" \
	"$(json "x['count'], x['processes'][0]['program'], x['total']['posix_fallocate']['seen'], x['total']['posix_fallocate']['bytes'], x['total']['ftruncate']['seen']" real)"

# Mistakes are told with their lines; the rest is counted.
{ cat one; echo '{"pid":1'; printf '\33[31mx\0y\n'; echo '[]'; echo '{"pid":1,"program":"x","trim":{"seen":"1"}}'
	echo '{"pid":1,"program":"x","trim":{"seen":-1}}'; printf '%s' '{"pid":2,"program":"torn","tri'; } >broken
fastalloc stats broken >out 2>errors
is 'wrong lines: status' 1 $?
is 'wrong lines: the rest is counted' "$(fastalloc stats one)" "$(cat out)"
is 'wrong lines: each is told' 'fastalloc: broken:2: is not valid JSON
fastalloc: broken:3: is not valid JSON
fastalloc: broken:4: is not the statistics of a process: no pid and program
fastalloc: broken:5: is not the statistics of a process: a count is no number
fastalloc: broken:6: is not the statistics of a process: a count is no number
fastalloc: broken:7: is not valid JSON' "$(cat errors)"
is 'a wholly wrong file: ten messages are enough' '11 fastalloc: many: 90 more lines like these' \
	"$(seq 100 >many; fastalloc stats many 2>&1 | wc -l) $(fastalloc stats many 2>&1 | tail -n 1)"
line 9 huge write '"seen":9223372036854775807' >huge
is 'counts too large to add' '9223372036854775807' "$(json "x['total']['write']['seen']" huge huge)"
line -1 nobody write '"seen":1' >negative
is 'a number that no process has' 'fastalloc: negative:1: is not the statistics of a process: no pid and program' \
	"$(fastalloc stats negative 2>&1 >/dev/null)"
fails() { # NAME STATUS MESSAGE WORD...
	local output
	output=$("${@:4}" 2>&1 >/dev/null)
	is "$1" "$2 $3" "$? $output"
}
fails 'no such file' 1 'fastalloc: none: No such file or directory' fastalloc stats none
fails 'a directory' 1 'fastalloc: .: Is a directory' fastalloc stats .
fails 'no file named' 2 "fastalloc: stats: a file is missing
Try 'fastalloc stats --help'." fastalloc stats
fails 'wrong option' 2 "fastalloc: unrecognized option '--wrong'
Try 'fastalloc stats --help'." fastalloc stats --wrong
full() { fastalloc stats "$@" 2>&1 >/dev/full; echo "status $?"; }
for option in --total --json; do
	is "a full disk ($option)" 'fastalloc: standard output: No space left on device
status 1' "$(full $option one)"
done
is 'a pipe closed early: no message' '' "$({ sleep 0.2; fastalloc stats one 2>errors; } | true; cat errors)"
like 'help fits 80 columns' '^([0-9]|[1-7][0-9]|80)$' "$(for c in run stats; do fastalloc $c --help; done | awk '{ if (length > m) m = length } END { print m }')"
finish
