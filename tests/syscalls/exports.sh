# The library defines what shim.map lists, and needs little.
. "${PROJECT:?}/tests/tap.sh" || exit 1
LIB=$BUILD/libfastalloc.so
listed=$(sed -n 's/^\t\([a-zA-Z0-9_]*\);.*/\1/p' "$PROJECT/shim/shim.map" | sort)
defined=$(nm -D --defined-only "$LIB" | awk '{print $3}' | sort)
undefined=$(nm -D --undefined-only "$LIB" | awk '{sub(/@.*/, "", $2); print $2}' | sort)

is 'exported symbols are those of shim.map' "$listed" "$defined"
at_least 'and there are some' 14 "$(wc -l <<<"$defined")"
for name in posix_fallocate fallocate ftruncate truncate open openat creat fopen freopen sendfile pwrite pwritev; do
	ok "$name has its 64-bit name" grep -qx "${name}64" <<<"$defined"
done
# __dprintf_chk and dprintf go on as their siblings with a va_list; others are second names.
second='__backtrace_symbols_fd|__vfork|__close|__clone|__open|__open64|_IO_popen|_IO_fopen|_IO_fdopen|_IO_fclose'
is 'they are one set with the names that real.h resolves' "$(grep -vxE "__dprintf_chk|dprintf|$second" <<<"$listed")" \
	"$(sed -n 's/^\tX([a-zA-Z_ *]*, \([a-zA-Z0-9_]*\),.*/\1/p' "$PROJECT/shim/core/real.h" | sort)"
allowed='_IO_file_close _IO_file_jumps _IO_file_write _IO_wfile_jumps __cxa_finalize __errno_location __gmon_start__ __register_atfork __stack_chk_fail _ITM_deregisterTMCloneTable
_ITM_registerTMCloneTable _r_debug dl_iterate_phdr dlsym fileno_unlocked getauxval memchr memcmp memcpy memmem memmove memset stderr stdout strchr strcmp strcspn
strlen strncmp strrchr strstr sysconf'
# A build with sanitizers needs theirs.
undefined=$(grep -vE '^__(asan|ubsan|tsan)_' <<<"$undefined")
is 'nothing is needed but these few of libc' '' "$(comm -23 <(echo "$undefined") <(tr ' ' '\n' <<<"$allowed" | sort) | paste -sd' ')"
is 'no name that is hooked is called through the dynamic linker' '' "$(comm -12 <(echo "$undefined") <(echo "$listed"))"
is 'nothing of malloc, stdio, threads or lseek' '' \
	"$(grep -E '^(malloc|calloc|realloc|free|.*printf.*|f?puts|fwrite|fopen.*|pthread_.*|lseek.*|getenv|__.*_chk)$' <<<"$undefined")"
needed=$(readelf -d "$LIB" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v -E 'san\.so' | sort | paste -sd' ')
like 'no library is needed but libc' '^(ld-linux-[^ ]* )?libc\.[^ ]*$' "$needed"
# A weak reference needs its version, too.
versions=$(readelf -VW "$LIB" | sed -n 's/.*Name: GLIBC_\([0-9.]*\) .*/\1/p' | sort -Vu)
is 'no version newer than glibc 2.28 is needed' 2.28 "$(printf '%s\n' $versions 2.28 | sort -V | tail -n 1)"
is 'dlsym, which may be in a library that is not loaded, is weak' ' w ' "$(nm -D "$LIB" | grep -o ' . dlsym\(@.*\)\?$' | sed 's/dlsym.*//')"
like 'initialized first' 'INITFIRST' "$(readelf -d "$LIB")"
like 'all symbols bound at once' 'NOW' "$(readelf -d "$LIB")"
ok 'no text relocations' bash -c "! readelf -d '$LIB' | grep -q TEXTREL"
is 'no executable stack' '' "$(readelf -lW "$LIB" | grep GNU_STACK | grep -o RWE)"
is 'no thread-local storage' '' "$(readelf -lW "$LIB" | grep -w TLS)"
# What every program that is started pays for (layout.h); a build with sanitizers may.
if ! readelf -d "$LIB" | grep -q 'san\.so'; then
	segments=$(readelf -lW "$LIB")
	is 'two segments' 2 "$(grep -c '^ *LOAD' <<<"$segments")"
	read -r _ _ start _ _ size _ < <(grep GNU_RELRO <<<"$segments")
	at_most 'what is read-only once relocated: one page' 4096 $((size + start % 4096))
	read -r start data < <(nm "$LIB" | awk '$3 == "real" { real = $1 } $3 == "config" { config = $1 } END { print "0x" real, "0x" config }')
	is 'what is written at load: one page' $((start / 4096)) $((data / 4096))
fi
# What of libc is not hooked, and why: libc.names. Nothing may be in neither list.
names=$PROJECT/tests/syscalls/libc.names
libc=$(ldconfig -p 2>/dev/null | sed -n 's/.*libc\.so\.6 (.*x86-64.*) => //p' | head -n 1)
[ -e "$libc" ] || libc=$(ldd "$(command -v bash)" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')
if [ -e "$libc" ]; then
	pattern='write|put|print|alloc|trunc|open|close|dup|^creat(64)?$|splice|sendfile|sendm|copy_file|tmp|temp|aio|lio_|^_?_?f(flush|purge)|sync|flush|fcntl|ioctl|fork|clone|spawn|system|unshare|syscall|prctl|exec|wordexp|pidfd|setns|^v?(err|warn|error)|perror|psig|log$|memfd|chmod|chown|^set.*uid|^capset|daemon|login|pty|mmap|recvm|^tee$|buf|seek|wide|flow|_IO_|symbols_fd|^_*pipe|^accept|mtrace|^acct|mcleanup|assert|chk_fail'
	of_libc=$(nm -D --defined-only "$libc" | awk '$2 ~ /[TWi]/ && $3 !~ /GLIBC_PRIVATE/ {sub(/@.*/, "", $3); print $3}' | sort -u)
	# As regular expressions; a name without a star is itself.
	expressions=$(grep -v '^#' "$names" | tr ' ' '\n' | grep . | sed 's/\*/.*/g')
	looked_at=$(grep -iE "$pattern" <<<"$of_libc")
	left=$(comm -23 <(echo "$looked_at") <(echo "$listed"))
	at_least 'libc has names of the kind' 400 "$(wc -l <<<"$looked_at")"
	is 'each is hooked, or has a reason in libc.names' '' "$(grep -vxE -f <(echo "$expressions") <<<"$left" | paste -sd' ')"
	is 'no reason is given for what is hooked' '' "$(grep -xE -f <(echo "$expressions") <<<"$listed" | paste -sd' ')"
	is 'nor twice' '' "$(sort <<<"$expressions" | uniq -d | paste -sd' ')"
	# Those two are glibc 2.39's: the library is for both, wherever it was built.
	is 'what is hooked is of the kind, and in libc' '' \
		"$(comm -23 <(echo "$listed") <(echo "$looked_at") | grep -vxE 'pidfd_spawnp?' | paste -sd' ')"
	is 'those two are hooked' 'pidfd_spawn pidfd_spawnp' "$(grep -xE 'pidfd_spawnp?' <<<"$listed" | paste -sd' ')"
	is 'every group of names has a reason' '' "$(awk -v RS= '!/^#/ {print $1}' "$names" | paste -sd' ')"
else
	skip 'names of libc' 'libc.so.6 not found'
fi

# A hook reaches none: by no relocation, direct call or jump, but within itself (streams.c's dprintf
# and __dprintf_chk lead to one function of theirs).
relocated=$(readelf -rW "$LIB" | awk 'NF >= 5 {sub(/@.*/, "", $5); print $5}' | sort -u)
is 'no relocation names a hook' '' "$(comm -12 <(echo "$relocated") <(echo "$listed"))"
if ! readelf -d "$LIB" | grep -q 'san\.so'; then
	is 'no code calls or jumps to the start of a hook' '' "$(objdump -d --no-show-raw-insn "$LIB" |
		sed -nE 's/.*\t(call|jmp|j[a-z]+|bl?) +[0-9a-f]+ <([a-zA-Z0-9_]+)(@plt)?>.*/\2/p' | sort -u |
		comm -12 - <(echo "$listed") | paste -sd' ')"
fi

# As distributions build it: Fedora's way to say so, which is the harder one to take back.
if command -v meson >/dev/null && ! readelf -d "$LIB" | grep -q 'san\.so'; then
	dir=$(mktemp -d)
	trap 'rm -rf "${dir:?}"' EXIT
	CFLAGS='-Wp,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=2 -fstack-protector-strong' meson setup "$dir/build" "$PROJECT" \
		-Dtests=false >"$dir/log" 2>&1 && ninja -C "$dir/build" libfastalloc.so >"$dir/log" 2>&1
	is 'with -D_FORTIFY_SOURCE=2 it is built' 0 "$?"
	is 'and needs nothing of its checks' '' "$(nm -D --undefined-only "$dir/build/libfastalloc.so" | grep '_chk@' | grep -v stack_chk)"
else
	skip 'as distributions build it' 'no meson, or a build with sanitizers'
fi
finish
