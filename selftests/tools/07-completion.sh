#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the completion of bash, zsh and fish offers: each command of ehctl, options, and what ehctl says of nodes and tasks.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/ktap.sh"
top=$here/../..
build=$(realpath "${EHS_BUILD:-$top/build}")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work LC_ALL=C.UTF-8

# An ehctl of which only the lists are not real.
mkdir "$work/bin"
cat >"$work/bin/ehctl" <<E
#!/bin/sh
case \$1 in
status) echo '{"nodes": [{"code": "0.1", "host": "build1"}, {"code": "0.2", "host": "gpu2"}]}' ;;
tasks) echo '{"tasks": [{"short": "0.1:4711"}]}' ;;
history) echo "{\"groups\": [{\"key\": \"of-\$3\"}]}" ;;
*) exec "$build/bin/ehctl" "\$@" ;;
esac
E
chmod +x "$work/bin/ehctl"
PATH=$work/bin:$PATH
commands=$(ehctl help | sed -n 's/^  \([a-z]*\) .*/\1/p' | sort | xargs)

in_bash() {	# in_bash WORD…: what is offered for the last word
	bash -c '. "$0"; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
		compopt() { :; }; _ehctl; printf "%s\n" "${COMPREPLY[@]}"' "$build/completion/ehctl.bash" "$@"
}
in_zsh() {
	zsh -fc '_describe() { print -l -- ${${(P)2}%%:*} }; compadd() { [[ $1 = -- ]] && shift; print -l -- $@ }
		_normal() { print -r -- "normal: $words" }; _files() { print files }
		file=$0 words=("$@") CURRENT=$# PREFIX=$@[-1]; set --; . $file' "$build/completion/_ehctl" "$@"
}
in_fish() {
	fish -c 'source $argv[1]; complete -C (string join " " -- $argv[2..])' "$build/completion/ehctl.fish" "$@" | cut -f 1
}
for shell in bash zsh fish; do
	offered() { "in_$shell" ehctl "$@" 2>&1 | sort -u | xargs; }
	words() { offered "$@" | tr ' ' '\n' | grep -v -e ^- | xargs; }
	is "$shell: all commands" "$(offered "")" "$commands"
	is "$shell: nodes" "$(words drain "")" "0.1 0.2 build1 gpu2"
	is "$shell: tasks" "$(words cancel "")" "0.1:4711"
	is "$shell: reasons that there were" "$(words history --reason "")" "of-reason"
	is "$shell: sessions" "$(words history --session "")" "of-session"
	is "$shell: but those of a drain are free" "$(words drain --reason "" | grep -c of-)" 0
	like "$shell: events" " $(words watch --event "") " "* place *"
	is "$shell: what tasks are added up by" "$(words history --by "")" "hour node program reason session user"
	like "$shell: options" " $(offered drain -) " "* --reason *"
	like "$shell: of a program that ehctl starts" " $(offered sim --) " "* --topology *"
done
# the same options for each command in each shell, which are those of its help
for command in $commands; do
	[ "$command" != help ] || continue
	wanted=$(in_zsh ehctl "$command" - | sort -u | xargs)
	is "bash and zsh: options of $command" "$(in_bash ehctl "$command" - | sort -u | xargs)" "$wanted"
	is "fish, too: $command" "$(in_fish ehctl "$command" - | sort -u | xargs)" "$wanted"
done
like "options of a planner" " $(in_bash ehctl plan dag --) " "*--contention*"
is "bash: words of an option" "$(in_bash ehctl dag f --order "" | sort | xargs)" "plan ready"
is "bash: words of a planner's option" "$(in_bash ehctl plan gang f --slowdown "" | sort | xargs)" "fair paper"
is "bash: algorithms" "$(in_bash ehctl plan divide f --algorithm "" | sort | xargs)" "best printed"
is "bash: nodes for an option" "$(in_bash ehctl history --node "" | sort | xargs)" "0.1 0.2 build1 gpu2"
is "bash: a task behind a colon" "$(in_bash ehctl why 0.1:4 | xargs)" "4711"
is "bash: settings" "$(in_bash ehctl set t | xargs)" "threshold= time-limit="
is "bash: settings to show" "$(in_bash ehctl get t | xargs)" "threshold time-limit"
like "zsh: a command follows --" "$(in_zsh ehctl run -n x -- ls -)" "normal: ls -"
like "bash: a command follows --" " $(in_bash ehctl run -- unam | xargs) " "* uname *"
like "fish: a command follows --" " $(in_fish ehctl run -- unam | xargs) " "* uname *"
finish
