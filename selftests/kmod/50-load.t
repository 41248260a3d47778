# SPDX-License-Identifier: GPL-2.0-or-later
# Sampled load. Bounds are wide: the guest's own work counts, and its clock may
# be slow; but they tell k tasks from k+1.

node_reset
$nl set index=runnable threshold=9000
near() { local l; l=$(field load); ((l > $1 - 400 && l < $1 + 600)); }
for k in 1 4; do
	$probe busy $k >"$out" &
	busy=$!
	until_true 20 file_has "$out" busy
	until_true 20 near $((k * 1000))
	is "$k computing tasks are load $k (now $(field load))" $? 0
	kill $busy
	wait $busy 2>/dev/null
	until_true 20 near 0
	is "and their end is seen (now $(field load))" $? 0
done

# a placed task counts before a sample can see it, though it never computes
seen=0
for _ in 1 2 3 4 5 6; do
	$probe in $cg/m -- sleep 1000 &
	sitter=$!
	until_true 20 eval '$nl tasks | grep -q "pid=$sitter "'
	for _ in 1 2 3; do l=$(field load); ((l > seen)) && seen=$l; done
	sitter_end $sitter
done
holds "a task counts as soon as it starts (seen $seen)" "seen >= 300"

# threads of other namespaces are others' load
$probe new net busy 3 >"$out" &
busy=$!
until_true 20 file_has "$out" busy
until_true 5 near 3000
is "work of another network namespace is not ours (now $(field load))" $? 1
kill $busy
wait $busy 2>/dev/null

$nl set index=cpu
until_true 20 near 0
$probe busy 1 >"$out" &
busy=$!
until_true 20 near 1000
is "index cpu: one busy processor (now $(field load))" $? 0
kill $busy
wait $busy 2>/dev/null
until_true 20 near 0
is "index cpu: idle (now $(field load))" $? 0
$nl set index=tasks
is "index tasks: exact at once" "$(field load)" 0
