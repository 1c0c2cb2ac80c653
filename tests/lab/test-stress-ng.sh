# test-stress-ng.sh: guest script. stress-ng's stressors of files, verifying: with the library all are well that are
# without, and leave nothing.
# Variables (lab -e): ON='fat ext4 3', STRESSORS='hdd aio'
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
. "$PROJECT/tests/lab/places.sh"
command -v stress-ng >/dev/null || { echo '1..0 # SKIP stress-ng is not installed'; exit 0; }

# Those that write, extend, truncate, allocate, or duplicate, pass and lock descriptors; two instances of each.
stressors='aio aiol copy-file fallocate fpunch fsize hdd iomix revio seek sendfile splice sync-file mmap readahead'
[ -z "${LONG:-}" ] || stressors="$stressors access chattr close dentry dup fcntl fiemap file-ioctl flock fork full io-uring
	link locka lockf lockofd memfd mmapfork msync open procfs punch rename session spawn tee touch utime verity vfork xattr"
operations=20 seconds=3
[ -z "${LONG:-}" ] || operations=400 seconds=60
hdd_options='wr-seq,rd-seq wr-rnd,rd-rnd direct,wr-rnd dsync,wr-seq fdatasync,iovec utimes,wr-rnd'

verdict() { # PRELOAD DIR CONFIGURATION STRESSOR OPTION...
	local status preload=$1 dir=$2 configuration=$3 name=$4
	shift 4
	mkdir "$dir/task"
	LD_PRELOAD=$preload FASTALLOC_CONFIG=/tmp/conf/$configuration \
		timeout $((seconds + 30)) stress-ng --$name 2 --$name-ops $operations --timeout $seconds --verify --oomable \
		--temp-path "$dir/task" "$@" >/tmp/stress 2>&1
	status=$?
	# Some fail without a word in the status.
	echo "status $status, left: $(ls "$dir/task")$(sed -n 's/([0-9]* blocks available)//; s/^stress-ng: fail: *\[[0-9]*\]/; failed:/p' /tmp/stress | sort -u)"
	rm -rf "$dir/task"
}
both() { # NAME DIR CONFIGURATION STRESSOR OPTION...
	local with plain='status 0, left: '
	with=$(verdict "$BUILD/libfastalloc.so" "${@:2}")
	cp /tmp/stress /tmp/stress.with
	# What is well needs no comparison.
	[ "$with" = "$plain" ] || plain=$(verdict '' "${@:2}")
	is "$1, ${*:4}" "$plain" "$with"
	[ "$plain" = "$with" ] || sed 's/^/# /' /tmp/stress.with
	case $with in 'status 0,'*) well=$((well + 1)) ;; esac
}
all() { # NAME DIR CONFIGURATION
	local stressor options
	well=0
	for stressor in ${STRESSORS:-$stressors}; do
		case $stressor in
			hdd) for options in $hdd_options; do
				both "$1" "$2" "$3" hdd --hdd-bytes 4M --hdd-write-size 5000 --hdd-opts $options
			done ;;
			fallocate) both "$1" "$2" "$3" fallocate --fallocate-bytes 5M ;;
			*) both "$1" "$2" "$3" $stressor ;;
		esac
	done
	[ -n "${STRESSORS:-}" ] || at_least "$1: stressors that were well" 12 $well
}
on_each "${ON:-fat ${LONG:+ext4 xfs 3 4.2} 4.1}" all
finish
