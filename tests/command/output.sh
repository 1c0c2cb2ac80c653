#!/bin/bash
# output.sh: what all subcommands have in common: help, names in columns and in JSON, widths.
. "$PROJECT/tests/command/disk.sh" || exit 1
fresh ext4 || { echo '1..0 # SKIP no loop devices'; exit 0; }
command=$FASTALLOC

# Help and options.
for subcommand in run explain check probe tune watch extents trim stats; do
	is "$subcommand: -h is --help" "$("$command" $subcommand --help)" "$("$command" $subcommand -h)"
	at_most "$subcommand: it fits 80 columns" 80 "$("$command" $subcommand --help | wc -L)"
	like "$subcommand: a wrong option" "^2 fastalloc: unrecognized option '--wrong'"$'\n'"Try 'fastalloc $subcommand --help'.\$" \
		"$("$command" $subcommand --wrong 2>&1 | (read -r; printf '2 %s\n' "$REPLY"; cat))"
	[ $subcommand = run ] || like "$subcommand: -J is --json" '-J, --json ' "$("$command" $subcommand --help)"
done

# Names that are no UTF-8, and those that are, as JSON in any locale.
bad=$'b\xffd \xc3\xa4 \xe2\x82' shown='b?d ä ??' # the last is torn
mkdir "$bad"
cd "$bad" || exit 1
for name in "$bad" $'a"\\\n\e'; do head -c 4096 /dev/zero >"$name" && fallocate --keep-size -l 1M "$name" && sync "$name"; done
printf '[default]\nwindow = 1M\n' >../"$bad.conf"
valid() { # NAME EXPECTED EXPRESSION WORD...: of the JSON that fastalloc WORD... prints, x
	local name=$1 expected=$2 expression=$3 locale
	shift 3
	for locale in C C.UTF-8; do
		is "$name, in $locale" "$expected" "$(LC_ALL=$locale "$command" "$@" 2>&1 | python3 -c "import json, sys
x = json.loads(sys.stdin.buffer.read().decode('utf-8', 'strict'))
sys.stdout.buffer.write(str($expression).encode())")"
	done
}
directory=$M/$shown
valid extents "[$shown][a\"\\
$(printf '\e')]" '"[" + "][".join(f["file"] for f in x["files"]) + "]"' extents --json "$bad" $'a"\\\n\e'
valid 'extents -v' "$shown" 'x["extents"][0]["file"]' extents -v --json "$bad"
valid trim "$directory/$shown" 'x["files"][1]["file"]' trim -n --json "$M/$bad"
valid explain "$directory/$shown $directory.conf" 'x["paths"][0]["path"] + " " + x["configuration"]' \
	explain --json -c "$M/$bad.conf" "$bad"
valid check "$directory.conf" 'x["file"]' check --json "$M/$bad.conf"
valid watch "$directory/new $shown" 'x["files"][0]["path"] + " " + x["command"][3]' \
	watch --json -o /dev/stdout sh -c 'rm -f new; echo >new' "$bad"
mkdir "$D/$bad" && mount -t tmpfs tmpfs "$D/$bad"
valid probe "$D/$shown" 'x["features"][0]["detail"]' probe --json "$D/$bad"
umount "$D/$bad"
echo '{"pid":1,"program":"ä\u001b"}' >stats
valid stats "ä$(printf '\e')" 'x["processes"][0]["program"]' stats --json stats

# Names in columns.
cd "$M" || exit 1
head -c 8K /dev/zero | tee grüße >"$bad"/ünd
names() { tail -n +2 | awk '{print $1}'; }
is 'UTF-8 as it is' 'grüße' "$(LC_ALL=C.UTF-8 "$command" extents grüße | names)"
is 'the columns stand below each other' 1 "$(cp grüße gruesse; LC_ALL=C.UTF-8 "$command" extents -s grüße gruesse |
	sed 's/ KiB.*//' | LC_ALL=C.UTF-8 bash -c 'while read -r; do echo ${#REPLY}; done' | sed 1d | uniq | wc -l)"
is 'elsewhere so that it can be told' 'gr\xc3\xbc\xc3\x9fe' "$(LC_ALL=C "$command" extents grüße | names)"

# Widths.
long=$(printf 'long-%.0s' $(seq 40))
cp grüße "$long"
is 'in a pipe nothing is cut off or broken' "$long" "$("$command" extents "$long" | names)"
is 'whatever COLUMNS says' "$long" "$(COLUMNS=20 "$command" extents "$long" | names)"
terminal() { # STREAM WORD...: what fastalloc WORD... prints to a terminal of 80 columns
	TERM=vt100 script -qec "stty cols 80; $(printf '%q ' "$command" "${@:2}")$1" /dev/null </dev/null | sed 's/\r$//; s/.*\r\x1b\[K//'
}
yes '[defalt]' | head -n 2000 >wrong.conf
is 'no room for much output: why' 'fastalloc: standard output: No space left on device' "$("$command" check wrong.conf 2>&1 >/dev/full)"
if command -v script >/dev/null; then
	at_most 'on a terminal lines fit it' 80 "$(terminal '' extents "$long" | wc -L)"
	is 'and all is there' "$long" "$(terminal '' extents "$long" | awk 'NR > 1 {print $1}' | tr -d '\n')"
	at_most 'also where the terminal is stderr' 80 "$(terminal '>/dev/null' watch dd if=/dev/zero of="$long" bs=4K count=2 status=none | wc -L)"
	is 'and where only stdout is' 1 "$(terminal '2>report' watch dd if=/dev/zero of="$long" bs=4K count=2 status=none; grep -c "$long" report)"
else
	skip 'on a terminal' 'no script(1)'
fi
finish
