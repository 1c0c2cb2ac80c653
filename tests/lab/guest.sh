# guest.sh - helpers for scripts that run in the lab's guest (see lab).
# shellcheck shell=bash
#
#   . "$LAB/guest.sh"
#
# Disk /dev/ubda carries FAT (/mnt/fat) or the NFS server's file system
# (/mnt/export, mounted by the client at /mnt/nfs); disk /dev/ubdb carries local
# file systems (/mnt/local, /mnt/overlay).  Each function that mounts something
# first takes away what was in its place, so all can be called again and again.
# They return non-zero with a message on stderr when something fails.

# complain MESSAGE...: say on stderr what went wrong; always returns 1.
complain() { echo "guest.sh: $*" >&2; return 1; }

# --- Results and small tools ----------------------------------------------------

# result NAME VALUE...: append one line, separated by tabs, to $OUT/results.
result() { local IFS=$'\t'; printf '%s\n' "$*" >>"$OUT/results"; }

# drop_caches: write everything out and forget the page, dentry and inode caches.
drop_caches() { sync; echo 3 >/proc/sys/vm/drop_caches; }

# extents FILE: print in how many pieces FILE lies on its disk (FIEMAP or FIBMAP).
extents() { filefrag -s "$1" | sed -n 's/.*: \([0-9]*\) extents\{0,1\} found.*/\1/p'; }

# free_bytes PATH: print the bytes that are free for files on PATH's file system.
free_bytes() {
  local blocks size
  read -r blocks size < <(stat -f -c '%a %S' "$1") && echo $((blocks * size))
}

# settle PATH: wait until the free space of PATH's file system stands still (an NFS
# server frees the space of a deleted file some time later).  At most 10 seconds.
settle() {
  local i same=0 now before=''
  if serving; then exportfs -f; fi
  sync
  for ((i = 0; i < 50 && same < 3; i++)); do
    now=$(free_bytes "$1")
    if [ "$now" = "$before" ]; then same=$((same + 1)); else same=0; fi
    before=$now
    sleep 0.2
  done
}

# fill_until FREE_BYTES DIR: write files DIR/fill.* until at most FREE_BYTES are
# free there, as near to it as whole blocks allow.  Remove them with rm DIR/fill.*
fill_until() {
  local want=$1 dir=$2 n piece left
  for ((n = 1; n <= 200; n++)); do
    sync -f "$dir"
    left=$(($(free_bytes "$dir") - want))
    [ "$left" -gt 0 ] || return 0
    # All but a little for the file system's own blocks, then in smaller steps.
    piece=$left
    if [ "$left" -gt 1048576 ]; then piece=$((left - left / 64)); fi
    fallocate -l "$piece" "$dir/fill.$n" 2>/dev/null ||
      head -c "$piece" /dev/zero >"$dir/fill.$n" 2>/dev/null || true
  done
  complain "fill_until: $dir still has $(free_bytes "$dir") bytes free"
}

# --- Disks and file systems -----------------------------------------------------

# unmount DIR: unmount whatever is mounted at DIR, if anything; waits while busy.
unmount() {
  local i
  for ((i = 0; i < 50; i++)); do
    mountpoint -q "$1" || return 0
    umount "$1" 2>/dev/null || sleep 0.1
  done
  complain "cannot unmount $1"
}

# format FSTYPE DEVICE [SIZE [MKFS_OPTION...]]: make a file system of SIZE (such as
# 64M; default or '': the whole disk), all of it usable.
format() {
  local type=$1 device=$2 size=${3:-} kib small=()
  shift $(($# < 3 ? $# : 3))
  size=$(numfmt --from=iec "${size:-$(blockdev --getsize64 "$device")}") || return
  kib=$((size / 1024))
  # Left alone, these judge by the size of the disk, not of the file system.
  if [ $kib -lt 262144 ]; then
    case $type in
      jfs) small=(-s 2) ;;
      vfat | fat | msdos) small=(-F 16) ;;
    esac
  fi
  case $type in
    ext2 | ext3 | ext4) "mkfs.$type" -q -F -m 0 "$@" "$device" ${kib}k ;;
    # The variables allow less than 300M.
    xfs) TEST_DIR=1 TEST_DEV=1 QA_CHECK_FS=1 mkfs.xfs -q -f -K -d size=${kib}k "$@" "$device" ;;
    jfs) mkfs.jfs -q "${small[@]}" "$@" "$device" $((kib / 4)) ;;
    minix) mkfs.minix -3 "$@" "$device" $kib ;;
    vfat | fat | msdos) mkfs.vfat "${small[@]}" "$@" "$device" $kib ;;
    *) "mkfs.$type" "$@" "$device" ;;
  esac >/tmp/mkfs.log 2>&1 || complain "mkfs.$type: $(tail -n 3 /tmp/mkfs.log)"
}

# fat_mount CLUSTER_BYTES [MOUNT_OPTIONS [SIZE]]: a new FAT32 at /mnt/fat.
fat_mount() {
  nfs_stop && unmount /mnt/fat || return
  format vfat /dev/ubda "${3:-}" -F 32 -s $(($1 / 512)) || return
  mkdir -p /mnt/fat
  mount -t vfat -o "${2:-rw}" /dev/ubda /mnt/fat
}

# local_mount FSTYPE [-o MOUNT_OPTIONS] [-s SIZE] [-m MKFS_OPTIONS]: a new file
# system at /mnt/local.  FSTYPE: ext2 ext3 ext4 xfs jfs minix vfat ..., or one
# without a disk: tmpfs ramfs.
local_mount() {
  local type=$1 options=rw size='' mkfs=() option OPTIND=1
  shift
  while getopts o:s:m: option; do
    case $option in
      o) options=$OPTARG ;;
      s) size=$OPTARG ;;
      m) read -ra mkfs <<<"$OPTARG" ;;
      *) return 2 ;;
    esac
  done
  unmount /mnt/overlay && unmount /mnt/local || return
  mkdir -p /mnt/local
  case $type in
    tmpfs) mount -t tmpfs -o "$options${size:+,size=$size}" tmpfs /mnt/local ;;
    ramfs) mount -t ramfs -o "$options" ramfs /mnt/local ;;
    *) format "$type" /dev/ubdb "$size" "${mkfs[@]}" &&
         mount -t "$type" -o "$options" /dev/ubdb /mnt/local ;;
  esac
}

# overlay_mount FSTYPE [as local_mount]: an overlay at /mnt/overlay whose layers are
# /mnt/local/lower and /mnt/local/upper.
overlay_mount() {
  local_mount "$@" || return
  mkdir -p /mnt/overlay /mnt/local/lower /mnt/local/upper /mnt/local/work
  mount -t overlay overlay /mnt/overlay \
    -o lowerdir=/mnt/local/lower,upperdir=/mnt/local/upper,workdir=/mnt/local/work
}

# --- NFS ------------------------------------------------------------------------

# serving: whether the NFS server runs.
serving() { [ "$(cat /proc/fs/nfsd/threads 2>/dev/null || echo 0)" != 0 ]; }

# nfs_prepare: once per boot, what client and server need before anything else.
nfs_prepare() {
  mountpoint -q /proc/fs/nfsd && return
  local module
  for module in nfsd nfs nfsv3 nfsv4; do
    modprobe "$module" || return
  done
  mount -t tmpfs tmpfs /var/lib/nfs || return
  mkdir -p /var/lib/nfs/{rpc_pipefs,v4recovery,sm,sm.bak,nfsdcltrack} /mnt/export /mnt/nfs
  touch /var/lib/nfs/{etab,rmtab,state}
  mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs || return
  mount -t nfsd nfsd /proc/fs/nfsd || return
  # The shortest the kernel takes, whatever happens to nfs_serve's end of the grace.
  echo 10 >/proc/fs/nfsd/nfsv4gracetime
  echo 10 >/proc/fs/nfsd/nfsv4leasetime
  # lockd's own, which nothing ends early: no lock is granted in it, not even by version 4.
  echo 1 >/proc/sys/fs/nfs/nlm_grace_period
  rpcbind -w && rpc.mountd
}

# nfs_serve FSTYPE [sync|async [SIZE [MKFS_OPTION...]]]: a new file system at
# /mnt/export and an NFS server (3, 4.0, 4.1, 4.2) on loopback that exports it.
nfs_serve() {
  local type=$1 commit=${2:-async} size=${3:-}
  shift $(($# < 3 ? $# : 3))
  nfs_prepare && nfs_stop && unmount /mnt/fat || return
  format "$type" /dev/ubda "$size" "$@" || return
  mount -t "$type" /dev/ubda /mnt/export && chmod 777 /mnt/export || return
  exportfs -o "rw,$commit,no_root_squash,insecure,no_subtree_check,fsid=0" '*:/mnt/export' &&
    rpc.nfsd 8 || return
  # Or the first open of version 4 waits for clients of a former life, 90 seconds.  Newer kernels know that
  # there are none, and say EBUSY.
  { echo Y >/proc/fs/nfsd/v4_end_grace; } 2>/dev/null || true
}

# nfs_stop: unmount the client, stop the server, unmount what it exported.
nfs_stop() {
  nfs_umount || return
  if serving; then rpc.nfsd 0 && exportfs -ua && exportfs -f; fi
  unmount /mnt/export
}

# nfs_mount 3|4.0|4.1|4.2 [MOUNT_OPTIONS]: mount the export at /mnt/nfs, ready for
# use (a first file has been written there and removed again).
nfs_mount() {
  local version=$1 options=${2:+,$2} i
  nfs_umount || return
  case $version in
    3) mount -t nfs -o "vers=3,tcp,nolock$options" 127.0.0.1:/mnt/export /mnt/nfs ;;
    *) mount -t nfs -o "vers=$version$options" 127.0.0.1:/ /mnt/nfs ;;
  esac || return
  for ((i = 0; i < 50; i++)); do
    if echo warm 2>/dev/null >/mnt/nfs/.warm-up; then
      rm -f /mnt/nfs/.warm-up
      exportfs -f
      return
    fi
    sleep 0.2
  done
  complain "/mnt/nfs does not become writable"
}

# nfs_umount: unmount /mnt/nfs, if mounted.
nfs_umount() { unmount /mnt/nfs; }

# nfs_calls OP: print how many calls of that kind (WRITE, COMMIT, READ, ALLOCATE, ...)
# the client has sent since /mnt/nfs was mounted.  Take the difference of two.
nfs_calls() {
  awk -v op="$1:" '
    $1 == "device" { here = ($5 == "/mnt/nfs") }
    here && $1 == op { calls += $2 }
    END { print calls + 0 }' /proc/self/mountstats
}
