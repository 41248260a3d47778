#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# States from load, threshold and length; the dwell; notifications.
. "$(dirname "$0")/lib.sh"

node_reset
sitter $cg/m
is "one task counts its weight" "$(field load)" 1000

# one task of weight W, so L = W exactly; T = 1000, α = 300
$nl set threshold=1000 length=300
state_at() { $nl set weight="$1" && field state; }
is "below T-α: receiver" "$(state_at 699)" receiver
is "at T-α: ok" "$(state_at 700)" ok
is "at T: ok" "$(state_at 1000)" ok
is "at T+α: ok" "$(state_at 1300)" ok
is "above T+α: sender" "$(state_at 1301)" sender
# T-α below zero must not wrap
$nl set threshold=100 length=300
is "T-α below 0: never a receiver" "$(state_at 1)" ok
is "T-α below 0: sender above T+α" "$(state_at 401)" sender
$nl set threshold=1000000000 length=1000000000
is "largest values: ok" "$(state_at 1000000)" ok
$nl set threshold=1000000000 length=0
is "largest threshold: receiver" "$(state_at 1000000)" receiver
$nl set threshold=0 length=0 weight=1
is "T = α = 0: sender with any load" "$(field state)" sender
sitter_end $sitter
is "T = α = 0: ok without" "$(field state)" ok
is "the task is not counted any more" "$(field load local)" "0 0"

# an exec of the same task counts once, tasks below a managed cgroup count too
node_reset
$nl set threshold=9000
$probe in $cg/m -- $probe -- $probe -- sleep infinity &
sitter=$!
wait_for 20 eval '$nl tasks | grep -q "sleep "'
is "three execs of a task are one task" "$(field local)" 1
sitter_end $sitter
sitter $cg/m/below
is "a cgroup below a managed one is managed" "$(field local)" 1
sitter_end $sitter
$probe in $cg/other -- true
is "another is not" "$($nl tasks)" ""
$probe in $cg/m new net -- sleep infinity &
sitter=$!
wait_for 20 eval '[ "$(cat /proc/$sitter/comm)" = sleep ]'
is "nor a task of another network namespace" "$(field local)" 0
sitter_end $sitter

# dwell: long where it must not be over yet, so that a slow machine does not matter
sitter $cg/m
$nl set threshold=1000 length=0 weight=1001 dwell=60000
is "before the dwell: sender" "$(field state)" sender
# shellcheck disable=SC2034	# read by holds
begin=${EPOCHREALTIME/./}
$nl set weight=999
is "low, but not for long enough: ok" "$(field state)" ok
$nl set dwell=2000
becomes state receiver
is "a receiver after the dwell" $? 0
holds "and not before" "${EPOCHREALTIME/./} - begin >= 2000000"
$nl set weight=1000 dwell=60000
is "at once no receiver any more" "$(field state)" ok
$nl set weight=999
is "and then the dwell begins again" "$(field state)" ok

# notifications
$nl set weight=1001 dwell=0
: >"$out"
$nl watch >"$out" 2>&1 &
watch=$!
wait_for 20 file_has "$out" ^watching
$nl set weight=999
wait_for 20 file_has "$out" '^state receiver'
is "a state is announced" $? 0
$nl set weight=1000
wait_for 20 file_has "$out" '^state ok'
is "the next too" $? 0
$nl set threshold=1001 length=1
wait_for 20 file_has "$out" '^length 1$'
is "threshold and length are announced" "$? $(grep -c '^threshold 1001$' "$out")" "0 1"
$nl set weight=999 dwell=200
wait_for 20 file_has "$out" '^weight 999'
agent "$stub" silent
wait_for 20 file_has "$out" '^agent '
is "an agent is announced" $? 0
agent_end
# last_is STATE THRESHOLD: the last notification is this, of a node without agent
last_is() {
	awk -v wanted="$1 $2 none" '/^notification/ { agent = "none" } $1 == "state" { state = $2 }
		$1 == "threshold" { threshold = $2 } $1 == "agent" { agent = "some" }
		END { exit (state " " threshold " " agent) != wanted }' "$out"
}
wait_for 20 last_is receiver 1001
is "so is its end" $? 0
before=$(grep -c ^notification "$out")
# nothing that is announced changes here
for i in 1 2 3 4 5; do $nl set limit=$((100 + i)); done
sitter_end $sitter
# they come in order: one without need would be here when the last of these is
for threshold in 5 6; do
	$nl set threshold=$threshold
	wait_for 20 last_is receiver $threshold
	is "threshold $threshold is announced" $? 0
done
is "nothing is announced without need" $(($(grep -c ^notification "$out") - before)) 2
kill $watch
wait $watch 2>/dev/null
finish
