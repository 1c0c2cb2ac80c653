# Hooks neither allocate, lock nor use streams (trap.c); what libc lets write unseen meets no window.
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
	# Children that share the file, writes and copies of its descriptor that we do not see.
	# glibc's of 2.39, whose children come from its own posix_spawn, past the library.
	cat >"$W/spawn.c" <<-'C'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		int pidfd_spawn(int *pidfd, void *a, void *b, void *c, void *d, void *e)
		{
			return ((int (*)())dlsym(RTLD_NEXT, "posix_spawn"))(pidfd, a, b, c, d, e);
		}
		int pidfd_spawnp(int *pidfd, void *a, void *b, void *c, void *d, void *e)
		{
			return ((int (*)())dlsym(RTLD_NEXT, "posix_spawnp"))(pidfd, a, b, c, d, e);
		}
	C
	cc -shared -fPIC -std=gnu11 -o "$W/libspawn.so" "$W/spawn.c" 2>/dev/null
	unseen() { # WAY, the call it ends in
		strace -f -qq -o "$TRACE" -e trace=ftruncate,fallocate,clone,clone3,vfork,writev,pidfd_getfd \
			-E LD_PRELOAD="$LIB $W/libspawn.so" "$HOOKS" "$1" "$E/$1"
		is "$1: done" 0 $?
		like "$1: the window is given back before" "^fallocate ftruncate ($2)\$" \
			"$(grep -E 'KEEP_SIZE|ftruncate|CLONE_V|vfork|writev|pidfd_getfd' "$TRACE" | sed -E 's/^[0-9]+ +//; s/\(.*//' | head -n 3 | paste -sd' ')"
		"$HOOKS" "$1" "$E/without" 2>/dev/null
		# What backtrace prints has addresses in it; the other needs its library.
		[[ $1 = pidfd_* ]] || [ "$1" = backtrace ] || ok "$1: the same content" cmp "$E/$1" "$E/without"
	}
	unseen words 'clone3?|vfork'
	unseen pidfd_spawn 'clone3?|vfork'
	unseen pidfd_spawnp 'clone3?|vfork'
	unseen getfd pidfd_getfd
	unseen syscall pidfd_getfd
	unseen backtrace writev
fi
finish
