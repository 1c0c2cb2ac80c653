#!/bin/bash
# tune.sh: what `fastalloc tune` refuses, what it leaves behind, what it puts into a configuration.
. "${PROJECT:?}/tests/tap.sh"
command=${BUILD:?}/tools/fastalloc/fastalloc
PATH=$PATH:/usr/sbin:/sbin
[ -x "$command" ] || { echo '1..0 # SKIP the command is not built'; exit 0; }
dir=$(mktemp -d /var/tmp/fastalloc-XXXXXX)
trap 'cd /; [ -z "${pid:-}" ] || kill $pid 2>/dev/null; fusermount3 -uz "$dir/mnt" 2>/dev/null; umount "$dir/disk" 2>/dev/null; rm -rf "$dir"' EXIT
mkdir "$dir/mnt" "$dir/disk" "$dir/home"
cd "$dir" || exit 1
unset FASTALLOC_CONFIG XDG_CONFIG_HOME LD_PRELOAD
export HOME=$dir/home

tune() { "$command" tune "$@" 2>&1 </dev/null; }
refused() { # NAME STATUS REGEX ARGUMENT...
	local name=$1 status=$2 regex=$3 out
	shift 3
	out=$(tune "$@")
	is "$name: status" "$status" $?
	like "$name: why" "$regex" "$out"
}
# begin MOUNT: tune in the background, as with a terminal; returns once its directory is there.
begin() {
	env --default-signal "$command" tune --rounds 99 "$1" >"$dir/out" 2>&1 &
	pid=$!
	for ((i = 0; i < 100; i++)); do compgen -G "$1/fastalloc-tune-*/0" >/dev/null && return; sleep 0.05; done
}
# found ARGUMENT...: tune, again where so much else ran that nothing could be told from noise
found() {
	for ((i = 0; i < 5; i++)); do
		tune "$@" >found.out
		status=$?
		grep -qE '^\+?posix_fallocate = auto|"recommended": true' found.out && break
	done
	cat found.out
	return $status
}
workers() { pgrep -P "$pid" | wc -l; }

# Wrong usage, and places where nothing can be measured
refused 'no directory' 2 'which directory' --quick
refused 'two directories' 2 'one directory at a time' a b
refused 'unknown option' 2 "Try 'fastalloc tune --help'" --nonsense .
refused 'too few rounds' 2 '4 is not within 5 and 99' --rounds 4 .
refused 'a size that is none' 2 '1x is not within' --size 1x .
refused 'asking without a terminal' 2 'no terminal to ask on' --apply .
refused '--json and --apply' 2 'not together' --json --apply .
refused 'no such directory' 1 '^fastalloc: gone: No such file or directory$' gone
refused 'not a directory' 1 '^fastalloc: /etc/passwd: Not a directory$' /etc/passwd
refused 'in memory' 1 'files are in memory' /dev/shm
like 'help' '^Usage: fastalloc tune DIR' "$(tune --help)"
at_most 'help fits 80 columns' 80 "$(tune --help | wc -L)"
printf '[defualt]\n' >bad.conf
refused 'a configuration with an error' 1 '^fastalloc: bad.conf: line 1, column 2: .*did you mean "default"' \
	--yes --apply=bad.conf .
refused 'a configuration that is a directory' 1 '^fastalloc: mnt: Is a directory$' --yes --apply=mnt .
refused 'a configuration in no directory' 1 '^fastalloc: gone/gone/x: No such file' --yes --apply=gone/gone/x .

# A file system without fallocate, where libc's emulation makes 256 times the requests
serve() { # OPTION...
	fusermount3 -u "$dir/mnt" 2>/dev/null
	"$BUILD/tests/fusefs" "$dir/mnt" "$@" 2>/dev/null
}
fuse_tests() {
	local json section conf=$dir/preload.conf kept

	json=$(found --json --size 64M "$dir/mnt")
	is 'JSON: status' 0 $?
	like 'JSON: the library beside libc' '"side": "the library"' "$json"
	ok 'JSON: valid, a number for each time' python3 -c '
import json, sys
sides = json.loads(sys.argv[1])["measurements"]
assert all(s["seconds-least"] <= s["seconds"] <= s["seconds-most"] for s in sides)
assert [s["side"] for s in sides if s["recommended"]] == ["the library"]' "$json"
	section=$(found --size 64M "$dir/mnt")
	like 'section: the mount' "^\[mount \"$dir/mnt\"\]" "$section"
	like 'section: the finding' $'\nposix_fallocate = auto\n' "$section"
	like 'section: why no windows' 'No windows: FALLOC_FL_KEEP_SIZE is not supported' "$section"
	at_most 'section: fits 80 columns' 80 "$(wc -L <<<"$section")"
	is 'nothing is left behind' '' "$(ls "$dir/mnt")"

	# A new file has the stock configuration too, since the built-in one is then not used.
	found --size 64M --yes --apply="$conf" "$dir/mnt" >out
	is 'apply: status' 0 $?
	like 'apply: the difference to what was built in' '^--- built-in configuration' "$(cat out)"
	like 'apply: its end' '^Written.$' "$(tail -n 1 out)"
	is 'apply: a new file begins with the stock configuration' "$(cat "$PROJECT/preload.conf")" \
		"$(head -n "$(wc -l <"$PROJECT/preload.conf")" "$conf")"
	like 'apply: the library takes it' '^pfa = 0$' \
		"$(FASTALLOC_CONFIG=$conf LD_PRELOAD=$BUILD/libfastalloc.so "$BUILD/tests/act" "$dir/mnt/a" rdwr,creat pfa 0 4K 2>&1)"
	rm "$dir/mnt/a"

	# What is there already: a symbolic link, mode and owner, the user's own lines
	printf '[default]\nwrite = native\n[mount "%s"]\nsync = always\n' "$dir/mnt" >real.conf
	chmod 640 real.conf
	[ "$(id -u)" != 0 ] || chown 12:34 real.conf
	kept=$(stat -c '%a %u %g' real.conf)
	ln -s real.conf link.conf
	tune --size 64M --yes --apply link.conf "$dir/mnt" >out # an operand is taken for the directory first
	is '--apply FILE DIR: the directory comes first' 1 $?
	found --size 64M "$dir/mnt" --yes --apply link.conf >out
	is 'DIR --apply FILE: status' 0 $?
	ok 'the link is still one' test -L link.conf
	is 'mode and owner are kept' "$kept" "$(stat -c '%a %u %g' real.conf)"
	is 'the lines before are kept' 'sync = always' "$(sed -n 4p real.conf)"
	is 'a section of the user is not replaced' 2 "$(grep -c '^\[mount' real.conf)"
	printf 'stdio = off\n' >>real.conf
	sed -i 's/^posix_fallocate = auto/posix_fallocate = native/' real.conf
	FASTALLOC_CONFIG=$dir/real.conf found --size 64M --yes --apply "$dir/mnt" >out
	is 'again, on what the library would use: status' 0 $?
	is 'what was found before is replaced, not doubled' 2 "$(grep -c '^\[mount' real.conf)"
	is 'by the new finding' 'posix_fallocate = auto' "$(grep ^posix_fallocate real.conf)"
	is 'the lines behind are kept' 'stdio = off' "$(tail -n 1 real.conf)"
	is 'no temporary file is left' '' "$(ls -A | grep tuned)"

	# Asking, on a terminal
	command -v script >/dev/null || return
	kept=$(md5sum <real.conf)
	for answer in n y; do
		# The answer comes when it is asked for: earlier, it would be too soon for a pty.
		{ for ((i = 0; i < 300; i++)); do grep -q 'y/N' typed 2>/dev/null && break; sleep 0.1; done; echo $answer; } |
			TERM=vt100 timeout 60 script -qefc "'$command' tune --size 64M '--apply=$dir/real.conf' '$dir/mnt'" typed >/dev/null
		like "$answer: progress on a terminal" '\[#+ *\] +[0-9]+ %' "$(tr '\r' '\n' <typed)"
		case $answer in
		n) is 'n: nothing is changed' "$kept" "$(md5sum <real.conf)" ;;
		y) ok 'y: it is written' test "$kept" != "$(md5sum <real.conf)" ;;
		esac
		rm typed
	done

	# However it ends
	for signal in INT TERM HUP; do
		begin "$dir/mnt"
		kill -$signal $pid
		wait $pid
		status=$?
		is "SIG$signal: it dies of that" $((128 + $(kill -l $signal))) $status
		is "SIG$signal: nothing is left behind" '' "$(ls "$dir/mnt")"
		is "SIG$signal: no process is left" 0 "$(workers)"
	done
	begin "$dir/mnt"
	worker=''
	while [ -z "$worker" ]; do worker=$(pgrep -P $pid) || kill -0 $pid || break; done
	kill -KILL $pid
	wait $pid 2>/dev/null
	sleep 0.2
	is 'SIGKILL: its worker is gone' '' "$(ps -o stat= -p "$worker" | grep -v Z)"
	rm -r "$dir/mnt"/fastalloc-tune-*

	serve --capacity 2G --no-statfs
	refused 'free space unknown' 1 '/mnt: it does not tell how much space is free$' "$dir/mnt"
	serve --capacity 60M
	refused 'too little space' 1 'needs 64 MiB of free space, and has 60 MiB$' "$dir/mnt"
	serve --capacity 2G
	refused 'a size beyond a sixteenth of it' 1 'needs 16 GiB of free space' --size 1G "$dir/mnt"
}
if [ -w /dev/fuse ] && command -v fusermount3 >/dev/null && serve --max-write 1048576 --capacity 2G; then
	fuse_tests
else
	skip 'a file system without fallocate' 'FUSE cannot be mounted here'
fi

# ext4 on a loop device: windows, pieces, no permission, read-only, sync
disk_tests() {
	local section

	section=$(tune --size 16M "$dir/disk")
	is 'ext4: status' 0 $?
	like 'ext4: nothing to choose for reserving' "The kernel's fallocate is used: nothing to choose" "$section"
	like 'ext4: windows are measured' '64K to 16M +[0-9.]+ ' "$section"
	is 'ext4: nothing is left behind' lost+found "$(ls "$dir/disk")"
	# Windows that do not grow defeat delayed allocation (docs/writes.md).
	json=$(tune --json --size 16M "$dir/disk")
	ok 'ext4: more pieces with small windows, so the library is in effect' python3 -c '
import json, sys
sides = {s["side"]: s for s in json.loads(sys.argv[1])["measurements"]}
assert sides["64K"]["pieces"] > 2 * sides["none"]["pieces"]' "$json"
	begin "$dir/disk"
	fallocate -l 560M "$dir/disk/full" 2>/dev/null || head -c 560M /dev/zero >"$dir/disk/full"
	wait $pid
	is 'the disk fills up: status' 1 $?
	like 'the disk fills up: why' '/disk: No space left on device$' "$(tail -n 1 out)"
	is 'the disk fills up: nothing is left behind' 'full lost+found' "$(ls "$dir/disk" | paste -sd' ')"
	rm "$dir/disk/full"
	tree=$dir/bin/tools/fastalloc # where the command looks for the library of a build
	mkdir -p "$tree" && cp "$command" "$tree" && cp "$BUILD/libfastalloc.so" "$dir/bin" && chmod -R a+rX "$dir/bin" && chmod 755 "$dir" "$dir/disk"
	like 'no permission' '^fastalloc: .*/disk: Permission denied$' \
		"$(setpriv --reuid 65534 --clear-groups "$tree/fastalloc" tune "$dir/disk" 2>&1)"
	mount -o remount,ro "$dir/disk"
	refused 'read-only' 1 '/disk: Read-only file system$' "$dir/disk"
	mount -o remount,rw,sync "$dir/disk"
	like 'sync: no windows' 'No windows: mounted with "sync"' "$(tune --size 4M "$dir/disk")"
}
truncate -s 600M image
if [ "$(id -u)" = 0 ] && mkfs.ext4 -q -F image && mount -o loop image disk 2>/dev/null; then
	disk_tests
else
	skip ext4 'no loop devices'
fi
finish
