#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tasks that leave the managed cgroup are not counted any more, however they leave and whenever.
. "$(dirname "$0")/lib.sh"

node_reset
sitter $cg/m
echo $sitter >$cg/m/below/cgroup.procs
is "a move below the managed cgroup changes nothing" "$(field local)" 1
echo $sitter >$cg/other/cgroup.procs
becomes local 0
is "a task that is moved out is not counted" "$(field local load) $($nl tasks | wc -l)" "0 0 0"
echo $sitter >$cg/m/cgroup.procs
is "back in it counts with its next exec only" "$(field local)" 0
sitter_end $sitter

# a process that goes to another namespace and runs its program there, as the first of a container does
$probe in $cg/m -- unshare --net sleep infinity & container=$!
in_container() { [ "$(cat /proc/$container/comm)" = sleep ]; }
wait_for 20 in_container
is "an exec in a namespace that manages nothing leaves the node" "$(field local) $($nl tasks | wc -l)" "0 0"
sitter_end $container

# a guest
$probe in $cg/g -- sleep infinity & guest=$!
becomes guest 1
echo $guest >$cg/other/cgroup.procs
becomes guest 0
is "a guest that is moved out is not counted" "$(field guest)" 0
sitter_end $guest

# a stub's work is still away
agent "$stub" remote sender sleep
sitter $cg/m
$nl set limit=10000
$probe in $cg/m -- true & away=$!
becomes away 1
echo $away >$cg/other/cgroup.procs
echo $sitter >$cg/other/cgroup.procs
becomes local 0
is "a stub that is moved out stays one" "$(field away)" 1
sitter_end $away
sitter_end $sitter
agent_end

# in the middle of an exec
agent "$stub" silent
sitter $cg/m
$probe in $cg/m -- sleep infinity & waiting=$!
becomes pending 1
echo $waiting >$cg/other/cgroup.procs
is "a task that is moved while it waits, waits on" "$(field pending)" 1
agent_end
becomes pending 0
becomes local 1
is "and is not counted when it runs" "$($nl tasks | grep -c "pid=$waiting ")" 0
sitter_end $waiting

# the node's cgroups change
$nl set managed=$cg/other
becomes local 0
is "a task whose cgroup is not managed any more is not counted" "$(field local)" 0
sitter_end $sitter
node_reset

# moves and execs at once
touch "$work/storm"
$probe storm "$work/storm" 3 -- $probe in $cg/m -- true & storm=$!
(while [ -e "$work/storm" ]; do
	for pid in $(cat $cg/m/cgroup.procs); do echo "$pid" >$cg/other/cgroup.procs; done 2>/dev/null
done) & mover=$!
start=$(arrivals)
enough() { (($(arrivals) >= start + $(many 200 3000))); }
wait_for 120 enough
rm "$work/storm"
wait $storm; is "execs while their tasks are moved" $? 0
wait $mover
at_zero "all counts are back at zero"
finish
