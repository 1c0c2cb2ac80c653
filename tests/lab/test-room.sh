# test-room.sh: guest script. A request that cannot fit is refused, and touches nothing.
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
act=$BUILD/tests/act
with="env LD_PRELOAD=$BUILD/libfastalloc.so"

# do_with FILE OP...: act with the library, its lines joined by blanks
do_with() { $with $act "$@" | paste -sd' '; }
near() { # NAME BEFORE AFTER: equal within 1 %
	at_most "$1" $(($2 / 100)) $(($2 > $3 ? $2 - $3 : $3 - $2))
}

# too_much NAME DIR: everything about a request that is larger than what is free
too_much() {
	local name=$1 dir=$2 before
	$act "$dir/old" rdwr,creat pwrite 0 5000 65 fsync close >/dev/null
	sync
	before=$(free_bytes "$dir")
	is "$name: ENOSPC, and the program's fsync as it would have been" \
		'pfa = ENOSPC size = 5000 fsync = 0 close = 0' "$(do_with "$dir/old" rdwr pfa 0 200M size fsync close)"
	is "$name: O_WRONLY past EOF too" 'pfa = ENOSPC size = 5000' "$(do_with "$dir/old" wronly pfa 8K 200M size)"
	near "$name: free space as before" "$before" "$(free_bytes "$dir")"
	is "$name: data as before" 'pread = 0x41*5000' "$(do_with "$dir/old" rdonly pread 0 9000)"
	rm "$dir/old"
}
# fits NAME DIR: what there is room for is reserved
fits() {
	local out
	out=$(do_with "$2/new" rdwr,creat pwrite 1000 10 66 pfa 0 16M size pread 0 2000 blocks)
	like "$1: reserves what fits, and keeps data" \
		'^pwrite = 10 pfa = 0 size = 16777216 pread = 0x00\*1000,0x42\*10,0x00\*990 blocks = ' "$out"
	at_least "$1: blocks" 16777216 "${out##* }"
	out=$(do_with "$2/new" rdwr pfa 0 16M size)
	is "$1: again, costs nothing" 'pfa = 0 size = 16777216' "$out"
	rm "$2/new"
}
for type in ext2 ext3 ext4 minix jfs vfat; do
	local_mount $type -s 64M || { skip "$type" 'cannot be mounted'; continue; }
	too_much $type /mnt/local
	fits $type /mnt/local
	# The disk all but full: a file that has its space needs no more.
	do_with /mnt/local/has rdwr,creat pfa 0 16M >/dev/null
	fill_until 2097152 /mnt/local >/dev/null
	is "$type: reserved already, on a full disk" 'pfa = 0 size = 16777216' "$(do_with /mnt/local/has rdwr pfa 0 16M size)"
	unmount /mnt/local
done

# The kernel's own checks come first, whatever the room.
local_mount vfat -s 64M
is 'vfat: past 4 GiB - 1 is EFBIG' 'pfa = EFBIG size = 0 blocks = 0' "$(do_with /mnt/local/f rdwr,creat pfa 0 5G size blocks)"
is 'vfat: exactly 4 GiB is EFBIG' 'pfa = EFBIG size = 0' "$(do_with /mnt/local/f rdwr pfa 0 4G size)"
is 'vfat: O_RDONLY is EBADF' 'pfa = EBADF size = 0' "$(do_with /mnt/local/f rdonly pfa 0 200M size)"
is 'vfat: ftruncate past what is free' 'ft = ENOSPC size = 0 blocks = 0' "$(do_with /mnt/local/f rdwr ft 200M size blocks)"
is 'vfat: ftruncate past 4 GiB - 1' 'ft = EFBIG size = 0 blocks = 0' "$(do_with /mnt/local/f rdwr ft 5G size blocks)"
unmount /mnt/local

# The blocks that are kept for root are granted to whom the kernel grants them: root, even where it has no
# CAP_SYS_RESOURCE, as container runtimes start it; and whoever has that.
asked() { # [OP...]: the answer to a request for half of them, by $runs, and what is left where it is refused
	local available free out
	rm -f /mnt/local/a && (umask 0 && : >/mnt/local/a) && sync -f /mnt/local
	read -r available free < <(stat -f -c '%a %f' /mnt/local)
	out=$("${runs[@]}" /mnt/local/a rdwr "$@" pfa 0 $(((available + free) / 2))K size blocks | paste -sd' ')
	out=${out/ errno-changed/} # by libc
	case $out in *ENOSPC*) echo "$out" ;; *) echo "${out% size*}" ;; esac
}
reserved() { # WHO [OP...]: the same answer with the library as without, run by $by; ENOSPC touches nothing
	local who=$1 without with
	shift
	runs=("${by[@]}" /tmp/act) without=$(asked "$@")
	runs=("${by[@]}" env LD_PRELOAD=/tmp/libfastalloc.so /tmp/act) with=$(asked "$@")
	is "$type: kept for root, asked by $who" "${without% size*}" "${with% size*}"
	case $who,$with in # the library does not know the fsuid
		'a server for its client, without the capability'*) ;;
		*ENOSPC*) like 'and nothing is touched' ' pfa = ENOSPC size = 0 blocks = 0$' " $with" ;;
	esac
}
install -m 755 "$act" "$BUILD/libfastalloc.so" /tmp
chmod 755 /tmp
for type in ext3 ext4; do
	local_mount $type -s 40M -m '-b 1024 -m 10'
	head -c 28M /dev/zero >/mnt/local/filler
	by=()
	reserved root
	reserved 'root without the capability' user no-resource
	reserved 'root without any' user capset
	for way in setuid seteuid; do reserved "root no more ($way)" user $way; done
	reserved 'root again' user seteuid user back
	reserved 'a server for its client' user setfsuid
	reserved 'a server for its client, without the capability' user no-resource user setfsuid
	by=(setpriv --reuid 65534 --clear-groups)
	reserved 'another user'
	by+=(--inh-caps +sys_resource --ambient-caps +sys_resource)
	reserved 'another user with the capability'
	$act /mnt/local/a rdwr ft 0 >/dev/null
	unmount /mnt/local
done

# Quota: statfs knows nothing of it, the kernel answers.
for features in quota quota,^extent,^64bit; do
	local_mount ext4 -s 64M -m "-O $features" -o usrquota || { skip "ext4 $features" 'cannot be mounted'; continue; }
	setquota -u nobody 0 8192 0 0 /mnt/local
	$act /mnt/local/q rdwr,creat close >/dev/null
	chown nobody /mnt/local/q
	is "ext4 -O $features: past the quota is EDQUOT" 'drop = 0 pfa = EDQUOT' \
		"$(do_with /mnt/local/q rdwr drop pfa 0 16M)"
	unmount /mnt/local
done

for version in 3 4.1 4.2; do
	nfs_serve ext4 async 64M
	nfs_mount $version
	too_much nfs$version /mnt/nfs
	at_least "nfs$version: the server's space too" 50000000 "$(free_bytes /mnt/export)"
	fits nfs$version /mnt/nfs
	nfs_umount
	nfs_stop
done
finish
