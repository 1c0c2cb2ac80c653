# test-command.sh: guest script. fastalloc extents, trim and probe on FAT and NFS.
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
fastalloc=$BUILD/tools/fastalloc/fastalloc
field() { tr -d '\n' | sed -n "s/[^]}]*\"$1\": *\"\{0,1\}\([^\",}]*\)\"\{0,1\}[,} ].*/\1/p" | sed 's/ *$//'; }
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
result() { sed -n "s/^$1  *\\([a-zA-Z0-9.]*\\)  *\\(yes\\|no\\) .*/\\1/p" <<<"$out"; }
holds() { # NAME FEATURE=RESULT...
	local name=$1 pair
	shift
	for pair; do is "$name: ${pair%=*}" "${pair#*=}" "$(result "${pair%=*}")"; done
}

for cluster in 512 4096; do
	c="vfat, clusters of $cluster"
	fat_mount $cluster || exit 1
	cd /mnt/fat || exit 1

	# Pieces, by FIBMAP.
	$BUILD/tests/record write 4K 1M /mnt/fat 2 >/dev/null
	sync
	is "$c: pieces" "$(extents 0)" "$($fastalloc extents --json 0 | field pieces)"
	is "$c: by FIBMAP" FIBMAP "$($fastalloc extents --json 0 | field source)"
	is "$c: where filefrag says" "$(filefrag -b512 -e 0 | awk -F'[ :.]+' '/^ +[0-9]+:/ {print $5 * 512; exit}')" \
		"$($fastalloc extents -v 0 | awk 'NR == 2 {print $3}')"
	like "$c: another user" 'fastalloc: 0: its file system has no FIEMAP, and FIBMAP is for root' \
		"$(as_nobody $fastalloc extents 0 2>&1)"

	# Clusters past EOF: found, given back, nothing else changed.
	head -c 1000000 /dev/zero | tr '\0' x >a
	touch -d '2001-02-03 04:05:06' a
	fallocate --keep-size -o 0 -l 4M a
	touch -d '2001-02-03 04:05:06' a
	full=$(stat -c %b a) sum=$(md5sum <a) time=$(stat -c '%s %Y' a)
	past=$((full * 512 - (1000000 + cluster - 1) / cluster * cluster))
	is "$c: past EOF" "$past" "$($fastalloc extents --json a | field past-eof)"
	is "$c: listed as such" "$past past-eof" "$($fastalloc extents -v a | awk '$5 == "past-eof" {sum += $4} END {print sum, $5}')"
	is "$c: a dry run" "$past" "$($fastalloc trim -n --json /mnt/fat | field past-eof)"
	is "$c: changes nothing" "$full" "$(stat -c %b a)"
	exec 7<a
	like "$c: open" 'fastalloc: a: somebody has it open' "$($fastalloc trim a 2>&1)"
	exec 7<&-
	is "$c: given back" "$past" "$($fastalloc trim --json a | field given-back)"
	is "$c: blocks" $(((1000000 + cluster - 1) / cluster * cluster / 512)) "$(stat -c %b a)"
	is "$c: size, time and content as before" "$time $sum" "$(stat -c '%s %Y' a) $(md5sum <a)"
	is "$c: nothing twice" "0 of 1 files: 0 B given back" "$($fastalloc trim a)"
	: >empty
	fallocate --keep-size -l 1M empty
	$fastalloc trim empty >/dev/null
	is "$c: an empty file" '0 0' "$(stat -c '%s %b' empty)"

	out=$($fastalloc probe .)
	holds "$c" fallocate=yes KEEP_SIZE=yes PUNCH_HOLE=no FIEMAP=no 'sparse growth=no' \
		'write lease=yes' 'past EOF after close=yes' 'ENOSPC, mapped=ftruncate'
	is "$c: probe leaves nothing" '' "$(find . -name '.fastalloc*')"
	cd /
	unmount /mnt/fat
	ok "$c: fsck finds nothing" fsck.vfat -n /dev/ubda
done

# The largest file FAT has.
fat_mount 32768 rw 4G
: >/mnt/fat/big
fallocate --keep-size -l 4080M /mnt/fat/big # growing it, FAT would write zeros
is 'a file of nearly 4 GiB: all of it' "$(stat -c %b /mnt/fat/big)" \
	"$($fastalloc extents -v /mnt/fat/big 2>/dev/null | awk 'NR > 1 {sum += $4} END {print sum / 512}')"
rm /mnt/fat/big

nfs_serve ext4 async
for version in 3 4.2; do
	n=nfs$version
	nfs_mount $version || exit 1
	out=$($fastalloc probe /mnt/nfs)
	is "$n: probe" 0 $?
	like "$n: its type" "file system +$n" "$out"
	supported=no
	[ $version = 4.2 ] && supported=yes
	holds $n fallocate=$supported KEEP_SIZE=no PUNCH_HOLE=$supported SEEK_HOLE=$supported FIEMAP=no \
		'sparse growth=yes' 'fault allocates=no' 'ENOSPC, written=fsync' 'ENOSPC, mapped=fsync'
	is "$n: probe leaves nothing, on the server either" '' "$(find /mnt/nfs /mnt/export -name '.fastalloc*' -o -name '.nfs*')"
	echo x >/mnt/nfs/a
	sync /mnt/nfs/a
	like "$n: extents" 'its file system has neither FIEMAP nor FIBMAP' "$($fastalloc extents /mnt/nfs/a 2>&1)"
	fallocate --keep-size -l 1M /mnt/export/a
	nfs_umount && nfs_mount $version
	like "$n: trim cannot tell" 'its file system cannot tell what lies past the end' "$($fastalloc trim /mnt/nfs/a 2>&1)"
	is "$n: and changes nothing" 2048 "$(stat -c %b /mnt/export/a)"
	nfs_umount
	rm /mnt/export/a
done
finish
