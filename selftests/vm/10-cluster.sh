#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The virtual cluster tests itself: no module, no agent.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/ktap.sh"
. "$here/../lib/wait.sh"

bare() { "$here/cluster" --bare --timeout 300 "$@"; }

work=$(mktemp -d "${TMPDIR:-/tmp}/vmselftest.XXXXXX")
trap 'rm -rf "$work"' EXIT
# Whatever a run makes is in here, so that what it leaves behind can be seen.
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
clean() {
	! grep -lF "$TMPDIR" /proc/[0-9]*/cmdline >"$work/left" 2>/dev/null && [ -z "$(ls -A "$TMPDIR")" ]
}

# One run answers most questions; node 0 writes what it sees into its standard output and error.
inside() {
	head -c 3000000 /dev/urandom >blob
	sha256sum <blob >&2
	cat blob
	on 1 sh -c 'cp blob copy && echo "#!/bin/sh
echo ran \$0" >tool && chmod 755 tool'
	cmp blob copy && echo "coherent" >&2
	on 0 ./tool >&2
	on 1 sh -c 'echo first >state'
	read -r first <state
	on 1 sh -c 'echo second >state'
	read -r second <state
	echo "$first $second" >&2
	on 1 sh -c 'exit 9'
	echo "status $?" >&2
	on 1 sh -c 'kill -9 $$'
	echo "signal $?" >&2
	echo "host $(on 0 hostname) $(on 1 hostname)" >&2
	echo "users $(on 1 id -u eha) $(on 0 id -u ehb)" >&2
	on -i 1 sha256sum <blob | sed 's/^/input /' >&2
	on 1 sh -c 'cat blob' | cmp - blob && echo "output whole" >&2
	on 1 ip link set eth0 down
	on 1 sh -c 'ip link set eth0 up && echo "channel apart"' >&2
	on 1 chown eha copy
	stat -c 'owner %U' copy >&2
	python3 -c '
import mmap
with open("blob", "r+b") as f:
    m = mmap.mmap(f.fileno(), 0)
    m[0:4] = b"mmap"
    m.close()' && on 1 head -c 4 blob >&2
	exit 42
}
bare --nodes 2 -- bash -c "$(declare -f inside); inside" >"$work/out" 2>"$work/err"
status=$?
said() { grep -q "^$1" "$work/err"; }
[ $status = 42 ]; ok "the status of CMD is the run's" 'echo "$status"; tail -n 30 "$work/err"'
[ "$(sha256sum <"$work/out")" = "$(head -n 1 "$work/err")" ]; ok "3 MB of output are byte-exact"
said coherent; ok "what node 1 writes node 0 reads"
said 'ran ./tool'; ok "a program on the share runs on another node"
said 'first second'; ok "a file that changes is seen as it is"
said mmap; ok "a shared mapping of the share is written through"
said 'status 9'; ok "on: exit status"
said 'signal 137'; ok "on: death by signal"
said 'host n0 n1'; ok "on: each node is itself"
said "input $(head -n 1 "$work/err")"; ok "on -i: standard input is byte-exact"
said 'output whole'; ok "on: output is byte-exact"
said 'channel apart'; ok "on works while eth0 is down"
said 'users 2001 2002'; ok "test users"
said 'owner eha'; ok "files of the share have owners"
clean; ok "nothing is left of a run" 'cat "$work/left"'

# kill_run SIGNAL OPTION… -- CMD…: CMD says "there" when it has done what it is for, and the run gets the signal; its
# status in $status. A background job of a script ignores SIGINT from its first instruction on; env sets it right.
kill_run() {
	local signal=$1 pid

	shift
	rm -f "$work/out"	# else what an earlier one said is found there until this one begins
	env --default-signal=INT "$here/cluster" --bare --timeout 300 "$@" >"$work/out" 2>"$work/err" &
	pid=$!
	wait_for 300 eval "grep -qs ^there '$work/out' || ! kill -0 $pid"
	kill -"$signal" $pid
	wait $pid
	status=$?
}
# Most of a run is boot, and of this one waiting: it goes on beside the next.
bare --nodes 1 --timeout 30 -- sleep 1000 >"$work/timeout" 2>&1 &
timeout=$!
kill_run INT --nodes 1 -- sh -c 'echo there; exec sleep 1000'
grep -q ^there "$work/out" && [ $status -gt 128 ]
ok "SIGINT ends the run" 'echo "$status"; cat "$work/out" "$work/err"'
wait $timeout
[ $? = 1 ] && grep -q 'not ended after 30 s' "$work/timeout"
ok "--timeout ends the run" 'cat "$work/timeout"'

kill_run TERM --netns 3 --cpu-max 0.25 -- bash -c '
	for i in 0 1 2; do on $i cat /proc/self/cgroup; on $i ip -4 -o addr show eth0; echo host $(on $i hostname); done
	on 2 ls -l /proc/self/ns/net; cat /sys/fs/cgroup/node1/cpu.max; echo there; exec sleep 1000'
grep -q '^0::/node2/shell' "$work/out" && grep -q 'inet 10.77.0.3/24' "$work/out" && grep -q '^25000 100000' "$work/out" &&
	[ "$(grep '^host' "$work/out" | tr '\n' ' ')" = "host n0 host n1 host n2 " ]
ok "nodes as namespaces with a limit of processor time" 'cat "$work/out" "$work/err"'
[ $status -gt 128 ]
ok "SIGTERM ends the run" 'echo "$status"; cat "$work/err"'

bare --nodes 2 -- on 1 sh -c 'echo "WARNING: selftest" >/dev/kmsg' >"$work/out" 2>&1
[ $? = 1 ] && grep -q 'WARNING: selftest' "$work/out"
ok "a warning in the kernel log of any guest fails the run" 'cat "$work/out"'

bare --nodes 1 -- sh -c 'echo c >/proc/sysrq-trigger; sleep 100' >"$work/out" 2>&1
# its channel may end before it does
[ $? = 1 ] && grep -qE 'guest 0 ended while it was in use|the node went away' "$work/out" && grep -q 'Kernel panic' "$work/out"
ok "a crash ends the run with its console" 'cat "$work/out"'

"$here/cluster" --nodes 0 -- true 2>"$work/err"
[ $? = 2 ]; ok "wrong usage is exit 2"
"$here/cluster" --bare --kernel 0.1 -- true 2>"$work/err"
[ $? = 1 ] && grep -q 'no such kernel' "$work/err"; ok "an unknown kernel is refused"
clean; ok "nothing is left of the other runs" 'cat "$work/left"; ls "$TMPDIR"'
finish
