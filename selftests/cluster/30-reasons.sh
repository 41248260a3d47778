#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What must stay home stays, and says why.
. "$(dirname "$0")/lib.sh"

# stays NAME REASON CMD…: CMD, which itself stays, execs a probe that holds; it must be at home.
stays() {
	local name=$1 want=$2 session pid host got; shift 2

	rm -f up
	ehctl run -- "$@" &
	session=$!
	wait_for 20 test -s up
	read -r host pid <up
	got=$(reason_of "$pid")
	[ "$host" = "$(hostname)" ] && [ "$got" = "$want" ]
	ok "$name stays home: $want" 'echo "host $host, reason $got"; ehctl tasks'
	# if it went away, its stub is a child of the session
	kill "$pid" 2>/dev/null || pkill -P $session
	wait $session 2>/dev/null
}

overload
hold="$PROBE hold $PWD/up"

cp "$PROBE" /tmp/suid && chown eha /tmp/suid && chmod 4755 /tmp/suid
stays "a set-user-id program" setuid bash -c "/tmp/suid hold $PWD/up; :"
cp "$PROBE" /tmp/caps && setcap cap_net_raw+ep /tmp/caps
stays "a program with file capabilities" file-caps bash -c "/tmp/caps hold $PWD/up; :"
stays "a task with an inherited descriptor" open-files python3 -c "
import os, subprocess
subprocess.run('$hold'.split(), pass_fds=[os.dup2(os.eventfd(0), 7)])"
stays "a task in a mount namespace of its own" namespace unshare -m bash -c "$hold; :"

# A guest is never sent on: its children run where it runs, though that node is overloaded.
rm -f where
ehctl exec 0.1 -- bash -c "
	for i in 1 2 3 4 5 6; do EHS_WHERE=$PWD/where $PROBE burn 300 & done; wait"
[ "$(sort -u where)" = n1 ] && [ "$(wc -l <where)" -eq 6 ]
ok "the children of a guest stay with it" 'sort where | uniq -c'

# The executor has the last word.
refused() {		# NAME REASON NODE CMD…
	local name=$1 want=$2 node=$3; shift 3

	ehctl exec "$node" -- "$@" >out 2>err
	[ $? -eq 1 ] && [ ! -s out ] && grep -q "^ehctl exec: .*$want" err
	ok "$name is refused: $want" 'cat err'
}
cp "$PROBE" /tmp/only-here
refused "a program that is not there" files-differ 0.1 /tmp/only-here exit 0
cp "$PROBE" /usr/local/bin/differs
on 1 cp /bin/true /usr/local/bin/differs
refused "a program of other content" files-differ 0.1 /usr/local/bin/differs exit 0
mkdir -p /tmp/folder
cd /tmp/folder || exit 1	# not in a subshell: the result is to be counted
refused "a directory that is not there" files-differ 0.1 "$PROBE" exit 0
cd "$EHS_SHARE" || exit 1
ehctl drain 0.1
ok "drain"
refused "a task for a drained node" draining 0.1 "$PROBE" exit 0
ehctl undrain 0.1 && ehctl exec 0.1 -- "$PROBE" exit 7
[ $? -eq 7 ]
ok "undrained, it runs tasks again"
ehctl exec 0.9 -- true 2>err
[ $? -eq 1 ] && grep -q '0\.9' err
ok "a node that cannot be is refused by name" 'cat err'

# Refused when the hierarchy chose it: the task runs at home, its output once.
rm -f got
counted() { ehctl status --json | grep -o "\"reason\":\"$1\",\"tasks\":[0-9]*" | grep -o '[0-9]*$' || echo 0; }
before=$(counted files-differ)
ehctl run -- bash -c 'EHS_WHERE=$PWD/got /tmp/only-here exit 3; echo $?' >out 2>&1
[ "$(cat out)" = 3 ] && [ "$(cat got)" = "$(hostname)" ]
ok "a refused task runs at home, once" 'cat out got'
[ "$(counted files-differ)" -gt "$before" ]
ok "and is counted with why it was refused, not with those that nobody had room for" 'ehctl status --json'

# Files in the arguments are looked at, too: a compiler's parts hand each other some in /tmp.
echo "only here" >/tmp/input
ehctl run -- bash -c 'cat /tmp/input; :' >out 2>&1
[ "$(cat out)" = "only here" ]
ok "a task that names a file of this host alone runs at home" 'cat out'
cp "$PROBE" "$PWD/given"
rm -f where
ehctl run -- bash -c "EHS_WHERE=$PWD/where $PROBE where $PWD/given; :"
[ -s where ] && ! grep -q "^$(hostname)$" where
ok "one that names a shared file goes" 'cat where'

relax
finish
