#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sampled load, in a node of its own, as this shell computes too.
. "$(dirname "$0")/lib.sh"

: >"$out"
sleep infinity | unshare --net sh -c 'echo $$; read x' >"$out" &
wait_for 20 file_has "$out" '^[0-9]+$'
home=$(cat "$out")
there="nsenter --net=/proc/$home/ns/net"
$there $nl set threshold=9000 managed=$cg/m
for k in 1 4; do
	: >"$out"
	$there $probe busy $k >"$out" &
	busy=$!
	wait_for 20 file_has "$out" busy
	got=$($there $nl load $((k * 1000)) $((20 * slow)))
	is "$k computing tasks are load $k ($got)" $? 0
	kill $busy
	wait $busy 2>/dev/null
	got=$($there $nl load 0 $((20 * slow)))
	is "and their end is seen ($got)" $? 0
done
: >"$out"
$probe busy 3 >"$out" &
busy=$!
wait_for 20 file_has "$out" busy
got=$($there $nl load 3000 2)
is "computing tasks of another network namespace are not ours ($got)" $? 1

kill $busy
wait $busy 2>/dev/null

$nl set clear index=cpu
: >"$out"
$probe busy 1 >"$out" &
busy=$!
wait_for 20 file_has "$out" busy
got=$($nl load 1000 $((20 * slow)))
is "index cpu: one busy processor ($got)" $? 0
kill $busy
wait $busy 2>/dev/null
got=$($nl load 0 $((20 * slow)))
is "index cpu: idle ($got)" $? 0
$nl set index=tasks
is "index tasks: exact at once" "$(field load)" 0
kill $home
finish
