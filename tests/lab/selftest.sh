#!/bin/bash
# selftest.sh - checks the lab's helpers; run it as  tests/lab/lab tests/lab/selftest.sh
# shellcheck disable=SC1091,SC2086,SC2317
# Prints "ok NAME" or "not ok NAME" for each; exit status 1 when one failed.

. "$LAB/guest.sh"
failed=0

# check NAME COMMAND...: run the command and say how it went.
check() {
  local name=$1
  shift
  if "$@"; then echo "ok $name"; else echo "not ok $name"; failed=1; fi
}

# holds DIR: whether files written in DIR come back unchanged from disk.
holds() {
  local sum
  seq 1 100000 >"$1/numbers" || return
  sum=$(cksum <"$1/numbers")
  drop_caches
  [ "$(cksum <"$1/numbers")" = "$sum" ] && rm "$1/numbers"
}

is_writable_tree() { touch /etc/lab-test && rm /etc/lab-test && [ -r "$PROJECT/tests/lab/lab" ]; }
check tree is_writable_tree

has_result() {
  result selftest one 'two words'
  [ "$(tail -n 1 "$OUT/results")" = $'selftest\tone\ttwo words' ]
}
check result has_result

# Two files growing in turns lie in pieces, one written at once lies in one.
fat_pieces() {
  fat_mount "$1" && holds /mnt/fat || return
  for _ in 1 2 3 4; do
    head -c 65536 /dev/zero >>/mnt/fat/a
    head -c 65536 /dev/zero >>/mnt/fat/b
  done
  head -c 1M /dev/zero >/mnt/fat/c
  [ "$(extents /mnt/fat/a)" -ge 2 ] && [ "$(extents /mnt/fat/c)" = 1 ] &&
    [ "$(stat -f -c %S /mnt/fat)" = "$1" ]
}
check fat-512 fat_pieces 512
check fat-4096 fat_pieces 4096
fat_small() { fat_mount 512 noatime 64M && [ "$(free_bytes /mnt/fat)" -lt 67108864 ]; }
check fat-small fat_small

local_holds() { "$@" && holds "/mnt/${1%_mount}"; }
for type in ext2 ext3 ext4 xfs jfs minix vfat tmpfs ramfs; do
  check "local-$type" local_holds local_mount $type
done
for type in ext2 ext3 ext4 xfs jfs minix vfat; do
  check "local-$type-small" local_holds local_mount $type -s 64M -o noatime
done
check local-mkfs-options local_holds local_mount ext4 -m '-b 1024 -O ^has_journal'
check overlay-ext4 local_holds overlay_mount ext4
check overlay-xfs local_holds overlay_mount xfs

# fills DIR: fill_until comes near its aim, and removing the files undoes it.
fills() {
  local before left
  settle "$1"
  before=$(free_bytes "$1")
  fill_until 1048576 "$1" || return
  left=$(free_bytes "$1")
  [ "$left" -le 1048576 ] && [ "$left" -ge 900000 ] || complain "$left bytes left" || return
  rm "$1"/fill.*
  settle "$1"
  [ $((before - $(free_bytes "$1"))) -lt 262144 ] ||
    complain "$before free before, $(free_bytes "$1") after"
}
for type in ext2 ext4 xfs jfs minix vfat; do
  local_mount $type -s 64M
  check "fill-$type" fills /mnt/local
done

# One megabyte in one go takes at least one WRITE, and reading it back a READ.
nfs_counts() {
  local writes reads
  nfs_mount "$1" && holds /mnt/nfs || return
  writes=$(nfs_calls WRITE)
  head -c 1M /dev/zero >/mnt/nfs/zeros
  [ "$(nfs_calls WRITE)" -gt "$writes" ] || complain "no WRITE counted" || return
  reads=$(nfs_calls READ)
  drop_caches
  cat /mnt/nfs/zeros >/dev/null
  [ "$(nfs_calls READ)" -gt "$reads" ] || complain "no READ counted" || return
  [ "$(stat -c %s /mnt/export/zeros)" = 1048576 ]
}
for export in 'ext4 sync' 'ext3 async' 'xfs async'; do
  check "nfs-serve ($export)" nfs_serve $export
  for version in 3 4.0 4.1 4.2; do
    check "nfs-$version ($export)" nfs_counts $version
  done
done
nfs_allocates() {
  local before
  nfs_mount 4.2 && before=$(nfs_calls ALLOCATE) && fallocate -l 1M /mnt/nfs/allocated &&
    [ "$(nfs_calls ALLOCATE)" -gt "$before" ]
}
check nfs-allocate nfs_allocates
check nfs-small nfs_serve ext4 async 64M
for version in 3 4.2; do
  nfs_mount $version
  check "nfs-fill-$version" fills /mnt/nfs
done
check nfs-stop nfs_stop

exit $failed
