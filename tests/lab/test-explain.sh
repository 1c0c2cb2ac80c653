# test-explain.sh: guest script. fastalloc explain on FAT and on each version of NFS.
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
export FASTALLOC_CONFIG=$PROJECT/preload.conf
command=$BUILD/tools/fastalloc/fastalloc
key() { "$command" explain "$2" | sed -n "/^KEY/,\$s/^$1  *//p" | tr -s ' '; }
json() {
	"$command" explain --json "$2" | python3 -c "import json, sys
p = json.load(sys.stdin)['paths'][0]
print($1)"
}
line() { grep -nx "$1" "$FASTALLOC_CONFIG" | tail -n 1 | cut -d: -f1; }

fat_mount 4096
is 'vfat: the mount' '/mnt/fat /dev/ubda vfat' "$(json "'%(point)s %(source)s %(type)s' % p['mount']" /mnt/fat/new)"
is 'vfat: the line of [fstype vfat msdos]' "preallocate $FASTALLOC_CONFIG:$(line 'write = preallocate')" "$(key write /mnt/fat/new)"
like 'vfat: windows' 'half as much as the file has, 64K to 16M' "$(json "p['calls']['write']" /mnt/fat/new)"
like 'vfat: no holes' 'no holes' "$(json "p['facts']" /mnt/fat)"
like 'vfat: appends are healed' 'given back first' "$(json "p['calls']['open O_APPEND']" /mnt/fat)"
"$command" explain /mnt/fat/new.wav >>"$OUT/results"
fat_mount 4096 sync
is 'vfat, sync: no windows' 'passed on: mounted with sync' "$(json "p['calls']['write']" /mnt/fat/new)"
for version in 3 4.0 4.1 4.2; do
	nfs_serve ext4 async
	nfs_mount $version
	is "nfs$version: type and family" "nfs$version nfs" "$(json "'%(type)s %(family)s' % p['mount']" /mnt/nfs/new)"
	is "nfs$version: no windows" 'passed on' "$(json "p['calls']['write']" /mnt/nfs)"
	nfs_umount
done
nfs_mount 3
like 'nfs3: filled and flushed' '^the space is reserved by .*, then flushed$' "$(json "p['calls']['posix_fallocate']" /mnt/nfs)"
is 'nfs3: ftruncate' "native $FASTALLOC_CONFIG:$(grep -nx 'ftruncate = native' "$FASTALLOC_CONFIG" | cut -d: -f1)" "$(key ftruncate /mnt/nfs/new)"
nfs_umount
nfs_mount 4.2
is 'nfs4.2: the line of [fstype nfs4.2]' "1G $FASTALLOC_CONFIG:$(line 'ftruncate_max = 1G')" "$(key ftruncate_max /mnt/nfs/new)"
"$command" explain /mnt/nfs/disk.raw >>"$OUT/results"
finish
