#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A user in namespaces of his own who changes his node without end: no other node, and no other family, waits for him.
. "$(dirname "$0")/lib.sh"

node_reset
mkdir -p $cg/his && chown 65534:65534 $cg/his
own="setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --net"
cat >"$work/attack" <<ATTACK
# an agent that never answers, the longest limit, and settings without end
"$nl" agent "$stub" silent &
while [ -e "$work/loop" ]; do
	"$nl" set clear; "$nl" set managed=$cg/his threshold=0 length=0 index=tasks limit=10000
	"$nl" set index=runnable; "$nl" set index=cpu
done >/dev/null 2>&1
kill %1
ATTACK
chmod 755 "$work/attack"
touch "$work/loop"
attackers=
for _ in 1 2 3; do nice $own bash "$work/attack" >/dev/null 2>&1 & attackers+=" $!"; done
# the host's own agent and tasks go on
sitter $cg/m
$nl set limit=10000
agent "$stub" remote sender exit-7
failures=0
for _ in $(seq 20); do
	$probe in $cg/m -- true
	[ $? = 7 ] || failures=$((failures + 1))
done
is "execs of the host are placed" "$failures" 0
if has_other_family; then
	timeout $((60 * slow)) modprobe psample; is "another family comes" $? 0
	timeout $((60 * slow)) modprobe -r psample; is "and goes" $? 0
else
	skip "another family comes" "this kernel has no module psample"
fi
rm "$work/loop"
# shellcheck disable=SC2086
wait $attackers
agent_end
sitter_end $sitter
at_zero "all counts are back at zero"
finish
