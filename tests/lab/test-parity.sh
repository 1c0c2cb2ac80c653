# test-parity.sh: guest script. As tests/fs/parity.sh, on FAT and NFS, over quota, and for a swap file.
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
. "$PROJECT/tests/fs/parity-lib.sh"

some=10
[ -z "${LONG:-}" ] || some=1
for type in vfat nfs3 nfs4.2 nfs4.1; do
	where=/mnt/nfs few=37
	case $type in
		vfat) where=/mnt/local few=60 && local_mount vfat -s 12M ;;
		*) nfs_serve ext4 async 256M -b 4096 && nfs_mount ${type#nfs} ;;
	esac || { skip "$type" 'cannot be mounted'; continue; }
	[ -z "${LONG:-}" ] || few=8
	parity $type $where -f -e "$few"
done
nfs_stop

for features in quota quota,^extent,^64bit; do
	case $features in *^extent*) type=ext3 ;; *) type=ext4 ;; esac
	local_mount ext4 -s 64M -m "-b 4096 -O $features" -o usrquota || { skip "$type, quota" 'cannot be mounted'; continue; }
	chmod 777 /mnt/local
	setquota -u nobody 0 64 0 0 /mnt/local
	parity $type-quota /mnt/local -k nobody -e "$some"
done

local_mount ext4 -s 64M -m '-b 4096'
dd if=/dev/zero of=/mnt/local/swap bs=1M count=8 status=none
chmod 600 /mnt/local/swap
if mkswap /mnt/local/swap >/dev/null && swapon /mnt/local/swap; then
	parity ext4 /mnt/local -k swap-file -s /mnt/local/swap -e "$some"
	swapoff /mnt/local/swap
else
	skip 'a swap file' 'no swap here'
fi
finish
