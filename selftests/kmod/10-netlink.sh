#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The family: its specification, rights, refusals.
. "$(dirname "$0")/lib.sh"

if python=$(yaml_python); then
	if difference=$($python "$here/policy.py" "$top/uapi/ehsched.yaml" "$top/uapi/linux/ehsched.h" 2>&1); then
		pass "specification, header and running family are the same"
	else
		fail "specification, header and running family are the same" "$difference"
	fi
else
	skip "specification, header and running family are the same" "python3-yaml is not installed"
fi

is "default threshold: processors" "$(field threshold)" $(($(nproc) * 1000))
is "default threshold length" "$(field length)" 1000
is "default load index" "$(field index)" runnable
is "default time limit" "$(field limit)" 100
is "all reasons have a counter" "$($nl get | grep -c '^n\.')" "$(grep -cE "^	EHS_REASON_[A-Z_]+,$" "$top/uapi/linux/ehsched.h")"

# rights
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
is "anybody may read the node" "$(nobody $nl get | grep -c '^threshold ')" 1
is "but not what others do" "$(nobody $nl get | grep -c '^n\.') $($nl get | grep -c '^n.guest ')" "0 1"
is "anybody may list tasks" "$(nobody $nl tasks; echo $?)" 0
refused "not everybody may change it" EPERM "" nobody "$nl" set threshold=1
refused "not everybody may be agent" EPERM "" nobody "$nl" register "$stub"
refused "an agent needs more than the network" EPERM "CAP_SYS_ADMIN" setpriv --bounding-set -sys_admin "$nl" register "$stub"
is "an agent of a user namespace of its own" \
	"$(nobody unshare --user --map-root-user --net sh -c "$nl register '$stub' && echo accepted")" accepted
# What such an agent put in a program's place would run as root, if root ever entered that network namespace.
is "but not from outside, where its owner is nobody" "$(nobody $python "$here/outside.py" "$stub")" EPERM
refused "not everybody may give verdicts" EPERM "" nobody "$nl" verdict 1 local - -
refused "not everybody may bypass" EPERM "" nobody "$nl" bypass 1
before=$(field threshold)
is "the owner of a user namespace may change a node of his own" \
	"$(nobody unshare --user --map-root-user --net sh -c "$nl set threshold=77 && $nl get" | awk '$1 == "threshold" { print $2 }')" 77
is "that was another node" "$(field threshold)" "$before"
is "a dump shows an administrator all nodes" \
	"$(unshare --net sh -c 'echo; read x' < <(sleep infinity & echo $! >"$work/holder"; wait) > >(read -r; $nl dump | grep -c '^netns' >"$work/count"; kill "$(cat "$work/holder")"); cat "$work/count")" 2
is "and others only their own" "$(nobody $nl dump | grep -c '^netns')" 1

# refusals: each with a text, and nothing changed
before=$($nl get | grep -vE '^(n\.|load|state)')
refused "threshold too large" ERANGE "integer out of range" "$nl" set threshold=1000000001
refused "threshold length too large" ERANGE "integer out of range" "$nl" set length=1000000001
refused "unknown load index" ERANGE "integer out of range" "$nl" set index=3
refused "weight 0" ERANGE "integer out of range" "$nl" set weight=0
refused "weight too large" ERANGE "integer out of range" "$nl" set weight=1000001
refused "time limit 0" ERANGE "integer out of range" "$nl" set limit=0
refused "time limit too long" ERANGE "integer out of range" "$nl" set limit=10001
refused "dwell too long" ERANGE "integer out of range" "$nl" set dwell=60001
refused "a descriptor that none can have" ERANGE "integer out of range" "$nl" set managed-fd=2147483648
refused "a guest descriptor that none can have" ERANGE "integer out of range" "$nl" set raw.10=4294967295
refused "no such descriptor" EBADF "cgroup v2 directory" "$nl" set managed-fd=999
refused "a descriptor of no cgroup" EBADF "cgroup v2 directory" "$nl" set managed=/tmp
refused "a guest cgroup that is none" EBADF "cgroup v2 directory" "$nl" set guest=/tmp
# shellcheck disable=SC2046	# nine words
refused "nine managed cgroups" E2BIG "8 managed" "$nl" set $(printf "managed=$cg/m %.0s" 1 2 3 4 5 6 7 8 9)
refused "an empty change" EINVAL "ehsched: nothing to change" "$nl" set
refused "an attribute of the future" EINVAL "[Uu]nknown attribute" "$nl" set raw.99=1
refused "an attribute that can only be read" EINVAL "[Uu]nsupported attribute" "$nl" set raw.1=5
refused "a read with an attribute" EINVAL "[Uu]nknown attribute" "$nl" get threshold=1
refused "a good value with a bad one" EBADF "cgroup v2 directory" "$nl" set threshold=4242 managed="$cg/m" managed=/tmp
is "nothing of it has changed the node" "$($nl get | grep -vE '^(n\.|load|state)')" "$before"

refused "an agent without stub" EINVAL "descriptor of the stub is missing" "$nl" register
refused "a stub by its path, as it once was" EINVAL "[Uu]nsupported attribute" "$nl" register "path:$stub"
refused "a stub that is not open" EBADF "not a descriptor of an open file" "$nl" register fd:77
refused "a descriptor of the stub that none can have" ERANGE "integer out of range" "$nl" register fd:4294967295
cp "$stub" "$stub.w"
refused "a stub that is open for writing only" EACCES "not open for reading" sh -c "exec \"$nl\" register fd:5 5>>'$stub.w'"
refused "a stub that cannot be run" EACCES "not an executable file" "$nl" register /etc/passwd
refused "a stub that is a directory" EACCES "not an executable file" "$nl" register /tmp
refused "a bypass without pid" EINVAL "pid is missing" "$nl" bypass
refused "a bypass of nobody" ESRCH "no such task" "$nl" bypass 4194303
refused "a bypass of a kernel thread" EINVAL "never calls exec" "$nl" bypass 2
refused "a bypass of what is no pid" ERANGE "integer out of range" "$nl" bypass 2147483648
refused "a verdict from no agent" EPERM "only the socket registered" "$nl" verdict 1 local - -
# from the agent's socket
says() { "$nl" as nobody "$stub" verdict "$@"; }
refused "a verdict without cookie" EINVAL "is missing" says - local - -
refused "a verdict without verdict" EINVAL "is missing" says 1 - - -
refused "an unknown verdict" ERANGE "integer out of range" says 1 2 - -
refused "a remote verdict without token" EINVAL "needs a token" says 1 remote - -
refused "a token too long" EINVAL "failed policy validation" says 1 remote - "$(printf '%064d' 0)"
refused "a reason of the kernel's" EINVAL "only the kernel" says 1 local time-out -
refused "a newer reason of the kernel's" EINVAL "only the kernel" says 1 local landlock -
refused "an unknown reason" ERANGE "integer out of range" says 1 local 99 -

agent "$stub" silent
is "the agent is shown" "registered $(field agent)" "$(cat "$log")"
first=$(field agent)
: >"$out"
"$nl" agent "$stub" silent >"$out" 2>&1 &
second=$!
wait_for 20 file_has "$out" ^registered
is "a second agent takes its place" "registered $(field agent)" "$(cat "$out")"
is "that is another socket" "$([ "$(field agent)" != "$first" ]; echo $?)" 0
kill $second
wait $second 2>/dev/null
becomes agent ''
is "the first one does not come back" "$(field agent)" ""
refused "a bypass of a task of another namespace" ESRCH "no such task" unshare --net "$nl" bypass $$
agent_end
is "and is gone with its socket" "$(field agent)" ""
finish
