#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A user whose own agent never answers, and who lets as many tasks wait as he can: there is a bound, and none waits past
# its limit.
. "$(dirname "$0")/lib.sh"

his_script "$work/attack" "$stub" silent <<ATTACK
"$probe" in $cg/his/t crowd \$1 -- "$probe"
failures=\$?
"$nl" get | grep -E "^(pending|n.time-out|n.agent-slow|n.queue-full) " | xargs echo failures \$failures
kill %1 %2
ATTACK
n=300
line=$($him bash "$work/attack" $n 2>"$log")
# three time-outs in a row are enough to be asked no more, and then the others that wait go on
is "of $n of his 128 wait, three of them in vain" "$line" \
	"failures 0 pending 0 n.time-out 3 n.queue-full $((n - 128)) n.agent-slow 125"

# As many of one user as an eighth of the places wait, the others go on at once: in the host's node, as its limit is as long as
# it can be. Another user has a place.
node_reset
chmod 755 $cg $cg/m
sitter $cg/m
agent "$stub" silent
before=$(counter queue-full)
# few enough that they have come, and the rest is done, long before the first one's ten seconds are over
$nl set max-requests=512
n=80
$probe in $cg/m user 1000 crowd $n -- $probe & crowd=$!
becomes n.queue-full $((before + n - 64))
is "of $n of one user 64 wait" "$(field pending) $(($(counter queue-full) - before))" "64 $((n - 64))"
# Users may share one of 64 parts, but all four of these hardly that one.
others=
for user in 0 2 3 4; do $probe in $cg/m user $user -- true & others+=" $!"; done
becomes pending 65+
is "one of another user waits, too" $? 0
# Those that wait would be uninterruptible for seconds; those that end, and threads of the kernel, are for a moment.
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
few_wait_uninterruptibly() {
	awk '$1 == ".nr_uninterruptible" { n += $3; found = 1 } END { exit !found || n >= 32 }' /sys/kernel/debug/sched/debug
}
wait_for 5 few_wait_uninterruptibly
is "those that wait are not in the load average" "$? $(($(field pending) > 64))" "0 1"
agent_end
wait $crowd
is "all of them run when the agent ends" "$? $(field pending)" "0 0"
wait $others
# Execs that are killed while they wait have left their requests in the agent's socket: these places are free when it has
# read them.
$nl set max-requests=16
agent "$stub" local no-receiver -
kill -STOP $agent
# two, so that the next one comes long before the places are free again without it
$probe in $cg/m user 1000 crowd 2 -- $probe & crowd=$!
becomes pending 2
pkill -KILL -P $crowd
wait $crowd
counted queue-full "two of a user that are killed keep his two places" $probe in $cg/m user 1000 -- true
is "though none waits" "$(field pending)" 0
kill -CONT $agent
asked_again() { $probe in $cg/m user 1000 -- true; [ "$(counter no-receiver)" -gt "$before" ]; }
before=$(counter no-receiver)
wait_for 20 asked_again
is "when the agent has read all of that, one is" $? 0
agent_end
$nl set max-requests=1024
# All of them together have the places that there are; of twenty users so many are in different parts that they could have more.
is "there are 1024 places" "$(field max-requests)" 1024
for places in $((slow > 1 ? 256 : 1024)) 64; do
	$nl set max-requests=$places
	agent "$stub" silent
	# the processors are for the execs: all of them come within the ten seconds that the first one waits
	kill -STOP $agent
	before=$(counter queue-full)
	each=$((places / 16))
	$probe in $cg/m users 20 crowd $each -- $probe & crowd=$!
	becomes n.queue-full $((before + 20 * each - places))
	is "of $((20 * each)) of 20 users $places wait" "$(field pending) $(($(counter queue-full) - before))" "$places $((20 * each - places))"
	kill -KILL $agent
	agent_end
	wait $crowd
	is "all of them run when the agent ends" "$? $(field pending)" "0 0"
done
sitter_end $sitter

# A dump that shows nothing of many tasks is made in parts all the same.
n=1030
$probe in $cg/m/below user 1000 crowd $n -- "$probe" idle & crowd=$!
becomes local $n
is "root sees all of $n tasks" "$("$nl" tasks | wc -l)" $n
is "another user none of them, in parts" \
	"$(setpriv --reuid=65534 --regid=65534 --clear-groups "$nl" tasks parts)" "1 parts without a task"
echo 1 >$cg/m/below/cgroup.kill
wait $crowd
becomes local 0
at_zero "all counts are back at zero"
finish
