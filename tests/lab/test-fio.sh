# test-fio.sh: guest script. fio writes and verifies, by each of its engines and ways to allocate a file:
# with the library all is well wherever it is without.
# Variables (lab -e): ON='fat ext4 3'
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
. "$PROJECT/tests/lab/places.sh"
command -v fio >/dev/null || { echo '1..0 # SKIP fio is not installed'; exit 0; }

# Two jobs, as threads or processes, side by side in one file.
verdict() { # PRELOAD DIR CONFIGURATION OPTION...
	local preload=$1 dir=$2 configuration=$3
	shift 3
	set -- --name=job --directory="$dir" --filename=file --numjobs=2 --offset_increment=$size --size=$size --bs=4k-64k \
		--verify=crc32c --verify_fatal=1 --group_reporting "$@"
	LD_PRELOAD=$preload FASTALLOC_CONFIG=/tmp/conf/$configuration timeout 120 fio "$@" >/tmp/fio 2>&1
	echo $?
	rm -f "$dir"/file
}
both() { # NAME DIR CONFIGURATION OPTION...
	local plain=0 with
	with=$(verdict "$BUILD/libfastalloc.so" "${@:2}")
	cp /tmp/fio /tmp/fio.with
	# What verifies needs no comparison.
	[ $with = 0 ] || plain=$(verdict '' "${@:2}")
	is "$1, ${*:4}" "$plain" "$with"
	[ "$plain" = "$with" ] || sed 's/^/# /' /tmp/fio.with
	if [ $with = 0 ]; then verified=$((verified + 1)); fi
}
all() { # NAME DIR CONFIGURATION
	local engine way
	verified=0
	both "$1" "$2" "$3" --ioengine=mmap --rw=randwrite --numjobs=1 # it takes offsets for the file's
	for engine in $engines; do
		both "$1" "$2" "$3" --ioengine=$engine --rw=randwrite --thread
	done
	for way in $ways; do
		both "$1" "$2" "$3" --ioengine=psync --rw=write --fallocate=$way --file_append=0
	done
	both "$1" "$2" "$3" --ioengine=psync --rw=write --fallocate=none --numjobs=1
	at_least "$1: runs that verified what they wrote" 5 $verified
}
# Not what a window ends at, so that there is something to trim.
engines='psync libaio io_uring' ways='none posix' size=1000k
[ -z "${LONG:-}" ] || engines='psync pvsync2 libaio io_uring' ways='none posix native keep truncate' size=63000k
on_each "${ON:-fat ${LONG:+ext4 3 4.2} 4.1}" all
finish
