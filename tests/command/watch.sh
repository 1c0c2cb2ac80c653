# fastalloc watch: nothing changes, everything is counted, the report says what would help.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
unset FASTALLOC_WATCH
cd "$W" || exit 1
F=$BUILD/tools/fastalloc/fastalloc RECORD=$BUILD/tests/record
OUT=$W/out ERR=$W/err REPORT=$W/report
[ -x "$F" ] || { echo '1..0 # SKIP the command is not built'; exit 0; }

# watch COMMAND...: the report, as JSON, to $REPORT; what COMMAND says to $OUT and $ERR.
watch() {
	# Through a pipe, as a file that is stdout grows, too. The shell says who was killed.
	{ timeout 60 "$F" watch -J -o "$REPORT" -- "$@" 2>"$ERR" </dev/null | cat >"$OUT"; } 2>/dev/null
	status=${PIPESTATUS[0]}
}
# report FILE EXPRESSION...: of that file's object f, or all of it, r.
report() {
	python3 - "$REPORT" "$@" <<-'END'
	import json, sys
	r = json.load(open(sys.argv[1]))
	f = next((f for f in r["files"] if f["path"] and f["path"].endswith("/" + sys.argv[2])), None)
	print(*[eval(e) for e in sys.argv[3:]])
	END
}
grew() { report "$1" "f['growth']['$2']['calls']" "f['growth']['$2']['bytes']"; }

# What is counted
watch "$ACT" a rdwr,creat write 4K 1 write 4K 1 write 100 1 pwrite 0 4K 2
is 'writes that extend a file; those that overwrite are none' '3 8292' "$(grew a write)"
is 'their sizes' "3 100 4096 4096 [{'from': 64, 'count': 1}, {'from': 4096, 'count': 2}]" \
	"$(report a "f['writes']['count']" "f['writes']['least']" "f['writes']['median']" "f['writes']['most']" "f['writes']['sizes']")"
is 'the file as it is' "True 8292 $W" "$(report a "f['exists']" "f['size']" "f['mount']")"
for method in write pwrite writev pwritev pwritev2 append dup threads sendfile copy_file_range splice; do
	mkdir "$method"
	watch "$RECORD" $method 4K 64K "$method" 2
	is "$method: every byte" '65536 65536' "$(report 0 "f['growth']['write']['bytes']") $(report 1 "f['growth']['write']['bytes']")"
	rm -r "$method"
done
for method in fwrite fprintf putc; do
	mkdir $method
	watch "$RECORD" $method 4K 64K $method 2
	is "$method: every byte, as of a stream" 65536 "$(report 0 "f['growth']['stdio']['bytes']")"
	rm -r $method
done
mkdir turns
watch "$RECORD" write 4K 64K turns 4
is 'files that grow in turn' 16 "$(report 1 "f['writes']['turns']")"
watch "$RECORD" write 4K 64K turns 1
is 'one that grows alone' 0 "$(report 0 "f['writes']['turns']")"
watch "$ACT" b rdwr,creat ft 1M tr 3M ft 10
is 'ftruncate and truncate that grow' "2 $((3 * MiB))" "$(grew b ftruncate)"
watch "$ACT" c rdwr,creat fa 0 0 1M
is 'fallocate' "1 $MiB" "$(grew c fallocate)"
watch "$ACT" d rdwr,creat pfa 0 1M
is 'posix_fallocate where there is fallocate' "1 $MiB 0" "$(grew d posix_fallocate) $(report d "f['emulated']['writes']")"
watch "$ACT" "$R/d" rdwr,creat pfa 0 1M pfa 0 2M
is 'posix_fallocate where there is none: what libc writes, again below the end' "2 $((2 * MiB)) {'calls': 2, 'bytes': $((3 * MiB)), 'writes': 768}" \
	"$(grew d posix_fallocate) $(report d "f['emulated']")"
is 'and what would help' "[{'policy': 'posix_fallocate = auto', 'configured': True}] None" \
	"$(report d "f['would_help']" "r['suggestion']")"
config '[default]' 'posix_fallocate = native'
watch "$ACT" "$R/d" rdwr,trunc pfa 0 1M
is 'what is to be configured for it' "'[mount $R]\\nposix_fallocate = auto\\n'" "$(report d "repr(r['suggestion'])")"
watch sh -c '"$0" d rdwr,trunc pfa 0 1M; head -c 2M /dev/zero >large' "$ACT"
is 'nothing where there is fallocate' 'None' "$(report d "r['suggestion']")"
watch sh -c '"$0" "$1/d" rdwr,trunc pfa 0 1M; head -c 2M /dev/zero >"$1/large"' "$ACT" "$R"
is 'also where another file comes first' "'[mount $R]\nposix_fallocate = auto\n'" "$(report d "repr(r['suggestion'])")"
stock
watch "$ACT" a rdwr pwrite 0 4K 2 ft 100
is 'nothing grew' '[] None' "$(report a "r['files']" "r['suggestion']")"

# Which file it is
watch sh -c 'echo 1234 >old; mv old new'
is 'a file that was renamed' '5' "$(report new "f['size']")"
watch sh -c 'echo 1234 >old; rm old; echo 12 >next'
is 'a file that was deleted' 'False None' "$(report old "f['exists']" "f['size']")"
is 'another that may have its number' 3 "$(report next "f['growth']['write']['bytes']")"
watch python3 -c 'import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))
fd = os.open("high", os.O_WRONLY | os.O_CREAT); os.dup2(fd, 2000); os.write(2000, b"123456")'
is 'a high descriptor' '1 6' "$(grew high write)"
mkdir "$W/a b"
watch "$ACT" "$W/a b/ü" rdwr,creat write 1 1
is 'a name with blanks and more' '1 1' "$(grew 'ü' write)"
watch "$ACT" "$(printf 'bad\377"name')" rdwr,creat write 1 1
is 'a name that is no UTF-8' '1 1' "$(grew 'bad?"name' write)"

# Which processes
watch sh -c '"$0" e rdwr,creat write 1K 1; "$0" e rdwr,append write 1K 1' "$ACT"
is 'children, into one file' '2 2048' "$(grew e write)"
is 'writes that could never have a window' 1 "$(report e "f['writes']['without_window']")"
watch sh -c 'head -c 100000 /dev/zero >f'
is 'a descriptor that the shell opened' 100000 "$(report f "sum(w['bytes'] for w in f['growth'].values())")"
watch python3 -c 'import os, signal
os.write(os.open("g", os.O_WRONLY | os.O_CREAT), b"123"); os.kill(os.getpid(), signal.SIGKILL)'
is 'what a process did that was killed' '1 3' "$(grew g write)"
watch python3 -c 'import os
os.write(os.open("h", os.O_WRONLY | os.O_CREAT), b"123"); os._exit(0)'
is 'or that ends by _exit' '1 3' "$(grew h write)"
watch python3 -c 'import os
fd = os.open("i", os.O_WRONLY | os.O_CREAT)
for i in range(4):
    if os.fork() == 0:
        for j in range(1000): os.write(fd, b"1234567890")
        os._exit(0)
for i in range(4): os.wait()'
at_least 'four processes at once: every byte, about' 39000 "$(report i "f['growth']['write']['bytes']")"
static=$(command -v ldconfig)
if [ -n "$static" ] && ! readelf -l "$static" | grep -q INTERP; then
	watch "$static" -p
	is 'a static program: said' "fastalloc: $static: runs without the library: it is statically linked
fastalloc: $static: no process of it could be watched" "$(cat "$ERR")"
fi
printf 'void _start(void) { for (;;) ; }' | gcc -nostdlib -pie -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -x c -o musl -
watch ./musl
is 'a program that cannot load the library: not run' \
	'1 fastalloc: ./musl: not run: it has another libc than the library: /lib/ld-musl-x86_64.so.1' "$status $(cat "$ERR")"
is 'what was preloaded stays, once' "$LIB:b.so" \
	"$(LD_PRELOAD=/old/libfastalloc.so:b.so "$F" watch -o /dev/null printenv LD_PRELOAD 2>/dev/null)"

# Nothing changes
calls_made() { # NAME=VALUE ACT_ARGUMENT...
	strace -f -qq -o "$TRACE" -e trace='write,pwrite64,ftruncate,truncate,fallocate,madvise,mmap,fdatasync,lseek,mprotect,rt_sigaction,rt_sigprocmask' \
		-P "$R/same" -E LD_PRELOAD="$LIB" -E "$1" "$ACT" "$R/same" "${@:2}" >/dev/null 2>&1
	sed 's/^[0-9]* //' "$TRACE"
}
"$F" watch -o /dev/null sh -c 'cp "$FASTALLOC_WATCH" "$0"' "$W/table"
operations='rdwr,creat,trunc pfa 0 1M write 4K 1 ft 3M pfa 0 4M fa 0 0 1M size'
is 'the same system calls on the file as with FASTALLOC_DISABLE=1' "$(calls_made FASTALLOC_DISABLE=1 $operations)" \
	"$(calls_made FASTALLOC_WATCH="$W/table" $operations)"
at_least 'which are many' 1000 "$(wc -l <"$TRACE")"
is 'the same answers' "$(plain "$R/same" $operations)" "$(watch "$ACT" "$R/same" $operations; flat <"$OUT")"
watch "$ACT" k rdwr,creat seccomp strict write 4K 1 pfa 0 1M
is 'a strict filter is not met' "0 seccomp=0 write=4096 pfa=0" "$status $(flat <"$OUT")"
for bad in "$W/none" "$W" /dev/null "$W/a"; do
	FASTALLOC_WATCH=$bad traced -e trace=pwrite64 -- "$R/l" rdwr,creat,trunc pfa 0 1M >"$OUT"
	is "FASTALLOC_WATCH=${bad##*/}: the library does nothing" 'pfa=0 256' "$(cat "$OUT") $(calls pwrite64)"
done
truncate -s "$(stat -c %s "$W/table")" "$W/zeros"
is 'nor is what is no table written to' "$(md5sum <zeros)" "$(FASTALLOC_WATCH=$W/zeros LD_PRELOAD=$LIB true; md5sum <zeros)"

# How it ends
watch sh -c 'echo out; echo err >&2; exit 7'
is 'exit status, stdout and stderr are the program'"'"'s' '7 out err' "$status $(cat "$OUT") $(cat "$ERR")"
is 'the status is in the report' '7 None' "$(report - "r['status']" "r['signal']")"
watch sh -c 'echo 1 >m; kill -TERM $$'
is 'it dies of the signal that the program died of' 143 "$status"
is 'after the report' '1 2 None 15' "$(grew m write) $(report - "r['status']" "r['signal']")"
"$F" watch -J -o "$REPORT" -- sh -c 'echo 1 >n; trap "echo 22 >>n; exit 3" TERM; while :; do sleep 0.05; done' &
for _ in $(seq 100); do [ -s n ] && break; sleep 0.05; done
kill -TERM $!
wait $! 2>/dev/null
is 'SIGTERM is passed on' '3 2 5' "$? $(grew n write)"
if command -v tmux >/dev/null; then
	tmux() { command tmux -f /dev/null -S "$W/tmux" "$@"; }
	tmux new-session -d -x 80 -y 24 "$F watch -J -o $REPORT -- bash -c 'echo 1 >o; exec sleep 100'"
	for _ in $(seq 100); do [ -s o ] && break; sleep 0.05; done
	tmux send-keys C-c
	for _ in $(seq 100); do tmux has-session 2>/dev/null || break; sleep 0.05; done
	is 'Ctrl-C ends the program, and then is reported' '2 2' "$(report o "r['signal']" "f['size']")"
	tmux kill-server 2>/dev/null
else
	skip 'Ctrl-C' 'no tmux'
fi
PATH=/usr/bin:/bin watch nonexistent-program
is 'no such program' "127 fastalloc: nonexistent-program: No such file or directory" "$status $(cat "$ERR")"
watch "$W"
is 'no program' "126 fastalloc: $W: Permission denied" "$status $(cat "$ERR")"
is 'no program at all' 2 "$("$F" watch 2>/dev/null; echo $?)"
is 'a wrong option' 2 "$("$F" watch --wrong true 2>/dev/null; echo $?)"
like 'help' '^Usage: fastalloc watch ' "$("$F" watch --help)"
is 'options end where the program begins' '-o x' "$("$F" watch -o /dev/null echo -o x)"

# The report
"$F" watch true 2>"$ERR"
is 'to stderr' 'No file grew.' "$(cat "$ERR")"
is 'nowhere to write it: nothing is run' "1 fastalloc: $W/no/file: No such file or directory" \
	"$("$F" watch -o "$W/no/file" touch "$W/ran" 2>&1 | { read -r line; echo "1 $line"; })"
ok 'indeed' [ ! -e "$W/ran" ]
is 'no room for it' "1 fastalloc: /dev/full: No space left on device" "$(set -o pipefail; "$F" watch -o /dev/full true 2>"$ERR"; echo "$? $(cat "$ERR")")"
is 'an output that is new goes with a program that is not there' no \
	"$("$F" watch -o "$W/new.json" nonexistent-program 2>/dev/null; [ -e "$W/new.json" ] && echo yes || echo no)"
is 'nobody reads it: the program'"'"'s status still' 0 "$({ "$F" watch true 2>&1 >/dev/null; echo $? >&3; } 3>"$W/status" | true; cat "$W/status")"
mkdir p
"$F" watch "$RECORD" write 4K 64K p 30 >/dev/null 2>"$ERR"
at_most 'it fits 80 columns' 80 "$(wc -L <"$ERR")"
is 'the worst 20 files, and how many more' '20 ... and 10 more (--all)' "$(grep -c ' p/' "$ERR") $(grep more "$ERR")"
"$F" watch -a "$RECORD" write 4K 64K p 30 >/dev/null 2>"$ERR"
is 'all of them' 30 "$(grep -c ' p/' "$ERR")"
is 'no colour, nothing of a terminal' 0 "$(grep -c "$(printf '\033')" "$ERR")"
like 'what would help: nothing' 'Nothing that the library does would help' "$(cat "$ERR")"
config 'nonsense'
"$F" watch -o "$REPORT" true 2>"$ERR"
is 'a configuration with errors: told' "fastalloc: $W/preload.conf: the library uses the built-in configuration instead" "$(tail -n 1 "$ERR")"
stock

# Pieces, on ext4
if [ "$(id -u)" = 0 ] && truncate -s 200M "$E/image" && mkfs.ext4 -q -F "$E/image" && mkdir "$E/mnt" &&
	mount -o loop "$E/image" "$E/mnt" 2>/dev/null; then
	cd "$E/mnt" || exit 1
	watch "$RECORD" write 4K 1M . 4 --fsync-every 1
	pieces=$(report 0 "f['pieces']")
	is 'pieces, as filefrag counts them' "$(filefrag "$E/mnt/0" | sed 's/.*: \([0-9]*\) extent.*/\1/')" "$pieces"
	at_least 'and they are many' 5 "$pieces"
	is 'windows would help: the section' "'[mount $E/mnt]\\nwrite = preallocate\\n'" "$(report 0 "repr(r['suggestion'])")"
	config '[fstype ext4]' 'write = preallocate'
	watch "$RECORD" write 4K 1M . 4 --fsync-every 1
	is 'where they are configured: run it with the library' "[{'policy': 'write = preallocate', 'configured': True}] None" \
		"$(report 0 "f['would_help']" "r['suggestion']")"
	stock
	LD_PRELOAD=$LIB FASTALLOC_CONFIG=$W/preload.conf "$RECORD" write 4K 1M . 4 --fsync-every 1 >/dev/null
	at_most 'which does help' 16 "$(filefrag 0 | sed 's/.*: \([0-9]*\) extent.*/\1/')"
	rm [0-3]
	watch sh -c '"$0" append 4K 1M . 4 --fsync-every 1' "$RECORD"
	is 'O_APPEND: windows would not help' "[] None" "$(report 0 "f['would_help']" "r['suggestion']")"
	cd /
	umount "$E/mnt"
else
	skip 'pieces on ext4' 'needs root and loop devices'
fi
finish
