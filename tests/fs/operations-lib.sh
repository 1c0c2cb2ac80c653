# operations-lib.sh: run operations.c with the library and without. Source it.
# shellcheck shell=bash

# make_configurations DIR: stock, and windows wherever they are possible, small and early
make_configurations() {
	configurations=$1
	cp "$PROJECT/preload.conf" "$1/stock"
	{
		cat "$PROJECT/preload.conf"
		printf '%s\n' '[path **]' 'write = preallocate' 'window = 16K' 'window_max = 512K' 'window_after = 0' \
			'ftruncate = preallocate'
	} >"$1/windows"
	chmod 755 "$1" && chmod 644 "$1/stock" "$1/windows"
}

# windows_made: how many, by the statistics of all processes
windows_made() {
	sed -n 's/.*"window":{[^}]*"fallocate":\([0-9]*\)[^}]*"failed":\([0-9]*\).*/\1 \2/p' "$configurations/statistics" |
		awk '{ made += $1 - $2 } END { print made + 0 }'
}

# operations NAME DIR CONFIGURATION: in all ways, with the seed $seed and how often ${count};
# where there are windows at all, there are in each way, unless by luck only: threads that share a file seldom
# have it to themselves, and on FAT files that were there before have none
operations() {
	local way how plain out status preload windows=''
	for way in 'files=3' 'files=2 workers=2' 'files=2 workers=3 threads' 'workers=3 shared' 'workers=3 shared threads'; do
		plain=''
		for how in without with; do
			[ $how = with ] && preload=$BUILD/libfastalloc.so || preload=''
			: >"$configurations/statistics"
			# shellcheck disable=SC2086 # words
			out=$(LD_PRELOAD=$preload FASTALLOC_STATS=$configurations/statistics \
				FASTALLOC_CONFIG=$configurations/$3 timeout 300 "$BUILD/tests/operations" "$2" \
				seed="${seed:-1}" count="${count:-200}" $way 2>&1)
			status=$?
			is "$1, $way, $how the library: as the model" 0 $status
			[ $status = 0 ] || sed 's/^/# /' <<<"$out"
			if [ $how = without ]; then plain=$out; fi
		done
		is "$1, $way: the same results" "$plain" "$out"
		case ${windows:=$(windows_made)},$1,$way in
			0,* | *'shared threads' | *,FAT,*shared) ;;
			*) at_least "$1, $way: windows" 1 "$(windows_made)" ;;
		esac
	done
}
