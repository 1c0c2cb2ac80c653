# Being loaded: configuration, log, statistics, and not being in anybody's way.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$R" || exit 1
STATE=$BUILD/tests/state
OUT=$W/out ERR=$W/err
# load COMMAND...: run with the library; stdout to $OUT, stderr to $ERR, the status is $status.
load() {
	timeout 20 env LD_PRELOAD="$LIB" "$@" >"$OUT" 2>"$ERR" </dev/null
	status=$?
}

load sh -c 'exit 7'
is 'exit status is the program'"'"'s' 7 "$status"
is 'no output when nothing is asked' '' "$(cat "$OUT" "$ERR")"
"$STATE" >"$W/without" </dev/null
load "$STATE"
is 'errno at main and open descriptors: as without' "$(cat "$W/without")" "$(cat "$OUT")"
like 'errno at main is 0' '^errno 0 ' "$(cat "$OUT")"

# A bad configuration: told once, then the built-in one.
bad() { # NAME REGEX: what load said of $FASTALLOC_CONFIG
	load "$ACT" bad rdwr,creat,trunc pfa 0 1M blocks
	like "$1: told" "$2" "$(cat "$ERR")"
	is "$1: once" 1 "$(wc -l <"$ERR")"
	is "$1: the program runs on, with the built-in configuration" "pfa=0 blocks=$MiB 0" "$(flat <"$OUT") $status"
}
config '[default]' '  posix_falocate = sparse' 'sync = sometimes'
bad 'bad configuration' "^fastalloc: $W/preload.conf:2:3: .*posix_fallocate.*"
export FASTALLOC_CONFIG=$W/none
bad 'FASTALLOC_CONFIG missing' "^fastalloc: $W/none: no such file"
mkfifo "$W/fifo"
export FASTALLOC_CONFIG=$W/fifo
bad 'FASTALLOC_CONFIG is a FIFO' "^fastalloc: $W/fifo: is not a regular file"
export FASTALLOC_CONFIG=$W
bad 'FASTALLOC_CONFIG is a directory' "^fastalloc: $W: is not a regular file"
truncate -s 1048577 "$W/large"
export FASTALLOC_CONFIG=$W/large
bad 'FASTALLOC_CONFIG is larger than 1 MiB' "^fastalloc: $W/large: is larger than 1 MiB"
{ echo '[default]'; echo 'posix_fallocate = refuse'; yes '# a comment' | head -c 1000000; } >"$W/large"
is 'almost 1 MiB is read' 'pfa=EOPNOTSUPP' "$(FASTALLOC_CONFIG=$W/large act a rdwr,creat pfa 0 1M)"
printf '[default]\nposix_fallocate = refuse' >"$W/noeol"
is 'no newline at the end' 'pfa=EOPNOTSUPP' "$(FASTALLOC_CONFIG=$W/noeol act a rdwr,creat pfa 0 1M)"
is 'an empty file is a configuration' 'pfa=0' "$(FASTALLOC_CONFIG=/dev/null; : >"$W/empty"; FASTALLOC_CONFIG=$W/empty act a rdwr pfa 0 1M)"

# Where the configuration is looked for.
mkdir -p "$W/home/.config/fastalloc" "$W/xdg/fastalloc"
printf '[default]\nposix_fallocate = refuse\n' >"$W/home/.config/fastalloc/preload.conf"
printf '[default]\nposix_fallocate = sparse\n' >"$W/xdg/fastalloc/preload.conf"
unset FASTALLOC_CONFIG
is '~/.config/fastalloc/preload.conf' 'pfa=EOPNOTSUPP' "$(HOME=$W/home act b rdwr,creat pfa 0 1M)"
is '$XDG_CONFIG_HOME/fastalloc/preload.conf, before ~/.config' 'pfa=0 blocks=4096' \
	"$(HOME=$W/home XDG_CONFIG_HOME=$W/xdg act b rdwr pfa 0 1M blocks)"
is 'FASTALLOC_CONFIG before both' "pfa=0 blocks=$MiB" \
	"$(FASTALLOC_CONFIG=$STOCK HOME=$W/home XDG_CONFIG_HOME=$W/xdg act b rdwr pfa 0 1M blocks)"
is 'an empty FASTALLOC_CONFIG is none' 'pfa=EOPNOTSUPP' "$(FASTALLOC_CONFIG='' HOME=$W/home act b rdwr,trunc pfa 0 1M)"
is 'an empty XDG_CONFIG_HOME is none' 'pfa=EOPNOTSUPP' "$(XDG_CONFIG_HOME='' HOME=$W/home act b rdwr,trunc pfa 0 1M)"
is 'none of them: quiet' 'pfa=0' "$(HOME=$W/nowhere act b rdwr pfa 0 1M)"
stock
is 'FASTALLOC_DISABLE=1' "256 0" "$(FASTALLOC_DISABLE=1 traced -e trace=pwrite64,madvise -- c rdwr,creat pfa 0 1M >/dev/null; echo "$(calls pwrite64) $(calls madvise)")"
is 'FASTALLOC_DISABLE=0 does not' 0 "$(FASTALLOC_DISABLE=0 traced -e trace=pwrite64,madvise -- d rdwr,creat pfa 0 1M >/dev/null; calls pwrite64)"
is 'FASTALLOC_DISABLE=1: no configuration is read' '' "$(FASTALLOC_CONFIG=$W/none FASTALLOC_DISABLE=1 load true; cat "$ERR")"

# The log.
FASTALLOC_LOG=info load "$ACT" e rdwr,creat pfa 0 1M ft 5
like 'log to stderr' '^fastalloc\[[0-9]+\]: posix_fallocate fd [0-9]+ \[0, 1048576\): written, [0-9]+ us$' "$(cat "$ERR")"
FASTALLOC_LOG=info load "$ACT" e2 rdwr,creat ft 1M pfa 0 1M
like 'log: below EOF it is populated' '^fastalloc\[[0-9]+\]: posix_fallocate fd [0-9]+ \[0, 1048576\): populated, [0-9]+ us$' "$(cat "$ERR")"
FASTALLOC_LOG=debug:$W/log load "$ACT" e rdwr pfa 0 1M ft 5 tr 6
is 'log to a file: nothing on stderr' '' "$(cat "$ERR")"
is 'log to a file: every call' 'posix_fallocate ftruncate truncate' "$(awk '{print $2}' "$W/log" | paste -sd' ')"
FASTALLOC_LOG=error:$W/log2 load "$ACT" e rdwr pfa 0 1M rlimit fsize 1M pfa 0 2M
like 'log of errors alone: success is none' '^fastalloc[^,]*, 2097152\): refused, errno 27, [0-9]+ us$' "$(cat "$W/log2" 2>/dev/null)"
ln -s "$W/target" "$W/link"
FASTALLOC_LOG=debug:$W/link FASTALLOC_STATS=$W/link load "$ACT" e rdwr pfa 0 1M
is 'log and statistics follow no symbolic link' 'no' "$([ -e "$W/target" ] && echo yes || echo no)"
FASTALLOC_LOG=debug load sh -c 'exec "$0" "$1" rdwr,creat,trunc pfa 0 1M pread 0 1M 2>&-' "$ACT" f
is 'stderr closed: the file that became number 2 is not written' "pfa=0 pread=0x00*$MiB" "$(flat <"$OUT")"
FASTALLOC_CONFIG=$W/none load sh -c 'exec "$0" "$1" rdwr,creat,trunc size 2>&-' "$ACT" f
is 'stderr closed: nor by a message about the configuration' 'size=0' "$(flat <"$OUT")"

# Statistics.
FASTALLOC_STATS=$W/stats-%p load "$ACT" g rdwr,creat pfa 0 1M pfa 0 1M ft 1M rlimit fsize 1M pfa 0 2M
is 'statistics: one file, named for the process' 1 "$(ls "$W"/stats-[0-9]* | wc -l)"
ok 'statistics: valid JSON' python3 -m json.tool "$(ls "$W"/stats-[0-9]*)"
json() { python3 -c 'import json,sys; s = json.loads(sys.stdin.readlines()[int(sys.argv[1])])
for k in sys.argv[2:]: s = s[k]
print(s)' "$@"; }
is 'statistics: the program' act "$(json 0 program <"$(ls "$W"/stats-[0-9]*)")"
is 'statistics: calls, by answer: seen, written past EOF, populated below' '3 1 1' \
	"$(for key in seen written populated; do json 0 posix_fallocate $key <"$(ls "$W"/stats-[0-9]*)"; done | paste -sd' ')"
is 'statistics: bytes' $((2 * MiB)) "$(json 0 posix_fallocate bytes <"$(ls "$W"/stats-[0-9]*)")"
is 'statistics: a call that is passed on counts no bytes' '1 1 0' \
	"$(for key in seen passed bytes; do json 0 ftruncate $key <"$(ls "$W"/stats-[0-9]*)"; done | paste -sd' ')"
is 'statistics: what touched nothing was refused' 1 "$(json 0 posix_fallocate refused <"$(ls "$W"/stats-[0-9]*)")"
is 'statistics: failed calls' 1 "$(json 0 posix_fallocate failed <"$(ls "$W"/stats-[0-9]*)")"
FASTALLOC_STATS=$W/stats load "$STATE" fork
is 'statistics: a forked child counts from zero' '1 2' \
	"$(json 0 posix_fallocate seen <"$W/stats") $(json 1 posix_fallocate seen <"$W/stats")"
rm -f "$W/stats"
FASTALLOC_STATS=$W/stats load sh -c '"$0" "$1" rdwr pfa 0 1M; "$0" "$1" rdwr pfa 0 1M; :' "$ACT" g
is 'statistics: appended, a line for each process (a shell ends by _exit)' 'act act' \
	"$(for i in 0 1; do json $i program <"$W/stats"; done | paste -sd' ')"

# Others in the same process.
for order in "$LIB $BUILD/tests/libearly.so" "$BUILD/tests/libearly.so $LIB" "$LIB $BUILD/tests/libearliest.so"; do
	EARLY=$W/early LD_PRELOAD=$order "$STATE" >"$OUT" 2>"$ERR" </dev/null
	is "called by another library's constructor (${order//$BUILD\//})" \
		'ftruncate:0 fallocate:0 bad:1 fsync:0 close:0 again:1 end 0' "$(cat "$W/early" 2>/dev/null | tr -d '\0') $?"
done
eat=$(ldconfig -p 2>/dev/null | sed -n 's/.*libeatmydata.so .* => //p' | head -n 1)
eat=${eat:-$(find /usr/lib -name libeatmydata.so 2>/dev/null | head -n 1)}
if [ -n "$eat" ]; then
	for order in "$LIB $eat" "$eat $LIB"; do
		is "with libeatmydata (${order//$BUILD\//})" "pfa=0 fsync=0 ft=0 close=0 size=1000 blocks=4096" \
			"$(LD_PRELOAD=$order "$ACT" h rdwr,creat pfa 0 1M fsync ft 1000 close size blocks 2>&1 | flat)"
	done
else
	skip 'with libeatmydata' 'not installed'
fi
asan=$(sed -n '/libasan/{s/.* //;p;q}' < <(LD_TRACE_LOADED_OBJECTS=1 "$BUILD/tests/state-asan" | awk '{print "libasan " $3}' | grep libasan.so))
LD_PRELOAD="$asan $LIB" "$BUILD/tests/state-asan" i >"$OUT" 2>&1 </dev/null
is 'a program built with ASan' "0 posix_fallocate 0 size $MiB blocks 2048" "$? $(tail -n 1 "$OUT")"
ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$LIB "$BUILD/tests/state-asan" i >"$OUT" 2>&1 </dev/null
is 'a program built with ASan, loaded before it' "0 posix_fallocate 0 size $MiB blocks 2048" "$? $(tail -n 1 "$OUT")"
is 'valgrind' "pfa=0 size=$MiB blocks=$MiB 0" \
	"$(if command -v valgrind >/dev/null; then LD_PRELOAD=$LIB valgrind -q --error-exitcode=9 "$ACT" j rdwr,creat pfa 0 1M size blocks 2>&1 | flat; echo "${PIPESTATUS[0]}"; fi | paste -sd' ')"

# Without /proc.
is 'without /proc' "pfa=0 size=$MiB blocks=$MiB" "$(LIB=$LIB ACT=$ACT unshare -m sh -c \
	'mount -t tmpfs none /proc; LD_PRELOAD=$LIB "$ACT" k rdwr,creat pfa 0 1M size blocks 2>&1' | flat)"
mkdir "$W/root"
mkdir "$W/root/lib"
cp -L $(LD_TRACE_LOADED_OBJECTS=1 "$ACT" | grep -o '/[^ ]*') "$W/root/lib/" 2>/dev/null
cp -L "$(LD_TRACE_LOADED_OBJECTS=1 "$ACT" | grep -o '/[^ ]*/ld-linux[^ ]*')" "$W/root/lib/ld.so"
cp "$LIB" "$ACT" "$W/root/"
is 'in a chroot with nothing else' "pfa=0 size=$MiB blocks=4096" "$(printf '[default]\nposix_fallocate = sparse\n' >"$W/root/conf"
	env FASTALLOC_CONFIG=/conf chroot "$W/root" /lib/ld.so --library-path /lib --preload /libfastalloc.so \
	/act /file rdwr,creat pfa 0 1M size blocks 2>&1 | flat)"

# Libraries that the program opens itself.
config '[default]' 'posix_fallocate = refuse' 'write = preallocate'
opened() { # FILE [deep|apart]: what early.c found when it was opened
	rm -f "$R/early"
	EARLY=$R/early FASTALLOC_LOG=info load "$BUILD/tests/opener" "$@"
	cat "$R/early" "$OUT" 2>/dev/null | tr -d '\0'
}
like 'dlopen: by the RUNPATH of its caller' 'fallocate:95 ' "$(opened libearly.so)"
is 'dlopen: the same error as without' "$("$BUILD/tests/opener" none.so)" "$(opened none.so)"
like 'RTLD_DEEPBIND goes past us' 'fallocate:0 ' "$(opened libearly.so deep)"
like 'and there are no windows any more' 'RTLD_DEEPBIND: no windows' "$(cat "$ERR")"
like 'dlmopen: a namespace goes past us' 'fallocate:0 ' "$(opened libearly.so apart)"
like 'and there are no windows any more' 'namespace of its own: no windows' "$(cat "$ERR")"
is 'dlmopen: the same error as without' "$("$BUILD/tests/opener" none.so apart)" "$(opened none.so apart)"
config '[default]' 'posix_fallocate = refuse' '[program opener]' 'deepbind = ignore'
like 'deepbind = ignore: it does not' 'fallocate:95 ' "$(opened libearly.so deep)"
is 'and windows stay possible' 0 "$(grep -c 'no windows' "$ERR")"
config '[default]' 'posix_fallocate = refuse' '[program other]' 'deepbind = ignore'
like 'but for the programs it is said of only' 'fallocate:0 ' "$(opened libearly.so deep)"
stock

# Programs that are more than who starts them: the environment says nothing. /etc/ld.so.preload loads the
# library there (in an overlay of ours), and its name alone, where its file is set-user-ID, too.
mkdir "$W/upper" "$W/work" "$W/upper2" "$W/work2"
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups true 2>/dev/null &&
	mount -t overlay -o lowerdir=/etc,upperdir="$W/upper",workdir="$W/work" overlay /etc 2>/dev/null; then
	chmod 777 "$W" "$R"
	cp "$LIB" "$W/libfastalloc.so"
	chmod 755 "$W/libfastalloc.so"
	# What act says of itself: 0 with the library, EBADF without, EOPNOTSUPP where it minds the environment.
	asks=("$R/secure" rdwr,creat,trunc,append pfa 0 1M)
	as_nobody() { setpriv --reuid 65534 --clear-groups env -u FASTALLOC_CONFIG "$@" 2>/dev/null | flat; }
	becomes() { # set-user-ID|set-group-ID|capable|plain: "$W/act" is such a program
		rm -f "$W/act" && install -m 755 "$ACT" "$W/act" && install -m 666 /dev/null "$R/secure"
		case $1 in
			set-user-ID) chmod 4755 "$W/act" ;;
			set-group-ID) chgrp 65534 "$W/act" && chmod 2755 "$W/act" ;;
			capable) python3 -c 'import os, sys # CAP_CHOWN, permitted and effective
os.setxattr(sys.argv[1], "security.capability", b"\1\0\0\2" + b"\1" + bytes(15))' "$W/act" ;;
		esac
	}
	ignores() { # NAME [VARIABLE...]: the library is there, and minds nothing
		rm -f "$W/log" "$W/stats"
		is "$1: works, and ignores HOME, FASTALLOC_CONFIG, _DISABLE" 'pfa=0 pfa=0 pfa=0' \
			"$(for it in HOME="$W/home" FASTALLOC_CONFIG="$W/home/.config/fastalloc/preload.conf" FASTALLOC_DISABLE=1; do
			as_nobody "${@:2}" "$it" "$W/act" "${asks[@]}"; done | flat)"
		as_nobody "${@:2}" FASTALLOC_LOG="debug:$W/log" FASTALLOC_STATS="$W/stats" "$W/act" "${asks[@]}" >"$OUT"
		ok "$1: FASTALLOC_LOG, _STATS" [ ! -e "$W/log" -a ! -e "$W/stats" ]
	}
	echo "$W/libfastalloc.so" >/etc/ld.so.preload
	expected='pfa=EOPNOTSUPP'
	for kind in set-user-ID set-group-ID capable; do
		becomes $kind
		ignores "$kind, by ld.so.preload"
		[ $kind != capable ] || expected='pfa=0' # the kernel's AT_SECURE is set all the same
		is "$kind, but no new privileges" "$expected" \
			"$(as_nobody setpriv --no-new-privs env HOME="$W/home" "$W/act" "${asks[@]}")"
	done
	becomes plain
	is 'the same program, none of these, minds them' 'pfa=EOPNOTSUPP' "$(as_nobody HOME="$W/home" "$W/act" "${asks[@]}")"
	install -d -m 700 "$W/closed/.config/fastalloc"
	is 'a HOME that cannot be read is passed over' 'pfa=0' "$(as_nobody HOME="$W/closed" "$W/act" "${asks[@]}")"
	rm /etc/ld.so.preload
	trusted=$(ldd "$ACT" | sed -n 's|.*libc.so.6 => \(.*\)/libc.so.6 .*|\1|p')
	mount -t overlay -o "lowerdir=$trusted,upperdir=$W/upper2,workdir=$W/work2" overlay "$trusted"
	install -m 755 "$LIB" "$trusted/libfastalloc.so"
	expected='pfa=0 pfa=0'
	for kind in set-user-ID set-group-ID capable; do
		becomes $kind
		[ $kind != capable ] || expected='pfa=EBADF pfa=EBADF'
		is "$kind: no library by a path, nor by a name alone" 'pfa=EBADF pfa=EBADF' \
			"$(for it in "$W/libfastalloc.so" libfastalloc.so; do as_nobody LD_PRELOAD="$it" "$W/act" "${asks[@]}"; done | flat)"
		is "$kind, but no new privileges" "$expected" \
			"$(for it in "$W/libfastalloc.so" libfastalloc.so; do
			as_nobody setpriv --no-new-privs env LD_PRELOAD="$it" "$W/act" "${asks[@]}"; done | flat)"
		chmod 4755 "$trusted/libfastalloc.so"
		ignores "$kind, the library set-user-ID" LD_PRELOAD=libfastalloc.so
		chmod 755 "$trusted/libfastalloc.so"
	done
	umount -l "$trusted" /etc
else
	skip 'set-user-ID, set-group-ID, capabilities' 'needs root, and overlay'
fi
finish
