# From when the program installs a filter, the library makes no call of its own:
# act's strict filter kills on any call of ours (statx, madvise, fdatasync...).
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$R" || exit 1

for way in seccomp seccomp2; do
	# Killed by SIGSYS, 31.
	is "$way strict does kill" 159 "$("$ACT" "$W/k" rdwr,creat $way strict fdatasync >/dev/null 2>&1; echo $?)"
	is "$way strict: the program survives, the calls do as glibc's" \
		"$way=0 pfa=0 size=$MiB fa=0 ft=0 tr=0 fsync=0 close=0" \
		"$(act "$W/a$way" rdwr,creat $way strict pfa 0 1M size fa 0 0 8192 ft 1M tr 2M fsync close)"
	is "$way strict, no fallocate: the program survives, the calls do as glibc's" \
		"$way=0 pfa=0 size=$MiB blocks=$MiB fa=EOPNOTSUPP ft=0 pfa=0 tr=0 fsync=0 close=0" \
		"$(act "c$way" rdwr,creat $way strict pfa 0 1M size blocks fa 0 0 8192 ft 2M pfa 0 2M tr 3M fsync close)"
	for file in "$W/b$way" "b$way"; do
		LD_PRELOAD=$LIB "$ACT" "$file" rdwr,creat $way strict pfa 0 1M >/dev/null
		is "$way strict: exit status (${file//$W/tmpfs})" 0 $?
	done
	is "$way strict: before the filter the library works" "pfa=0 $way=0 ft=0 blocks=$MiB close=0" \
		"$(act "d$way" rdwr,creat pfa 0 1M $way strict ft 2M blocks close)"
	traced -e trace=pwrite64,pwritev2,madvise,statx -- "e$way" rdwr,creat $way allow pfa 0 1M >"$W/out"
	is "$way allow: a pass-through too, glibc's writes are seen" 256 "$(calls pwrite64)"
	is "$way allow: none of ours" 0 "$(calls '(pwritev2|madvise)')"
done
is 'the same filter without the library' "seccomp=0 pfa=0 size=$MiB" "$(plain f rdwr,creat seccomp strict pfa 0 1M size)"
config '[default]' 'ftruncate = allocate' 'fallocate = auto' 'sync = always'
is 'strict, with other policies' 'seccomp=0 pfa=0 fa=EOPNOTSUPP ft=0 tr=0' \
	"$(act h rdwr,creat seccomp strict pfa 0 8192 fa 0 0 8192 ft 1M tr 2M)"
stock
traced -e trace=pwrite64,pwritev2,prctl,seccomp -e inject=prctl:error=EACCES -e inject=seccomp:error=EACCES \
	-- i rdwr,creat seccomp allow seccomp2 allow pfa 0 1M >"$W/out"
is 'a filter that was refused changes nothing' 'seccomp=EACCES seccomp2=EACCES pfa=0' "$(cat "$W/out")"
is 'and the library goes on' "0 $MiB" "$(overwrites) $(appended | sum)"
# A filter that the program was started under: what it forbids is not the program's loss.
for error in EPERM ENOSYS; do
	for call in statx fcntl pwritev2 fdatasync madvise ioctl capget sync_file_range; do
		config '[default]' 'sync = always'
		for scene in 'rdwr,creat pfa 0 1M close' 'wronly,creat pfa 0 1M' 'rdwr,creat ft 1M pfa 0 1M' 'rdwr,creat pfa 8192 1M' \
			'rdwr,creat ft 1M pfa 0 2M size blocks'; do
			rm -f k
			# shellcheck disable=SC2086 # words
			want=$(LIB='' traced -e trace=$call -e inject=$call:error=$error -- k $scene)
			rm -f k
			# shellcheck disable=SC2086
			is "$call forbidden, $error, as without the library: $scene" "$want" \
				"$(traced -e trace=$call -e inject=$call:error=$error -- k $scene | sed 's/^fastalloc: .*built-in configuration //')"
		done
	done
	# libc asks for the block size, and gives up without.
	rm -f k
	is "fstatfs forbidden, $error: done all the same" "pfa=0 blocks=$MiB" \
		"$(traced -e trace=fstatfs -e inject=fstatfs:error=$error -- k rdwr,creat pfa 0 1M blocks)"
done
# Landlock: what was open before keeps its rights, what is opened after has none to truncate, write or
# read, /proc and the configuration neither. The same results, and no block more.
if [ "$("$ACT" k rdwr,creat landlock truncate)" = 'landlock = 0' ]; then
	truncate -s 100M "$E/image" && mkfs.ext4 -q -F -m 0 "$E/image" && mkdir "$E/mnt" && mount -o loop "$E/image" "$E/mnt" 2>/dev/null
	mounted=$?
	for directory in "$R" "$W" "$E/mnt"; do
		[ "$directory" != "$E/mnt" ] || [ "$mounted" = 0 ] || continue
		cd "$directory" || exit 1
		for file in stock preallocate allocate; do
			case $file in stock) stock ;; *) config '[default]' 'write = preallocate' "ftruncate = $file" ;; esac
			for right in truncate write truncate,write read,write,truncate; do
				# shellcheck disable=SC2086 # words
				for scene in "landlock $right pfa 0 1M fa keep 0 2M write 64K 1 write 1M 2 ft 3M ft 5 close size blocks" \
					"write 512K 1 write 64K 2 landlock $right write 64K 3 fsync close size blocks" \
					"landlock $right reopen ft 3M tr 2M write 512K 1 write 64K 1 ft 9 close size" \
					"landlock $right reopen ft 3M size blocks tr -1 close blocks" \
					"write 5000 65 landlock $right reopen pfa 4000 100000 size blocks"; do
					rm -f k l
					want=$(plain k rdwr,creat,trunc $scene) got=$(act l rdwr,creat,trunc $scene)
					[ "$want" = "$got" ] || wrong+=" [$file, $(stat -f -c %T .): $scene: $got, without $want]"
				done
			done
		done
		[ "$directory" = "$E/mnt" ] || continue
		is 'Landlock, a file from before: allocated' 'landlock=0 ft=0 size=3145728 blocks=3145728' \
			"$(traced -e trace=ftruncate -- l rdwr,creat,trunc landlock truncate ft 3M size blocks)"
		# A second time could cut off what others have appended since.
		is 'Landlock: the size is set once' 1 "$(grep -c '^[0-9]* *ftruncate(' "$TRACE")"
	done
	is 'Landlock: as without' '' "${wrong:-}"
	# Started in such a sandbox it is told by the first file that cannot be given back what is left.
	if [ "$mounted" = 0 ]; then
		cat >"$W/sandbox.py" <<-'PYTHON'
			import ctypes, os, sys
			libc, rights = ctypes.CDLL(None), ctypes.c_uint64(1 << 14)
			rules = libc.syscall(444, ctypes.byref(rights), 8, 0)
			libc.prctl(38, 1, 0, 0, 0)
			os.execv(sys.argv[1] if libc.syscall(446, rules, 0) == 0 else '/none', sys.argv[1:])
		PYTHON
		config '[default]' 'write = preallocate'
		rm -f k l
		is 'Landlock, inherited: one window at most' '0 1' \
			"$(python3 "$W/sandbox.py" /usr/bin/env LD_PRELOAD="$LIB" FASTALLOC_LOG="debug:$W/log" \
				"$BUILD/tests/hooks" twice "$E/mnt/k"; echo $?) $(grep -c ' window ' "$W/log")"
		cd "$R" && umount "$E/mnt"
	fi
else
	skip Landlock 'not in this kernel'
fi
stock
FASTALLOC_STATS=$W/stats act "$W/j" rdwr,creat seccomp strict pfa 0 1M >/dev/null
ok 'the statistics are not written past a filter' [ ! -e "$W/stats" ]
finish
