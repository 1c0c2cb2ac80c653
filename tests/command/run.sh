#!/bin/bash
# run.sh: fastalloc run: what a program gets, what it returns, and what is not run.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$W" || exit 1
PATH=$BUILD/tools/fastalloc:/usr/sbin:/usr/bin:/sbin:/bin
unset FASTALLOC_CONFIG
pfa=(pfa 0 1M)

# What ends up in the program's environment.
variable() { fastalloc "${@:2}" printenv "$1"; }

is 'the library of the build tree' "$LIB" "$(variable LD_PRELOAD run)"
is 'short form' "$LIB" "$(variable LD_PRELOAD)"
is 'what was preloaded stays, behind it' "$LIB:/x/a.so:b.so" "$(LD_PRELOAD=/x/a.so:b.so variable LD_PRELOAD 2>/dev/null)"
is 'nested: once' "$LIB" "$(variable LD_PRELOAD run fastalloc -- fastalloc)"
is 'nested: in place of another copy' "$LIB:b.so" "$(LD_PRELOAD=/old/libfastalloc.so:b.so variable LD_PRELOAD 2>/dev/null)"
is "options behind the program are the program's" '-v -s' "$(fastalloc run echo -v -s)"
is 'the library answers' 'pfa = 0 size = 1048576 blocks = 1048576' \
	"$(fastalloc "$ACT" "$R/a" wronly,creat "${pfa[@]}" size blocks | paste -sd' ')"

# -c
printf '[default]\nposix_fallocate = refuse\n' >refuse.conf
is '-c: an absolute path' "$W/refuse.conf" "$(variable FASTALLOC_CONFIG run -c refuse.conf)"
is '-c: obeyed' 'pfa = EOPNOTSUPP' "$(fastalloc run -c refuse.conf "$ACT" a rdwr,creat "${pfa[@]}")"
printf '[default]\nsync = auot\nwrite = maybe\n' >wrong.conf
fails() { # NAME STATUS MESSAGE WORD...: nothing is run, and on stderr is said MESSAGE
	local name=$1 status=$2 message=$3 output
	shift 3
	output=$("$@" 2>&1)
	is "$name" "$status $message" "$? $output"
}
like '-c: every error, with line and column' \
	'^fastalloc: wrong.conf:2:8: .*'$'\n''fastalloc: wrong.conf:3:9: [^'$'\n'']*$' "$(fastalloc run -c wrong.conf echo ran 2>&1)"
fails '-c: missing' 1 'fastalloc: none: No such file or directory' fastalloc run -c none echo ran
fails '-c: a directory' 1 'fastalloc: .: is not a regular file' fastalloc run -c . echo ran
mkfifo fifo
fails '-c: a FIFO does not hang' 1 'fastalloc: fifo: is not a regular file' fastalloc run -c fifo echo ran

# -v
is '-v' "fastalloc: LD_PRELOAD: $LIB
fastalloc: FASTALLOC_LOG: info
fastalloc: $(command -v printenv): is executed
info" "$(fastalloc run -v printenv FASTALLOC_LOG 2>&1)"
is '-v: FASTALLOC_LOG is kept' debug:log "$(FASTALLOC_LOG=debug:log variable FASTALLOC_LOG run -v 2>/dev/null)"

# Exit status and errors, as env(1).
fails 'no program' 2 "fastalloc: run: a program is missing
Try 'fastalloc run --help'." fastalloc run
fails 'wrong option' 2 "fastalloc: unrecognized option '--wrong'
Try 'fastalloc run --help'." fastalloc run --wrong
fails 'not found' 127 'fastalloc: no-such-program: No such file or directory' fastalloc no-such-program
fails 'a subcommand was meant' 127 "fastalloc: explian: No such file or directory
Did you mean 'fastalloc explain'?" fastalloc explian /
fails 'nothing at all' 2 "fastalloc: a program or a subcommand is missing
Try 'fastalloc --help'." fastalloc
fails 'not executable' 126 'fastalloc: ./wrong.conf: Permission denied' fastalloc ./wrong.conf
fails 'a directory' 126 'fastalloc: /: Permission denied' fastalloc run -s stats /
printf '#!/no/interpreter\n' >script
chmod +x script
fails 'no interpreter' 127 'fastalloc: ./script: No such file or directory' fastalloc ./script
fails 'no interpreter, with -s' 127 'fastalloc: ./script: No such file or directory' fastalloc -s stats ./script
is 'nothing is left behind' 'no file' "$(cat stats 2>/dev/null || echo no file)"
is "the program's status" 7 "$(fastalloc sh -c 'exit 7'; echo $?)"

# -s
stats() { fastalloc run -s stats "$@"; }
summary=$({ stats "$ACT" "$R/b" wronly,creat "${pfa[@]}" >/dev/null; } 2>&1)
like '-s: summary' '^fastalloc: 1 process
CALL  *SEEN FAILED BYTES  *TIME ANSWERED
posix_fallocate  *1  *0 1 MiB  *[0-9.]+ [mun]?s written 1
Without the library, libc would have made about 256 writes for
posix_fallocate \(estimated: one to each 4 KiB\)\.$' "$summary"
is '-s: the estimate is what libc does' 256 \
	"$(strace -f -o trace -e trace=pwrite64 "$ACT" "$R/c" wronly,creat "${pfa[@]}" >/dev/null; grep -c pwrite64 trace)"
like '-s: the file' '^\{"pid":[0-9]+,"program":"act",' "$(cat stats)"
stats "$ACT" "$R/b" rdwr "${pfa[@]}" 2>summary >/dev/null
is '-s: appends; the summary is of this run' '2 1' "$(wc -l <stats) $(grep -o '[0-9]* process' summary | cut -d' ' -f1)"
is '-s: %p and links are only a name' 1 "$(ln -s 'a%p%%' link; fastalloc -s link "$ACT" c rdonly,creat 2>/dev/null; wc -l <'a%p%%')"
like '-s: no statistics' '^fastalloc: stats: no process wrote statistics .*FASTALLOC_DISABLE is set\)$' \
	"$(FASTALLOC_DISABLE=1 stats true 2>&1)"
like '-s: an unwritable place' '^fastalloc: none/stats: No such file or directory$' "$(fastalloc -s none/stats echo ran 2>&1)"
like '-s: no file' '^fastalloc: /dev/null: is not a regular file$' "$(fastalloc -s /dev/null echo ran 2>&1)"
mount -o remount,ro "$W" 2>/dev/null && {
	like '-s: read-only' '^fastalloc: new: Read-only file system$' "$(fastalloc -s new echo ran 2>&1)"
	mount -o remount,rw "$W"
}

# With -s the command waits: status and signals are still the program's.
is "-s: the program's status" 7 "$(stats sh -c 'exit 7' 2>/dev/null; echo $?)"
died() { (ulimit -c unlimited; stats "$@" 2>/dev/null; echo $?) 2>/dev/null; }
is '-s: dies of the signal' '137 143 134' "$(died sh -c 'kill -9 $$') $(died sh -c 'kill $$') $(died sh -c 'kill -ABRT $$')"
is '-s: really of the signal' 15 "$(python3 -c 'import subprocess, sys; print(-subprocess.call(sys.argv[1:]))' \
	fastalloc -s stats sh -c 'kill $$' 2>/dev/null)"
# A program that tells of its signals. $1 says what is done to the command, whose number is $command.
# Job control, as nothing stops in a process group without a parent in the session.
told() {
	set -m
	rm -f told
	fastalloc -s stats bash -c 'trap "echo USR1 >>told" USR1; trap "echo TERM >>told; exit 3" TERM; echo >ready
		while :; do sleep 0.05; done' 2>/dev/null &
	command=$!
	until [ -e ready ]; do sleep 0.05; done
	rm ready
	eval "$1"
	wait $command
	echo "$? $(paste -sd' ' told)"
}
is '-s: what is sent to the command reaches the program' '3 USR1 TERM' \
	"$(told 'kill -USR1 $command; sleep 0.3; kill $command')"
is '-s: SIGTSTP and SIGCONT too' 'T S 3 TERM' "$(told 'state() { sleep 0.3; ps -o stat= -p $command | cut -c1; }
	kill -TSTP $command; printf "%s " $(state); kill -CONT $command; printf "%s " $(state); kill $command')"
is '-s: an inherited alarm' 142 "$(python3 -c 'import os, signal, sys; signal.alarm(1); os.execvp(sys.argv[1], sys.argv[1:])' \
	fastalloc -s stats sleep 10 2>/dev/null; echo $?)"
is '-s: signals that were ignored stay so' 'ignored' \
	"$(trap '' INT CHLD; fastalloc -s stats python3 -c 'import signal
print("ignored" if signal.SIG_IGN == signal.getsignal(2) == signal.getsignal(17) else "not")' 2>/dev/null)"
is '-s: nothing is blocked' 0000000000000000 "$(stats sed -n 's/^SigBlk:\t//p' /proc/self/status 2>/dev/null)"

# In a terminal: keys reach the program once, and the shell gets its stopped job.
if command -v tmux >/dev/null; then
	tmux() { command tmux -f /dev/null -S "$W/tmux" "$@"; }
	screen() { sleep 1; tmux capture-pane -p | grep . | tail -n "${1:-1}" | sed 's/ *$//'; }
	tmux new-session -d -x 80 -y 24 "cd $W && PS1='> ' exec bash --norc --noprofile"
	tmux send-keys 'fastalloc -s stats sleep 100' Enter; sleep 1; tmux send-keys C-z
	like 'Ctrl-Z: the shell takes over' 'Stopped.*fastalloc -s stats sleep 100' "$(screen 2)"
	tmux send-keys fg Enter; sleep 1; tmux send-keys C-c
	is 'fg, Ctrl-C' 'status 130' "$(screen >/dev/null; tmux send-keys 'echo status $?' Enter; screen 2 | head -n 1)"
	tmux send-keys "clear; fastalloc -s stats bash -c 'trap \"echo INT\" INT; sleep 2; sleep 1'" Enter
	sleep 1; tmux send-keys C-c; sleep 2
	is 'Ctrl-C: once' 1 "$(screen 20 | grep -c 'INT$')"
	tmux kill-server
else
	skip 'in a terminal' 'no tmux'
fi

# Programs that do without the library, or cannot load it.
main='int main(void) { return 3; }'
start='void _start(void) { for (;;) ; }'
without() { like "$1" "^3 fastalloc: $2: runs without the library: $3" "$(fastalloc "$2" 2>message; echo "$? $(cat message)")"; }
gcc -static -x c -o static - <<<"$main" && without static ./static 'it is statically linked$'
gcc -static-pie -x c -o static-pie - <<<"$main" && without static-pie ./static-pie 'it is statically linked$'
gcc -x c -o plain - <<<"$main"
is 'a plain program' '3 ' "$(fastalloc ./plain 2>&1; echo "$? ")"
is 'a dynamic loader' '3 ' "$(fastalloc "$(readlink -f /lib64/ld-linux-x86-64.so.2)" ./plain 2>&1; echo "$? ")"
objcopy --add-section .go.buildinfo=/dev/null plain go && without Go ./go 'it is a Go program'
printf '#!/usr/bin/env -S A=1 ./static -x\n' >script
is 'a script: its interpreter counts' "fastalloc: ./static: runs without the library: it is statically linked" \
	"$(fastalloc ./script 2>&1)"
gcc -nostdlib -pie -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -x c -o musl - <<<"$start" &&
	fails musl 1 'fastalloc: ./musl: not run: it has another libc than the library: /lib/ld-musl-x86_64.so.1' fastalloc ./musl
if gcc -m32 -nostdlib -fno-pic -no-pie -Wl,--dynamic-linker=/lib/ld-linux.so.2 -Wl,--export-dynamic -shared -x c \
	-o 32-bit - <<<"$start" 2>/dev/null; then
	fails '32-bit' 1 "fastalloc: ./32-bit: not run: it is a 32-bit program, and no such library is at $LIB" fastalloc ./32-bit
else
	skip 32-bit 'gcc -m32 does not work'
fi
nobody() { setpriv --reuid 65534 --clear-groups "$@"; }
if nobody true 2>/dev/null && cp plain "$E/plain" && setcap cap_net_raw+ep "$E/plain" 2>/dev/null && chmod 755 "$E"; then
	cp -r "$BUILD/libfastalloc.so" "$E" && mkdir -p "$E/tools/fastalloc" && cp "$BUILD/tools/fastalloc/fastalloc" "$E/tools/fastalloc"
	fastalloc() { "$E/tools/fastalloc/fastalloc" "$@"; }
	is 'capabilities, as root: nothing special' 3 "$(fastalloc "$E/plain" 2>&1; echo $?)"
	like capabilities "^fastalloc: $E/plain: runs without the library: it is set-user-ID" \
		"$(nobody "$E/tools/fastalloc/fastalloc" "$E/plain" 2>&1)"
	setcap -r "$E/plain" && chmod u+s "$E/plain"
	like set-user-ID "^fastalloc: $E/plain: runs without the library: it is set-user-ID" \
		"$(nobody "$E/tools/fastalloc/fastalloc" "$E/plain" 2>&1)"
	is 'set-user-ID under no_new_privs: nothing special' 3 "$(nobody --no-new-privs "$E/tools/fastalloc/fastalloc" "$E/plain" 2>&1; echo $?)"
	unset -f fastalloc
else
	skip 'set-user-ID, capabilities' 'not root, or no capabilities here'
fi

# Installed: $LIB, where each program finds the library of its own kind.
if meson install -C "$BUILD" --no-rebuild --quiet --destdir "$W/root" >/dev/null 2>&1; then
	command=$(find "$W/root" -name fastalloc -type f -perm -u+x) library=$(find "$W/root" -name libfastalloc.so)
	installed=$("$command" printenv LD_PRELOAD)
	lib=$(dirname "$(readlink -f /lib64/ld-linux-x86-64.so.2)")
	is 'installed: $LIB' "${library%"${lib#/usr}"/*}/\$LIB/libfastalloc.so" "$installed"
	is 'installed: the loader finds it' "$library" "$("$command" sed -n 's/.* \(\/.*libfastalloc.so\)$/\1/p' /proc/self/maps | uniq)"
	# A 32-bit program whose loader lies in a directory of ours, so that $LIB is that directory.
	mkdir lib32 && touch lib32/ld.so
	if gcc -m32 -nostdlib -pie -fPIE -Wl,--dynamic-linker="$W/lib32/ld.so" -x c -o other - <<<"$start" 2>/dev/null; then
		other=${library%"${lib#/usr}"/*}$W/lib32/libfastalloc.so
		fails 'installed: no 32-bit library' 1 \
			"fastalloc: ./other: not run: it is a 32-bit program, and no such library is at $other" "$command" ./other
		mkdir -p "$(dirname "$other")" && cp "$library" "$other"
		like 'installed: a 64-bit one in its place is none' 'no such library' "$("$command" ./other 2>&1)"
		cp other "$other"
		is 'installed: a 32-bit library will do' 0 "$("$command" ./other 2>&1 | grep -c 'no such library')"
	else
		skip 'installed, 32-bit' 'gcc -m32 does not work'
	fi
	mkdir 'with blank' && mv root 'with blank'
	like 'a path with a blank' '^fastalloc: .*with blank.*: LD_PRELOAD cannot name a path with blanks or colons' \
		"$("with blank${command#"$W"}" echo ran 2>&1)"
	rm "with blank${library#"$W"}"
	like 'no library' '^fastalloc: /.*/libfastalloc.so: no such library; is fastalloc installed\?$' \
		"$("with blank${command#"$W"}" echo ran 2>&1)"
else
	skip installed 'meson install failed'
fi
finish
