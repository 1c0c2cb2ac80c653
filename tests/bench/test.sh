#!/bin/bash
# The benchmark suite's own tests: what run keeps of what a script prints, and what report makes of it.
. "$PROJECT/tests/tap.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
run="$PROJECT/tests/bench/run --no-build --output $dir/out"
field() { python3 -c "import json, sys
for line in open('$dir/out/$1.jsonl'):
	row = json.loads(line)
	if row.get('case', row['type']) == '$2' and row.get('side', '') == '$3': print($4)"; }

cat >"$dir/first.sh" <<'SCRIPT'
echo "some words, x=y, that are no data"
for n in 3 1 2; do
	echo "case-a plain seconds=$n write=7 ret=0 data=none"
	echo "case-a fastalloc seconds=0.$n write=$n ret=0 data=none quick=${QUICK:-0} rounds=${1:-0}"
done
SCRIPT
output=$($run "$dir/first.sh" 2>"$dir/err")
is 'a script that succeeds' 0 $?
like 'what is no data is shown' 'some words, x=y' "$output"
like 'and so are the medians' 'case-a +plain +3 seconds=2 write=7' "$output"
like 'progress' '\[1/1\] .*first.sh: 0 measured, (about|less than)' "$(cat "$dir/err")"
is 'the median' 2 "$(field first case-a plain "row['seconds']['median']")"
is 'the range' '1 3' "$(field first case-a plain "row['seconds']['min'], row['seconds']['max']" | tr -d '(),')"
is 'all values, in their order' '[0.3, 0.1, 0.2]' "$(field first case-a fastalloc "row['seconds']['values']")"
is 'how many' 3 "$(field first case-a plain "row['n']")"
is 'words' "['none']" "$(field first case-a plain "row['data']")"
is 'where, and how many were measured' 'host 6 0' \
	"$(field first script '' "' '.join(map(str, (row['where'], row['measured'], row['status'])))")"
is 'the kernel' "$(uname -r)" "$(field first script '' "row['kernel']")"
is "the C library's version" "$(dpkg-query -W -f '${Version}' libc6)" "$(field first script '' "row['versions']['libc6']")"
is 'a full run' 0 "$(field first case-a fastalloc "row['quick']['median']")"

$run --quick --rounds 9 "$dir/first.sh" >/dev/null 2>&1
is 'a quick one, and its rounds' '1 9' \
	"$(field first case-a fastalloc "' '.join(str(row[k]['median']) for k in ('quick', 'rounds'))")"
is 'new data take the place of old' 1 "$(field first script '' 1 | wc -l)"

printf '%s\n' 'echo case-b plain seconds=1' 'exit 3' >"$dir/second.sh"
output=$($run "$dir/second.sh" "$dir/first.sh" 2>&1)
is 'a script that fails' 1 $?
like 'is named' 'failed: .*second.sh \(status 3\)' "$output"
is 'and its data kept' '1 3' "$(field second case-b plain "row['seconds']['median']") $(field second script '' "row['status']")"
is 'and those after it measured' 3 "$(field first case-a plain "row['n']")"
printf '%s\n' 'echo case-c plain seconds=1' 'echo case-c plain seconds=3' 'echo now' 'sleep 600' >"$dir/third.sh"
$run "$dir/third.sh" >"$dir/shown" 2>"$dir/err" &
until grep -q '^now' "$dir/shown"; do sleep 0.1; done
kill $!
wait $!
is 'a run that is interrupted' 143 $?
like 'says where the measurements are' "third.sh: interrupted; .* $dir/out/third.sh.interrupted" "$(cat "$dir/err")"
ok 'and not with those of whole runs' [ ! -e "$dir/out/third.jsonl" ]
is 'and keeps them' '2.0' "$(python3 -c "import json; print(json.load(open('$dir/out/third.sh.interrupted'))['seconds']['median'])")"
output=$($run nosuch 2>&1)
is 'no such group' '1 run: nosuch: no such group (fat nfs server overhead fill) or script' "$? $output"

# The report, of data of which everything is known.
mkdir "$dir/docs"
for side in glibc:8 fastalloc:2 pwrite16m:1; do
	printf '{"type": "result", "script": "s", "where": "lab", "case": "nfs3-1G", "side": "%s", "n": 5, ' ${side%:*}
	printf '"seconds": {"median": %s.5, "min": %s.25, "max": 9.75, "values": []}}\n' ${side#*:} ${side#*:}
done >"$dir/docs/fill.jsonl"
cat >"$dir/template" <<'TEMPLATE'
# Words

Against glibc {fill nfs3-1G glibc seconds / nfs3-1G fastalloc seconds}, and {fill nfs3-1G pwrite16m seconds} s.

Not {nfs case side seconds}.

@table fill nfs3-.* seconds seconds/pwrite16m seconds/glibc

@plot fill

@table nfs .* seconds
TEMPLATE
"$PROJECT/tests/bench/report" "$dir/docs" "$dir/template" >/dev/null 2>&1
is 'report' 0 $?
report=$(cat "$dir/docs.md")
like 'medians, ranges and ratios' '\| nfs3-1G \| fastalloc \| 5 \| 2.50 \(2.25 to 9.75\) \| 1.67 \| 0.29 \|' "$report"
like 'a ratio and a median within the words' '^# Words.*Against glibc 3\.40, and 1\.50 s\.' "$report"
is 'what was not measured is left out' 0 "$(grep -c -E '@|\{|Not' "$dir/docs.md")"
if command -v gnuplot >/dev/null; then
	ok 'a plot' grep -q '<svg' "$dir/docs/fill.svg"
else
	skip 'a plot' 'no gnuplot'
fi

# The project's own report.
cp -r "$PROJECT/docs/benchmarks" "$dir/benchmarks"
"$PROJECT/tests/bench/report" "$dir/benchmarks" >/dev/null
ok 'docs/benchmarks.md is what comes of docs/benchmarks' cmp "$dir/benchmarks.md" "$PROJECT/docs/benchmarks.md"
ok 'and no measurement there failed' python3 -c "import glob, json
rows = [json.loads(line) for file in glob.glob('$PROJECT/docs/benchmarks/*.jsonl') for line in open(file)]
bad = [row for row in rows if row.get('status') or row.get('quick') or row.get('data', ['none']) not in (['none'], ['kept'])]
assert rows and not bad, bad"
finish
