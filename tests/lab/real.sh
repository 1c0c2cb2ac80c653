# real.sh: guest script (tests/lab/lab -t 3600 tests/lab/real.sh [ROUNDS]): real programs, four of
# each, that write 4 MiB side by side on vfat. A line for each run: `pieces=` of the file that is in the most,
# `data=differs` where a program does not write the same with the library, `ret=failed` where it fails; the exit status
# is 1 then. Programs that are missing are passed over. Variables (lab -e): QUICK=1 one round, of dd, cp and
# from_disk_cp; PROGRAMS='dd tar'; CLUSTERS=512
. "$LAB/guest.sh"
rounds=${1:-${QUICK:-5}} clusters=${CLUSTERS:-512 4096}
with="env LD_PRELOAD=$BUILD/libfastalloc.so"
status=0
source=/tmp/source fifos=/tmp/fifos web=http://127.0.0.1:8000

# feed SOURCE FIFO [SOURCE FIFO]...: 4 KiB to each FIFO in turn, which holds no more, so that the readers alternate
# on one processor too.
feed() {
	timeout 120 python3 -c '
import fcntl, sys
F_SETPIPE_SZ = 1031
streams = [(open(source, "rb"), open(fifo, "wb", buffering=0)) for source, fifo in zip(sys.argv[1::2], sys.argv[2::2])]
for _, fifo in streams:
    fcntl.fcntl(fifo, F_SETPIPE_SZ, 4096)
while streams:
    for stream in list(streams):
        piece = stream[0].read(4096)
        if piece:
            stream[1].write(piece)
        else:
            stream[1].close()
            streams.remove(stream)
' "$@"
}

# --- The programs -----------------------------------------------------------------

# PROGRAM INPUT OUTPUT: runs it with the $prefix in its environment. What begins with from_ reads INPUT as it is; the
# others read it through a feeder's FIFO.
pcm='-t raw -r 48000 -e signed -b 16 -c 2'
run_dd() { $prefix dd if="$1" of="$2" bs=4k status=none; }
run_dd_500() { $prefix dd if="$1" of="$2" bs=500 status=none; }
run_cp() { $prefix cp "$1" "$2"; }
run_tee() { $prefix tee "$2" <"$1" >/dev/null; }
run_cat() { $prefix cat "$1" >"$2"; }
run_tar() { $prefix tar -xf "$1" --transform "s|.*|${2##*/}|" -C "${2%/*}"; }
run_sox() { $prefix sox $pcm "$1" -t wav "$2"; }
run_ffmpeg() { $prefix ffmpeg -nostdin -loglevel error -f s16le -ar 48000 -ac 2 -i "$1" -f wav "$2"; }
run_python3() {
	$prefix python3 -c 'import shutil, sys
shutil.copyfileobj(open(sys.argv[1], "rb"), open(sys.argv[2], "wb"), 4096)' "$1" "$2"
}
run_from_disk_cp() { $prefix cp "$1" "$2"; }
run_from_disk_dd() { $prefix dd if="$1" of="$2" bs=64k status=none; }
run_from_web_curl() { $prefix curl -s --limit-rate 4M -o "$2" "$web/${1##*/}"; }
run_from_web_wget() { $prefix wget -q --limit-rate=4m -O "$2" "$web/${1##*/}"; }
programs='dd dd_500 cp tee cat tar sox ffmpeg python3 from_disk_cp from_disk_dd from_web_curl from_web_wget'
[ -z "${QUICK:-}" ] || programs='dd cp from_disk_cp'
programs=${PROGRAMS:-$programs}

# --- Running them -----------------------------------------------------------------

prepare() {
	local i
	mkdir $source $fifos
	for i in 0 1 2 3; do
		head -c 4M /dev/urandom >$source/$i
		tar -cf $source/$i.tar -C $source $i
		mkfifo $fifos/$i
	done
	local_mount ext4
	cp $source/? /mnt/local
	python3 -m http.server --bind 127.0.0.1 -d $source 8000 >/dev/null 2>&1 &
	until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.1; done
}

# together PROGRAM: four of it; their files are /mnt/fat/0 to 3, with the right content, but for what a format adds
together() {
	local program=$1 suffix='' failed='' i inputs=() running=()
	[ $program != tar ] || suffix=.tar
	rm -f /mnt/fat/*
	drop_caches
	for i in 0 1 2 3; do
		case $program in
		from_disk_*) run_$program /mnt/local/$i /mnt/fat/$i & ;;
		from_*) run_$program $source/$i /mnt/fat/$i & ;;
		*)
			inputs+=("$source/$i$suffix" "$fifos/$i")
			run_$program $fifos/$i /mnt/fat/$i &
			;;
		esac
		running+=($!)
	done
	[ ${#inputs[@]} = 0 ] || feed "${inputs[@]}" || kill "${running[@]}"
	for i in "${running[@]}"; do wait $i || failed=yes; done
	for i in 0 1 2 3; do tail -c 4M /mnt/fat/$i | cmp -s - $source/$i || failed=yes; done
	[ -z "$failed" ]
}
worst() { for f in /mnt/fat/?; do extents $f; done | sort -n | tail -n 1; }
checksums() { (cd /mnt/fat && cksum ?); }

declare -A plain_sums # by case
# one CASE SIDE PROGRAM
one() {
	local case=$1 side=$2 program=$3 prefix=env ret=0 data=none
	[ $side = plain ] || prefix=$with
	together $program || ret=failed
	[ $side = plain ] && plain_sums[$case]=$(checksums)
	[ "$(checksums)" = "${plain_sums[$case]}" ] || data=differs
	[ $ret$data = 0none ] || status=1
	echo $case $side pieces=$(worst) ret=$ret data=$data
}

prepare
for cluster in $clusters; do
	fat_mount $cluster rw 512M
	for program in $programs; do
		name=${program#from_*_}
		command -v ${name%_*} >/dev/null || continue
		for ((r = 0; r < rounds; r++)); do
			for side in plain fastalloc; do one real-$cluster-$program $side $program; done
		done
	done
done
exit $status
