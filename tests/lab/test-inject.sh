# test-inject.sh: guest script. Every system call the library makes for windows and healing on FAT, failing.
. "$LAB/guest.sh"
fat_mount 4096 || exit 1
exec bash "$PROJECT/tests/syscalls/inject.sh" /mnt/fat
