#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Verdicts that are wrong in each way, each while somebody waits; agents that stop; news that are lost.
. "$(dirname "$0")/lib.sh"

node_reset
sitter $cg/m
in="$probe in $cg/m"
[ -p "$work/say" ] || mkfifo "$work/say"
say() { echo "$*" >"$work/say"; }
cookie() { awk '/^request/ { c = $2 } END { print c }' "$log"; }
# answer COOKIE VERDICT REASON TOKEN: by the agent; prints what the kernel said
answer() {
	local n
	n=$(grep -c ^answer "$log")
	say "$@"
	wait_for 20 eval "[ \$(grep -c ^answer $log) -gt $n ]"
	grep ^answer "$log" | tail -n 1 | cut -d ' ' -f 3-
}
# waiting: an exec that waits; end: how it ended
waiting() {
	rm -f "$work/end"
	{ $in -- false; echo $? >"$work/end.new"; mv "$work/end.new" "$work/end"; } &
	becomes pending 1
}
end() { wait_for 20 test -e "$work/end"; cat "$work/end"; }

agent "$stub" manual "$work/say"
$nl set limit=10000
# a new one for each: even the longest limit is soon over on a slow machine
still() {
	is "$1: it still waits" "$(field pending)" 1
	is "$1: the right one counts" "$(answer "$first" remote sender exit-42) $(end)" "accepted 42"
}
for wrong in 0 1 first+1 first-1 18446744073709551615; do
	waiting
	first=$(cookie)
	[[ $wrong != first* ]] || wrong=$((wrong))
	like "no verdict for $wrong" "$(answer "$wrong" remote sender exit-42)" "ENOENT: ehsched: nobody waits*"
	still "after $wrong"
done
like "once" "$(answer "$first" remote sender exit-42)" "ENOENT: ehsched: nobody waits*"

# an agent, but of another namespace
mkfifo "$work/say2"
: >"$out"
unshare --net $nl agent "$stub" manual "$work/say2" >"$out" 2>&1 &
other=$!
wait_for 20 file_has "$out" ^registered
waiting
first=$(cookie)
refused "none from another socket" EPERM "only the socket registered" "$nl" verdict "$first" remote sender exit-42
echo "$first remote sender exit-42" >"$work/say2"
wait_for 20 file_has "$out" ^answer
like "none from the agent of another namespace" "$(grep ^answer "$out")" "answer $first ENOENT: ehsched: nobody waits*"
still "after others' answers"
kill $other
wait $other 2>/dev/null
waiting
first=$(cookie)
like "none with a reason of the kernel's" "$(answer "$first" local time-out -)" "EINVAL: *only the kernel may give*"
like "none without a token" "$(answer "$first" remote sender -)" "EINVAL: *needs a token*"
still "after malformed ones"
for token in --retry --view @auto @0.1 /bin/sh =x; do
	waiting
	first=$(cookie)
	like "none with the token $token" "$(answer "$first" remote sender "$token")" "EINVAL: *begins with*"
	still "after the token $token"
done

# too late; and the number is never another's
$nl set limit=50
before=$(counter time-out)
$in -- true
is "a time-out" "$(($(counter time-out) - before))" 1
late=$(cookie)
$nl set limit=10000
waiting
like "a late verdict is nobody's" "$(answer "$late" remote sender exit-42)" "ENOENT: ehsched: nobody waits*"
is "the next exec has its own" "$(answer "$(cookie)" local no-receiver -) $(end)" "accepted 1"

# an agent that comes after another cannot answer its requests
waiting
old=$(cookie)
before=$(counter agent-gone)
agent_end
is "the wait ends with the agent" "$(end) $(($(counter agent-gone) - before))" "1 1"
agent "$stub" manual "$work/say"
waiting
like "the next agent cannot answer for it" "$(answer "$old" remote sender exit-42)" "ENOENT: ehsched: nobody waits*"
is "but for its own" "$(answer "$(cookie)" remote sender exit-43) $(end)" "accepted 43"
# nor when the module was loaded again between
newest=$(cookie)
agent_end
sitter_end $sitter
rmmod ehsched && insmod "$module" && node_reset
sitter $cg/m
agent "$stub" manual "$work/say"
$nl set limit=10000
waiting
holds "numbers go on when the module is loaded again ($newest, $(cookie))" "$(cookie) > newest"
answer "$(cookie)" local no-receiver - >"$out"
end >"$out"
agent_end

# a stopped agent: execs go on after the time limit; afterwards all its verdicts are too late
agent "$stub" remote sender exit-42
$nl set limit=50
kill -STOP $agent
before=$(counter time-out)
for _ in 1 2 3; do $in -- true; done
is "execs do not wait longer for a stopped agent" "$(($(counter time-out) - before)) $(field pending)" "3 0"
kill -CONT $agent
wait_for 20 eval '[ "$(grep -c "ENOENT: ehsched: nobody waits" "$log")" = 3 ]'
is "its verdicts are too late then" "$? $(grep -c accepted "$log")" "0 0"
$nl set limit=10000
is "it is the agent as before" "$($in -- true; echo $?)" 42
kill -STOP $agent
waiting
kill -KILL $agent
wait $agent 2>/dev/null
is "one that is killed while it is stopped lets them go" "$(end) $(field agent)" "1 "

# subscribers whose buffer is full hear that they have missed something, and look
$nl set threshold=1000 length=0 weight=999 dwell=0
becomes state receiver
: >"$out"
$nl watch narrow >"$out" 2>&1 &
watch=$!
wait_for 20 file_has "$out" ^watching
kill -STOP $watch
# shellcheck disable=SC2034	# read by eval
flips=0
# libnl's port: the process in its lower 22 bits
dropped() { awk -v p="$watch" '$3 % 4194304 == p && $9 > 0 { n++ } END { exit !n }' /proc/net/netlink; }
wait_for 60 eval '$nl set weight=$((999 + 2 * (++flips % 2))); dropped'
is "news are dropped when nobody reads them" $? 0
$nl set weight=1001
becomes state sender
kill -CONT $watch
wait_for 20 file_has "$out" ^overrun
is "the subscriber is told so" $? 0
wait_for 20 eval 'grep "^state" "$out" | tail -n 1 | grep -q sender'
is "and finds the state of now" $? 0
kill $watch
wait $watch 2>/dev/null
sitter_end $sitter
node_reset
at_zero "all counts are back at zero"
finish
