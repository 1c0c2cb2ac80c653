#!/bin/bash
# manual.sh: the manual pages render without a warning, and say what the command and the
# configuration have: each option, key and variable, and no other.
. "$PROJECT/tests/tap.sh"
command -v man >/dev/null && [ -f "$BUILD/man/fastalloc.1" ] || { echo '1..0 # SKIP no man, or no scdoc'; exit 0; }
fastalloc=$BUILD/tools/fastalloc/fastalloc
[ -x "$fastalloc" ] || { echo '1..0 # SKIP the command is not built'; exit 0; }
export MANWIDTH=80 MANROFFOPT='' MANPAGER=cat LC_ALL=C.UTF-8 # columns are characters

# page NAME: as it is read, without hyphens where lines end.
page() { man -E UTF-8 --no-hyphenation --no-justification -l "$BUILD/man/$1" | col -bx; }
# section PAGE HEADING
section() { page "$1" | sed -n "/^$2\$/,/^[A-Z]/p"; }
# Options in lines that begin with one, sorted.
options() { sed -nE 's/^ +(-.*)/\1/p' | sed -E 's/  .*//' | grep -oE -- '(^|[ ,])--?[a-zA-Z-]+' | tr -d ' ,' | sort -u; }
# missing PAGE WORDS...: those that are not in the page, one a line.
missing() {
	local text line
	text=$(page "$1")
	shift
	for line; do grep -qF -- "$line" <<<"$text" || echo "$line"; done
}

for name in fastalloc.1 libfastalloc.so.8 preload.conf.5; do
	is "$name: no warning" '' "$(man --warnings=w -E UTF-8 -l "$BUILD/man/$name" 2>&1 >/dev/null
		groff -man -t -ww -z -Tutf8 "$BUILD/man/$name" 2>&1)"
	at_most "$name: columns" 80 "$(page "$name" | wc -L)"
	like "$name: a name that apropos finds" "^.*: \"${name%.*} - " "$(lexgrog "$BUILD/man/$name")"
done

# The command. -h, --help are said for all subcommands in one place.
subcommands=$("$fastalloc" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
for name in $subcommands; do
	help=$("$fastalloc" "$name" --help | options | grep -vxE -- '-h|--help')
	is "$name: its options, and no others" "$help" \
		"$(section fastalloc.1 "${name^^}" | options | grep -vxE -- '-h|--help')"
done
is 'every subcommand in the overview' "$subcommands" \
	"$(section fastalloc.1 DESCRIPTION | sed -nE 's/^       ([a-z]+)   .*/\1/p')"

# The configuration: its head lists keys with their words, and sections.
head=$(grep '^#' "$PROJECT/preload.conf")
mapfile -t words < <(sed -nE 's/^#     ([a-z_]+ = ([a-z]+ \| )+[A-Za-z]+)( .*)?$/\1/p' <<<"$head")
mapfile -t keys < <(sed -nE '/^\[default\]/,/^$/s/^([a-z_]+ = ).*/\1/p' "$PROJECT/preload.conf")
mapfile -t sections < <(sed -nE 's/^#     (\[[a-z]+).*/\1/p' <<<"$head" | sort -u)
at_least 'keys of preload.conf' 11 ${#keys[@]}
at_least 'of which have words, or may be unlimited' 8 ${#words[@]}
is 'preload.conf.5: each key' '' "$(missing preload.conf.5 "${keys[@]}" "${words[@]}")"
is 'preload.conf.5: each section' '' "$(missing preload.conf.5 "${sections[@]}")"
is 'preload.conf.5: no other key' "$(printf '%s\n' "${keys[@]}" | sort)" \
	"$(section preload.conf.5 KEYS | sed -nE 's/^       ([a-z_]+ = ).*/\1/p' | sort)"
mapfile -t variables < <(grep -oE '"[A-Z_]+="' "$PROJECT/shim/load.c" | tr -d '"=' | grep -v '^LD_' | sort -u) # LD_AUDIT is the linker's
at_least 'variables of the library' 7 ${#variables[@]}
is 'libfastalloc.so.8: each variable' '' "$(missing libfastalloc.so.8 "${variables[@]}")"

# Examples of configurations are right: between ``` and ```, beginning with a section.
examples=$(mktemp -d)
trap 'rm -rf "$examples"' EXIT
for name in libfastalloc.so.8 preload.conf.5; do
	awk -v to="$examples/$name" '/^```$/ { inside = !inside; number++; next } inside { print >(to "." number) }' \
		"$PROJECT/man/$name.scd"
done
grep -lE '^\[(default|fstype|mount|path|program)' "$examples"/* >"$examples/list"
at_least 'examples of configurations' 6 "$(wc -l <"$examples/list")"
while read -r file; do
	is "${file##*/} is in order" '' "$("$fastalloc" check --strict "$file" 2>&1 | grep -E '(error|warning):')"
done <"$examples/list"
finish
