#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Requests and verdicts.
. "$(dirname "$0")/lib.sh"

node_reset
sitter $cg/m
in="$probe in $cg/m"

# what the stub gets
agent "$stub" remote sender print
is "the stub's arguments" "$($in -- sh -c a b c)" "<$stub><print><$(command -v sh)><sh><-c><a><b><c>"
is "argv[0] is kept" "$($probe in $cg/m -- bash -c "exec -a other /bin/true 1" | head -c 500)" \
	"<$stub><print><$(command -v bash)><bash><-c><exec -a other /bin/true 1>"
# a shell that moves itself: its own exec has argv[0] of its choice
is "a chosen argv[0] too" "$(bash -c "echo 0 >$cg/m/cgroup.procs; exec -a other /bin/true 1")" \
	"<$stub><print></bin/true><other><1>"
like "what the agent was asked" "$(grep ^request "$log" | tail -n 1)" \
	"request * pid=* uid=0 path=/bin/true cgroup=$(stat -c %i $cg/m) load=1000 limit=10000"
printf '#!/bin/sh\n' >"$work/script"; chmod +x "$work/script"
is "a script is handed over as itself" "$($in -- "$work/script" 1)" "<$stub><print><$work/script><$work/script><1>"
agent_end

# local, with the agent's reason
agent "$stub" local no-receiver -
counted no-receiver "a local verdict" $in -- true
agent_end
agent "$stub" local - -
counted none "a local verdict without reason" $in -- true
agent_end

# while the node is no sender, and for what may not be transferred, it hears nothing
agent "$stub" local no-receiver -
$nl set threshold=1000000
for _ in 1 2 3; do $in -- true; done
$nl set threshold=0
$in nnp -- true
is "an agent hears nothing of what is not asked" "$(grep -c ^request "$log")" 0
counted no-receiver "and of the next that is" $in -- true
is "one thing" "$(grep -c ^request "$log")" 1
agent_end

# twice, unknown, from elsewhere
agent "$stub" twice local no-receiver -
$in -- true
wait_for 20 eval '[ "$(grep -c ^answer "$log")" = 2 ]'
like "the second verdict is refused" "$(grep ^answer "$log" | tail -n 1)" "answer * ENOENT: ehsched: nobody waits*"
refused "a verdict from another socket" EPERM "only the socket registered" "$nl" verdict 1 local - -
agent_end

# too late
$nl set limit=50
agent "$stub" late 500 local no-receiver -
counted time-out "no verdict in time" $in -- true
wait_for 20 file_has "$log" ^answer
like "the late verdict is refused" "$(grep ^answer "$log")" "answer * ENOENT: ehsched: nobody waits*"
agent_end

# The time limit is kept, as the module has counted it (ehs_verdict), so that what an exec takes beside it does not matter. Of
# another agent each time, because three in a row are enough to be asked no more. The limit is in ticks, so the last one may be
# cut short: 10 ms with 100 of them a second. It is a timer of the kernel, which makes such ones longer by an eighth at most; the
# shortest of three has another eighth for a machine that is busy.
traces=/sys/kernel/tracing
[ -e $traces/trace ] || mount -t tracefs tracefs $traces || bail_out "no tracefs"
# waited: ns of each exec that has waited in vain since $traces/trace was emptied, the shortest first
waited() { sed -n 's/.* ehs_verdict: .* verdict=0 reason=14 waited=//p' $traces/trace | sort -n; }
echo 1 >$traces/events/ehsched/ehs_verdict/enable
step=$((1000 * slow))
for limit in $step $((2 * step)); do
	agent "$stub" silent
	$nl set limit=$limit
	echo >$traces/trace
	for _ in 1 2 3; do $in -- true; done
	is "three execs wait $limit ms in vain" "$(waited | wc -l)" 3
	least=$(waited | head -n 1)
	holds "none for less than that: $least ns" "least >= (limit - 10) * 1000000"
	holds "nor for more: $least ns" "least <= limit * 1250000"
	agent_end
done

# who has called vfork() stands still as long as its child waits
agent "$stub" silent
$nl set limit=$step
echo >$traces/trace
$probe in $cg/m vfork -- true 2>"$out"
holds "a parent that has called vfork() stands still for that time: $(cat "$out") ms" "$(cat "$out") >= $(waited) / 1000000 - 1"
agent_end
echo 0 >$traces/events/ehsched/ehs_verdict/enable
agent "$stub" silent

# killed while waiting
$nl set limit=10000
before=$(counter killed)
$in -- true &
pid=$!
becomes pending 1
like "a waiting task is listed" "$($nl tasks | grep "pid=$pid ")" "* pending none true *"
kill -KILL $pid
wait $pid 2>/dev/null
is "a waiting task can be killed" "$?" 137
is "it is counted" "$(field n.killed pending)" "$((before + 1)) 0"

# Signals that do not kill do not end the wait: this one is caught, so it arrives; the program that follows ignores it.
$nl set limit=$((3000 * slow))
sh -c "trap : WINCH; echo 0 >$cg/m/cgroup.procs; exec true" &
pid=$!
becomes pending 1
kill -WINCH $pid
# it would go on at once
read -rt 0.5 <>/dev/ptmx
is "other signals leave it waiting" "$(field pending)" 1
wait $pid
is "and it runs" $? 0

# the agent dies
$nl set limit=10000
before=$(counter agent-gone)
pids=
for _ in 1 2 3 4 5; do $in -- true & pids+=" $!"; done
becomes pending 5
kill -KILL $agent
wait $agent 2>/dev/null
failures=0
for pid in $pids; do wait $pid || failures=$((failures + 1)); done
# and not because their time is over
is "when the agent dies the waiting tasks run at once" "$failures $(($(counter agent-gone) - before)) $(field pending)" "0 5 0"

# more at once than the agent's socket holds
agent "$stub" deaf
$nl set limit=$((2000 * slow))
before=$(counter queue-full)
pids=
for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do $in -- true & pids+=" $!"; done
failures=0
for pid in $pids; do wait $pid || failures=$((failures + 1)); done
holds "a full socket sends tasks home ($(($(counter queue-full) - before)) of 12)" "$(counter queue-full) > before"
is "and they run" "$failures $(field pending)" "0 0"
agent_end

# many at once, each answered
agent "$stub" remote sender exit-0
before=$(counter sender)
touch "$work/storm"
$probe storm "$work/storm" 4 -- $probe in $cg/m -- false &
storm=$!
placed() { (($(counter sender) >= before + 40)); }
wait_for 60 placed
is "40 placements of four at once" $? 0
rm "$work/storm"
wait $storm
is "every stub ran" $? 0
agent_end
sitter_end $sitter
is "all counts are back at zero" "$(field local guest away pending load)" "0 0 0 0 0"
finish
