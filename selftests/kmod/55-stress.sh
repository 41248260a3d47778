#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Everything at once: what is looked for is in the guest's kernel log.
. "$(dirname "$0")/lib.sh"

node_reset
touch "$work/storm"
before=$(arrivals) guests_before=$(counter guest) counts=$($nl counts)
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
cat >"$work/life" <<END
# life REASON LIMIT KIND…: of a node whose agent is of this kind, so that its execs have this reason; says what is not as it should be
is() { [ "\$2" = "\$3" ] || echo "\$1: \$2"; }
wait_by_nl() { "$nl" wait $((wait_least * slow)) "\$@"; }
reason=\$1 limit=\$2
shift 2
"$nl" set managed=$cg/m guest=$cg/g index=tasks limit=\$limit
$probe in $cg/m -- sleep infinity & sitter=\$!
wait_by_nl field local 1
"$nl" set threshold=0 length=0
"$nl" agent $stub "\$@" >/dev/null & agent=\$!
wait_by_nl field agent 1+
counts=\$("$nl" counts)
$probe in $cg/m -- true
is "an exec ends" \$? 0
is "and is counted" "\$("$nl" counts "\$counts")" "\$reason+1"
counts=\$("$nl" counts)
$probe in $cg/g -- true
is "a guest" "\$? \$("$nl" counts "\$counts")" "0 guest+1"
# its agent ends before the exec is asked about, while it waits, or after that
counts=\$("$nl" counts)
$probe in $cg/m -- true & exec=\$!
kill -KILL \$agent
wait \$exec
is "an exec beside the end of the agent" "\$? \$("$nl" counts "\$counts" | grep -cxE "(\$reason|agent-gone|no-agent)\\+1")" "0 1"
wait \$agent
kill \$sitter
wait \$sitter
wait_by_nl field local 0
is "what is left" "\$("$nl" field local guest away pending load)" "0 0 0 0 0"
END
namespaces() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		unshare --net bash "$work/life" "$@" || echo "life: $?"
	done >>"$work/wrong" 2>/dev/null
}
: >"$work/wrong"
namespaces time-out 50 silent &
workers=$!
namespaces sender 10000 remote sender exit-0 &
workers+=" $!"
# settings and agents that change under the execs
in_vain=0
for i in 1 2 3 4 5 6; do
	for index in cpu runnable tasks; do
		$nl set index=$index threshold=0 length=0 dwell=$i || in_vain=$((in_vain + 1))
		$nl set clear managed=$cg/m guest=$cg/g limit=20 || in_vain=$((in_vain + 1))
	done
	sent=$(counter sender)
	agent "$stub" remote sender exit-0
	becomes n.sender $((sent + 1))+ || in_vain=$((in_vain + 1))
	kill -KILL $agent
	wait $agent 2>/dev/null
	becomes agent '' || in_vain=$((in_vain + 1))
	alone=$(counter no-agent)
	becomes n.no-agent $((alone + 1))+ || in_vain=$((in_vain + 1))
done
is "each agent is asked, and after its end none is" $in_vain 0
wait $workers
is "nodes live and end as they should" "$(sort "$work/wrong" | uniq -c)" ""
# a bypass is for the next exec, and may come after the last one
becomes n.bypass 1+
is "there are execs after a bypass" $? 0
rm "$work/storm"
failures=0
for pid in $storms; do wait $pid || failures=$((failures + 1)); done
is "no task failed under stress" $failures 0
runs() { awk '$2 == "runs" { print $1 }' "$work/runs.$1"; }
is "each exec of a guest is counted once" $(($(counter guest) - guests_before)) "$(runs g)"
is "and each exec at all" $(($(arrivals) - before)) $(($(runs m) + $(runs g) + $(runs b)))
is "none had a reason that nothing here gives" "$($nl counts "$counts" | tr ' ' '\n' |
	grep -vE '^(not-sender|bypass|guest|no-agent|agent-gone|time-out|agent-slow|sender)\+')" ""
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
