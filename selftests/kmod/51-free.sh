#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Setting `processors`: an exec stays while fewer tasks run than this, whatever the load is said to be, and else the agent is asked,
# whatever the state.
. "$(dirname "$0")/lib.sh"
. "$here/samples.sh"

# Parents that wait for their children: each has begun a moment ago, so that samples have them all as load.
depth=6 parents=()
for ((i = 0; i < depth; i++)); do parents+=("$probe" fork --); done
chain() { "$probe" in $cg/m -- "${parents[@]}" /bin/true; }
# asked: execs of the end of a chain that the agent was asked for; believed: those that found the processors taken, as the load has it
asked() { grep -c 'path=/bin/true' "$log"; }
believed() { awk -v full=$1 '/ ehs_arrival: / && /path=\/bin\/true/ && match($0, / load=[0-9]+/) && substr($0, RSTART + 6, RLENGTH - 6) + 0 >= full { n++ } END { print n + 0 }' $traces/trace; }
# run_chains N FULL: sets asks and full: of N ends of chains
run_chains() {
	local before
	before=$(asked)
	echo >$traces/trace
	for ((n = 0; n < $1; n++)); do chain; done
	asks=$(($(asked) - before)) full=$(believed "$2")
}
busy() {
	: >"$out"
	"$@" >"$out" &
	busy=$!
	wait_for 20 file_has "$out" busy
}
busy_end() { kill $busy; wait $busy 2>/dev/null; }

node_reset
is "it is 0 at first, and after a reset" "$(field processors)" 0
refused "more than there can be" ERANGE "integer out of range" $nl set processors=1000001
$nl set index=runnable threshold=1000000 processors=1
is "it is shown" "$(field processors)" 1
agent "$stub" local no-receiver -
echo 1 >$traces/events/ehsched/ehs_arrival/enable

# The few that are asked are those that met the agent or the guest's own work.
rounds=20
run_chains $rounds 500
holds "execs whose parents wait find the processor free ($asks of $rounds asked, of $full that load would have had)" \
	"full >= rounds / 2 && asks <= rounds / 5"
is "it is the reason of a node that is no sender" "$($nl field n.not-sender | grep -c '^[1-9]')" 1
busy $probe busy 1
run_chains $rounds 0
is "beside one that computes all ask, though the node is no sender: $(field state)" $asks $rounds
$nl set processors=2
run_chains $rounds 1500
holds "two processors: one is free ($asks of $rounds asked, of $full)" "full >= rounds / 2 && asks <= rounds / 5"
$nl set processors=0
run_chains $rounds 0
is "without the setting the state decides" "$asks $(field state)" "0 receiver"
$nl set processors=1 threshold=0 length=0
busy_end
run_chains $rounds 500
holds "a sender with a free processor does not ask ($asks of $rounds asked, of $full)" "asks <= rounds / 5"
counted stub "an exec of the stub is none of them" $probe in $cg/m -- "$stub"
agent_end

# A node of a network namespace has what runs there. The host's node has it, too.
agent "$stub" local no-receiver -
busy unshare --net $probe busy 1
run_chains $rounds 0
is "what computes in another namespace takes the host's processor" $asks $rounds
agent_end
busy_end
: >"$out"
sleep infinity | unshare --net sh -c 'echo $$; read x' >"$out" &
wait_for 20 file_has "$out" '^[0-9]+$'
there="nsenter --net=/proc/$(cat "$out")/ns/net"
$nl set clear
$there $nl set managed=$cg/m processors=1 threshold=1000000
: >"$log"
$there $nl agent "$stub" local no-receiver - >"$log" 2>&1 &
agent=$!
wait_for 20 file_has "$log" '^registered'
busy $probe busy 1
chain() { $there "$probe" in $cg/m -- "${parents[@]}" /bin/true; }
run_chains $rounds 500
holds "but not that of another node ($asks of $rounds asked, of $full)" "full >= rounds / 2 && asks <= rounds / 5"
busy_end
busy $there $probe busy 1
run_chains $rounds 0
is "in the same namespace all ask" $asks $rounds
busy_end
kill $agent; wait $agent 2>/dev/null
$there $nl set clear
chain() { "$probe" in $cg/m -- "${parents[@]}" /bin/true; }

# An exact load is believed: nothing is looked at.
node_reset
$nl set index=tasks threshold=1000000 processors=2
agent "$stub" local no-receiver -
counted not-sender "index tasks: no other task" $probe in $cg/m -- true
sitter $cg/m
counted not-sender "one task of two" $probe in $cg/m -- true
first=$sitter
sitter $cg/m
counted no-receiver "as many as processors, though they sleep" $probe in $cg/m -- true
sitter_end "$first"
# sh counts since its own exec
before=$(asked)
$probe in $cg/m -- sh -c 'exec /bin/true'
is "a task that calls exec again is not another one" $(($(asked) - before)) 0
sitter_end "$sitter"
agent_end

# More threads than an exec has time to look at: whether a processor is free is not known.
node_reset
$nl set index=runnable threshold=1000000 processors=1
agent "$stub" local no-receiver -
(($(cat /proc/sys/kernel/pid_max) > 20000)) || echo 20000 >/proc/sys/kernel/pid_max
echo 20000 >/proc/sys/kernel/threads-max
: >"$out"
"$probe" sleepers 6000 >"$out" &
crowd=$!
wait_for 100 file_has "$out" asleep
samples_begin
wait_for 60 samples_are 0 2
samples_end
run_chains 5 500
holds "on a host of 6000 threads the load decides ($asks of 5 asked, of $full)" "asks >= full && full > 0"
kill $crowd; wait $crowd 2>/dev/null
echo 0 >$traces/events/ehsched/ehs_arrival/enable
agent_end
node_reset
finish
