# bash completion for fastalloc(1)
#
# Subcommands, options and what these take come from --help, so they are always the command's own.

# OPTION: what the help calls its argument: FILE, DIR... Nothing where it takes none.
_fastalloc_argument()
{
	sed -nE "s/^ +(.*, )?$1(, --[a-z-]+)?[ =]([A-Z]+).*/\3/p" <<<"$help"
}

# The place in COMP_WORDS of the first word behind the options, searched from $1 on, in `operand`;
# past COMP_CWORD while an option, or its argument, is being completed.
_fastalloc_find_operand()
{
	for ((operand = $1; operand < COMP_CWORD; operand++)); do
		case ${COMP_WORDS[operand]} in
		--) ((operand++)) && return ;;
		-*)
			[[ $(_fastalloc_argument "${COMP_WORDS[operand]}") ]] || continue
			((operand++))
			[[ ${COMP_WORDS[operand]} != = ]] || ((operand++))
			;;
		*) return ;;
		esac
	done
	[[ $operand -gt $COMP_CWORD || ${COMP_WORDS[COMP_CWORD]} != -* ]] || operand=$((COMP_CWORD + 1))
}

_fastalloc_options()
{
	COMPREPLY=($(compgen -W "$(_parse_help - <<<"$help")" -- "$cur"))
	[[ ${COMPREPLY-} != *= ]] || compopt -o nospace
}

_fastalloc()
{
	local cur prev words cword split
	_init_completion -s || return

	local subcommand=run operand first=1 help subcommands
	subcommands=$("$1" --help 2>/dev/null | sed -nE 's/^  ([a-z]+) .*/\1/p')
	if [[ $cword -gt 1 && $'\n'$subcommands$'\n' == *$'\n'"${words[1]}"$'\n'* ]]; then
		subcommand=${words[1]} first=2
	fi
	help=$("$1" "$subcommand" --help 2>/dev/null)

	_fastalloc_find_operand $first
	if [[ ($subcommand == run || $subcommand == watch) && $operand -le $COMP_CWORD ]]; then
		_command_offset "$operand"
		[[ $cword -gt 1 ]] || COMPREPLY+=($(compgen -W "$subcommands" -- "$cur"))
		return
	fi

	case $(_fastalloc_argument "$prev") in
	'') ;;
	DIR*)
		_filedir -d
		return
		;;
	FILE* | PATH*)
		_filedir
		return
		;;
	*) return ;;
	esac
	if [[ $cur == -* ]]; then
		[[ $cword -gt 1 ]] || help+=$'\n  --version'
		_fastalloc_options
	elif [[ $subcommand == probe || $subcommand == tune ]]; then
		_filedir -d
	else
		_filedir
	fi
} &&
	complete -F _fastalloc fastalloc
