#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whose files a task sees that is away: the executor's, home's, or home's when they differ. /usr is each
# node's own here (view-own), so that programs need not be read over an emulated network.
. "$(dirname "$0")/lib.sh"

as_eha() { setpriv --reuid 2001 --regid 2001 --clear-groups "$@"; }
there() { as_eha ehctl exec --view "$1" 0.1 -- /bin/sh -c "$2"; }
placed() { ehctl status --json | python3 -c 'import json, sys; print(sum(p["tasks"] for p in json.load(sys.stdin)["placed"]))'; }
mounted() { [ "$(grep -c " mounted the files of user 2001 of node 0.0" "$share/.agent/n1.log")" = "$1" ]; }
# What would be left on node 1: a view, a process of one, a process that nothing ends.
left_over() {
	on 1 sh -c 'grep -l " ehsched " /proc/[0-9]*/mountinfo; cat /sys/fs/cgroup/node1/guest/*/cgroup.procs
		ps -C ehview -o stat= | grep -v Z; grep -l "^State:.D" /proc/[0-9]*/status' 2>/dev/null
}
nothing_left() { [ -z "$(left_over)" ]; }
agents_up() { [ "$(status_of 0.1 agent)" = up ] && [ "$(status_of 0.2 agent)" = up ]; }

share=$PWD view=/srv/view
mkdir -p $view/sub $view/small
mount -t tmpfs -o size=64k small $view/small
chmod 777 $view $view/sub $view/small
echo one >$view/file
echo secret >/srv/secret
chmod 600 /srv/secret
cd $view || exit 1

there shared 'cat file' >"$share/got" 2>&1
[ $? -eq 1 ] && grep -q files-differ "$share/got"
ok "shared: a directory that only home has is refused" 'cat "$share/got"'
[ "$(there home 'hostname; pwd; cat file /srv/view/file')" = $'n1\n/srv/view\none\none' ]
ok "home: the task sees home's file at its path" 'there home "hostname; pwd; cat file; mount"'
echo two >file
[ "$(there home 'cat file')" = two ]
ok "what home changes is seen by the next open" 'there home "cat file"'
there home 'umask 027; echo three >new; mkdir dir; ln -s file link; ln new hard; mv new sub/moved; chmod 604 hard' &&
	[ "$(cat sub/moved)" = three ] && [ "$(stat -c '%U %a %h' sub/moved)" = "eha 604 2" ] &&
	[ "$(stat -c '%U %a' dir)" = "eha 750" ] && [ "$(readlink link)" = file ]
ok "what the task does arrives, with its owner and modes" 'ls -la . sub'
# A task that runs on, what home does meanwhile, and the other way round.
go=$(mktemp -u) && mkfifo "$go"
there home 'cat file; ls later gone; echo ready >ready; read -r go; cat file later; cat gone; stat -c %s file; ls sub' \
	<"$go" >"$share/got" 2>/dev/null &
exec 7>"$go"
echo here >gone
wait_for 20 test -s ready
echo three and more >file
echo later >later
mv gone sub/went
mv sub/moved moved
echo >&7
exec 7>&-
wait $!
[ "$(cat "$share/got")" = $'two\ngone\nthree and more\nlater\n15\nwent' ]
ok "a task that runs sees what home has written, made and moved before it tells it" 'cat "$share/got"'
mv moved sub/moved
echo two >file
there home 'echo a >>log; exec 5<>open; rm open; echo b >&5; ln log log2; echo c >>log2; echo d >was; mv was log; cat log log2 /dev/fd/5 && stat -c %h log2 && mkfifo fifo' >"$share/got" 2>&1
[ "$(cat "$share/got")" = $'d\na\nc\nb\n1' ] && [ -p fifo ] && [ "$(cat log log2)" = $'d\na\nc' ] && [ ! -e open ]
ok "appended, linked, replaced and unlinked open files are as at home" 'cat "$share/got"; ls -la'
there home 'for i in 1 2 3 4 5 6 7 8; do mkdir -p tree/$i/x && echo $i >tree/$i/x/f || exit; done; mv tree wood; cat wood/*/x/f | wc -l' >"$share/got" 2>&1
[ "$(cat "$share/got")" = 8 ] && mv wood/3 wood/9 && [ "$(there home 'ls wood; cat wood/9/x/f; rm -r wood; ls -d wood 2>/dev/null')" = $'1\n2\n4\n5\n6\n7\n8\n9\n3' ] && [ ! -e wood ]
ok "trees that are made, renamed on both sides and removed" 'cat "$share/got"; ls -R wood'
there home 'umask 0; dd if=/dev/zero of=small/file bs=4k count=64' >"$share/got" 2>&1
[ $? -eq 1 ] && grep -q "No space" "$share/got" && rm small/file
ok "a full file system is told" 'cat "$share/got"; ls -la small'
flock -F file sleep 1000 &
wait_for 20 sh -c '! flock -n file true'
there home 'flock -n file true' 2>/dev/null
[ $? -eq 1 ] && kill $! && there home 'timeout 100 flock file true'
ok "a lock of home's holds there, and its end is noticed"
there home 'cat /srv/secret' >"$share/got" 2>&1
[ $? -ne 0 ] && ! grep -q '^secret$' "$share/got"
ok "home serves it with the user's rights only" 'cat "$share/got"'
[ "$(there home '[ -e /proc/self ] && [ -c /dev/null ] && cat /proc/sys/kernel/hostname')" = n1 ]
ok "processes and devices are the executor's"
[ "$(there auto 'cat file')" = two ]
ok "auto: home's, as the directory is not there" 'there auto "cat file"'
mounted 1
ok "all of them shared one mount" 'cat "$share/.agent/n1.log"'
[ "$(cd /usr/share && there auto 'hostname; ls -d /srv/view')" = "n1
/srv/view" ]
ok "auto: home's, though the directory is alike there" '(cd /usr/share && there auto "hostname; ls -d /srv/view")'
on 1 sh -c '! grep -q " ehsched " /proc/[0-9]*/mountinfo'
ok "the mount is in no namespace but its tasks'"
as_eha ehctl exec --view other 0.1 -- true 2>/dev/null
[ $? -eq 2 ]
ok "another word is wrong usage"

# A build: make and the sources are here, compilers leave.
overload
mkdir build && chown 2001 build && cd build || exit 1
for i in 1 2 3 4; do printf '#include "all.h"\nint f%d(void) { return %d; }\n' $i $i; done | split -l 2 --additional-suffix=.c - f
printf 'int f1(void), f2(void), f3(void), f4(void);\n' >all.h
printf '#include <stdio.h>\n#include "all.h"\nint main(void) { printf("%%d\\n", f1() + f2() + f3() + f4()); }\n' >main.c
printf 'O := $(patsubst %%.c,%%.o,$(wildcard *.c))\nprog: $O\n\tgcc -o $@ $^\n%%.o: %%.c all.h\n\tgcc -c -o $@ $<\n' >Makefile
before=$(placed)
as_eha ehctl run --view home -- make -j2 >"$share/got" 2>&1 && [ "$(./prog)" = 10 ]
ok "a build in a session with --view home is right" 'cat "$share/got"; ls -la'
[ "$(placed)" -gt "$before" ]
ok "and its compilers were away"
[ -z "$(as_eha ehctl run --view home -- make -q 2>&1)" ]
ok "make finds nothing to do after it"
cd $view || exit 1
relax

# Home goes away in the middle of a write.
set_limit 120000
writer='while [ ! -e "$0.stop" ]; do dd if=/dev/zero of=big bs=64k count=16 conv=fsync 2>/dev/null; echo >>"$0"; done'
writes() { rm -f big ticks ticks.stop; as_eha ehctl exec --view home 0.1 -- /bin/sh -c "$writer" /srv/view/ticks 2>"$share/err" & wait_for 30 test -s ticks; }
writes
ok "a task there writes" 'cat "$share/err"'
cut_off() { [ "$(status_of 0.1 agent)" != up ]; }
ticks() { stat -c %s /srv/view/ticks; }
more_ticks() { [ "$(ticks)" -gt "$1" ]; }
on 0 ip link set eth0 down
wait_for 30 cut_off
cut=$?
on 0 ip link set eth0 up
[ $cut = 0 ] && wait_for 30 agents_up && wait_for 30 more_ticks "$(ticks)"
ok "the network is cut for a while: the task goes on writing" 'left_over; cat "$share/err"'
on 1 kill -KILL "$(on 1 cat /run/ehsched/node1/pid)"
on 0 kill -KILL "$(on 0 cat /run/ehsched/node0/pid)"
agent-start 0
on 1 agent-start 1
wait_for 30 agents_up && wait_for 30 more_ticks "$(ticks)"
ok "both agents are killed and come back: it goes on writing" 'left_over; cat "$share/err"; tail -n 25 "$share/.agent/n0.log" "$share/.agent/n1.log"; on 1 ps -ef; on 1 dmesg | tail'
touch ticks.stop
wait $!
ok "and it ends well" 'cat "$share/err"'
set_limit 3000
writes
on 0 ip link set eth0 down
wait_for 30 nothing_left
ok "the network is cut for longer than job-limit: nothing of it is left" 'left_over'
on 0 ip link set eth0 up
wait
wait_for 30 agents_up
ok "the nodes are together again"
writes
on 0 kill -KILL "$(on 0 cat /run/ehsched/node0/pid)"
wait_for 30 nothing_left
ok "home's agent is killed, for longer than that: nothing of it is left" 'left_over'
no_server() { [ -z "$(ps -C ehfiles -o stat= | grep -v Z)" ]; }
wait_for 20 no_server
ok "and its server ended with it" 'ps -C ehfiles -o pid,ppid,stat,args'
wait
agent-start 0
wait_for 30 agents_up
[ "$(there home 'cat file')" = two ]
ok "it is mounted again for the next task" 'there home "cat file"'

# The executor's agent is stopped in order.
writes
ok "another task there writes" 'cat "$share/err"'
on 1 kill -TERM "$(on 1 cat /run/ehsched/node1/pid)"
wait_for 30 nothing_left
ok "its agent ends, for longer than that: the task and its files end" 'left_over'
wait
on 1 agent-start 1
wait_for 30 agents_up
[ "$(there home 'cat file')" = two ]
ok "the next agent mounts it again" 'there home "cat file"'

# Nobody needs it any more.
on 1 sh -c 'cd /run/ehsched/node1 && cp agent.conf kept && echo "link-idle = 200" >>agent.conf && kill -HUP "$(cat pid)"'
there home 'true' && wait_for 20 nothing_left && wait_for 20 no_server
ok "after link-idle it is unmounted, and home's server has ended" 'left_over; ps -C ehfiles -o pid,stat,args'

on 1 sh -c 'cd /run/ehsched/node1 && mv kept agent.conf && kill -HUP "$(cat pid)"'
cd "$share" || exit 1
umount $view/small
set_limit 60000
rm "$go"
finish
