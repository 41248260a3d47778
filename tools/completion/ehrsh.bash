# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for ehrsh: options, then a host of the cluster, then a command

# shellcheck disable=SC2207	# they are words: commands, users, options, hosts
_ehrsh()
{
	local cur=${COMP_WORDS[COMP_CWORD]} i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-[bceFiJlmopS]) ((i++)) ;;
		-*) ;;
		*)
			COMPREPLY=($(compgen -c -- "$cur"))
			return ;;
		esac
	done
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	-l) COMPREPLY=($(compgen -W "$(id -un)" -- "$cur")) ;;
	-o)
		compopt -o nospace
		COMPREPLY=($(compgen -W "RequestTTY= SendEnv= SetEnv= StdinNull= View=" -- "$cur")) ;;
	*) case $cur in
		-*) COMPREPLY=($(compgen -W "-l -n -o -q -t -T -V --help --version" -- "$cur")) ;;
		*) COMPREPLY=($(compgen -W "$(ehctl status --json 2>/dev/null |
			grep -o '"host": *"[^"]*"' | cut -d'"' -f4)" -- "$cur")) ;;
		esac ;;
	esac
}
complete -F _ehrsh ehrsh
