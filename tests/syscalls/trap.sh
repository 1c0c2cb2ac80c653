# Hooks neither allocate, lock nor use streams (trap.c); a shell that wordexp starts meets no window.
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
HOOKS=$BUILD/tests/hooks TRAP=$BUILD/tests/libtrap.so
# trapped COMMAND...: with the library, and the trap behind it.
trapped() { timeout 60 env LD_PRELOAD="$LIB $TRAP" "$HOOKS" "$@" 2>&1 | flat; }

like 'what allocates inside is caught' 'trap: open_memstream' "$(trapped trapped)"
config '[default]' 'write = preallocate' 'ftruncate = allocate' 'fallocate = auto'
without=$(LD_PRELOAD=$TRAP "$HOOKS" calls "$W" 2>&1 | flat)
like 'the calls are made' '^calls=[0-9]{3}$' "$without"
for file in stock sparse windows; do
	case $file in
	stock) stock ;;
	sparse) config '[default]' 'posix_fallocate = sparse' 'stdio = off' ;;
	windows) config '[default]' 'write = preallocate' 'ftruncate = allocate' 'fallocate = auto' '[path /**/none]' 'sync = never' ;;
	esac
	for directory in "$W" "$R" "$E"; do
		is "$file: no hook allocates, locks or uses streams ($(stat -f -c %T "$directory"))" "$without" "$(trapped calls "$directory")"
	done
done
is 'nor with a log and statistics' "$without" \
	"$(FASTALLOC_LOG=debug:$W/log FASTALLOC_STATS=$W/stats trapped calls "$E")"
at_least 'which are there' 20 "$(wc -l <"$W/log")"
if disk; then
	at_least 'windows were opened, and trimmed' 2 "$(grep -cE ' (window|trim) ' "$W/log")"
	strace -f -qq -o "$TRACE" -e trace=ftruncate,fallocate,clone,clone3,vfork -E LD_PRELOAD="$LIB" "$HOOKS" words "$E/words"
	like 'wordexp: the window is given back before the shell starts' '^fallocate ftruncate (clone3?|vfork)$' \
		"$(grep -E 'KEEP_SIZE|ftruncate|CLONE_V|vfork' "$TRACE" | sed -E 's/^[0-9]+ +//; s/\(.*//' | head -n 3 | paste -sd' ')"
fi
finish
