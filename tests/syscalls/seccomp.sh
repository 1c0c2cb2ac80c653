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
stock
FASTALLOC_STATS=$W/stats act "$W/j" rdwr,creat seccomp strict pfa 0 1M >/dev/null
ok 'the statistics are not written past a filter' [ ! -e "$W/stats" ]
finish
