# From when the program installs a filter, the library makes no call of its own:
# act's strict filter kills on any call of ours (statx, madvise, fdatasync...).
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
cd "$R" || exit 1

for way in seccomp seccomp2; do
	# tmpfs, as what glibc does where fallocate is not supported (fstatfs) the filter forbids too.
	is "$way strict: the program survives, the calls do as glibc's" \
		"$way=0 pfa=0 size=$MiB fa=0 ft=0 tr=0 fsync=0 close=0" \
		"$(act "$W/a$way" rdwr,creat $way strict pfa 0 1M size fa 0 0 8192 ft 1M tr 2M fsync close)"
	LD_PRELOAD=$LIB "$ACT" "$W/b$way" rdwr,creat $way strict pfa 0 1M >/dev/null
	is "$way strict: exit status" 0 $?
	is "$way strict: ramfs, what does not need fstatfs" "$way=0 fa=EOPNOTSUPP ft=0 tr=0 fsync=0 close=0" \
		"$(act "c$way" rdwr,creat $way strict fa 0 0 8192 ft 1M tr 2M fsync close)"
	is "$way strict: before the filter the library works" "pfa=0 $way=0 ft=0 blocks=$MiB close=0" \
		"$(act "d$way" rdwr,creat pfa 0 1M $way strict ft 2M blocks close)"
	traced -e trace=pwrite64,pwritev2,madvise,statx -- "e$way" rdwr,creat $way allow pfa 0 1M >"$W/out"
	is "$way allow: a pass-through too, glibc's writes are seen" 256 "$(calls pwrite64)"
	is "$way allow: none of ours" 0 "$(calls '(pwritev2|madvise)')"
done
is 'the same filter without the library' "$(plain "f" rdwr,creat seccomp strict pfa 0 1M size 2>&1)" \
	"$(act "g" rdwr,creat seccomp strict pfa 0 1M size 2>&1)"
config '[default]' 'ftruncate = allocate' 'fallocate = auto' 'sync = always'
is 'strict, with other policies' 'seccomp=0 fa=EOPNOTSUPP ft=0 tr=0' \
	"$(act h rdwr,creat seccomp strict fa 0 0 8192 ft 1M tr 2M)"
stock
traced -e trace=pwrite64,madvise,prctl,seccomp -e inject=prctl:error=EACCES -e inject=seccomp:error=EACCES \
	-- i rdwr,creat seccomp allow seccomp2 allow pfa 0 1M >"$W/out"
is 'a filter that was refused changes nothing' 'seccomp=EACCES seccomp2=EACCES pfa=0' "$(cat "$W/out")"
at_least 'and the library goes on' 1 "$(populates)"
FASTALLOC_STATS=$W/stats act "$W/j" rdwr,creat seccomp strict pfa 0 1M >/dev/null
ok 'the statistics are not written past a filter' [ ! -e "$W/stats" ]
finish
