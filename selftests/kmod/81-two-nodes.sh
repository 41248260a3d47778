#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A process with threads in two network namespaces: a bypass in one of them while an exec waits in the other.
. "$(dirname "$0")/lib.sh"
two_nodes=$built/two-nodes

node_reset
sitter $cg/m
agent "$stub" silent
$nl set limit=10000
mkfifo "$work/go"
: >"$out"
"$two_nodes" $cg/m "$work/go" $nl /bin/sleep infinity 2>"$out" &
pid=$!
becomes pending 1
echo >"$work/go"
wait_for 20 file_has "$out" ^bypass
is "the bypass is accepted in the other namespace" "$(cat "$out")" "bypass 0"
is "the exec is still counted and waits" "$(field pending) $($nl tasks | grep -c "pid=$pid .* pending")" "1 1"
agent_end
wait_for 20 eval '$nl tasks | grep -q "pid=$pid .* local agent-gone sleep"'
like "it runs here, and its record says so" "$($nl tasks | grep "pid=$pid ")" "* local agent-gone sleep *"
is "it is counted once" "$(field local)" 2
kill $pid
wait $pid 2>/dev/null
sitter_end $sitter
at_zero "all counts are back at zero"

# again and again, with an exec that is answered at the same time
agent "$stub" remote sender exit-0
sitter $cg/m
failures=0
for _ in $(seq "$(many 20 500)"); do
	"$two_nodes" $cg/m - $nl /bin/false 2>>"$out" || failures=$((failures + 1))
done
is "execs that are answered at the same time" "$failures" 0
agent_end
sitter_end $sitter
at_zero "all counts are back at zero again"

# in as many as he likes: each costs the others of its chain, so there is a bound
: >"$out"
"$two_nodes" many 20 $nl >"$out" 2>"$log" &
pid=$!
wait_for 60 file_has "$out" .
is "a group has records in 16 nodes" "$(cat "$out") $(grep -c "EUSERS: .*too many network namespaces" "$log")" "16 4"
kill $pid
wait $pid 2>/dev/null

# a task that is asked about while it ends
for _ in $(seq "$(many 100 2000)"); do
	sh -c : &
	$nl bypass $! 2>/dev/null
	wait $!
done
at_zero "bypasses of tasks that end leave no record"
finish
