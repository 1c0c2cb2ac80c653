#!/bin/bash
# trim.sh: fastalloc trim: gives back what lies past EOF, of files nobody has open, and changes nothing else.
. "$PROJECT/tests/command/disk.sh" || exit 1

kept() { # FILE: 1 MiB of data and 4 MiB past it, with a time of long ago
	head -c 1M /dev/zero | tr '\0' x >"$1" && fallocate --keep-size --length 5M "$1" &&
		sync "$1" && touch -d '2001-02-03 04:05:06.789' "$1"
}
state() { stat -c '%s %X %Y %y %a %b' "$@"; }

tested=0
for type in ext4 xfs btrfs f2fs tmpfs; do
	if [ $type = tmpfs ]; then
		cd / && umount "$M" 2>/dev/null
		mount -t tmpfs tmpfs "$M" && cd "$M" || exit 1
	else
		fresh $type || { skip "$type" 'cannot be made or mounted' && continue; }
	fi
	tested=$((tested + 1))
	kept a
	sum=$(md5sum <a) before=$(state a)
	fastalloc trim --dry-run .
	is "$type: dry run" "0 1 of 1 files: 4 MiB to give back" "$status $(tail -n 1 <<<"$out")"
	is "$type: a dry run changes nothing" "$before" "$(state a)"
	fastalloc trim a
	is "$type: trimmed" "0 1 of 1 files: 4 MiB given back" "$status $(tail -n 1 <<<"$out")"
	is "$type: blocks, and all else as before" "${before% *} 2048" "$(state a)"
	is "$type: content" "$sum" "$(md5sum <a)"
	fastalloc trim a
	is "$type: nothing twice" "0 0 of 1 files: 0 B given back" "$status $out"
done
[ $tested -gt 1 ] || { finish; }

fresh ext4 || exit 1
# Holes, and what is allocated on purpose below EOF, stay.
truncate -s 8M sparse && fallocate -o 1M -l 1M sparse && fallocate --keep-size -o 9M -l 1M sparse && sync sparse
: >empty && fallocate --keep-size -l 1M empty
echo 123 >small && fallocate --keep-size -l 1M small && sync small
fastalloc trim --json sparse
is 'a sparse file: what lies below EOF stays' "$MiB 2048" "$(field given-back) $(blocks sparse)"
fastalloc trim empty small
is 'empty and small files' '0 0 8' "$status $(blocks empty small | paste -sd' ')"

# Files that somebody has open.
for mode in '<' '>>' '<>'; do
	kept open
	eval "exec 7${mode}open"
	fastalloc trim -n open
	is "open $mode: a dry run tells" '1 fastalloc: open: somebody has it open' "$status $err"
	fastalloc trim open
	is "open $mode: left alone" "1 fastalloc: open: somebody has it open $((10 * 1024))" "$status $err $(blocks open)"
	exec 7>&-
	fastalloc trim open
	is "open $mode: closed: trimmed" '0 2048' "$status $(blocks open)"
done

# A lease is somebody too.
kept leased
perl -e 'open my $f, ">>", "leased"; $SIG{IO} = "IGNORE"; fcntl($f, 1024, 1) or exit 1; print "ok\n"; close STDOUT; sleep 30 for 1..9' >"$D/leased" &
while [ ! -s "$D/leased" ] && kill -0 $! 2>/dev/null; do sleep 0.1; done
fastalloc trim leased
is 'leased: left alone' "1 fastalloc: leased: somebody has it open $((10 * 1024))" "$status $err $(blocks leased)"
kill $!
wait

# Somebody appends as fast as possible, opening the file each time: not a byte is lost.
: >log
(
	for i in $(seq 1 2000); do
		echo "line $i" >>log
		[ $((i % 10)) = 0 ] && fallocate --keep-size -l $((i * 20 + 65536)) log
	done
	touch "$D/done"
) &
rounds=0
while [ ! -e "$D/done" ]; do
	"$FASTALLOC" trim log >/dev/null 2>&1
	rounds=$((rounds + 1))
done
wait
is "appended meanwhile: all of it is there ($rounds rounds)" "$(seq -f 'line %g' 1 2000 | md5sum)" "$(md5sum <log)"

# strace makes what is rare happen.
if command -v strace >/dev/null; then
	traced() { # FILE INJECTION WORD...: fastalloc WORD..., with an injection into calls that concern FILE
		out=$(strace -qq -o /dev/null -P "$1" -e "inject=$2" "$FASTALLOC" "${@:3}" 2>"$D/err")
		status=$?
		err=$(grep -v '^strace: ' "$D/err")
	}
	mkdir gone && kept gone/a && kept gone/b
	for error in ENOENT ESTALE; do
		traced gone/a openat:error=$error trim -n gone
		is "$error in a directory: what vanished was not asked for" '0 1' "$status$err $(grep -c gone/b <<<"$out")"
		traced gone/a openat:error=$error extents -r gone
		is "$error in a directory: extents" '0 1' "$status$err $(grep -c gone/b <<<"$out")"
	done
	traced gone/a openat:error=ENOENT trim gone/a
	is 'what was asked for by name: told' '1 fastalloc: gone/a: No such file or directory' "$status $err"

	kept slow
	traced slow fcntl:delay_exit=700000:when=1 trim slow
	is 'stopped under the lease: left alone' \
		"1 fastalloc: slow: took too long, somebody may have it open by now $((10 * 1024))" "$status $err $(blocks slow)"
	(sleep 0.7 && fallocate --keep-size --length 3M slow) &
	traced slow fcntl:delay_exit=1500000:when=2 trim slow
	wait
	is 'what somebody allocates right afterwards is not counted' "0 1 of 1 files: 4 MiB given back $((6 * 1024))" \
		"$status$err $(tail -n 1 <<<"$out") $(blocks slow)"
else
	skip 'rare cases' 'no strace'
fi

# On an overlay, a file that is opened for writing is copied.
mkdir lower upper work over && kept lower/a
if mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work over 2>/dev/null; then
	fastalloc trim over
	is 'an overlay: left alone' "1 fastalloc: over/a: on an overlay, only its layers can be trimmed $((10 * 1024))" \
		"$status $err$(ls upper) $(blocks lower/a)"
	umount over
else
	skip 'an overlay: left alone' 'cannot be mounted'
fi

# What it must not, or cannot, touch: said, and the rest goes on.
refuses() { # NAME REASON: a file `kept` was made unfit
	local before
	before=$(state "$1")
	fastalloc trim "$1" other
	is "$1: refused" "1 fastalloc: $1: $2" "$status $err"
	is "$1: unchanged, the other trimmed" "$before 2048" "$(state "$1") $(blocks other)"
	fastalloc trim -n "$1"
	is "$1: a dry run says the same" "fastalloc: $1: $2" "$err"
	kept other
}
kept other
for f in setuid setgid capable immutable append; do kept $f; done
chmod u+s setuid && refuses setuid 'set-user-ID or set-group-ID, which it would lose'
chmod g+s setgid && refuses setgid 'set-user-ID or set-group-ID, which it would lose'
setcap cap_net_raw+ep capable && refuses capable 'has capabilities, which it would lose'
chattr +i immutable && refuses immutable 'immutable (chattr -i)'
chattr +a append && refuses append 'append-only (chattr -a)'
chattr -i immutable && chattr -a append
chmod 755 "$D" "$M" && kept foreign && chmod 666 foreign
nobody trim foreign
is "another's file" "1 fastalloc: foreign: only its owner or root can tell whether somebody has it open $((10 * 1024))" \
	"$status $err $(blocks foreign)"
chmod 644 foreign
nobody trim foreign
is "another's file, read-only" '1 fastalloc: foreign: Permission denied' "$status $err"
nobody trim -n foreign
is "another's file, dry run" '1 fastalloc: foreign: Permission denied' "$status $err"
kept mine && chown 65534 mine
nobody trim mine
is 'their own file' '0 2048' "$status $(blocks mine)"

# Directories: the same file system only, and what is a link once.
mkdir -p dir/sub dir/mount && kept dir/sub/a && kept dir/b && ln dir/b dir/sub/b && ln -s /etc dir/link && mkfifo dir/fifo
mount -t tmpfs tmpfs dir/mount && kept dir/mount/c
fastalloc trim -n dir
is 'a directory: each file once' '0 2 of 2 files: 8 MiB to give back' "$status $(tail -n 1 <<<"$out")"
fastalloc trim dir
is 'a directory' "0 2048 2048 $((10 * 1024))" "$status $(blocks dir/sub/a dir/b dir/mount/c | paste -sd' ')"
umount dir/mount

# Wrong usage and input.
fastalloc trim nothing
is 'no such path' '1 fastalloc: nothing: No such file or directory' "$status $err"
fastalloc trim
is 'no path' 2 "$status"
fastalloc trim --bogus .
is 'wrong option' 2 "$status"
fastalloc trim --help
like '--help' '^Usage: fastalloc trim ' "$out"
fastalloc trim --json dir
is '--json where there is nothing to do' '0 { "files": [ ] }' "$status $(echo $out)"
kept readonly
mount -o remount,ro "$M"
for option in '' -n; do
	fastalloc trim $option readonly
	is "a file system that is read-only $option" "1 fastalloc: readonly: Read-only file system $((10 * 1024))" "$status $err $(blocks readonly)"
done
finish
