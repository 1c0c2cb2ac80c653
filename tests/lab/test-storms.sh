# test-storms.sh: guest script. Disturbed processes that record on FAT, and copies within the kernel on
# xfs, with a library that stays a while wherever it looks and then acts (tests/delay.c).
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
seconds=1
[ -z "${LONG:-}" ] || seconds=20
seed=${SEED:-$$}
export FASTALLOC_CONFIG=/tmp/preload.conf
printf '%s\n' '[default]' 'write = preallocate' 'window = 16K' 'window_max = 16K' 'window_after = 0' >$FASTALLOC_CONFIG
fat_mount 2048 rw 200M
delayed() { # PROGRAM...: with another seed each time
	seed=$((seed + 1))
	out=$(FASTALLOC_DELAYS=$seed LD_PRELOAD=$BUILD/tests/libfastalloc-delays.so \
		timeout -k 5 $((60 + 20 * seconds)) "$@" 2>&1)
	out+=" seed=$seed"
}
for way in forks spawns alarms-restart alarms jumps cancels cancels-anywhere descriptors; do
	delayed "$BUILD/tests/storms" $way "$seconds" /mnt/fat/s
	like "$way: nothing is lost or left, and the library works" ' left=0 window=yes lost=0 seed' "$out"
done
umount /mnt/fat
ok 'fsck finds nothing' fsck.vfat -n /dev/ubda
if local_mount xfs -s 600M; then
	for way in cloned cloned-thread cloned-relieved; do
		delayed "$BUILD/tests/writers" $way "$seconds" /mnt/local/w
		like "another writer, $way" ' lost=0 seed' "$out"
	done
else
	skip clones 'xfs cannot be mounted'
fi
finish
