# places.sh: the file systems where a test runs programs with the library and without. Source it after guest.sh and
# tap.sh.
# shellcheck shell=bash
. "$PROJECT/tests/fs/operations-lib.sh"
mkdir /tmp/conf && make_configurations /tmp/conf

# on_each PLACES FUNCTION [FAT_OPTIONS]: FUNCTION NAME DIR CONFIGURATION, the last one of /tmp/conf, on each new one of
# fat, ext4, xfs, and versions of NFS
on_each() {
	local place
	for place in $1; do
		case $place in
			fat) fat_mount 4096 "${3:-rw}" && "$2" FAT /mnt/fat windows ;;
			ext4 | xfs) local_mount $place -s 1G && "$2" $place /mnt/local windows && unmount /mnt/local ;;
			*)
				serving || nfs_serve ext4
				nfs_mount $place && "$2" "NFS $place" /mnt/nfs stock
				;;
		esac || skip $place 'cannot be mounted'
	done
}
