# test-tune.sh: guest script. `fastalloc tune` on vfat and NFS.
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
command=$BUILD/tools/fastalloc/fastalloc
[ -x "$command" ] || { echo '1..0 # SKIP the command is not built'; exit 0; }
# value GROUP SIDE MEMBER: of the measurements in /tmp/json.
value() {
	python3 -c '
import json, sys
print(*(s[sys.argv[3]] for s in json.load(open("/tmp/json"))["measurements"]
        if (s["group"], s["side"]) == (sys.argv[1], sys.argv[2])))' "$@"
}

fat_mount 512
"$command" tune --json --rounds 5 --size 8M /mnt/fat >/tmp/json 2>/tmp/errors
is 'vfat: status' 0 $?
is 'vfat: plain files are in a piece for each record' 64 "$(value appending none pieces)"
at_most 'vfat: with windows in few' 12 "$(value appending '64K to 16M' pieces)"
like 'vfat: ftruncate is measured both ways' '^[0-9.]+ [0-9.]+$' \
	"$(value reserving ftruncate seconds) $(value reserving 'ftruncate, preallocated' seconds)"
is 'vfat: nothing is left behind' '' "$(ls -A /mnt/fat)"
"$command" tune --rounds 5 --size 4M /mnt/fat >/tmp/section 2>/tmp/errors
like 'vfat: the kind of file system is said' 'vfat' "$(head -n 3 /tmp/section)"
at_most 'vfat: fits 80 columns' 80 "$(wc -L </tmp/section)"
fat_mount 4096 sync
"$command" tune --rounds 5 --size 4M /mnt/fat >/tmp/section 2>/tmp/errors
like 'vfat, sync: no windows' 'No windows: mounted with "sync"' "$(cat /tmp/section)"
unmount /mnt/fat

nfs_serve ext4 async
for version in 3 4.1; do
	nfs_mount $version
	calls=$(nfs_calls WRITE)
	"$command" tune --json --rounds 5 --size 8M /mnt/nfs >/tmp/json 2>/tmp/errors
	is "NFS $version: status" 0 $?
	at_least "NFS $version: libc, the library and zeros were all written" $((15 * 8)) "$(($(nfs_calls WRITE) - calls))"
	is "NFS $version: pieces are not known" null "$(value reserving 'the library' pieces | sed 's/None/null/')"
	is "NFS $version: no windows" '' "$(value appending none seconds)"
	is "NFS $version: nothing is left behind" '' "$(ls -A /mnt/nfs | grep -v lost+found)"
done
nfs_mount 4.2
"$command" tune --rounds 5 --size 8M /mnt/nfs >/tmp/section 2>/tmp/errors
like 'NFS 4.2: the kernel reserves' "The kernel's fallocate is used" "$(cat /tmp/section)"
nfs_stop
finish
