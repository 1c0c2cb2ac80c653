#!/bin/bash
# install.sh: what `meson install` puts where, below a root of its own, and that it works there.
. "$PROJECT/tests/tap.sh"
[ -x "$BUILD/tools/fastalloc/fastalloc" ] || { echo '1..0 # SKIP the command is not built'; exit 0; }
dir=$(mktemp -d /var/tmp/fastalloc-XXXXXX)
root=$dir/root
trap 'rm -rf "${dir:?}"' EXIT
cd "$dir" || exit 1
unset FASTALLOC_CONFIG FASTALLOC_DISABLE FASTALLOC_LOG FASTALLOC_STATS XDG_CONFIG_HOME LD_PRELOAD DESTDIR NO_COLOR
export HOME=$dir/home
# bindir, libdir...: absolute, as the build directory has them.
eval "$(meson introspect --buildoptions "$BUILD" | python3 -c '
import json, os, shlex, sys
options = {option["name"]: option["value"] for option in json.load(sys.stdin)}
for name in ("bindir", "datadir", "libdir", "mandir", "sysconfdir"):
    print(name + "=" + shlex.quote(os.path.join(options["prefix"], options[name])))')"
meson install -C "$BUILD" --no-rebuild --quiet --destdir "$root" >install.log 2>&1 || { echo 'Bail out! meson install'; exit 1; }
PATH=$root$bindir:$PATH

# What is there
pages=()
[ ! -f "$BUILD/man/fastalloc.1" ] ||
	pages=("644 $mandir/man1/fastalloc.1" "644 $mandir/man8/libfastalloc.so.8" "644 $mandir/man5/preload.conf.5")
is 'these files, and no others' "$(printf '%s\n' "755 $bindir/fastalloc" "644 $sysconfdir/fastalloc/preload.conf" \
	"644 $datadir/bash-completion/completions/fastalloc" "${pages[@]}" | sort)" \
	"$(find "$root" ! -type d ! -name '*.so' -printf '%m /%P\n' | sort)"
is 'one library' "$libdir/libfastalloc.so" "$(find "$root" ! -type d -name '*.so' -printf '/%P\n')"
ok 'the configuration is the stock one' cmp "$root$sysconfdir/fastalloc/preload.conf" "$PROJECT/preload.conf"
is 'which is in order' 0 "$(fastalloc check --strict "$root$sysconfdir/fastalloc/preload.conf" >/dev/null; echo $?)"
for page in "${pages[@]}"; do
	name=${page##*/}
	ok "man ${name##*.} ${name%.*}" env MANPATH="$root$mandir" man -w "${name##*.}" "${name%.*}"
done

# It runs. "here" is where the library was loaded from.
here() { fastalloc "$@" sed -n 's,.* /,/,; /libfastalloc.so$/p' /proc/self/maps 2>/dev/null | sort -u; }
is 'run: with the library of that root' "$root$libdir/libfastalloc.so" "$(here run)"
is 'watch: with the library of that root' "$root$libdir/libfastalloc.so" "$(here watch)"
mv root moved
PATH=$dir/moved$bindir:$PATH
is 'wherever the root is' "$dir/moved$libdir/libfastalloc.so" "$(here run)"
is '--version' "fastalloc $(meson introspect --projectinfo "$BUILD" | sed -nE 's/.*"version": "([0-9.]+)".*/\1/p')" "$(fastalloc --version)"
fastalloc run -s stats fallocate --posix -l 1M file 2>summary
like 'it answers' '^fastalloc: 1 process.*'$'\n''posix_fallocate +1 +0 1 MiB' "$(cat summary)"
if [ ! -e "$libdir/libfastalloc.so" ]; then
	mv "moved$libdir/libfastalloc.so" away.so
	is 'without its library it says so' "1 fastalloc: $libdir/libfastalloc.so: no such library; is fastalloc installed?" \
		"$(fastalloc true 2>message; echo "$? $(cat message)")"
	mv away.so "moved$libdir/libfastalloc.so"
fi

# In a terminal: colour, progress, completion that bash finds by itself
if ! command -v tmux >/dev/null; then
	skip 'in a terminal' 'no tmux'
	finish
fi
tmux() { command tmux -f /dev/null -S "$dir/tmux" "$@"; }
trap 'tmux kill-server 2>/dev/null; rm -rf "${dir:?}"' EXIT
tmux new-session -d -x 80 -y 24 "cd $dir && exec env TERM=screen PATH=$PATH PS1='> ' bash --norc --noprofile"
# shown COMMAND: what the terminal was sent for it, to the last byte
shown() {
	: >raw
	tmux pipe-pane "cat >>$dir/raw"
	tmux send-keys "clear; $1; tmux -S $dir/tmux wait-for -S done" Enter
	tmux wait-for done
	sleep 0.5
	tmux pipe-pane
	cat raw
}
bold=$'\033[1m'
is 'colour in a terminal' yes "$(shown 'fastalloc explain .' | grep -qF "$bold" && echo yes)"
is 'none with NO_COLOR' none "$(shown 'NO_COLOR=1 fastalloc explain .' | grep -qF "$bold" || echo none)"
is 'none with TERM=dumb' none "$(shown 'TERM=dumb fastalloc explain .' | grep -qF "$bold" || echo none)"
is 'none in a pipe' none "$(fastalloc explain . | grep -F $'\033' || echo none)"
like 'fits the terminal' '^([0-9]|[1-7][0-9]|80)$' "$(shown 'fastalloc explain .' >/dev/null; tmux capture-pane -pJ | wc -L)"
writes='fastalloc watch -o report dd if=/dev/zero of=copy bs=64K count=20 status=none'
like 'progress in a terminal' '\[[# ]+\] +[0-9]+ %'$'\r'$'\033''\[K' "$(shown "$writes")"
is 'which is gone afterwards' gone "$(tmux capture-pane -p | grep ' %$' || echo gone)"
is 'none otherwise' '' "$($writes 2>&1)"
framework=/usr/share/bash-completion/bash_completion
if [ -f $framework ]; then
	shown "export XDG_DATA_DIRS=$dir/moved$datadir; . $framework" >/dev/null
	tmux send-keys 'clear' Enter 'fastalloc exten' Tab '--rec' Tab 'summ' Tab
	sleep 3
	is 'completion' '> fastalloc extents --recursive summary' "$(tmux capture-pane -p | grep . | tail -n 1 | sed 's/ *$//')"
else
	skip 'completion' 'bash-completion is not installed'
fi
finish
