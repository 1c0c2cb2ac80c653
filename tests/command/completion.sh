#!/bin/bash
# completion.sh: what bash offers for a line that ends where the cursor is.
. "$PROJECT/tests/tap.sh"
framework=/usr/share/bash-completion/bash_completion
[ -f $framework ] || { echo '1..0 # SKIP bash-completion is not installed'; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/folder" && touch "$dir/file" "$dir/other.conf"
export PATH=$BUILD/tools/fastalloc:$PATH

# offered WORD...: what is offered for the last word, sorted, on one line. In a shell of its own, as
# bash itself would call it.
offered() {
	(
		cd "$dir" || exit
		# The framework asks for a terminal's editing mode.
		. $framework
		. "$PROJECT/tools/fastalloc/completion.bash"
		compopt() { :; }
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_TYPE=9 COMP_KEY=9
		COMP_POINT=${#COMP_LINE} COMPREPLY=()
		_fastalloc fastalloc "${@: -1}" "${@: -2:1}"
		printf '%s\n' "${COMPREPLY[@]}" | sort -u | paste -sd' '
	) 2>&1
}
is 'subcommands' 'stats' "$(offered fastalloc stat | tr ' ' '\n' | grep -x stats)"
is 'programs, without a subcommand' 'truncate' "$(offered fastalloc truncat | tr ' ' '\n' | grep -x truncate)"
is 'programs, after run' 'truncate' "$(offered fastalloc run truncat)"
is 'general options, and those of run' '--config --help --stats --verbose --version' "$(offered fastalloc --)"
is 'options of run' '--config --help --stats --verbose' "$(offered fastalloc run --)"
is 'options of stats' '--help --json --total' "$(offered fastalloc stats -)"
is 'the argument of an option' 'other.conf' "$(offered fastalloc run -c ot)"
is 'the argument of an option, with =' 'other.conf' "$(offered fastalloc run --config = ot)"
is 'a program behind options' 'truncate' "$(offered fastalloc run -v -c other.conf truncat)"
is 'a program behind an option with =' 'truncate' "$(offered fastalloc run --config = other.conf truncat)"
is 'a program behind --' 'truncate' "$(offered fastalloc run -- truncat)"
is 'a program behind options, without a subcommand' 'truncate' "$(offered fastalloc -s x truncat)"
is "the program's own arguments" 'folder' "$(offered fastalloc run -v cd fo)"
is "the program's own options" 'no options of ours' "$(offered fastalloc run cd -- | grep -- --stats || echo 'no options of ours')"
is 'files' 'file' "$(offered fastalloc stats file)"
is 'folders only, for probe' 'folder' "$(offered fastalloc probe f)"

# Typed in a terminal.
if command -v tmux >/dev/null; then
	tmux() { command tmux -f /dev/null -S "$dir/tmux" "$@"; }
	tmux new-session -d -x 80 -y 24 "cd $dir && exec bash --norc --noprofile"
	tmux send-keys ". $framework; . $PROJECT/tools/fastalloc/completion.bash; PS1='> '; clear" Enter
	sleep 2
	tmux send-keys 'fastalloc run --sta' Tab 'oth' Tab 'truncat' Tab 'fo' Tab
	sleep 3
	is 'typed, with tabs in between' '> fastalloc run --stats other.conf truncate folder/' \
		"$(tmux capture-pane -p | grep . | tail -n 1 | sed 's/ *$//')"
	tmux kill-server
else
	skip 'typed in a terminal' 'no tmux'
fi
finish
