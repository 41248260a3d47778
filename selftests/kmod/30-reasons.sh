#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each kind of task that stays at home, with its reason; all on a sender node
# whose agent would send everything away.
. "$(dirname "$0")/lib.sh"

node_reset
counted not-sender "the node has no load" $probe in $cg/m -- true
sitter $cg/m
is "now it is a sender" "$(field state)" sender
counted no-agent "there is no agent" $probe in $cg/m -- true

agent "$stub" remote sender exit-42
in="$probe in $cg/m"
counted sender "an ordinary task is sent" $in -- true
is "the stub ran in its place" "$($in -- true; echo $?)" 42

cp /bin/true "$work/setuid"; chmod 4755 "$work/setuid"
counted setuid "set-user-id" $in -- "$work/setuid"
chmod 2755 "$work/setuid"
counted setuid "set-group-id" $in -- "$work/setuid"
chmod 2745 "$work/setuid"
counted sender "S_ISGID without group execution is something else" $in -- "$work/setuid"
cp /bin/true "$work/caps"; $probe caps "$work/caps"
counted file-caps "file capabilities" $in -- "$work/caps"
counted traced "traced" $in traced -- true
counted open-files "a descriptor of an event" $in event 3 -- true
counted open-files "a high one" $in event 1000 -- true
counted open-files "a socket that listens" $in listen 3 -- true
counted open-files "a namespace" $in -- true 9</proc/self/ns/net
counted open-files "a process" $in pidfd 3 -- true
if mkdir "$work/mq" && mount -t mqueue none "$work/mq" 2>/dev/null; then
	: >"$work/mq/queue"
	counted open-files "a message queue" $in -- true 9<"$work/mq/queue"
	counted open-files "one that has no name any more" eval '(exec 9<"$work/mq/queue"; rm "$work/mq/queue"; $in -- true)'
	umount "$work/mq"
else
	skip "a message queue" "this kernel has none"
fi
counted open-files "a file in memory that can be written" $in memory 3 0 -- true
counted sender "one that can be read only: its bytes are carried" $in memory 3 1 -- true
counted sender "/dev/null" $in open 3 0 -- true
counted sender "pipes and a socket" $in pipe 100 -- true
counted sender "a file" $in -- true 9<"$0"
many() { for i in $(seq 3 200); do eval "exec $i</dev/null"; done; "$@"; }
counted open-files "too many" eval '(many $in -- true)'
counted sender "a descriptor that is closed by exec" $in open 3 1 -- true
counted confined "a seccomp filter" $in seccomp -- true
counted namespace "another mount namespace" $in new mnt -- true
counted namespace "another pid namespace" $in new pid -- true
counted namespace "another user namespace" $in new user -- true
mkdir -p "$work/root" && mount --bind / "$work/root"
counted namespace "another root folder" $in root "$work/root" -- /bin/true
umount "$work/root"
counted redirect "a program known by its descriptor only" $in fexec file /bin/true
counted stub "the stub itself" $in -- "$stub" exit-0 x x
counted guest "a guest" $probe in $cg/g -- true
is "another cgroup is not looked at" \
	"$(before=$($nl get | grep '^n\.'); $probe in $cg/other -- true; diff <(echo "$before") <($nl get | grep '^n\.'))" ""

# an exec by a thread that is not the leader
counted sender "an exec by another thread" $in thread -- true

# a script is one arrival, its interpreter none
printf '#!/bin/sh\nexit 7\n' >"$work/script"; chmod +x "$work/script"
agent_end
agent "$stub" local excluded -
counted excluded "a script" $in -- "$work/script"
is "it ran here" "$($in -- "$work/script"; echo $?)" 7
is "the agent was asked for the script" "$(grep -c "path=$work/script " "$log")" 2
# an exec that fails leaves no wrong record; the next one is a new arrival
counted excluded "a failed exec and a good one" $in fail -- true
is "no record stays behind" "$(field local away pending)" "1 0 0"

# bypass
agent_end
agent "$stub" remote sender exit-42
mkfifo "$work/go"
sh -c "echo 0 >$cg/m/cgroup.procs; exec <$work/go; read x; exec true" &
pid=$!
wait_for 20 eval '[ "$(cat /proc/$pid/wchan)" != 0 ]'
is "a bypass is accepted" "$($nl bypass $pid; echo $?)" 0
bypass() { echo >"$work/go"; wait $pid; }
counted bypass "the next exec after a bypass" bypass
is "it ran here" "$(wait $pid; echo $?)" 0
agent_end

# the stub falls back: not asked again
agent "$stub" remote sender fallback
before=$(counter sender)
counted_twice() { $nl get | awk '$1 == "n.sender" || $1 == "n.placed" { print $2 }' | xargs; }
# shellcheck disable=SC2046	# two words
set -- $(counted_twice)
is "a fallback runs the program here" "$($in -- sh -c 'exit 9'; echo $?)" 9
is "it is counted as placed" "$(counted_twice)" "$(($1 + 1)) $(($2 + 1))"
# and all later execs of that task too
# shellcheck disable=SC2046	# two words
set -- $(counted_twice)
$in -- sh -c 'exec sh -c "exec true"'
is "no later exec of the task is asked about" "$(counted_twice)" "$(($1 + 3)) $(($2 + 1))"
agent_end

# the stub's file vanished, or is another one by now
cp "$stub" "$work/stub2"
agent "$work/stub2" remote sender exit-42
rm "$work/stub2"
$in -- false; is "a stub whose file was removed is still the one that was registered" $? 42
printf '#!/bin/sh\nexit 99\n' >"$work/stub2"; chmod 755 "$work/stub2"
$in -- false; is "and no other file of its name" $? 42
agent_end
cp "$stub" "$work/stub3"
agent "$work/stub3" remote sender exit-42
chmod 644 "$work/stub3"
counted redirect "a stub that may not be executed any more" $in -- true
dmesg | grep -q "ehsched: cannot use the stub $work/stub3: error -13"
ok "and the kernel's log says so" 'dmesg | tail -n 3'
is "the program runs here with its own arguments" "$($in -- sh -c 'echo "$0 $1"' zero one)" "zero one"
chmod 700 "$work/stub3"
counted redirect "a stub that the user may not execute" $in user 65534 -- true
agent_end
cp /etc/passwd "$work/stub4"; chmod 755 "$work/stub4"
agent "$work/stub4" remote sender exit-42
counted redirect "a stub that is no program" $in -- true
agent_end
mkdir "$work/noexec"; mount -t tmpfs -o noexec none "$work/noexec"; cp "$stub" "$work/noexec/stub"
agent "$work/noexec/stub" remote sender exit-42
counted redirect "a stub on a file system without programs" $in -- true
agent_end
umount "$work/noexec"

# the reasons of tasks that live
sleep_in() { "$@" & task=$!; wait_for 20 eval '$nl tasks | grep -q "pid=$task .*$word"'; }
agent "$stub" remote sender sleep
word=away sleep_in $in -- sleep infinity
like "an away task is listed" "$($nl tasks | grep "pid=$task ")" "* uid=0 away sender sleep cgroup=$(stat -c %i $cg/m) age=*"
is "its id is the cookie" "$($nl tasks | awk -v p="pid=$task" '$2 == p { print $1 }')" \
	"$(awk '/^request/ { print $2; exit }' "$log")"
is "its name is the program's" "$(cat /proc/$task/comm)" sleep
is "it is counted away, and is no load" "$(field away local load)" "1 1 1000"
kill $task; wait $task 2>/dev/null
becomes away 0
is "and its end is seen" $? 0
word=guest sleep_in $probe in $cg/g -- sleep infinity
like "a guest is listed" "$($nl tasks | grep "pid=$task ")" "* guest guest sleep *"
is "it is counted as guest, and is load" "$(field guest load)" "1 2000"
kill $task; wait $task 2>/dev/null
agent_end
sitter_end $sitter
is "all counts are back at zero" "$(field local guest away pending load) $($nl tasks)" "0 0 0 0 0 "
finish
