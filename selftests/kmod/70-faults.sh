#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each allocation on the way of each operation fails once: the first, the second, … until the operation needs no more of
# them. Whatever fails must be refused or done, and leave no count, no record, no node and no memory behind.
# Needs a kernel with CONFIG_FAULT_INJECTION; `selftests/vm/cluster --kernel debug` has one.
. "$(dirname "$0")/lib.sh"

# The node: name → value; arrivals: all execs it has counted.
declare -A node
look() {
	local name value n=0
	node=()
	while read -r name value; do
		node[$name]=$value
		[[ $name != n.* ]] || n=$((n + value))
	done < <($nl get)
	node[arrivals]=$n
}
# The node is as it was, with the one sitter; nobody waited in vain.
state_now() {
	look
	echo "${node[local]} ${node[guest]} ${node[away]} ${node[pending]} ${node[load]} ${node[agent]-} ${node[n.time-out]}"
}
# faults NAME LEAST CMD…: CMD says that it has gone through at least so many faults, and nothing has changed
faults() {
	local name=$1 least=$2 said n before
	shift 2
	before=$(state_now)
	said=$("$@" 2>&1 | tail -n 1)
	n=${said%% *}
	[[ $said =~ ^[0-9]+\ faults ]] || n=0
	is "$name: $said" "$((n >= least)) $(state_now)" "1 $before"
}
# The same for an exec: each counted once at most; some fail before they come to us.
exec_faults() {
	local name=$1 arrivals n
	look
	arrivals=${node[arrivals]}
	faults "$name" 20 "${@:2}" </dev/null
	look
	arrivals=$((node[arrivals] - arrivals))
	n=$(sed -n 's/ faults.*//p' "$work/said")
	holds "it is counted once at most: $arrivals times in $((n + 1)) execs" "arrivals > 0 && arrivals <= n + 1"
}
# with little to copy, as copying counts too
every_exec() { env -i EHS_STRIDE="$(many 8 0)" EHS_SEED="$seed" "$probe" in "$1" every -- "${@:2}" 2>&1 | tee "$work/said"; }

if ! faults_ready; then
	skip "allocations that fail, one by one" "this kernel has no fault injection; --kernel debug has"
else
	[ -d /sys/module/ehsched ] || insmod "$module"
	node_reset
	sitter $cg/m
	$nl set limit=10000

	faults "node-get" 4 $nl every get
	faults "node dump" 4 $nl every dump
	faults "task dump" 4 $nl every tasks
	faults "node-set" 2 $nl every set threshold=0 length=0
	faults "node-set with cgroups" 3 $nl every set managed=$cg/m managed=$cg/other guest=$cg/g
	faults "node-set that clears and sets" 3 $nl every set clear managed=$cg/m guest=$cg/g
	is "the cgroups are set" "$($nl get | grep -cE '^(managed|guest-cgroup) ')" 2
	faults "bypass" 3 $nl every bypass $sitter
	# the sitter has used up nothing of it, as it does not exec
	faults "agent-register" 3 $nl every register "$stub"

	faults "programs-set" 2 $nl every as root "$stub" programs "$stub" /bin/true

	exec_faults "an exec without agent" every_exec $cg/m "$probe" left
	exec_faults "an exec of a guest" every_exec $cg/g "$probe" left
	printf '#!%s left\n' "$probe" >"$work/left"
	chmod +x "$work/left"
	for kind in "local excluded -" "remote sender left"; do
		# shellcheck disable=SC2086
		agent "$stub" $kind
		exec_faults "an exec with a ${kind%% *} verdict" every_exec $cg/m "$probe" left
		exec_faults "a script with a ${kind%% *} verdict" every_exec $cg/m "$work/left"
		agent_end
	done
	# with a stride chance may pass over those of one kind
	look
	own="${node[n.no-memory]} no-memory, ${node[n.redirect]} redirect"
	if [ "$(many 8 0)" = 0 ]; then
		holds "allocations failed that are our own: $own" "${node[n.no-memory]} > 0 && ${node[n.redirect]} > 0"
	else
		holds "allocations failed that are our own: $own" "${node[n.no-memory]} + ${node[n.redirect]} > 0"
	fi

	# verdicts: an exec whose verdict is lost waits in vain, and runs
	$nl set limit=300
	agent "$stub" faulty remote sender exit-0
	failures=0
	wait_for 300 eval '$probe in $cg/m -- true || failures=$((failures + 1)); file_has "$log" "^[0-9]+ faults"'
	is "verdicts: $(grep faults "$log")" "$? $failures $(field pending)" "0 0 0"
	agent_end

	faults "a new namespace" 20 env EHS_STRIDE="$(many 20 0)" EHS_SEED="$seed" $probe every new net
	nodes_are 1
	is "leaves no node" $? 0

	# a change that cannot be told: subscribers hear that there was one. In a worker, so by place and not by number.
	if [ -e $debugfs/failslab/require-start ]; then
		$nl set threshold=1000 length=0 weight=999 dwell=0
		becomes state receiver
		$nl watch >"$work/news" 2>&1 &
		watch=$!
		wait_for 20 file_has "$work/news" ^watching
		start=$(cat /sys/module/ehsched/sections/.text)
		echo "$start" >$debugfs/failslab/require-start
		printf '0x%x' $((start + $(awk '$1 == "ehsched" { print $2 }' /proc/modules))) >$debugfs/failslab/require-end
		echo 1 >$debugfs/failslab/times
		echo 100 >$debugfs/failslab/probability
		$nl set weight=1001
		wait_for 20 file_has "$work/news" ^overrun
		is "a notification without memory is told as lost" "$? $(cat $debugfs/failslab/times)" "0 0"
		echo 0 >$debugfs/failslab/probability
		wait_for 20 file_has "$work/news" '^state sender'
		is "and the state is found" $? 0
		kill $watch
		wait $watch 2>/dev/null
	else
		skip "a notification without memory is told as lost" "no CONFIG_FAULT_INJECTION_STACKTRACE_FILTER"
	fi
	sitter_end $sitter
	node_reset
	at_zero "all counts are back at zero"
fi
finish
