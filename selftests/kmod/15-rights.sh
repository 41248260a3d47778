#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who may do what: the table of docs/kernel.md, "Rights", cell by cell.
. "$(dirname "$0")/lib.sh"

# The host's node manages $cg/m; a task of root and those of two users are recorded in it.
node_reset
chmod 755 $cg $cg/m
$probe in $cg/m user 1000 -- sleep infinity &
theirs=$!
$probe in $cg/m user 65534 -- sleep infinity &
nobodys=$!
sitter $cg/m
becomes local 3

# Who: each a command prefix. All but `own` and `delegated` are in the host's network namespace.
# shellcheck disable=SC2034	# read as ${!who}
root=
net_admin="setpriv --bounding-set=-all,+net_admin,+net_raw"
# shellcheck disable=SC2034	# likewise
sys_admin="setpriv --bounding-set=-all,+sys_admin,+net_admin"
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
user="setpriv --reuid=1000 --regid=1000 --clear-groups"
third="setpriv --reuid=1001 --regid=1001 --clear-groups"
# root of a user namespace, in the host's network namespace and in one of his own
mapped="$nobody unshare --user --map-root-user"
own="$mapped --net"
pidns="unshare --pid --fork --mount-proc"
his_cgroups

# may NAME WHO COMMAND…, may_not NAME WHO COMMAND…
may() {
	local name=$1 who=$2 status line
	shift 2
	$who "$nl" "$@" >"$out" 2>&1
	status=$?
	read -r line <"$out"
	[[ $line =~ ^E[A-Z]*: ]] || line=
	is "$name" "$status $line" "0 "
}
may_not() {
	local name=$1 who=$2 errno=$3
	shift 3
	refused "$name" "$errno" "" $who "$nl" "$@"
}
# listed WHO COMMAND…: how many of the three tasks he sees
listed() { local who=$1; shift; $who "$nl" "$@" tasks | grep -cE " pid=($theirs|$nobodys|$sitter) "; }
# shown WHO COMMAND…: how many nodes he sees in a dump of all
shown() { local who=$1; shift; $who "$nl" "$@" dump | grep -c ^netns; }

# reading
for who in root sys_admin net_admin nobody mapped pidns; do
	may "node-get: $who" "${!who}" get
done
may "node-get of his own namespace: root of a user namespace" "$own" get
for who in root sys_admin net_admin; do
	is "task-get: $who sees all" "$(listed "${!who}")" 3
done
for who in user nobody mapped; do
	is "task-get: $who sees his own" "$(listed "${!who}")" 1
done
is "task-get: a user without tasks sees none" "$(listed "$third")" 0
is "task-get: root in another pid namespace sees none that it does not have" "$($pidns "$nl" tasks | wc -l)" 0
unshare --net sleep infinity & aside=$!
nodes_are 2
for who in root sys_admin net_admin pidns; do
	is "dump of all nodes: $who" "$(shown "${!who}")" 2
done
for who in nobody mapped own; do
	is "dump: $who has one" "$(shown "${!who}")" 1
done
kill $aside; wait $aside 2>/dev/null

# settings, cgroups
mkdir -p $cg/all
for what in threshold=0 length=0 index=tasks weight=1000 limit=100 dwell=0 processors=0 max-limit=10000 max-requests=1024 no-new-privs=1 \
	no-new-privs=0 managed=$cg/m guest=$cg/g always=$cg/all "clear managed=$cg/m guest=$cg/g always=$cg/all"; do
	for who in root sys_admin pidns; do
		may "node-set $what: $who" "${!who}" set $what
	done
	for who in net_admin nobody mapped; do
		may_not "node-set $what: $who" "${!who}" EPERM set $what
	done
done
# Who holds the agent's socket, one after another: root that registered it and has put down all but CAP_NET_ADMIN; the same as
# an ordinary user; one that never was more and got the descriptor; one like that who is root of a user namespace
holders="net-admin nobody another mapped"
for holder in $holders; do
	for what in threshold=0 length=0 index=tasks weight=1000 limit=100 dwell=0 processors=0 no-new-privs=0; do
		may "node-set $what: the agent's socket, $holder" "" as $holder "$stub" set "$what"
	done
	for what in "managed=$cg/m" "guest=$cg/g" "always=$cg/all" clear max-limit=10000 max-requests=1024 no-new-privs=1; do
		refused "node-set $what: the agent's socket, $holder" EPERM "cgroups, bounds and no-new-privs take CAP_NET_ADMIN and CAP_SYS_ADMIN" \
			"$nl" as $holder "$stub" set "$what"
		refused "nor with a setting beside it: $holder" EPERM "cgroups, bounds" "$nl" as $holder "$stub" set threshold=77 "$what"
	done
	may "node-get: the agent's socket, $holder" "" as $holder "$stub" get
done
is "nothing of it has changed the node" "$(field threshold) $($nl get | grep -cE '^(managed|guest-cgroup) ')" "0 2"
# the administrator's bound
$nl set max-limit=200 max-requests=50
is "a limit that was set is lowered with its bound" "$($nl set max-limit=50; field limit max-limit max-requests)" "50 50 50"
$nl set max-limit=200
for holder in $holders; do
	refused "a limit above it: the agent's socket, $holder" ERANGE "time limit above max-time-limit" "$nl" as $holder "$stub" set limit=201
	may "up to it: the agent's socket, $holder" "" as $holder "$stub" set limit=200
done
refused "root neither, without another bound" ERANGE "time limit above max-time-limit" "$nl" set limit=201
may "root with it" "" set limit=1000 max-limit=1000
refused "a bound has a bound" ERANGE "integer out of range" "$nl" set max-limit=10001
$nl set max-limit=10000 max-requests=1024
for what in threshold=0 length=0 index=tasks weight=1000 limit=100 dwell=0 processors=0 max-limit=10000 max-requests=1024 no-new-privs=1 \
	no-new-privs=0 managed=$cg/his guest=$cg/his always=$cg/his clear; do
	may "node-set $what of his own namespace: root of a user namespace" "$own" set $what
done
refused "a cgroup that he may not write to" EACCES "may not write to this cgroup" $own "$nl" set managed=$cg/m
refused "the guest cgroup neither" EACCES "may not write to this cgroup" $own "$nl" set guest=$cg/g
refused "nor the one whose execs are all placed" EACCES "may not write to this cgroup" $own "$nl" set always=$cg/all
refused "nor the root cgroup" EACCES "may not write to this cgroup" $own "$nl" set managed=/sys/fs/cgroup

# bypass, account
for who in root sys_admin; do
	may "task-bypass: $who" "${!who}" bypass $sitter
done
for holder in $holders; do
	may "task-bypass: the agent's socket, $holder" "" as $holder "$stub" bypass $sitter
done
may_not "task-bypass: CAP_NET_ADMIN" "$net_admin" EPERM bypass $sitter
may_not "task-bypass: the task's user" "$user" EPERM bypass $theirs
may_not "task-bypass: another user" "$nobody" EPERM bypass $theirs
may_not "task-bypass: root of a user namespace" "$mapped" EPERM bypass $sitter
refused "task-bypass: root of a user namespace, in his own" ESRCH "no such task in this network namespace" $own "$nl" bypass $sitter
may_not "task-bypass: root in another pid namespace" "$pidns" ESRCH bypass $sitter
agent "$stub" remote sender sleep
$nl set limit=10000
$probe in $cg/m user 1000 -- true & stub_pid=$!
becomes away 1
for who in root sys_admin; do
	may "task-account: $who" "${!who}" account $stub_pid 10=1000
done
may_not "task-account: CAP_NET_ADMIN" "$net_admin" EPERM account $stub_pid 10=1000
may_not "task-account: the stub's user" "$user" EPERM account $stub_pid 10=1000
may_not "task-account: another user" "$nobody" EPERM account $stub_pid 10=1000
may_not "task-account: root in another pid namespace" "$pidns" ESRCH account $stub_pid 10=1000
may_not "task-account: root of a user namespace" "$mapped" EPERM account $stub_pid 10=1000
may_not "task-account: root of a user namespace, in his own" "$own" ESRCH account $stub_pid 10=1000
for holder in $holders; do
	may "task-account: the agent's socket, $holder" "" as $holder "$stub" account $stub_pid 10=1000
done
# numbers: no more than its life on very many processors
refused "more time than it can have had" ERANGE "more than a task can use" "$nl" account $stub_pid 10=4611686018427387904
refused "in the kernel neither" ERANGE "more than a task can use" "$nl" account $stub_pid 11=4611686018427387904
refused "more faults than it can have had" ERANGE "more than a task can use" "$nl" account $stub_pid 13=4611686018427387904
kill $stub_pid; wait $stub_pid 2>/dev/null
agent_end

# agent, verdict
for who in root sys_admin pidns; do
	may "agent-register: $who" "${!who}" register "$stub"
done
may "agent-register of his own namespace: root of a user namespace" "$own" register "$stub"
may_not "agent-register: CAP_NET_ADMIN" "$net_admin" EPERM register "$stub"
may_not "agent-register: another user" "$nobody" EPERM register "$stub"
may_not "agent-register: root of a user namespace" "$mapped" EPERM register "$stub"
agent "$stub" silent
for who in root net_admin sys_admin nobody mapped pidns own; do
	refused "place-verdict: $who" EPERM "only the socket registered as agent" ${!who} "$nl" verdict 1 local - -
	refused "task-away: $who" EPERM "only the socket registered as agent" ${!who} "$nl" away $sitter
done
# the agent's socket is somebody else's, and stays so
for what in "set threshold=77" "bypass $sitter" "account $stub_pid 10=1000"; do
	refused "$what over a socket of his own" EPERM "this takes the agent's socket, or CAP_NET_ADMIN and CAP_SYS_ADMIN" \
		$nobody "$nl" $what
done
is "nothing of it has changed the node" "$(field threshold agent)" "0 $(awk '{ print $2 }' "$log")"
for who in root net_admin sys_admin nobody mapped pidns own; do
	refused "task-eligible: $who" EPERM "only the socket registered as agent" ${!who} "$nl" eligible $sitter
	refused "programs-set: $who" EPERM "only the socket registered as agent" ${!who} "$nl" programs "$stub"
done
agent_end
for holder in $holders; do
	may "task-eligible: the agent's socket, $holder" "" as $holder "$stub" eligible $sitter
	may "programs-set: the agent's socket, $holder" "" as $holder "$stub" programs "$stub"
	refused "place-verdict: the agent's socket, $holder" ENOENT "nobody waits" "$nl" as $holder "$stub" verdict 1 local - -
	refused "task-away: the agent's socket, $holder" ESRCH "no such task" "$nl" as $holder "$stub" away 4000000
	may_not "agent-register: the agent's socket, $holder" "" EPERM as $holder "$stub" register "$stub"
done

# tasks are the agent's business; other nodes are shown by the rights of who writes
unshare --net sleep infinity & aside=$!
nodes_are 2
for holder in $holders; do
	is "task-get: the agent's socket, $holder, sees all" "$(listed "" as $holder "$stub")" 3
	is "dump of all nodes: the agent's socket, $holder" "$(shown "" as $holder "$stub")" $(($([ $holder = net-admin ]; echo $?) ? 1 : 2))
done

# only of the node's own processes, and not of those of which his pid namespace knows nothing; the process asks of itself
# shellcheck disable=SC2016	# of the inner shell
is "task-eligible of his own namespace: his agent's socket" \
	"$($own sh -c 'exec "$0" as net-admin "$1" eligible $$' "$nl" "$stub" | cut -d' ' -f1)" capabilities
refused "task-eligible of the host's: his agent's socket" ESRCH "no such process in this network namespace" \
	$own "$nl" as net-admin "$stub" eligible $sitter
refused "task-eligible: the agent's socket, in another pid namespace" ESRCH "" $pidns "$nl" as net-admin "$stub" eligible $sitter

# Root of a network namespace, or in a pid namespace, and the tasks that are there: a node's agent and its tasks see the same, so
# these have one of their own.
cat >"$work/inside" <<END
# inside CGROUP SETTING…: what may be done to a task and to a stub there; a word for each
cgroup=\$1
shift
"$nl" set "\$@"
"$probe" in \$cgroup -- sleep infinity & here=\$!
"$nl" wait $((wait_least * slow)) task "* pid=\$here * local *"
"$nl" agent "$stub" remote sender sleep >/dev/null & agent=\$!
"$nl" wait $((wait_least * slow)) field agent 1+
"$probe" in \$cgroup -- true & there=\$!
"$nl" wait $((wait_least * slow)) task "* pid=\$there * away *"
"$nl" tasks | awk -v here=pid=\$here -v there=pid=\$there '{ n[\$2]++ } END { if (NR == 2 && n[here] && n[there]) print "tasks" }'
"$nl" bypass \$here && echo bypass
"$nl" account \$there 10=1000 && echo account
kill \$agent
wait \$agent
"$nl" wait $((wait_least * slow)) field agent ""
"$nl" as net-admin "$stub" verdict 1 local - - 2>&1 | cut -d: -f1
"$nl" as net-admin "$stub" away 4000000 2>&1 | cut -d: -f1
"$nl" as net-admin "$stub" eligible \$here 2>&1 | cut -d' ' -f1
kill -KILL \$here \$there
END
# what is seen and done, then a verdict for nobody, the stub of nobody, and a task that may leave
all="tasks bypass account ENOENT ESRCH none"
is "in his own namespace: root of a user namespace" \
	"$($him bash "$work/inside" $cg/his/t managed=$cg/his/t index=tasks threshold=0 length=0 dwell=0 limit=10000 2>"$log" | xargs)" "$all"
may "programs-set of his own namespace: his agent's socket" "$own" as net-admin "$stub" programs "$stub"
is "with tasks that it has: root in another pid namespace" "$($pidns bash "$work/inside" $cg/m limit=10000 2>"$log" | xargs)" "$all"
becomes away 0

# A port alone is not a right: not when the agent is gone, and not when its port is another's.
for what in "set threshold=77" "set managed=$cg/m" "set max-requests=77" "bypass $sitter" "account $sitter 10=1000" "register $stub" \
	"verdict 1 local - -" "away $sitter" "eligible $sitter" "programs $stub"; do
	refused "$what from the port that the agent had" EPERM "" "$nl" reuse "$stub" $what
done
is "nothing of it has changed the node" "$(field threshold max-requests agent)" "0 1024 "
may "node-get from that port" "" reuse "$stub" get
is "task-get from that port: his own" "$(listed "" reuse "$stub")" 1
is "dump of all nodes from that port: his own" "$(shown "" reuse "$stub")" 1
kill $aside; wait $aside 2>/dev/null

kill $theirs $nobodys $sitter
wait $theirs $nobodys $sitter 2>/dev/null
at_zero "all counts are back at zero"
finish
