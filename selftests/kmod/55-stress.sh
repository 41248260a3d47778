#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Everything at once: what is looked for is in the guest's kernel log.
. "$(dirname "$0")/lib.sh"

node_reset
touch "$work/storm"
before=$(arrivals) guests_before=$(counter guest)
$probe storm "$work/storm" 2 -- $probe in $cg/m -- true 2>"$work/runs.m" &
storms=$!
$probe storm "$work/storm" 1 -- $probe in $cg/g -- true 2>"$work/runs.g" &
storms+=" $!"
# listings while records come and go, and bypasses of tasks that are about to end
$probe storm "$work/storm" 1 -- $nl tasks >"$out" 2>&1 &
storms+=" $!"
$probe storm "$work/storm" 1 -- $nl dump >"$out.2" 2>&1 &
storms+=" $!"
$probe storm "$work/storm" 1 -- sh -c "$probe in $cg/m -- true & $nl bypass \$! || :; wait \$!" 2>"$work/runs.b" &
storms+=" $!"
# nodes that are born, get an agent and die with requests
namespaces() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		unshare --net sh -c "
			$nl set managed=$cg/m guest=$cg/g index=tasks limit=50
			$probe in $cg/m -- sleep infinity & sitter=\$!
			$nl set threshold=0 length=0
			$nl agent $stub $1 >/dev/null & agent=\$!
			$probe in $cg/m -- true
			$probe in $cg/g -- true
			$probe in $cg/m -- true & kill -KILL \$agent; wait \$!
			kill \$sitter" >/dev/null 2>&1
	done
}
namespaces silent &
workers=$!
namespaces "remote sender exit-0" &
workers+=" $!"
# settings and agents that change under the execs
for i in 1 2 3 4 5 6; do
	for index in cpu runnable tasks; do
		$nl set index=$index threshold=0 length=0 dwell=$i
		$nl set clear managed=$cg/m guest=$cg/g limit=20
	done
	sent=$(counter sender)
	agent "$stub" remote sender exit-0
	becomes n.sender $((sent + 1))+
	kill -KILL $agent
	wait $agent 2>/dev/null
	becomes agent ''
done
wait $workers
rm "$work/storm"
failures=0
for pid in $storms; do wait $pid || failures=$((failures + 1)); done
is "no task failed under stress" $failures 0
runs() { awk '$2 == "runs" { print $1 }' "$work/runs.$1"; }
is "each exec of a guest is counted once" $(($(counter guest) - guests_before)) "$(runs g)"
is "and each exec at all" $(($(arrivals) - before)) $(($(runs m) + $(runs g) + $(runs b)))
for reason in sender guest no-agent bypass; do
	holds "with execs of reason $reason" "$(counter $reason) > 0"
done
$nl set index=tasks
is "all counts are back at zero" "$(field local guest away pending load) $($nl tasks)" "0 0 0 0 0 "
nodes_are 1
is "and all nodes are gone" $? 0

# a managed cgroup can be removed; the node then manages nothing
mkdir $cg/short
$nl set managed=$cg/short
is "a managed cgroup can be removed" "$(rmdir $cg/short; echo $?)" 0
mkdir $cg/short
$probe in $cg/short -- true
is "one of the same name is another" "$($nl tasks; $nl get | grep -c '^managed ')" 1
rmdir $cg/short
finish
