#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A user whose own agent never answers, and who lets as many tasks wait as he can: there is a bound, and none waits past
# its limit.
. "$(dirname "$0")/lib.sh"

# his part of the cgroups: he starts in c, his tasks are managed in t
mkdir -p $cg/his/c $cg/his/t
chown 65534:65534 $cg/his $cg/his/cgroup.procs $cg/his/t $cg/his/t/cgroup.procs
cat >"$work/attack" <<ATTACK
"$nl" set managed=$cg/his/t threshold=0 length=0 index=tasks dwell=0 limit=10000
"$nl" agent "$stub" silent >/dev/null &
"$nl" wait $((wait_least * slow)) field agent 1+
"$probe" in $cg/his/t -- sleep infinity & first=\$!
"$nl" wait $((wait_least * slow)) field local 1
for _ in \$(seq "\$1"); do "$probe" in $cg/his/t -- true & pids+=" \$!"; done
failures=0
for pid in \$pids; do wait \$pid || failures=\$((failures + 1)); done
"$nl" get | grep -E "^(pending|n.time-out|n.agent-slow|n.queue-full) " | xargs echo failures \$failures
kill \$first %1
ATTACK
chmod 755 "$work/attack"
n=$(many 60 1500)
$probe in $cg/his/c -- setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --net bash "$work/attack" "$n" >"$out" 2>"$log"
line=$(cat "$out")
like "all of them ran, and none waits" "$line" "failures 0 *pending 0 *"
total=$(echo "$line" | awk '{ for (i = 1; i < NF; i++) if ($i ~ /^n\./) n += $(i + 1); print n }')
is "each waited its time, was released, or found the table full" "$total" "$n"
holds "few waited in vain ($line)" "$(echo "$line" | grep -o 'n.time-out [0-9]*' | cut -d' ' -f2) <= 3 + $n / 2"

# As many of one user as an eighth of the places wait, the others go on at once: in the host's node, as its limit is as long as
# it can be. Another user has a place.
node_reset
chmod 755 $cg $cg/m
sitter $cg/m
agent "$stub" silent
before=$(counter queue-full)
n=1100
$probe in $cg/m user 1000 crowd $n -- $probe & crowd=$!
becomes n.queue-full $((before + n - 128))
is "of $n of one user 128 wait" "$(field pending) $(($(counter queue-full) - before))" "128 $((n - 128))"
# Those that wait would be uninterruptible for seconds; those that end, and threads of the kernel, are for a moment.
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
few_wait_uninterruptibly() {
	awk '$1 == ".nr_uninterruptible" { n += $3; found = 1 } END { exit !found || n >= 64 }' /sys/kernel/debug/sched/debug
}
wait_for 5 few_wait_uninterruptibly
is "those that wait are not in the load average" "$? $(field pending)" "0 128"
$probe in $cg/m -- true & other=$!
becomes pending 129
is "one of another user waits, too" $? 0
agent_end
wait $crowd
is "all of them run when the agent ends" "$? $(field pending)" "0 0"
wait $other
# All of them together have the places that there are. Users may share one of 64 parts.
$nl set max-requests=64
agent "$stub" silent
before=$(counter queue-full)
crowds=
for u in $(seq 1001 1020); do $probe in $cg/m user "$u" crowd 9 -- $probe & crowds+=" $!"; done
becomes n.queue-full $((before + 20 * 9 - 64))
is "of 180 of 20 users 64 wait" "$(field pending)" 64
agent_end
failures=0
for crowd in $crowds; do wait "$crowd" || failures=$((failures + 1)); done
is "all of them run when the agent ends" "$failures $(field pending)" "0 0"
sitter_end $sitter

# A dump that shows nothing of many tasks is made in parts all the same.
$probe in $cg/m/below user 1000 crowd $n -- sleep infinity & crowd=$!
becomes local $n
is "root sees all of $n tasks" "$("$nl" tasks | wc -l)" $n
is "another user none of them, in parts" \
	"$(setpriv --reuid=65534 --regid=65534 --clear-groups "$nl" tasks parts)" "1 parts without a task"
echo 1 >$cg/m/below/cgroup.kill
wait $crowd
becomes local 0
at_zero "all counts are back at zero"
finish
