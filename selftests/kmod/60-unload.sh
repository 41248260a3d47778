#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The module goes away under load, and comes back.
. "$(dirname "$0")/lib.sh"

intercept=/sys/module/ehsched/parameters/intercept
node_reset
sitter $cg/m
agent "$stub" silent
$nl set limit=10000
in="$probe in $cg/m"
pids=
for _ in 1 2 3; do $in -- true & pids+=" $!"; done
becomes pending 3
is "rmmod is refused while requests wait" "$(rmmod ehsched 2>/dev/null; echo $?)" 1
is "and nothing is harmed" "$(field pending)" 3
before=$(counter unloading)
echo N >$intercept
failures=0
for pid in $pids; do wait $pid || failures=$((failures + 1)); done
is "intercept=N lets them go on" "$failures $(($(counter unloading) - before)) $(field pending)" "0 3 0"
before=$($nl get | grep '^n\.')
$in -- true
is "and no exec is looked at" "$($nl get | grep '^n\.')" "$before"
echo Y >$intercept
before=$(counter time-out)
$nl set limit=50
$in -- true
is "intercept=Y goes on as before" "$(counter time-out)" $((before + 1))

# removal in a storm of managed and unmanaged execs, some of them waiting
touch "$work/storm"
$probe storm "$work/storm" 4 -- $in -- true &
storm=$!
$probe storm "$work/storm" 2 -- true &
storm2=$!
becomes pending 1+
rounds=0
while ((rounds < 5)); do
	echo N >$intercept
	wait_for 20 rmmod ehsched || { fail "the module can be removed under load"; break; }
	insmod "$module" || { fail "the module can be loaded under load"; break; }
	node_reset
	$nl set limit=20
	rounds=$((rounds + 1))
done
is "removed and loaded five times under load" $rounds 5
rm "$work/storm"
wait $storm
is "no exec failed" $? 0
wait $storm2
is "no unmanaged exec failed" $? 0
is "the agent of old is not the agent now" "$(field agent)" ""
kill $agent; wait $agent 2>/dev/null

# tasks that were recorded by the last one run on
is "a managed task outlives the module" "$(kill -0 $sitter; echo $?)" 0
sitter_end $sitter
sitter $cg/m
$nl set limit=10000
agent "$stub" remote sender sleep
$in -- true &
away=$!
becomes away 1
is "a task is here and one is away" "$(field local away)" "1 1"
kill $agent; wait $agent 2>/dev/null
is "rmmod with local and away tasks" "$(rmmod ehsched; echo $?)" 0
is "they still run" "$(kill -0 $sitter; echo $?) $(kill -0 $away; echo $?)" "0 0"
sitter_end $sitter
sitter_end $away
insmod "$module"

# namespaces with records come and go
for _ in 1 2 3 4 5; do
	unshare --net sh -c "$nl set managed=$cg/m index=tasks && $probe in $cg/m -- true && $nl get" >"$out" 2>&1 || cat "$out"
done
nodes_are 1
is "nodes go with their namespaces" $? 0

# tracepoints
trace=/sys/kernel/tracing
[ -d $trace/events ] || mount -t tracefs tracefs $trace
if [ -d $trace/events/ehsched ]; then
	node_reset
	sitter $cg/m
	agent "$stub" local no-receiver -
	echo 1 >$trace/events/ehsched/enable
	$in -- true
	wait_for 20 grep -q 'ehs_finish: ' $trace/trace
	echo 0 >$trace/events/ehsched/enable
	is "an exec is traced from arrival to finish" \
		"$(grep -oE 'ehs_(arrival|verdict|decision|finish): ' $trace/trace | xargs)" \
		"ehs_arrival: ehs_verdict: ehs_decision: ehs_finish:"
	like "arrival" "$(grep ehs_arrival: $trace/trace)" "*load=1000 state=2 path=*/true"
	like "decision" "$(grep ehs_decision: $trace/trace)" "*task_state=0 reason=$(grep -n no-receiver <($nl get | grep '^n\.') | cut -d: -f1 | awk '{ print $1 - 1 }')"
	agent_end
	sitter_end $sitter
else
	skip "an exec is traced from arrival to finish" "no tracefs in this kernel"
fi
is "the module is removed at the end" "$(rmmod ehsched; echo $?)" 0
finish
