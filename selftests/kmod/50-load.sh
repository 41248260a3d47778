#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sampled load, in a node of its own, as this shell computes too.
. "$(dirname "$0")/lib.sh"
. "$here/samples.sh"

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
# What a task had in the load goes with it: not only what is left of its start, but what samples have seen.
computes='end=$((${EPOCHREALTIME/./} + 600000)); while ((${EPOCHREALTIME/./} < end)); do :; done'
# after COMMAND…: the median load, of 9, that the exec meets which comes next when the command has ended
after() {
	echo >$traces/trace
	for _ in {1..9}; do $there $probe in $cg/m -- sh -c '"$@"; /bin/true' sh "$@"; done
	sed -n 's/.* ehs_arrival: .* load=\([0-9]*\) .* path=\/bin\/true$/\1/p' $traces/trace | sort -n | sed -n 5p
}
echo 1 >$traces/events/ehsched/ehs_arrival/enable
got=$(after bash -c "$computes")
holds "a task that has computed all the time is no load when it has ended ($got)" "got < 300"
: >"$out"
$there $probe busy 1 >"$out" &
busy=$!
wait_for 20 file_has "$out" busy
got=$(after sleep 0.6)
holds "one that slept takes nothing of another one's load along ($got)" "got > 700"
got=$(after bash -c "$computes")
holds "nor does one that shared the processor with it ($got)" "got > 700 && got < 1500"
echo 0 >$traces/events/ehsched/ehs_arrival/enable
kill $busy
wait $busy 2>/dev/null
# What of a whole task an exit takes along, in 1/1024, is known of the thread that called exec only.
kprobes=$traces/kprobe_events
if [ -e $kprobes ]; then
	echo 'p:ehs_part ehsched:ehs_load_unboost part=$arg3:u32' >$kprobes
	echo 1 >$traces/events/kprobes/ehs_part/enable
fi
echo no format >"$work/failing" && chmod 755 "$work/failing"
threads='import ctypes, os, sys, threading, time
def fail():
    while 2 * time.thread_time() < time.process_time() + 0.4:
        pass
    try:
        os.execv(sys.argv[1], sys.argv[1:])
    except OSError:
        pass
def leave():
    ctypes.CDLL(None).unshare(0x40000000)  # CLONE_NEWNET
    os.execv("/bin/true", ["true"])
def compute():
    os.execv("/bin/bash", ["bash", "-c", sys.argv[2]])
def another(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
'
# takes NAME CALLS EXPRESSION: of $got, the part of a process that makes these calls
takes() {
	echo >$traces/trace
	$there $probe in $cg/m -- python3 -c "$threads$2" "$work/failing" "$computes"
	[ -e $kprobes ] || { skip "$1" "the kernel has no kprobes"; return; }
	got=$(sed -n 's/.* ehs_part: .* part=//p' $traces/trace)
	holds "$1 (${got:=-1})" "$3"
}
takes "one whose other thread has computed, and called exec in vain, takes nothing along" "another(fail)" "got == 0"
takes "nor does one whose other thread has become a program of another network namespace" "fail(); another(leave)" "got == 0"
takes "one whose other thread has become a program that computes takes that along" "another(compute)" "got > 500"
if [ -e $kprobes ]; then
	echo 0 >$traces/events/kprobes/ehs_part/enable
	echo >$kprobes
fi
: >"$out"
$probe busy 3 >"$out" &
busy=$!
wait_for 20 file_has "$out" busy
got=$($there $nl load 3000 2)
is "computing tasks of another network namespace are not ours ($got)" $? 1

kill $busy
wait $busy 2>/dev/null
# A group of its own (a cgroup, or a session) has its whole part of the processors: within it these have less, and are load.
: >"$out"
$there setsid chrt --idle 0 $probe busy 4 >"$out" &
busy=$!
wait_for 20 file_has "$out" busy
got=$($there $nl load 4000 $((20 * slow)))
is "4 computing tasks of SCHED_IDLE are load 4 ($got)" $? 0
kill $busy
wait $busy 2>/dev/null

# The host's node stands for the host: any user can make a namespace, and what computes there uses its processors, too.
$nl set managed=$cg/m
: >"$out"
setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --net $probe busy 3 >"$out" &
busy=$!
wait_for 20 file_has "$out" busy
got=$($nl load 3000 $((20 * slow)))
is "computing tasks of a namespace that a user made are the host's ($got)" $? 0
holds "its load is shown with its age" "$(field load-age) < 20000 * slow"
# nobody asks: it is not sampled any more. What is shown first after that is old, and said to be; unless the sample that the
# reader causes came first, which sees the reader only.
$nl set clear
$there $nl set clear
not_sampled() { local t=$traces/trace; echo >$t; read -rt 1 <>/dev/ptmx; ! grep -q ehs_sample: $t; }
samples_begin
wait_for 60 not_sampled
is "a node that nobody asks for is not sampled" $? 0
samples_end
kill $busy
wait $busy 2>/dev/null
read -r load age < <(field load load-age)
holds "a load of before is shown as old ($load, $age ms)" "load < 2000 || age >= 500"
got=$($nl load 0 $((20 * slow)))
is "and followed from then on ($got)" $? 0

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
is "index tasks: exact at once, without an age" "$(field load load-age)" "0 "
kill $home
finish
