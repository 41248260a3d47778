#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An agent that stood still has lost the news that the module has come, and still has older ones: that it went.
. "$(dirname "$0")/lib.sh"
agent=$(agent_pid 0)

# drops: messages that did not fit into the queue of the agent's subscription, the one of its netlink sockets with groups
drops() {
	local sockets
	sockets=$(readlink /proc/"$agent"/fd/* | sed -n 's/^socket:\[\(.*\)\]$/ \1 /p')
	awk -v sockets="$sockets" '$2 == 16 && $4 != "00000000" && index(sockets, " " $10 " ") { print $9 }' /proc/net/netlink
}

is "the agent has one subscription" "$(drops | wc -l)" 1
kill -STOP "$agent"
lost=$(drops)
wait_for 20 rmmod ehsched
is "that the module went fits into its queue" "$? $(drops)" "0 $lost"
# Others come and go until it is full.
for ((i = 0; i < 200 && $(drops) == lost; i++)); do modprobe psample && modprobe -r psample || break; done
full=$(drops)
insmod "$EHS_MODULE"
loaded=$?
now=$(drops)
[ "$lost" -lt "$full" ] && [ $loaded = 0 ] && [ "$full" -lt "$now" ]
ok "that it came again does not" 'echo "$lost, $full, $now lost; loaded: $loaded"'
kill -CONT "$agent"
# What it had before says so, too.
gone() { grep -q "the module was unloaded" "$EHS_SHARE/.agent/n0.log"; }
wait_for 30 gone
ok "it hears that the module went" 'cat "$EHS_SHARE/.agent/n0.log"'
wait_for 30 has_module
ok "and has the module that is loaded" 'ehctl status; tail -n 20 "$EHS_SHARE/.agent/n0.log"'
finish
