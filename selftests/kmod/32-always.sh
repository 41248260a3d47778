#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cgroup whose execs are placed whatever the state of the node: all that may go is sent, what may not has its reason.
. "$(dirname "$0")/lib.sh"

mkdir -p $cg/all/below
node_reset
"$nl" set threshold=100000 always=$cg/all
is "the node has it" "$(field always-cgroup)" "$(stat -c %i $cg/all)"
is "a setting that does not name it keeps it" "$("$nl" set threshold=200000; field always-cgroup)" "$(stat -c %i $cg/all)"
in="$probe in $cg/all"
counted no-agent "there is no agent" $in -- true

agent "$stub" remote auto exit-42
is "the node is idle" "$(field state)" receiver
counted not-sender "a managed cgroup: the task stays" $probe in $cg/m -- true
counted auto "this one: it is sent" $in -- true
counted auto "below it, too" $probe in $cg/all/below -- true
is "the stub ran in its place" "$($in -- true; echo $?)" 42
counted open-files "a descriptor of an event" $in event 3 -- true
counted traced "traced" $in traced -- true
counted confined "a seccomp filter" $in seccomp -- true
cp /bin/true "$work/setuid"; chmod 4755 "$work/setuid"
counted setuid "set-user-id" $in -- "$work/setuid"
"$nl" set guest=$cg/all/below
counted guest "a guest cgroup below it" $probe in $cg/all/below -- true
"$nl" set guest=$cg/g
agent_end

agent "$stub" local no-receiver -
counted no-receiver "no node can take it" $in -- true
agent_end

# its tasks are the node's
"$nl" set index=tasks
sitter $cg/all
is "its tasks are counted" "$(field local load)" "1 1000"
"$nl" set clear managed=$cg/m
is "cleared" "$(field always-cgroup)" ""
becomes local 0
is "and its tasks with it" "$(field local)" 0
kill $sitter; wait $sitter 2>/dev/null
refused "what is no cgroup" EBADF "cgroup v2 directory" "$nl" set always=/tmp
"$nl" set clear always=$cg/all
agent "$stub" remote auto exit-42
counted auto "it needs no managed cgroup beside it" $in -- true
agent_end
node_reset
finish
