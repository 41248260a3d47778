#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An agent's socket that others hold when its first process has died, and agents that take the place of others: no exec that
# waits is lost.
. "$(dirname "$0")/lib.sh"

node_reset
sitter $cg/m
$nl set limit=10000
in="$probe in $cg/m"
for to in a b; do mkfifo -m 666 "$work/$to"; done
log_a=$work/a.log log_b=$work/b.log
cookie() { awk '/^request/ { c = $2 } END { print c }' "$1"; }
asked() { grep -c '^request' "$1"; }
asks() { [ "$(asked "$1")" -ge "$2" ]; }
# answer LOG FIFO COOKIE VERDICT REASON TOKEN: by one of the agents; prints what the kernel said
answer() {
	local n to=$1
	n=$(grep -c ^answer "$to")
	echo "${@:3}" >"$2"
	wait_for 20 eval "[ \$(grep -c ^answer $to) -gt $n ]"
	grep ^answer "$to" | tail -n 1 | cut -d ' ' -f 3-
}
# waiting NAME: an exec that waits; end NAME: how it ended
waiting() {
	local n
	n=$(field pending)
	{ $in -- false; echo $? >"$work/end.$1.new"; mv "$work/end.$1.new" "$work/end.$1"; } &
	wait_for 20 field_is pending $((n + 1))
}
end() { wait_for 30 test -e "$work/end.$1"; cat "$work/end.$1"; rm -f "$work/end.$1"; }
# begin LOG COMMAND…: an agent; its pid in $begun
begin() {
	local to=$1
	shift
	: >"$to"
	"$@" >"$to" 2>&1 &
	begun=$!
	wait_for 20 file_has "$to" '^registered' || bail_out "no agent: $(cat "$to")"
}
finish_agent() { kill -KILL "$1" 2>/dev/null; wait "$1" 2>/dev/null; }

# The process that registered dies; an ordinary user has its socket.
begin "$log_a" "$nl" as heir "$stub" serve manual "$work/a"
heir=$begun first=$(awk '/^first/ { print $2 }' "$log_a") port=$(field agent)
gone=$(counter agent-gone)
waiting 1
wait_for 20 asks "$log_a" 1
is "the exec waits for who registered" "$(field pending)" 1
kill -KILL "$first"
is "the other holder answers for it" "$(answer "$log_a" "$work/a" "$(cookie "$log_a")" remote sender exit-42) $(end 1)" "accepted 42"
is "the agent is the same socket" "$(field agent)" "$port"
waiting 2
wait_for 20 asks "$log_a" 2
is "later execs are asked for, too" "$(asked "$log_a")" 2
is "and answered" "$(answer "$log_a" "$work/a" "$(cookie "$log_a")" remote sender exit-43) $(end 2)" "accepted 43"
counted namespace "one that sees something else than who registered stays" $in new uts -- true
is "none was lost" "$(counter agent-gone)" "$gone"
waiting 3
finish_agent $heir
is "it ends with the last holder, and the exec goes on" "$(end 3) $(field agent) $(($(counter agent-gone) - gone))" "1  1"

# Another agent takes the place of one that is there. An exec for each step: even the longest limit is soon over on a slow machine.
begin "$log_a" "$nl" agent "$stub" manual "$work/a"
a=$begun
gone=$(counter agent-gone)
waiting 1
refused "nobody without rights takes its place" EPERM "" setpriv --reuid=65534 --regid=65534 --clear-groups "$nl" register "$stub"
is "it goes on waiting for the first" "$(field pending) $(field agent)" "1 $(awk '/^registered/ { print $2 }' "$log_a")"
is "which answers" "$(answer "$log_a" "$work/a" "$(cookie "$log_a")" remote sender exit-41) $(end 1)" "accepted 41"
cp "$stub" "$work/stub2"
waiting 1
wait_for 20 asks "$log_a" 2
log_mark
begin "$log_b" "$nl" agent "$work/stub2" manual "$work/b"
b=$begun
wait_for 20 asks "$log_b" 1
wait_for 20 eval 'logged | grep -q "^ehsched: agent of port .* replaced by port $(field agent), process $b\$"'
ok "the kernel's log says by whom" 'logged; field agent; echo $b'
is "the new one is asked, and its verdict counts" "$(answer "$log_b" "$work/b" "$(cookie "$log_a")" remote sender exit-44) $(end 1)" "accepted 44"
is "once, as of the same task" "$(grep ^request "$log_b" | sed 's/ limit=.*//')" "$(grep ^request "$log_a" | tail -n 1 | sed 's/ limit=.*//')"
left=$(grep -o 'limit=[0-9]*' "$log_b" | cut -d= -f2)
holds "with the rest of its time ($left ms)" "left > 0 && left < 10000"
like "a second verdict is nobody's" "$(answer "$log_b" "$work/b" "$(cookie "$log_b")" remote sender exit-44)" "ENOENT: *nobody waits*"
is "the new one is the agent" "$(field agent)" "$(awk '/^registered/ { print $2 }' "$log_b")"
finish_agent $a
is "and the end of the old one changes nothing" "$(field agent)" "$(awk '/^registered/ { print $2 }' "$log_b")"

# and back; then what the old one says while an exec waits for the new one
waiting 1
wait_for 20 asks "$log_b" 2
begin "$log_a" "$nl" agent "$stub" manual "$work/a"
a=$begun
is "it is handed back" "$(answer "$log_a" "$work/a" "$(cookie "$log_b")" remote sender exit-45) $(end 1)" "accepted 45"
waiting 1
wait_for 20 asks "$log_a" 2
c=$(cookie "$log_a")
like "a verdict of the old one is refused" "$(answer "$log_b" "$work/b" "$c" remote sender exit-42)" "EPERM: *only the socket registered*"
is "that of the new one counts" "$(answer "$log_a" "$work/a" "$c" remote sender exit-46) $(end 1)" "accepted 46"
finish_agent $b
is "none was lost" "$(counter agent-gone)" "$gone"
begin "$log_b" "$nl" agent "$work/stub2" manual "$work/b"
b=$begun
finish_agent $a
$in -- true >"$out" & pid=$!
wait_for 20 asks "$log_b" 1
is "its stub is put in place" "$(answer "$log_b" "$work/b" "$(cookie "$log_b")" remote sender print) $(wait $pid; cat "$out")" \
	"accepted <$work/stub2><print><$(type -P true)><true>"

# One that waits is handed over again and again, and its time does not grow.
# the longest limit: a slow machine needs a while for two agents
before=$(counter time-out)
waiting 1
wait_for 20 asks "$log_b" 2
last=10000 shrinks=0
for _ in 1 2; do
	begin "$log_a" "$nl" agent "$stub" silent
	finish_agent $b
	b=$begun
	wait_for 20 asks "$log_a" 1
	left=$(grep -o 'limit=[0-9]*' "$log_a" | cut -d= -f2)
	((left < last && left > 0)) && shrinks=$((shrinks + 1))
	last=$left
done
is "each time it has less left" "$shrinks" 2
is "then it runs here" "$(end 1) $(($(counter time-out) - before)) $(field pending)" "1 1 0"
$nl set limit=10000

# The new one may see another system: then the exec stays.
before=$(counter namespace) n=$(asked "$log_a")
waiting 1
wait_for 20 asks "$log_a" $((n + 1))
begin "$log_b" unshare --mount "$nl" agent "$stub" silent
is "an exec that the new one may not place runs here" "$(end 1) $(($(counter namespace) - before)) $(asked "$log_b")" "1 1 0"
finish_agent $b
b=$begun

# One that is killed between two agents, and one whose new agent goes before the exec could ask.
begin "$log_a" "$nl" agent "$stub" silent
finish_agent $b
a=$begun
$in -- true & pid=$!
wait_for 20 asks "$log_a" 1
begin "$log_b" "$nl" agent "$stub" silent
b=$begun
kill -KILL $pid
wait $pid 2>/dev/null
is "one that was handed over can be killed" "$? $(field pending)" "137 0"
finish_agent $a
finish_agent $b

# An agent that comes again and again, and asks for no time between: the exec has its time, and ends while the agent still
# comes. How long after it, a guest that has to wait for its host cannot say. It can be killed.
touch "$work/again"
before=$(counter time-out)
$nl set limit=2000
begin "$log_b" "$nl" again "$stub" "$work/again"
b=$begun
at=$(date +%s%N)
{ $in -- true; date +%s%N >"$work/over.new"; mv "$work/over.new" "$work/over"; } &
pid=$!
wait_for 60 test -e "$work/over" || bail_out "one that is handed over without end has no end"
took=$((($(cat "$work/over") - at) / 1000000))
wait $pid
holds "one that is handed over without end has its time: $took ms" "took >= 2000"
is "and it is over" $(($(counter time-out) - before)) 1
kill -0 $b
is "while the agent still comes" $? 0
$nl set limit=10000
$in -- true & pid=$!
wait_for 20 field_is pending 1
kill -KILL $pid
wait $pid 2>/dev/null
is "one that is killed meanwhile is gone" "$? $(field pending)" "137 0"

# Agents that come faster than an exec can ask one, as it takes long to find its program.
if modprobe fuse && [ -e /dev/fuse ]; then
	mkdir "$work/slow"
	"$built/silent-fuse" slow "$(type -P true)" "$work/slow" &
	fuse=$!
	wait_for 20 test -L "$work/slow/stub" || bail_out "no FUSE"
	before=$(counter time-out)
	$nl set limit=500
	$in -- "$work/slow/stub" &
	wait_for 60 ended $! || bail_out "one that cannot ask any agent has no end"
	is "one that cannot ask any agent has an end, too" $(($(counter time-out) - before)) 1
	$nl set limit=10000
	$in -- "$work/slow/stub" &
	pid=$!
	listed_as "* pid=$pid * pending *"
	kill -KILL $pid
	wait_for 60 ended $pid
	is "and can be killed" $? 0
else
	skip "one that cannot ask any agent has an end, too" "this kernel has no FUSE"
	skip "and can be killed" "this kernel has no FUSE"
fi
rm "$work/again"
wait $b
holds "$(tail -n 1 "$log_b")" "$(tail -n 1 "$log_b" | cut -d' ' -f1) > 100"
[ -z "${fuse:-}" ] || { kill $fuse; wait $fuse; umount "$work/slow"; }

# Many at once, while agents come one after another: each exec is placed.
begin "$log_a" "$nl" agent "$stub" remote sender exit-0
a=$begun
gone=$(counter agent-gone) none=$(counter no-agent) before=$(counter sender)
storm_begin 4 -- $in -- false
n=$(many 15 100)
for _ in $(seq "$n"); do
	# one that never answers between two that do, so that there are always some to hand over
	begin "$log_b" "$nl" agent "$stub" silent
	b=$begun
	wait_for 20 asks "$log_b" 1
	finish_agent $a
	begin "$log_a" "$nl" agent "$stub" remote sender exit-0
	a=$begun
	finish_agent $b
done
storm_end "each of many execs was placed, while $((2 * n)) agents came and went"
is "none was lost" "$(counter agent-gone) $(counter no-agent)" "$gone $none"
holds "and there were some" "$(counter sender) - before >= n"
finish_agent $a
wait_for 20 field_is agent ''
sitter_end $sitter
at_zero "all counts are back at zero"
finish
