# bash completion for whichfs: whichfs itself knows what fits.
_whichfs() {
	local cur=${COMP_WORDS[COMP_CWORD]} line text files= open=
	COMPREPLY=()
	while IFS= read -r line; do
		if [ "$line" = :files ]; then
			files=yes
			continue
		fi
		text=${line%%$'\t'*}
		case $text in
		*[=:@]) open=yes ;; # more follows in the same word
		esac
		COMPREPLY+=("$text")
	done < <(command whichfs complete --line="${COMP_LINE:0:COMP_POINT}" --word="$cur" 2>/dev/null)
	[ -n "$files" ] || compopt +o default +o bashdefault 2>/dev/null
	[ -z "$open" ] || compopt -o nospace 2>/dev/null
	if [ -n "$files" ] && [ ${#COMPREPLY[@]} -gt 0 ] && [ -n "$cur" ]; then
		while IFS= read -r line; do
			COMPREPLY+=("$line")
		done < <(compgen -f -- "$cur")
	fi
}
complete -o bashdefault -o default -F _whichfs whichfs
