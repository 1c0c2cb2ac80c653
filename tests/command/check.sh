# fastalloc check: every error, and what can never matter.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$W" || exit 1
command=$BUILD/tools/fastalloc/fastalloc
check() { "$command" check "$@" 2>&1; }

# A configuration of these lines; the findings, without the file's name, and the summary's last part.
found() {
	printf '%s\n' "$@" >c
	check c | sed 's/^c:[ ]*//'
}
# finds NAME FINDING LINE...: of these lines, that is the only finding.
finds() {
	local name=$1 finding=$2
	shift 2
	is "$name" "$finding" "$(found "$@" | sed '$d')"
}
# silent NAME LINE...: of these lines, nothing is said.
silent() {
	local name=$1
	shift
	finds "$name" '' "$@"
}

is 'the stock configuration' "$STOCK: no error in 3 sections, 16 keys" "$(check "$STOCK")"
printf '[defalt]\nsync = nevr\n[default]\n  snc = never\nwindow = 1X\n' >bad
is 'every error, with line, column and what was meant' 'bad:1:2: error: unknown section "defalt"; did you mean "default"?
bad:2:8: error: unknown value "nevr" for sync; did you mean "never"?
bad:4:3: error: unknown key "snc"; did you mean "sync"?
bad:5:10: error: "1X" is not a size; write e.g. 64K, 16M, 1G or unlimited
bad: 4 errors; the library uses the built-in configuration instead' "$(check bad)"
ok 'no error: exit status 0' check "$STOCK"
is 'an error: exit status 1' 1 "$(check bad >/dev/null; echo $?)"
printf '[default]\n' >warn
is 'a warning: exit status 0' 0 "$(check warn >/dev/null; echo $?)"
is '--strict: a warning is exit status 1' 1 "$(check --strict warn >/dev/null; echo $?)"
is 'standard input' 'standard input: no error in 1 section, 1 key' "$(printf '[default]\nsync = never' | check -)"
: >empty
is 'an empty file' 'empty: no error in 0 sections, 0 keys' "$(check empty)"

# Names of file systems.
finds '[fstype]: unknown, with the nearest' '1:14: warning: no file system "vfta" is known; did you mean "vfat"?' \
	'[fstype ext4 vfta]' 'sync = never'
finds '[fstype]: nfs4 is never one' '1:9: warning: "nfs4" never applies: write nfs4.0, nfs4.1, nfs4.2, or nfs for every version' \
	'[fstype nfs4]' 'sync = never'
silent '[fstype]: those of the kernel, and ours' '[fstype vfat nfs nfs3 nfs4.0 nfs4.2 fuse fuse.anything fuseblk ramfs proc zfs]' 'sync = never'
finds '[fstype]: no windows on NFS and in memory' '2:1: warning: write has no effect: the library allocates nothing ahead on these file systems' \
	'[fstype nfs tmpfs]' 'write = preallocate'
silent '[fstype]: windows on one of them' '[fstype nfs ext4]' 'write = preallocate'
finds '[fstype]: nothing is allocated ahead in memory' '2:1: warning: ftruncate has no effect: files in memory are never allocated ahead' \
	'[fstype tmpfs]' 'ftruncate = allocate'

finds 'deepbind is the program'"'"'s' '2:1: warning: deepbind has no effect: it is the program'"'"'s: set it in [default] or [program]' \
	'[fstype ext4]' 'deepbind = ignore'
silent 'deepbind for a program' '[program ganesha.nfsd]' 'deepbind = ignore'

# Mounts, paths, programs.
mkdir real && ln -s real link
finds '[mount]: not mounted is a note' "1:8: note: \"$W/real\" is no mount point now" "[mount $W/real]" 'sync = never'
is '[mount]: --strict does not mind a note' 0 "$(check --strict c >/dev/null; echo $?)"
silent '[mount]: mounted' "[mount $R $W/]" 'sync = never'
finds '[mount]: relative' '1:8: warning: "mnt" never applies: a mount point begins with /' '[mount mnt]' 'sync = never'
finds '[mount]: no wildcards' '1:8: warning: "/media/*" is taken literally: [mount] knows no wildcards, [path] does' \
	'[mount /media/*]' 'sync = never'
finds '[mount]: dots' '1:8: warning: "/mnt/../a" never applies: write it as findmnt(8) does' '[mount /mnt/../a]' 'sync = never'
finds '[mount]: a symbolic link' "1:8: warning: never applies: \"$W/link\" is really \"$W/real\", which is what files are known by" \
	"[mount $W/link]" 'sync = never'
finds '[path]: without a slash' '1:7: warning: "*.img" never applies: paths begin with /; write /... or **/...' '[path *.img]' 'sync = never'
silent '[path]: that can match' '[path **.img **/a /**/b */c \/d "/e f" /[a-z]]' 'sync = never'
finds '[path]: a directory' "1:7: warning: \"$W/real\" applies to no file: write .../* for those in a directory, .../** for all below" \
	"[path $W/real]" 'sync = never'
finds '[path]: a slash at the end' '1:7: warning: "/none/" applies to no file: write .../* for those in a directory, .../** for all below' \
	'[path /none/]' 'sync = never'
finds '[path]: a double slash' '1:7: warning: "/a//b" never applies: no path has such a part (//, /./ or /../)' '[path /a//b]' 'sync = never'
finds '[path]: below a symbolic link' "1:7: warning: never applies: \"$W/link\" is really \"$W/real\", which is what files are known by" \
	"[path $W/link/*]" 'sync = never'
finds '[program]: with directories' '1:10: warning: "/usr/bin/cp" never applies: write the file name, without directories' \
	'[program /usr/bin/cp]' 'sync = never'
finds '[program]: no wildcards' '1:10: warning: "qemu-*" is taken literally: [program] knows no wildcards' '[program qemu-*]' 'sync = never'

# Sections and keys that never matter.
finds 'a section without keys' '2:2: warning: this [default] section sets nothing' '' ' [default]'
finds 'a key that is set twice' '3:1: warning: sync was set before in this section; only this line counts' \
	'[default]' 'sync = never' 'sync = always'
finds 'a later section for the same' '2:1: warning: sync never counts: a later [fstype] section sets it for the same' \
	'[fstype vfat]' 'sync = never' 'write = preallocate' '[fstype msdos vfat]' 'sync = always'
silent 'a later section for fewer' '[fstype vfat msdos]' 'sync = never' '[fstype vfat]' 'sync = always'
silent 'a later section of another kind' '[fstype vfat]' 'sync = never' '[program vfat]' 'sync = always'
finds 'mounts are the same with slashes' "2:1: warning: sync never counts: a later [mount] section sets it for the same" \
	"[mount $R]" 'sync = never' "[mount $R//]" 'sync = always'
finds 'window above window_max' '3:1: warning: window = 2M is more than window_max = 1M, which limits it' \
	'[fstype vfat]' 'write = preallocate' 'window = 2M' 'window_max = 1M'
finds 'window above the built-in window_max' '3:1: warning: window = 32M is more than window_max = 16M, which limits it' \
	'[fstype vfat]' 'write = preallocate' 'window = 32M'
silent 'window below a window_max elsewhere' '[default]' 'window_max = 64M' '[fstype vfat]' 'write = preallocate' 'window = 32M'
finds 'window without preallocate anywhere' '2:1: warning: window has no effect here without write = preallocate' '[default]' 'window = 1M'
silent 'window, and preallocate elsewhere' '[default]' 'window = 1M' '[fstype vfat]' 'write = preallocate'
silent 'a built-in value without effect' '[default]' 'window = 64K' 'stdio = auto'
finds 'zero_fill_max with native' '3:1: warning: zero_fill_max has no effect here without posix_fallocate = auto, fallocate = auto or ftruncate = allocate' \
	'[fstype nfs3]' 'posix_fallocate = native' 'zero_fill_max = 1M'
silent 'zero_fill_max with native, and auto for a program' '[fstype nfs3]' 'posix_fallocate = native' 'zero_fill_max = 1M' \
	'[program p]' 'posix_fallocate = auto'
silent 'zero_fill_max with the built-in auto' '[fstype nfs3]' 'zero_fill_max = 1M'
finds 'ftruncate_max without preallocate' '2:1: warning: ftruncate_max has no effect here without ftruncate = preallocate or allocate' \
	'[fstype ext4]' 'ftruncate_max = 1M'
like 'the summary counts' ': no error in 1 section, 1 key; 1 warning$' "$(check c)"
is 'control characters do not reach the terminal' '1:9: warning: no file system "a?[1mb" is known' \
	"$(found "[fstype a"$'\e'"[1mb]" 'sync = never' | sed '$d')"

# What the library would use.
mkdir -p home/.config/fastalloc
cp bad home/.config/fastalloc/preload.conf
unset FASTALLOC_CONFIG
like 'without FILE: that of the user' "^$W/home/.config/fastalloc/preload.conf: 4 errors" "$(HOME=$W/home check | tail -n 1)"
like 'without FILE: $FASTALLOC_CONFIG first' '^warn: no error in 1 section' "$(FASTALLOC_CONFIG=warn HOME=$W/home check | tail -n 1)"
like 'without any file: the built-in one, or that of the system' 'preload.conf: no error in [0-9]+ sections, ' "$(check)"
is 'FASTALLOC_CONFIG missing' 'fastalloc: none: no such file' "$(FASTALLOC_CONFIG=none check)"

# JSON.
is '--json: the findings' 'error 1 2 error 2 8 error 4 3 error 5 10' \
	"$(check --json bad | python3 -c 'import json, sys
print(*("%(severity)s %(line)d %(column)d" % f for f in json.load(sys.stdin)["findings"]))')"
is '--json: exit status' 1 "$(check --json bad >/dev/null; echo $?)"
is '--json: nothing found' '{"file": "c", "sections": 1, "keys": 1, "findings": []}' \
	"$(printf '[default]\nsync = never\n' >c; check --json c | python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)))')"

# Bad input, and output that goes nowhere.
fails() { # NAME MESSAGE ARGUMENT...: exit status 1
	local name=$1 message=$2 output status
	shift 2
	output=$(check "$@") status=$?
	is "$name" "$message [1]" "$output [$status]"
}
fails 'no such file' 'fastalloc: none: no such file' none
fails 'a directory' 'fastalloc: real: is not a regular file' real
mkfifo fifo
fails 'a FIFO does not hang it' 'fastalloc: fifo: is not a regular file' fifo
truncate -s 2M large
fails 'too large' 'fastalloc: large: is larger than 1 MiB' large
is 'too large, on standard input' 'fastalloc: standard input: is larger than 1 MiB' "$(check - <large)"
head -c 100 /dev/zero >zero
fails 'binary: one error a line' 'zero:1:1: error: NUL byte; this is not a text file
zero: 1 error; the library uses the built-in configuration instead' zero
is 'a closed standard input' 'fastalloc: standard input: Bad file descriptor' "$(check - <&-)"
is 'an unknown option' 2 "$(check --none >/dev/null; echo $?)"
is 'two files' "fastalloc: check: one file at most
Try 'fastalloc check --help'." "$(check a b)"
like '--help' '^Usage: fastalloc check ' "$(check --help)"
is '--help fits 80 columns' '' "$(check --help | grep -E '.{81}')"
if [ -w /dev/full ]; then
	is 'a full disk' 'fastalloc: standard output: No space left on device' "$("$command" check "$STOCK" 2>&1 >/dev/full)"
fi
is 'a pipe that is closed early' '' "$({ "$command" check bad; } 2>&1 >/dev/null | true)"

# Colour.
if command -v script >/dev/null; then
	on_terminal() { TERM=xterm script -qec "$*" /dev/null | tr -d '\r'; }
	like 'colour on a terminal' $'\e\\[1;31merror' "$(on_terminal "$command" check bad)"
	is 'NO_COLOR' '' "$(NO_COLOR=1 on_terminal "$command" check bad | grep $'\e')"
else
	skip 'colour on a terminal' 'no script(1)'
fi
is 'no colour in a pipe' '' "$(TERM=xterm check bad | grep $'\e')"
finish
