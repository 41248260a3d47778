#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The module is loaded and removed again and again under a storm of forks, execs and namespaces.
. "$(dirname "$0")/lib.sh"

[ -d /sys/module/ehsched ] || insmod "$module"
node_reset
cp "$module" "$work/ehsched.ko"
intercept=/sys/module/ehsched/parameters/intercept
in="$probe in $cg/m"
storm_begin 2 -- $in -- true
storm_begin 1 -- $in threads 4 -- true
storm_begin 1 -- $probe in $cg/g -- true
storm_begin 1 -- true
storm_begin 1 -- sh -c 'true & true & wait'
storm_begin 1 -- $probe new net -- true
rounds=$(many 3 200)
busy=0
for ((i = 0; i < rounds; i++)); do
	progress $i $rounds
	# half of the rounds while requests wait; the time limit, set before the first of them, must not be what ends them
	if [ $((RANDOM % 2)) = 0 ]; then
		$nl set limit=10000
		sitter $cg/m
		since=$SECONDS
		agent "$stub" silent
		becomes pending 1+ || break
		if ! rmmod ehsched 2>/dev/null; then
			busy=$((busy + 1))
		elif ((SECONDS - since < 9)); then
			fail "the module is in use while requests wait"
			break
		else
			# too slow a machine to say: they may have waited that long
			insmod "$work/ehsched.ko" && node_reset
		fi
	else
		agent=
		sitter=
	fi
	# with or without an order to let them go
	[ "$agent" ] && [ $((RANDOM % 2)) = 0 ] && { kill -KILL $agent; wait $agent 2>/dev/null; }
	echo N >$intercept
	[ "$(field pending)" = 0 ] || { fail "no request waits after the order"; break; }
	wait_for 60 rmmod ehsched || { fail "the module can be removed"; break; }
	[ -z "$sitter" ] || { kill $sitter $agent; wait $sitter $agent; } 2>/dev/null
	insmod "$work/ehsched.ko" || { fail "the module can be loaded"; break; }
	node_reset
done
is "loaded and removed $rounds times, $busy of them in use" $i $rounds
storm_end "no exec failed"
at_zero "all counts are back at zero"
nodes_are 1
is "no namespace is kept" $? 0
finish
