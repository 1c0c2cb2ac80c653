# fastalloc explain: what is done with a file, and which line says so.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$W" || exit 1
command=$BUILD/tools/fastalloc/fastalloc
explain() { "$command" explain "$@" 2>&1; }
# key KEY PATH [OPTION...]: "VALUE FILE:LINE" of it; call CALL: what becomes of it.
key() { explain "${@:2}" | sed -n "/^KEY/,\$s/^$1  *//p" | tr -s ' '; }
# json EXPRESSION ARGUMENT...: of the first path, p.
json() {
	explain --json "${@:2}" | python3 -c "import json, sys
p = json.load(sys.stdin)['paths'][0]
print($1)"
}
call() { json "p['calls']['$1']" "${@:2}"; }
stock_line() { grep -n "$1" "$STOCK" | head -n 1 | cut -d: -f1; }

# The mount.
: >a
is 'the mount' "$W tmpfs tmpfs True" "$(json "p['mount']['point'], p['mount']['source'], p['mount']['type'], p['exists']" a | tr -d "'(),")"
like 'its options' '^rw,.*size=65536k' "$(json "p['mount']['options']" a)"
like 'the mount, as text' $'\nmount  *'"$W"$'\nsource  *tmpfs\ntype  *tmpfs\noptions  *rw,' "$(explain a)"
is 'another mount' "$R ramfs" "$(: >ram/a; json "p['mount']['point'] + ' ' + p['mount']['type']" ram/a)"
mkdir sub
mount -t tmpfs -o sync none sub
is 'a new file lies where it is made' "$W/sub/none False" "$(json "p['mount']['point'] + '/' + p['path'][-4:], p['exists']" sub/none | tr -d "'(),")"
mount --bind sub/ ram
is 'a bind mount is another mount' "$R" "$(json "p['mount']['point']" ram)"
umount ram
touch over && mount --bind "$R/a" over
is 'a file that is mounted itself' "$W/over ramfs" "$(json "p['mount']['point'] + ' ' + p['mount']['type']" over)"

# The lines.
is 'the stock configuration: the line of [default]' "auto $STOCK:$(stock_line '^posix_fallocate =')" "$(key posix_fallocate a)"
config '# a comment' '[default]' 'sync = never' "[fstype tmpfs]" '' '  window = 1M' '[mount '"$W"']' 'write = preallocate' \
	"[path $W/*.img $W/deep/**]" 'stdio = off' '[program one]' 'ftruncate = allocate' 'sync = always'
conf=$FASTALLOC_CONFIG
is '[default]' "never $conf:3" "$(key sync a)"
is '[fstype]' "1M $conf:6" "$(key window a)"
is '[mount]' "preallocate $conf:8" "$(key write a)"
is '[path]' "off $conf:10" "$(key stdio a.img)"
is 'no line: built-in' 'auto built-in' "$(key stdio a)"
is '[program], without one' "native built-in never $conf:3" "$(key ftruncate a) $(key sync a)"
is '--program' "allocate $conf:12 always $conf:13" "$(key ftruncate a --program one) $(key sync a -p /usr/bin/one)"
is '--program of another' "never $conf:3" "$(key sync a --program two)"
mkdir deep
is 'a relative path, dots and links' "off $conf:10" "$(ln -s "$W" sub/link; key stdio deep/.././sub/link/a.img)"
is 'as JSON' "never $conf 3 default" "$(json "'%(value)s %(file)s %(line)d %(section)s' % p['keys'][5]" a)"
is 'as JSON: built-in' "auto None None None" "$(json "'%(value)s %(file)s %(line)s %(section)s' % p['keys'][10]" a)"
is 'as JSON: sizes are bytes' '1048576 unlimited' "$(json "p['keys'][7]['value'], p['keys'][3]['value']" a | tr -d "'(),")"

# Directories.
is 'a directory: what concerns all in it' "off $conf:10" "$(key stdio deep)"
is 'a directory: not what concerns some' 'auto built-in' "$(key stdio .)"
like 'a directory: which lines may concern some' '- some files in it may be those of the \[path\] sections in lines 9' "$(explain .)"
is 'a directory: not those that cannot' '' "$(explain ram | grep 'some files')"
like '[program] sections are named without --program' '- without --program, not looked at: the \[program\] sections in lines 11' "$(explain a)"

# Which configuration.
printf '[default]\nsync = always\n' >other
is '-c' "always other:2" "$(key sync a -c other)"
is '-c -: standard input' 'always standard input:2' "$(printf '[default]\nsync = always' | key sync a -c -)"
mkdir -p home/.config/fastalloc
cp other home/.config/fastalloc/preload.conf
is 'that of the user' "always $W/home/.config/fastalloc/preload.conf:2" "$(unset FASTALLOC_CONFIG; HOME=$W/home key sync a)"
printf '[default]\nsync = nevr\nwindow = x\n' >bad
is 'in error: told, and then the built-in one' 'fastalloc: bad:2:8: unknown value "nevr" for sync; did you mean "never"?
fastalloc: bad:3:10: "x" is not a size; write e.g. 64K, 16M, 1G or unlimited
fastalloc: bad: the library uses the built-in configuration instead' "$(FASTALLOC_CONFIG=bad explain a | sed -n '1,3p')"
is 'in error: it is the built-in one' "auto built-in preload.conf:$(stock_line '^sync =')" "$(FASTALLOC_CONFIG=bad key sync a)"
is 'in error: exit status 1' 1 "$(FASTALLOC_CONFIG=bad explain a >/dev/null; echo $?)"
is '-c in error: nothing is explained' 'fastalloc: none: no such file' "$(explain -c none a)"
like 'FASTALLOC_DISABLE=1 is told' '- FASTALLOC_DISABLE=1 is set here' "$(FASTALLOC_DISABLE=1 explain a)"

# What becomes of calls is what the library does.
config '[default]' 'posix_fallocate = refuse'
is 'posix_fallocate = refuse' 'EOPNOTSUPP pfa=EOPNOTSUPP' "$(call posix_fallocate a) $(act a rdwr pfa 0 1M)"
config '[fstype ramfs]' 'zero_fill_max = 64K'
is 'zero_fill_max, without fallocate' 'the space is reserved by dirtying pages and appending zeros; EOPNOTSUPP for more than 64K' \
	"$(call posix_fallocate ram/a)"
config '[fstype ramfs]' 'sync = always'
like 'sync' ', then flushed$' "$(call posix_fallocate ram/a)"
config '[default]' 'write = preallocate' 'ftruncate = allocate'
is 'nothing ahead in memory' 'passed on: in memory passed on: in memory' "$(call write a) $(call ftruncate a)"
is 'nothing ahead on sync mounts' 'passed on: mounted with sync' "$(call write sub)"
if disk && [ "$(stat -f -c %T "$E")" = ext2/ext3 ]; then
	config '[default]' 'write = preallocate' 'window = 1M' 'window_max = 8M' 'window_after = 0' 'stdio = off'
	is 'windows' 'blocks are allocated ahead while this process alone has the file open: half as much as the file has, 1M to 8M passed on: stdio = off' \
		"$(call write "$E/x") $(call fwrite "$E/x")"
	like 'facts' '- a fallocate that fails keeps part of the space' "$(explain "$E/x")"
else
	skip windows '/var/tmp is not on ext4'
	skip facts '/var/tmp is not on ext4'
fi

# Several; layout.
is 'several paths' 2 "$(explain --json a ram/a | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["paths"]))')"
is 'one of them missing: the others are explained' "fastalloc: none/x: No such file or directory 1" \
	"$(explain a none/x | grep -E 'fastalloc:|^KEY' | sed 's/^KEY.*/1/' | sort -r | tr '\n' ' ' | sed 's/ $//')"
is 'one of them missing: exit status 1' 1 "$(explain a none/x >/dev/null; echo $?)"
stock
is 'it fits 80 columns' '' "$(explain -c "$conf" a ram/a sub deep . | grep -E '.{81}')"
is '--help fits 80 columns' '' "$(explain --help | grep -E '.{81}')"
like '--help' '^Usage: fastalloc explain ' "$(explain --help)"
is 'no colour in a pipe' '' "$(TERM=xterm explain a | grep $'\e')"
if command -v script >/dev/null; then
	like 'colour on a terminal' $'\e\\[1m'"$W/a" "$(TERM=xterm script -qec "$command explain a" /dev/null)"
	is 'NO_COLOR' '' "$(NO_COLOR=1 TERM=xterm script -qec "$command explain a" /dev/null | grep $'\e')"
else
	skip 'colour on a terminal' 'no script(1)'
	skip NO_COLOR 'no script(1)'
fi
mkdir "$(printf 'new\nline\e')"
is 'control characters in names' '' "$(explain new* | grep $'\e')"
is 'a name that is no UTF-8, as JSON' "$W/?" "$(json "p['path']" $'\xff')"

is 'a control character of 8 bits, in a message' "fastalloc: ä??31m/x: No such file or directory" \
	"$(LC_ALL=C.UTF-8 explain $'ä\xc2\x9b31m/x')"

# Bad input.
fails() { # NAME MESSAGE ARGUMENT...: exit status 1
	local name=$1 message=$2 output status
	shift 2
	output=$(explain "$@") status=$?
	is "$name" "$message [1]" "$output [$status]"
}
mkfifo fifo
ln -s nowhere dangling
fails 'no such directory' 'fastalloc: none/x: No such file or directory' none/x
fails 'a directory that is not there' 'fastalloc: none/: No such file or directory' none/
fails 'an empty path' 'fastalloc: : No such file or directory' ''
fails 'a file as directory' 'fastalloc: a/x: Not a directory' a/x
fails 'a symbolic link to nowhere' 'fastalloc: dangling: No such file or directory' dangling
fails 'a FIFO' 'fastalloc: fifo: is neither a regular file nor a directory' fifo
fails 'a device' 'fastalloc: /dev/null: is neither a regular file nor a directory' /dev/null
is 'no path' "fastalloc: explain: a path is missing
Try 'fastalloc explain --help'. 2" "$(explain) $(explain >/dev/null; echo $?)"
is 'an unknown option' 2 "$(explain --none a >/dev/null; echo $?)"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir -m 700 closed
	is 'no permission' 'fastalloc: closed/x: Permission denied' \
		"$(FASTALLOC_CONFIG='' setpriv --reuid 65534 --clear-groups "$command" explain closed/x 2>&1)"
fi
if [ -w /dev/full ]; then
	is 'a full disk' 'fastalloc: standard output: No space left on device' "$("$command" explain a 2>&1 >/dev/full)"
fi
is 'a pipe that is closed early' '' "$({ explain --json a a a a a a a a a a; } 2>&1 | head -c 1 | tr -d '{')"
is 'nothing was made' '' "$(ls -A | grep -xE 'none|nowhere')"
finish
