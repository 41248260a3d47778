#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tasks that the module has sent away outlive their agents.
. "$(dirname "$0")/lib.sh"

all_up() { for n in 0 1 2; do [ "$(status_of 0.$n agent)" = up ] || return 1; done; }
# kill_agents NODE…: at once; then others take their place
kill_agents() {
	local n pids=()
	for n; do pids+=("$(agent_pid "$n")"); done
	for n; do on "$n" kill -KILL "${pids[0]}"; pids=("${pids[@]:1}"); done
	for n; do on "$n" agent-start "$n"; done
	wait_for 60 all_up
}

fifo=$(mktemp -u) # the share has none
overload
for what in "the executor's" "home's" "both"; do
	rm -f up out got "$fifo"
	mkfifo "$fifo"
	# an agent that starts has its own settings
	ehctl set load-index=tasks && ehctl set time-limit=10000 && wait_for 20 state_is 0.0 sender
	# It tells where it is, then reads two lines and ends with the second.
	away out bash -c "echo \$(hostname) >up; read -r a; echo \$a >got; read -r b; exit \$b" <"$fifo" &
	reaper=$!
	exec 7>"$fifo"
	wait_for 20 test -s up
	host=$(cat up)
	[ "$host" != "$(hostname)" ]
	ok "$what: the task is away" 'cat up; ehctl status'
	echo one >&7
	wait_for 20 test -s got
	case $what in
	home*) kill_agents 0 ;;
	both) kill_agents 0 "${host#n}" ;;
	*) kill_agents "${host#n}" ;;
	esac
	ok "$what: agents are killed, and others take their place" 'ehctl status'
	echo 7 >&7
	exec 7>&-
	wait $reaper
	[ "$(ended out) $(cat got)" = "exit 7 one" ]
	ok "$what: it has read all its lines, and ends with its status" 'cat out got'
	wait_for 20 no_guests "0.${host#n}"
	ok "$what: no guest is left" 'ehctl status'
	[ "$(status_of 0.0 tasks away)" = 0 ]
	ok "$what: and none is counted as away"
done
rm "$fifo"
relax
finish
