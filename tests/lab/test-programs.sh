# test-programs.sh: guest script. What copies, packs and versions files: with the library, what they leave has the content
# it is to have, and is all as without. LONG=1: on more file systems, with larger files.
# Variables (lab -e): ON='fat ext4 3', TASKS='git cp'
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
. "$PROJECT/tests/lab/places.sh"
unit=1 large=700
[ -z "${LONG:-}" ] || unit=40 large=60000
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_AUTHOR_DATE='@1000000000 +0000' GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b \
	GIT_COMMITTER_DATE='@1000000000 +0000' GIT_CONFIG_NOSYSTEM=1 TZ=UTC

# What they copy: empty, small, of odd sizes, larger than a window; with holes, and with zeros at both ends.
tree=/tmp/tree
mkdir -p $tree/dir/deeper
python3 - $unit $large <<'END'
import random, sys
unit, large = int(sys.argv[1]), int(sys.argv[2])
random.seed(1)
def put(name, *pieces):
    with open('/tmp/' + name, 'wb') as file:
        for piece in pieces:
            if isinstance(piece, bytes):
                file.write(piece)
            else:
                file.seek(piece, 1)
        file.truncate()
data = random.randbytes
put('tree/empty')
put('tree/one', data(1))
put('tree/odd', data(65537))
put('tree/large', *(data(1024) for _ in range(large)))
for n in range(1, 13):
    put(f'tree/dir/{n}', data(n * unit * 1024))
put('tree/holes', 300 << 10, data(20 << 10), 580 << 10, data(5 << 10), 119 << 10)
put('tree/dir/deeper/zeros', bytes(300000))
put('tree/dir/deeper/middle', bytes(70000), data(9 << 10), bytes(70000))
put('other', data(40 << 10))
END
contents() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum && find . -type d | sort); }
original=$(contents $tree)

# What is run with the library has $prefix before it. Each is in an empty directory, and leaves `tree` as it was.
tasks='inplace append_verify sparse git tar cp dd_append dd_seek dd_direct truncate fallocate split'
[ -z "${LONG:-}" ] || tasks="$tasks preallocate tar_sparse cp_sparse dd_skip zip sort"
task_inplace() { # over what is shorter, longer, and other
	cp -r $tree tree && truncate -s 5000 tree/large && cat /tmp/other >>tree/odd && cp /tmp/other tree/dir/12 && rm tree/dir/3 &&
		$prefix rsync -r --inplace --no-whole-file -I $tree/ tree
}
task_append_verify() { # what is there is right, or is not
	cp -r $tree tree && truncate -s 5000 tree/large && truncate -s 100 tree/holes && truncate -s 66000 tree/dir/deeper/middle &&
		printf x | dd of=tree/dir/deeper/middle conv=notrunc status=none && $prefix rsync -r --append-verify $tree/ tree
}
task_preallocate() { $prefix rsync -r --preallocate $tree/ tree; }
task_sparse() { $prefix rsync -r --preallocate --sparse $tree/ tree && $prefix rsync -r --sparse -I --no-whole-file --inplace $tree/ tree; }
git() { $prefix timeout 200 git -c core.fsyncObjectFiles=true -c core.filemode=false -c gc.auto=0 "$@"; }
task_git() {
	cp -r $tree work && cd work && git init -q && git add . && git commit -qm one && cat /tmp/other >>large && git commit -qam two &&
		git reset -q --hard HEAD~ && git gc -q --prune=now && git clone -q --no-local . ../tree &&
		git fsck --strict --full --no-progress && cd ../tree && git fsck --strict --no-progress && git rev-parse HEAD &&
		git repack -qad && git fsck --no-progress && git ls-tree -r HEAD | sha256sum && cd .. && rm -rf tree/.git work &&
		mkdir -p tree/dir/deeper
}
pack='tar --sort=name --mtime=@0 --owner=0 --group=0 --mode=755'
task_tar() {
	$prefix $pack -cf archive -C $tree . && truncate -s 9000 one && $prefix $pack -rf archive one && rm one && sha256sum <archive &&
		mkdir tree && $prefix tar -xf archive -C tree && mv tree/one . && cp $tree/one tree/one && sha256sum one
}
task_tar_sparse() {
	# What is a hole, and so is left out, depends on the file system that the archive is of: here, always the same one.
	$prefix $pack --sparse -czf archive -C $tree . && zcat archive | sha256sum && mkdir tree && $prefix tar -xzf archive -C tree
}
task_cp() { $prefix cp -r --reflink=auto $tree tree; }
task_cp_sparse() { $prefix cp -r --sparse=always $tree once && $prefix cp -r --sparse=never once tree; }
task_dd_append() {
	$prefix cp -r $tree tree && : >tree/large && for n in 0 1 2 3 4 5 6; do
		$prefix dd if=$tree/large of=tree/large bs=1k skip=$((large / 7 * n)) count=$((n < 6 ? large / 7 : large)) \
			oflag=append conv=notrunc status=none
	done
}
task_dd_seek() { # backwards, so that all but the first are within the file
	cp -r $tree tree && rm tree/large && for n in 6 5 4 3 2 1 0; do
		$prefix dd if=$tree/large of=tree/large bs=1k skip=$((large / 7 * n)) seek=$((large / 7 * n)) \
			count=$((n < 6 ? large / 7 : large)) conv=notrunc,fsync status=none
	done
}
task_dd_direct() {
	cp -r $tree tree && rm tree/large && $prefix dd if=$tree/large of=tree/large bs=64k oflag=direct status=none
}
task_dd_skip() { $prefix cp -r $tree tree && $prefix dd if=$tree/holes of=tree/holes bs=3k conv=sparse status=none; }
task_truncate() {
	cp -r $tree tree && $prefix truncate -s +3M tree/odd && $prefix truncate -s 65537 tree/odd &&
		$prefix truncate -s 2M tree/holes && sha256sum <tree/holes && $prefix truncate -s 1M tree/holes
}
task_fallocate() {
	cp -r $tree tree && $prefix fallocate -x -l 200000 tree/odd && sha256sum <tree/odd && $prefix truncate -s 65537 tree/odd &&
		$prefix fallocate -x -l 1M tree/holes && $prefix fallocate -x -o 4000 -l 90000 tree/dir/deeper/middle &&
		$prefix fallocate -x -l 2M grown && sha256sum <grown
}
task_split() {
	cp -r $tree tree && $prefix split -b 50001 $tree/large part. && sha256sum part.* && $prefix cat part.* >joined &&
		rm tree/large && $prefix tee tree/large <joined >tee && cmp tree/large tee
}
task_zip() {
	cp -r $tree tree && rm tree/large && $prefix gzip -n <$tree/large >packed && sha256sum <packed &&
		$prefix gzip -dc <packed >tree/large && $prefix xz -T2 <tree/large >packed && $prefix xz -dc <packed | cmp - tree/large
}
task_sort() {
	cp -r $tree tree && $prefix xxd -p -c 9 $tree/large >lines && $prefix sort -S 100k -T . -o lines lines && sha256sum <lines
}

# outcome HOW CONFIGURATION DIR TASK: what it says and leaves, without what is known of `tree`
outcome() {
	local how=$1 task=$4 prefix='' status
	[ $how = without ] || prefix="env LD_PRELOAD=$BUILD/libfastalloc.so FASTALLOC_CONFIG=/tmp/conf/$2"
	mkdir "$3/task" && cd "$3/task" || return
	(task_$task) 2>&1
	status=$?
	drop_caches
	echo "status $status, tree $([ "$(contents tree)" = "$original" ] && echo right || { echo wrong; contents tree; })"
	cd / && rm -rf "$3/task"
}
declare -A without
on() { # NAME DIR CONFIGURATION
	local task with done=0
	for task in ${TASKS:-$tasks}; do
		with=$(outcome with $3 $2 $task)
		# Few depend on the file system.
		[[ -n ${without[$task]:-} && -z ${LONG:-} && $with = "${without[$task]}" ]] ||
			without[$task]=$(outcome without $3 $2 $task)
		is "$1, $task: as without" "${without[$task]}" "$with"
		case ${without[$task]} in *'status 0, tree right') done=$((done + 1)) ;; esac
	done
	is "$1: tasks that left the files as they are to be" "$(wc -w <<<"${TASKS:-$tasks}")" $done
}
on_each "${ON:-fat ${LONG:+ext4 xfs 3 4.2} 4.1}" on
finish
