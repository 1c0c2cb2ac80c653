# test-watch.sh: guest script. fastalloc watch on vfat and NFS.
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
F=$BUILD/tools/fastalloc/fastalloc record=$BUILD/tests/record act=$BUILD/tests/act
[ -x "$F" ] || { echo '1..0 # SKIP the command is not built'; exit 0; }
# watch COMMAND...: the report to /tmp/report, as JSON; of: what the expression says of it, r.
watch() { "$F" watch -J -o /tmp/report -- "$@" >/dev/null 2>&1; }
of() { python3 -c 'import json, sys; r = json.load(open("/tmp/report")); f = r["files"][0]; print(eval(sys.argv[1]))' "$1"; }

fat_mount 512 umask=0
watch $record write 4K 1M /mnt/fat 4
is 'vfat: pieces, as filefrag counts them' "$(extents /mnt/fat/0)" "$(of 'next(f["pieces"] for f in r["files"] if f["path"].endswith("/0"))')"
at_least 'vfat: and they are many' 200 "$(of 'f["pieces"]')"
is 'vfat: the stock configuration has what helps' "[{'policy': 'write = preallocate', 'configured': True}] None" \
	"$(of 'f["would_help"]') $(of 'r["suggestion"]')"
: >/tmp/preload.conf
export FASTALLOC_CONFIG=/tmp/preload.conf
watch $record fwrite 4K 1M /mnt/fat 4
is 'vfat, not configured: the section' "'[mount /mnt/fat]\\nwrite = preallocate\\n'" "$(of 'repr(r["suggestion"])')"
chmod 755 /root 2>/dev/null
rm /mnt/fat/*
setpriv --reuid 65534 --clear-groups "$F" watch -J -- $record write 4K 1M /mnt/fat 4 2>/tmp/report >/dev/null
is 'vfat, not root: no pieces, the section still' "None '[mount /mnt/fat]\\nwrite = preallocate\\n'" \
	"$(of 'f["pieces"]') $(of 'repr(r["suggestion"])')"
unset FASTALLOC_CONFIG
rm /mnt/fat/*
watch sh -c "$record write 4K 64K /mnt/fat 2 && sync && echo 3 >/proc/sys/vm/drop_caches"
is 'vfat: files that have left memory, and have other numbers' 'True 65536' "$(of 'f["exists"]') $(of 'f["size"]')"

nfs_serve ext4
for version in 3 4.2; do
	nfs_mount $version
	watch $act /mnt/nfs/a rdwr,creat,trunc pfa 0 4M
	case $version in 3) writes=1024 ;; *) writes=0 ;; esac
	is "NFS $version: what libc makes of posix_fallocate" "$writes nfs$version" "$(of 'f["emulated"]["writes"]') $(of 'f["fstype"]')"
	watch $record write 64K 1M /mnt/nfs 2
	is "NFS $version: writes" '16 1048576' "$(of 'f["writes"]["count"]') $(of 'f["growth"]["write"]["bytes"]')"
	rm /mnt/nfs/a /mnt/nfs/[01]
done
finish
