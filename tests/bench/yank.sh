# yank.sh: guest script (tests/lab/lab -t 3600 tests/bench/yank.sh [CUTS]): how many cards of CUTS (default 100; where
# all or none turn out, a fifth) are read-only after they were pulled, mounted again without fsck, and appended to:
# the table of docs/writes.md. A line for each case, as tests/lab/yank.sh prints it.
. "$PROJECT/tests/lab/yank.sh"
many=${1:-100} few=$((${1:-100} / 5))

yank cuts=$many
yank cuts=$many files=segments
yank cuts=$many record=fastalloc append=fastalloc
yank cuts=$many record=fastalloc append=fastalloc files=segments
yank cuts=$few append=fastalloc
yank cuts=$few record=fastalloc
yank cuts=$few record=window
yank cuts=$few sync=64
yank cuts=$few grow=ftruncate
yank cuts=$few grow=ftruncate record=fastalloc append=fastalloc
yank cuts=$few grow=ftruncate record=fastalloc
for when in closed killed; do
	for record in plain fastalloc window; do
		yank cuts=$few when=$when record=$record speed=100
	done
done
