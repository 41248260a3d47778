#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A user who lists tasks without end: what he sees is his, and execs of others go on.
. "$(dirname "$0")/lib.sh"

node_reset
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
n=$(many 600 3000)
$probe in $cg/m user 1000 crowd "$n" -- "$probe" idle & crowd=$!
becomes local "$n"
is "tasks of one user" "$($nl tasks | grep -c ' uid=1000 ')" "$n"
is "a whole list has each once" "$($nl tasks | awk '{ print $2 }' | sort -u | wc -l)" "$n"
is "another user sees none of them" "$($nobody "$nl" tasks | wc -l)" 0
is "their user sees them all" "$(setpriv --reuid=1000 --regid=1000 --clear-groups "$nl" tasks | wc -l)" "$n"

# The time of an exec beside readers that loop, against readers of something that is none of ours: a ratio of one run. In turn,
# as the machine may have other work for a while.
beside_reader() {	# the fastest exec beside one who asks for this
	touch "$work/loop"
	$nobody "$nl" while "$work/loop" "$1" >/dev/null & reader=$!
	$probe fastest 10 in $cg/m -- true
	rm "$work/loop"
	wait $reader
}
quiet=1000000 beside=1000000
for _ in 1 2 3 4 5; do
	ms=$(beside_reader get)
	quiet=$((ms < quiet ? ms : quiet))
	ms=$(beside_reader tasks)
	beside=$((ms < beside ? ms : beside))
done
holds "an exec beside a user who lists: $beside ms, beside one who asks for the node: $quiet ms" "beside <= 3 * quiet + 3"

# A move of one task is a look at its record, whatever the number of the others.
trace=/sys/kernel/tracing
[ -d $trace/events ] || mount -t tracefs tracefs $trace
if [ -d $trace/events/workqueue ]; then
	sleep infinity & moved=$!
	wait_for 20 eval '[ "$(cat /proc/$moved/comm)" = sleep ]'
	echo $moved >$cg/m/cgroup.procs
	# its record stays when it is outside, so that each move is a look
	$nl bypass $moved
	echo 1 >$trace/events/workqueue/workqueue_execute_start/enable
	echo 1 >$trace/events/workqueue/workqueue_execute_end/enable
	# looks: ns of the works that have run since, that look at records; by their function
	look() {
		echo >$trace/trace
		"$@"
		wait_for 20 grep -qE 'execute_end.*ehs_(leave|node)_check' $trace/trace
		awk '{ sub(":", "", $4); us = $4 * 1e6 } /execute_start.*ehs_(leave|node)_check/ { from[$1] = us; at[$1] = 1 }
			/execute_end.*ehs_(leave|node)_check/ && at[$1] { print us - from[$1] }' $trace/trace | sort -n | head -n 1
	}
	move() { echo $moved >$cg/other/cgroup.procs; }
	one=1000000
	for _ in 1 2 3 4 5; do
		t=$(look move)
		one=$((${t%.*} < one ? ${t%.*} : one))
		echo $moved >$cg/m/cgroup.procs
	done
	all=$(look $nl set managed=$cg/m)
	holds "a move of one of $n takes a look of $one us, a change of the cgroups one of ${all%.*} us" "one * 5 < ${all%.*}"
	# However often the cgroups of a node are changed, all looks together have a part of a processor's time, and a pause of a
	# second at most.
	touch "$work/loop"
	echo >$trace/trace
	from=${EPOCHREALTIME/./}
	"$nl" while "$work/loop" set managed-fd=9 9<$cg/m & changes=$!
	sleep 3
	rm "$work/loop"
	wait $changes
	is "he may change them" $? 0
	elapsed=$((${EPOCHREALTIME/./} - from))
	read -r looks sum longest < <(awk '{ sub(":", "", $4); us = $4 * 1e6 }
		/execute_start.*ehs_leave_check_all/ { from[$1] = us; at[$1] = 1 }
		/execute_end.*ehs_leave_check_all/ && at[$1] { t = us - from[$1]; sum += t; if (t > most) most = t; n++ }
		END { printf "%d %d %d\n", n, sum, most }' $trace/trace)
	holds "$looks looks beside changes of the cgroups take $sum us of $elapsed, the longest $longest us" \
		"looks >= 2 && sum <= elapsed / 50 + (elapsed / 1000000 + 2) * longest"
	echo 0 >$trace/events/workqueue/enable
	kill $moved
else
	skip "a move of one task" "no tracefs in this kernel"
fi
pkill -KILL -P $crowd
wait
at_zero "all counts are back at zero"
finish
