#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An agent that does not answer: a few execs wait, the others do not; when it answers again it is asked again.
. "$(dirname "$0")/lib.sh"

node_reset
sitter $cg/m
mkfifo "$work/orders"
agent "$stub" manual "$work/orders"
answer() { echo "$1" >"$work/orders"; }
# cookie: of the last request
cookie() { awk '/^request/ { c = $2 } END { print c }' "$log"; }
# begin_exec: an exec, $pid, that the agent is asked about
begin_exec() {
	asked=$(grep -c ^request "$log")
	$in -- true & pid=$!
	wait_for 20 more
}
more() { [ "$(grep -c ^request "$log")" = $((asked + 1)) ]; }
# ten limits, the pause, are longer than 17 execs take
$nl set limit=$((1000 * slow))
in="$probe in $cg/m"
before=$(counter time-out) slow_before=$(counter agent-slow)
log_mark
for _ in $(seq 20); do $in -- true; done
is "of 20 execs one after another three wait" "$(($(counter time-out) - before)) $(($(counter agent-slow) - slow_before))" "3 17"
wait_for 20 eval 'logged | grep -q "^ehsched: agent let execs of user 0 wait: not asked"'
ok "and the kernel's log says so" logged
# after a while one more tries
tries() { $in -- true; [ "$(counter time-out)" = $((before + 4)) ]; }
wait_for 120 tries
is "later one tries again, and the pause is longer" "$(counter time-out)" $((before + 4))
counted agent-slow "the next one does not wait" $in -- true
# a late answer shows that it lives
answer "$(cookie) local - -"
wait_for 20 file_has "$log" '^answer .*ENOENT'
$nl set limit=10000
begin_exec
is "after a late answer it is asked again" "$(field pending)" 1
answer "$(cookie) local no-receiver -"
wait $pid; is "and its verdict counts" $? 0

# many at once: those that wait when the third has waited in vain go on with it
$nl set limit=$((1000 * slow))
released=$(counter agent-slow) waited=$(counter time-out)
pids=
for _ in $(seq 30); do $in -- true & pids+=" $!"; done
failures=0
for pid in $pids; do wait "$pid" || failures=$((failures + 1)); done
is "30 at once all run" "$failures $(field pending)" "0 0"
is "each either waited in vain or was released" $(($(counter agent-slow) - released + $(counter time-out) - waited)) 30
holds "most were released ($(($(counter agent-slow) - released)) of 30)" "$(counter agent-slow) - released >= 15"
agent_end
# one user's execs that wait in vain are his: another's are asked for
agent "$stub" manual "$work/orders"
$nl set limit=$((1000 * slow))
for _ in 1 2 3; do $probe in $cg/m user 1000 -- true; done
counted agent-slow "a user whose execs waited in vain does not wait" $probe in $cg/m user 1000 -- true
$nl set limit=10000
# users may share one of 64 parts, but all four of these hardly that one
pids=
for user in 0 2 3 4; do $probe in $cg/m user $user -- true & pids+=" $!"; done
becomes pending 1+
is "another user's exec is asked for" $? 0
agent_end
wait $pids
# always a little late: an answer that comes too late lets one more exec try, and no more do
limit=$((200 * slow))
$nl set limit=$limit
agent "$stub" late $((limit + limit / 2)) local no-receiver -
before=$(counter time-out) slow_before=$(counter agent-slow)
for i in $(seq 12); do
	$in -- true
	[ $i != 4 ] || wait_for 20 eval '[ "$(grep -c ^answer "$log")" -ge 3 ]'
done
is "of 12 execs four wait for an agent that is late" \
	"$(($(counter time-out) - before)) $(($(counter agent-slow) - slow_before))" "4 8"
agent_end
# to be registered again is no new beginning
$nl set limit=$((500 * slow))
touch "$work/loop"
: >"$log"
"$nl" again "$stub" "$work/loop" >"$log" 2>&1 & agent=$!
wait_for 20 file_has "$log" '^registered'
before=$(counter time-out) slow_before=$(counter agent-slow)
for _ in $(seq 8); do $in -- true; done
is "a socket that is registered again and again lets three wait" \
	"$(($(counter time-out) - before)) $(($(counter agent-slow) - slow_before))" "3 5"
rm "$work/loop"
wait $agent
becomes agent ''
$nl set limit=$((1000 * slow))
# another agent starts without a past
agent "$stub" local no-receiver -
counted no-receiver "the next agent is asked" $in -- true
agent_end
sitter_end $sitter
at_zero "all counts are back at zero"
finish
