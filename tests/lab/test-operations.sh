# test-operations.sh: guest script. Random operations on files of FAT, NFS, ext4 and xfs, with
# the library and without: the same results, and the file is what a model in memory says.
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
. "$PROJECT/tests/fs/operations-lib.sh"
mkdir /tmp/conf && make_configurations /tmp/conf
count=${count:-60}
[ -z "${LONG:-}" ] || count=3000
fat_mount 512 && operations FAT /mnt/fat windows
for type in ext4 xfs; do
	if local_mount $type -s 600M; then operations $type /mnt/local windows; else skip $type 'cannot be mounted'; fi
done
unmount /mnt/local
nfs_serve ext4
for version in 3 4.1 4.2; do
	if nfs_mount $version; then operations "NFS $version" /mnt/nfs stock; else skip "NFS $version" 'cannot be mounted'; fi
done
finish
