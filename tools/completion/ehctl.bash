# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for ehctl
_ehctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} i

	# another command follows "--"
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then
			compopt -o default
			COMPREPLY=($(compgen -c -- "$cur"))
			return
		fi
	done
	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W "status tree tasks why run exec set drain undrain leave reload watch doctor cert plan sim help version" -- "$cur"))
		return
	fi
	if [ "${COMP_WORDS[COMP_CWORD - 1]}" = --view ]; then
		COMPREPLY=($(compgen -W "shared home auto" -- "$cur"))
		return
	fi
	case $command in
	exec | drain | undrain)
		COMPREPLY=($(compgen -W "$(ehctl status --json 2>/dev/null |
			grep -o '"code": *"[^"]*"' | cut -d'"' -f4) --auto --all --retry --view --" -- "$cur")) ;;
	status) COMPREPLY=($(compgen -W "--octal --json --help" -- "$cur")) ;;
	leave) COMPREPLY=($(compgen -W "--now --json --help" -- "$cur")) ;;
	run) COMPREPLY=($(compgen -W "-n --all --retry --view --" -- "$cur")) ;;
	set)
		compopt -o nospace
		COMPREPLY=($(compgen -W "threshold= length= load-index= weight= time-limit= dwell=" -- "$cur")) ;;
	plan)
		if [ "$COMP_CWORD" -eq 2 ]; then
			COMPREPLY=($(compgen -W "assign gang divide dag" -- "$cur"))
			return
		fi
		case ${COMP_WORDS[COMP_CWORD - 1]} in
		--algorithm) COMPREPLY=($(compgen -W "$(ehctl plan "${COMP_WORDS[2]}" --help 2>/dev/null |
			sed -n 's/.*--algorithm A *one of//p' | sed 's/(default)//')" -- "$cur")) ;;
		--slowdown) COMPREPLY=($(compgen -W "paper fair" -- "$cur")) ;;
		--contention) COMPREPLY=($(compgen -W "on off" -- "$cur")) ;;
		--topology) COMPREPLY=($(compgen -W "full ring hypercube mesh: eh:" -- "$cur")) ;;
		--format) COMPREPLY=($(compgen -W "rankfile hostfile" -- "$cur")) ;;
		*) case $cur in
			-*) COMPREPLY=($(compgen -W "$(ehctl plan "${COMP_WORDS[2]}" --help 2>/dev/null |
				grep -o -e '--[a-z-]*' | sort -u)" -- "$cur")) ;;
			*) COMPREPLY=($(compgen -f -- "$cur")) ;;
			esac ;;
		esac ;;
	sim)
		case ${COMP_WORDS[COMP_CWORD - 1]} in
		--trace | --plot) COMPREPLY=($(compgen -f -- "$cur")) ;;
		# the help shows an option's words as "--descent random|least"
		*) i=$(ehctl sim --help 2>/dev/null |
			sed -n "s/^  ${COMP_WORDS[COMP_CWORD - 1]} \([a-z0-9]*|[a-z0-9|]*\).*/\1/p")
			[ -n "$i" ] || i=$(ehctl sim --help 2>/dev/null | sed -n 's/^  \(--[a-z]*\).*/\1/p')\ --json\ --help
			COMPREPLY=($(compgen -W "${i//|/ }" -- "$cur")) ;;
		esac ;;
	cert) COMPREPLY=($(compgen -W "init node" -- "$cur") $(compgen -d -- "$cur")) ;;
	*) COMPREPLY=($(compgen -W "--json --help" -- "$cur")) ;;
	esac
}
complete -F _ehctl ehctl
