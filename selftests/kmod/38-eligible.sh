#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The agent asks whether a process may leave: each reason of the task that its exec would stay for, and what cannot be seen.
. "$(dirname "$0")/lib.sh"

# The node has no task, so it is no sender and all programs run here.
node_reset
"$nl" set no-new-privs=0
counts=$("$nl" counts)

# begin VERB…: a process in this condition; its pid in $task
begin() {
	: >"$work/settled"
	chmod 666 "$work/settled"
	"$probe" "$@" settled "$work/settled" 2>"$out" &
	job=$!
	wait_for 20 settled_or_ended || bail_out "no process: $* ($(cat "$out"))"
	task=$(cat "$work/settled")
	[ "$task" ] || bail_out "no process: $* ($(cat "$out"))"
}
settled_or_ended() { [ -s "$work/settled" ] || ended $job; }
end() {
	kill -KILL "$task" $job 2>/dev/null
	wait $job 2>/dev/null
}
# asked PID: by an agent that has no rights but its socket; the first word of what is said
asked() { local line; line=$("$nl" as nobody "$stub" eligible "$@" 2>&1); echo "${line%% *}"; }
# says REASON NAME VERB…
says() {
	local reason=$1 name=$2
	shift 2
	begin "$@"
	is "$name: $reason" "$(asked "$task")" "$reason"
	end
}
# no FAULT TEXT NAME PID: no answer, so it may not leave
no() { refused "$3: $1" "$1" "$2" "$nl" as nobody "$stub" eligible "$4"; }

# the answer
begin open 5 1
like "an ordinary process may leave" "$("$nl" as nobody "$stub" eligible "$task")" "none pid=$task started=*"
started=$("$nl" as nobody "$stub" eligible "$task" | sed 's/.*started=//')
is "its start time is that of /proc" $((started / 10000000)) "$(awk '{ print $22 }' "/proc/$task/stat")"
# shellcheck disable=SC2016	# of the inner shell
read -r shifted ticks < <(unshare --time --boottime 1000 --fork bash -c \
	'echo $(("$("$0" as nobody "$1" eligible "$2" | sed "s/.*started=//")" / 10000000)) $(awk "{ print \$22 }" "/proc/$2/stat")' \
	"$nl" "$stub" "$task")
is "for an agent in a time namespace, too" "$shifted $((shifted - started / 10000000))" "$ticks 100000"
end

# what is open, seen and confined: the same as for an exec
says traced "a process that is traced" traced
says open-files "a descriptor of an event" event 5
says open-files "a descriptor of a namespace" open 5 0 9</proc/self/ns/net
says none "a descriptor that exec closes" open 5 1
says none "pipes and a socket" pipe 100
is "the init process: init" "$(asked 1)" init
for kind in mnt pid user uts ipc cgroup pid-children; do
	says namespace "another $kind namespace" new $kind
done
says namespace "a child in another time namespace" new time fork
says none "a child" fork
mkdir -p "$work/root" && mount --bind / "$work/root"
says namespace "another root directory" root "$work/root"
umount -l "$work/root"
says confined "a seccomp filter" seccomp
if "$probe" mdwe 2>/dev/null; then
	says confined "memory that never becomes executable" mdwe
else
	skip "memory that never becomes executable" "this kernel has no PR_SET_MDWE"
fi
says no-new-privs "no_new_privs" nnp
says no-new-privs "a thread with no_new_privs beside the leader" aside
"$nl" set no-new-privs=1
if [ "$("$probe" landlock-abi)" -ge 4 ]; then
	says no-new-privs "no_new_privs, where Landlock has rules for the network" nnp
else
	says none "no_new_privs, where that may go" nnp
	says landlock "Landlock and no_new_privs" nnp landlock
fi
"$nl" set no-new-privs=0
says secureexec "another real user" ids 65534 0
says secureexec "another effective user" ids 0 65534
says none "a user who is nothing else" user 65534
says secureexec "another real group" gids 65534 0
says secureexec "another user for files" fsuid 65534
says capabilities "a bounding set with less than the agent's" bounding 16
says capabilities "root that has given up a capability" permitted
says none "root that does not use a capability now" effective
says capabilities "a user with an ambient capability" ambient
says capabilities "securebits" securebits
mountpoint -q /sys/kernel/security || mount -t securityfs securityfs /sys/kernel/security
if [ -e /sys/kernel/security/apparmor/.load ]; then
	grep -q '^ehs-test ' /sys/kernel/security/apparmor/profiles || "$probe" apparmor-load ehs-test
	says lsm "a process under a profile of AppArmor" apparmor ehs-test
	says none "one that changes to it with the next exec only" apparmor-exec ehs-test
else
	fail "AppArmor" "not in this kernel: $(cat /sys/kernel/security/lsm)"
fi
says landlock "Landlock of root, without no_new_privs" landlock
"$probe" bpf device 1 $cg/m
says cgroup-bpf "a BPF program of its cgroup" in $cg/m
says none "a process in another cgroup" in $cg/other
"$probe" unbpf device $cg/m
says none "no BPF program of its cgroup any more" in $cg/m
mkdir "$work/v1"
if mount -t cgroup -o net_prio none "$work/v1"; then
	mkdir "$work/v1/own"
	says confined "a cgroup of version 1" in "$work/v1/own"
	says none "the root cgroup of version 1" in "$work/v1"
	rmdir "$work/v1/own"
	umount "$work/v1"
else
	skip "a cgroup of version 1" "not in this kernel"
fi

# what is no process of the node, or cannot be seen
refused "no pid" EINVAL "pid is missing" "$nl" as nobody "$stub" eligible
no ESRCH "no such task" "a pid of nobody" 4194303
no EINVAL "a kernel thread" "a kernel thread" 2
begin new net
no ESRCH "no such process in this network namespace" "a process in another network namespace" "$task"
end
# shellcheck disable=SC2016	# of the inner shell
mkfifo "$work/end"
bash -c 'read <"$1" & echo $! >"$0"; exec sleep infinity' "$work/zombie" "$work/end" & job=$!
wait_for 20 eval '[ "$(cat /proc/$job/comm)" = sleep ]'
# nobody waits for its child now
echo >"$work/end"
wait_for 20 grep -q "^State:	Z" "/proc/$(cat "$work/zombie")/status"
no ESRCH "no such process in this network namespace" "a process that has ended" "$(cat "$work/zombie")"
kill $job
: >"$out"
"$probe" sleepers 8 >"$out" & job=$!
wait_for 20 file_has "$out" asleep
is "a process with some threads" "$(asked $job)" none
no ESRCH "no such process" "another thread of it" "$(find /proc/$job/task -mindepth 1 -maxdepth 1 -not -name $job -printf '%f\n' | head -n 1)"
kill $job
: >"$out"
"$probe" sleepers 40 >"$out" & job=$!
wait_for 20 file_has "$out" asleep
no E2BIG "more threads" "a process with many threads" $job
kill $job
wait
is "no exec was counted for any of it" "$("$nl" counts "$counts")" ""

# A process whose exec does not end, because the file system of the program does not answer, holds what an exec holds.
if modprobe fuse && [ -e /dev/fuse ]; then
	mkdir "$work/fuse"
	"$built/silent-fuse" "$work/fuse" "$(type -P sh)" -c "echo >$work/silent; exec sleep infinity" &
	fuse=$!
	wait_for 20 test -s "$work/silent" || bail_out "no FUSE"
	"$work/fuse/stub" & job=$!
	wait_for 20 eval '[ "$(cut -d" " -f1 /proc/$job/syscall)" = 59 ]'
	timeout $((30 * slow)) "$nl" as nobody "$stub" eligible $job >"$out" 2>&1
	is "one whose exec hangs is answered for" "$? $(cut -d' ' -f1 "$out")" "0 none"
	kill $fuse
	wait $fuse $job 2>/dev/null
	umount -l "$work/fuse" 2>/dev/null
else
	skip "one whose exec hangs is answered for" "this kernel has no FUSE"
fi

# Processes that begin, call exec and end while they are asked about: an answer or a refusal for each, and the kernel lives.
storm_begin 4 -- "$probe" threads 4 -- true
for _ in $(seq "$(many 3 30)"); do
	last=$(cut -d' ' -f5 /proc/loadavg)
	# shellcheck disable=SC2046	# words
	"$nl" as nobody "$stub" eligible $(seq $((last - 50)) $((last + 200))) >"$out" 2>&1
	is "an answer or a refusal for each of 251 pids" "$(grep -cE '^([a-z-]+ pid=|[0-9]+ E)' "$out")" 251
done
storm_end "and none of them failed"
at_zero "all counts are back at zero"
finish
