#!/bin/bash
# valgrind.sh: no subcommand reads what nobody wrote, or loses memory, errors included.
. "$PROJECT/tests/command/disk.sh" || exit 1
command -v valgrind >/dev/null || { echo '1..0 # SKIP no valgrind'; exit 0; }
fresh ext4 || { echo '1..0 # SKIP no loop devices'; exit 0; }

head -c 1M /dev/zero >file
fallocate --keep-size -l 4M file
cp file other
printf '[default]\nsync = nevr\n' >wrong.conf
printf '[fstype vfta]\nwindow = 1M\n[mount /none]\nsync = never\n[mount /none]\nsync = always\n' >doubtful.conf
printf '{"pid":1,"program":"x","posix_fallocate":{"seen":1,"written":1,"bytes":4096}}\nwrong\n' >stats
grow=(dd if=/dev/zero of=grown bs=4K count=64 status=none)

clean() { # WORD...: fastalloc WORD..., which may fail
	local status
	valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite "$FASTALLOC" "$@" \
		>/dev/null 2>"$D/err" </dev/null
	status=$?
	ok "$*" [ $status != 99 ]
	[ $status != 99 ] || grep == "$D/err" | head -n 30 | sed 's/^/# /'
}
clean --help
clean --version
clean check doubtful.conf
clean check --json doubtful.conf
clean check wrong.conf
clean explain -p dd . file none
clean explain --json -c doubtful.conf .
clean explain -c wrong.conf .
clean extents file other none
clean extents --json -v other
clean extents -rz .
clean probe .
clean probe --json .
clean probe none
clean run -v -c doubtful.conf -s written "${grow[@]}"
clean run -c wrong.conf true
clean run none
clean stats stats
clean stats --json --total stats
clean trim --dry-run --json .
clean trim .
clean watch "${grow[@]}"
clean watch --json -o report "${grow[@]}"
clean watch none
finish
