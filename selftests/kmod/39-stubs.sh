#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A stub is what a verdict has made one, or the agent says is one; and what it computes is load.
. "$(dirname "$0")/lib.sh"

mkdir -p $cg/all
# by_hand TOKEN: a stub that was started by hand; its pid in $by_hand
by_hand() {
	$probe in $cg/m -- "$stub" "$1" x x &
	by_hand=$!
	listed_as "* pid=$by_hand * stub *"
}
# as_agent COMMAND…: over the socket of an agent of its own
as_agent() { "$nl" as another "$stub" "$@"; }
# state_of PID: as the module lists it
state_of() { $nl tasks | awk -v pid="pid=$1" '$2 == pid { print $4, $5 }'; }
end() {
	kill "$@" 2>/dev/null
	wait "$@" 2>/dev/null
}

node_reset
$nl set threshold=100000
agent "$stub" local excluded -
by_hand sleep
first=$by_hand
is "a stub by hand is a task that is here" "$(state_of $first)" "local stub"
refused "nothing is accounted to it" ESRCH "not a stub of this node" "$nl" account $first 10=1
refused "root does not say that it is away" EPERM "only the socket registered as agent" "$nl" away $first
agent_end
as_agent away $first; is "the agent does" $? 0
is "it is away" "$(state_of $first) $(field away)" "away stub 1"
as_agent account $first 10=1; is "and is accounted for" $? 0
as_agent away $first; is "it may be said again" $? 0
$probe in $cg/other -- sleep infinity &
outside=$!
in_other() { [ "$(cat /proc/$outside/comm)" = sleep ]; }
wait_for 20 in_other
refused "not of what nobody manages" ESRCH "no such task in the node's managed cgroups" as_agent away $outside
$probe in $cg/g -- sleep infinity &
guest=$!
listed_as "* pid=$guest * guest *"
refused "nor of a guest" ESRCH "no such task in the node's managed cgroups" as_agent away $guest
refused "nor of a kernel thread" ESRCH "no such task" as_agent away 2
refused "nor of nobody" ESRCH "no such task" as_agent away 4000000
end $first $outside $guest

# load: what runs is counted, whatever it calls itself
$nl set index=runnable
agent "$stub" remote sender busy
stubs=
for token in busy busy busy; do by_hand $token; stubs+=" $by_hand"; done
got=$($nl load 3000 $((20 * slow)))
is "stubs by hand that compute are load ($got)" $? 0
end $stubs
got=$($nl load 0 $((20 * slow)))
# by verdict
$nl set always=$cg/all threshold=100000
agent_end
for token in busy busier; do
	agent "$stub" remote auto $token
	$probe in $cg/all -- true &
	away=$!
	listed_as "* pid=$away * away *"
	got=$($nl load 1000 $((20 * slow)))
	is "a stub by verdict that computes is load: $token ($got)" $? 0
	end $away
	agent_end
	got=$($nl load 0 $((20 * slow)))
	is "and none when it has ended ($got)" $? 0
done
# So many that each has hardly any time: of this node, and of one that a user has made for himself.
n=40
agent "$stub" remote auto busy
for _ in $(seq $n); do $probe in $cg/all -- true & done
becomes away $n
loads() { [ "$(field load)" -ge $((n * 900)) ]; }
wait_for 60 loads
ok "$n stubs by verdict are load" '$nl get | grep -E "^(load|away)"'
echo 1 >$cg/all/cgroup.kill
becomes away 0
agent_end
got=$($nl load 0 $((60 * slow)))
is "and none when they have ended ($got)" $? 0
his_script "$work/his" "$stub" remote sender busy <<HIS
for _ in \$(seq $n); do "$probe" in $cg/his/t -- true & done
"$nl" wait $((wait_least * slow)) field away $n && touch "$work/his.away"
sleep infinity
HIS
chmod 1777 "$work"
$him bash "$work/his" 2>"$log" &
his=$!
wait_for 120 test -e "$work/his.away" || bail_out "no stubs in his node: $(cat "$log")"
wait_for 60 loads
ok "$n stubs of a user's own node are load here" '$nl get | grep -E "^(load|away)"'
echo 1 >$cg/his/cgroup.kill
wait $his 2>/dev/null
got=$($nl load 0 $((60 * slow)))
is "and none when they have ended, too ($got)" $? 0
node_reset

# A stub with two threads executes another program, outside of the cgroups: it is none any more.
sitter $cg/m
agent "$stub" remote sender leaves
$probe in $cg/m -- true $cg/other &
leaver=$!
left() { [ "$(cat /proc/$leaver/comm)" = sleep ] && [ "$(field away)" = 0 ]; }
wait_for 20 left
is "a stub of two threads that leaves by an exec is away no more" "$? $(state_of $leaver)" "0 "
end $leaver
agent_end

# The module is loaded again under stubs: the agent says so, and none is sent away again.
agent "$stub" remote sender sleep
$probe in $cg/m -- sleep infinity &
stayed=$!
listed_as "* pid=$stayed * away *"
agent_end
sitter_end $sitter
rmmod ehsched; is "the module is removed under a stub" $? 0
insmod "$module"
node_reset
is "one that is loaded again does not know it" "$(state_of $stayed)" ""
as_agent away $stayed; is "the agent says that it is one" $? 0
is "and it is" "$(state_of $stayed) $(field away load)" "away stub 1 0"
sitter $cg/m
agent "$stub" remote sender exit-42
kill -USR1 $stayed
listed_as "* pid=$stayed * local placed *"
is "its own program, when it falls back to that, is not sent again" $? 0
agent_end
end $stayed
sitter_end $sitter
at_zero "all counts are back at zero"
finish
