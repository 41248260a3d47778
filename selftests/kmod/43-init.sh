#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An init process that starts a managed program by vfork(), as systemd starts a unit, or becomes one: it never stands still for a
# verdict, and no stub takes its place.
. "$(dirname "$0")/lib.sh"

node_reset
$nl set always=$cg/m
# by a process that is no init process the exec is asked about, and waits
agent "$stub" remote sender exit-42
counted sender "vfork() by another process" $probe in $cg/m vfork -- true
counted sender "by a thread of it" $probe in $cg/m vfork-thread -- true
counted sender "by its child" $probe in $cg/m vforks 2 -- true
counted sender "by eight of them, each the child of one that waits" $probe in $cg/m vforks 8 -- true
counted init "nine are not followed" $probe in $cg/m vforks 9 -- true
counted sender "and a thread of the child calls exec" $probe in $cg/m vfork-and-thread -- true
is "the stub ran in its place" "$($probe in $cg/m vfork -- true 2>/dev/null; echo $?)" 42
agent_end

# Agents see what their tasks do: this one is in the pid namespace, too, and never answers. What waits for it would wait for ten
# seconds. PID 1 is the shell, and then the probe.
cat >"$work/first" <<END
"$nl" agent "$stub" silent >"$log" 2>&1 &
"$nl" wait $((wait_least * slow)) field agent 1+ || exit 124
exec "\$@"
END
# first COMMAND…: as PID 1 of a namespace that ends with it; what it says is in $out, what its agent heard in $log
first() {
	local status
	: >"$log"
	unshare --pid --fork --kill-child bash "$work/first" "$@" 2>"$out"
	status=$?
	becomes agent ''
	return $status
}
# stays NAME VERB…: an exec below PID 1 stays, and PID 1 stands still for as long as an exec takes
stays() {
	local name=$1 before
	shift
	before=$($nl counts)
	first "$probe" in $cg/m "$@" -- sh -c 'exit 7'
	is "$name: init" "$? $($nl counts "$before")" "7 init+1"
	is "its agent hears nothing" "$(grep -c ^request "$log")" 0
	holds "PID 1 stood still for $(tail -n 1 "$out") ms" "$(tail -n 1 "$out") < 5000"
}
stays "PID 1 has called vfork()" vfork
stays "a thread of it" vfork-thread
stays "and a thread of its child calls exec" vfork-and-thread
stays "it, and its child, too" vforks 2
stays "and seven below it" vforks 8

before=$($nl counts)
first "$probe" in $cg/m -- sh -c 'exit 7'
is "PID 1 itself" "$? $($nl counts "$before")" "7 init+1"
is "its agent hears nothing" "$(grep -c ^request "$log")" 0

# what starts later is placed: the child's own programs, and those of PID 1 that it does not wait for
$nl set limit=50
before=$($nl counts)
first "$probe" in $cg/m vfork -- sh -c 'exec true'
is "the program that it starts is placed" "$? $($nl counts "$before")" "0 time-out+1 init+1"
counted time-out "a child of PID 1 by fork()" first "$probe" in $cg/m fork -- true
counted time-out "a vfork() below PID 1" first "$probe" in $cg/m fork vfork -- true
at_zero "all counts are back at zero"
finish
