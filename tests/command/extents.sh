#!/bin/bash
# extents.sh: fastalloc extents: pieces, holes, blocks past EOF, pictures.
. "$PROJECT/tests/command/disk.sh" || exit 1

fresh ext4 || { echo '1..0 # SKIP no loop devices'; exit 0; }
# Two files whose pieces alternate.
for i in $(seq 0 19); do
	for f in a b; do
		dd if=/dev/zero of=$f bs=64K count=1 seek="$i" conv=notrunc,fsync status=none
	done
done
fastalloc extents --json a
is 'status' 0 "$status"
is 'pieces are those that filefrag counts' "$(filefrag a | sed 's/.*: \([0-9]*\) ext.*/\1/')" "$(field pieces)"
is 'size' $((20 * 65536)) "$(field size)"
is 'by FIEMAP' FIEMAP "$(field source)"

# More extents than one call of FIEMAP tells.
for i in $(seq 0 699); do echo x | dd of=many bs=8192 seek="$i" conv=notrunc status=none; done
sync many
fastalloc extents -v many
is '700 extents with holes in between' 701 "$(wc -l <<<"$out")"
is 'the last extent is told so' 'last' "$(tail -n 1 <<<"$out" | awk '{print $NF}')"
is 'all lie where filefrag says' "$(filefrag -b1 -e many | awk -F'[ :.]+' '/^ +[0-9]+:/ {print $3, $5}' | md5sum)" \
	"$(tail -n +2 <<<"$out" | awk '{print $2, $3}' | md5sum)"

# Past EOF, unwritten, holes, nothing at all.
head -c 1M /dev/urandom >kept
fallocate --keep-size --length 5M kept
sync kept
fastalloc extents --json kept
is 'allocated past EOF' $((4 * MiB)) "$(field past-eof)"
fastalloc extents -v kept
like 'listed as such' 'unwritten,last,past-eof' "$out"
truncate -s 1T hole
fastalloc extents --json hole
is 'a hole has no pieces' '0 0 0' "$(field pieces) $(field allocated) $(field past-eof)"
: >empty
fastalloc extents empty
is 'an empty file' 0 "$status"

# Looking does not flush.
head -c 1M /dev/zero >delayed
fastalloc extents delayed
like 'what is delayed is told' '\(delayed\)' "$out"
fastalloc extents --json delayed
is 'how much of it' "0 $MiB" "$(field pieces) $(field delayed)"
fastalloc extents --sync --json delayed
is '--sync flushes it' '1 0' "$(field pieces) $(field delayed)"

# Pictures.
fastalloc extents kept
like 'plain characters in the C locale' '[.]{4}' "$out"
like 'something is where it is' '[.][-+#]' "$out"
out=$(LC_ALL=C.UTF-8 "$FASTALLOC" extents -z kept)
like 'blocks in UTF-8' '█' "$out"
is 'fits 80 columns' 0 "$(LC_ALL=C "$FASTALLOC" extents kept delayed | grep -cE '.{81}')"
is 'a picture of 80 columns on a terminal' '' \
	"$(TERM=vt100 script -qec "stty cols 80; '$FASTALLOC' extents kept delayed" /dev/null </dev/null | tr -d '\r' | grep -E '.{81}')"

# Directories, other files.
mkdir -p dir/sub && cp kept dir/sub/f && ln -s f dir/sub/link && mkfifo dir/fifo
fastalloc extents dir
is 'a directory without -r' 1 "$status"
is 'is said' 'fastalloc: dir: is a directory (-r enters it)' "$err"
fastalloc extents -r dir
is 'with -r: its regular files' '0 dir/sub/f' "$status $(tail -n +2 <<<"$out" | awk '{print $1}')"
fastalloc extents dir/sub/link
is 'a symbolic link that is named is followed' 0 "$status"
fastalloc extents --json "$(printf 'no\nsuch\tfile')" dir/fifo kept
is 'what cannot be shown is said, the rest goes on' '1 kept' "$status $(field file)"
is 'control characters do not reach the terminal' 'fastalloc: no?such?file: No such file or directory' "$(head -n 1 <<<"$err")"
like 'not a regular file' 'fastalloc: dir/fifo: is not a regular file' "$err"
install -m 600 kept secret
chmod 755 "$D" "$M"
nobody extents secret
is 'no permission' '1 fastalloc: secret: Permission denied' "$status $err"
fastalloc extents
is 'no file named' 2 "$status"
fastalloc extents --bogus
is 'wrong option' 2 "$status"
fastalloc extents --help
like '--help' '^Usage: fastalloc extents ' "$out"
"$FASTALLOC" extents -r . 2>"$D/err" | true
is 'a pipe closed early is no message' '' "$(cat "$D/err")"
fastalloc extents kept >/dev/full
"$FASTALLOC" extents kept >/dev/full 2>"$D/err"
is 'a full output is' "1 fastalloc: standard output: No space left on device" "$? $(cat "$D/err")"

mkdir "$D/tmpfs" && mount -t tmpfs tmpfs "$D/tmpfs" && echo x >"$D/tmpfs/f"
fastalloc extents "$D/tmpfs/f"
is 'no FIEMAP, no FIBMAP' "1 fastalloc: $D/tmpfs/f: its file system has neither FIEMAP nor FIBMAP" "$status $err"
nobody extents "$D/tmpfs/f"
is 'neither for another user' "1 fastalloc: $D/tmpfs/f: its file system has neither FIEMAP nor FIBMAP" "$status $err"
umount "$D/tmpfs"
finish
