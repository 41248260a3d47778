#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A user who lists tasks without end: what he sees is his, and execs of others go on.
. "$(dirname "$0")/lib.sh"

node_reset
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
n=$(many 600 3000)
before=$(field local)
for _ in $(seq "$n"); do
	$probe in $cg/m user 1000 -- sleep infinity &
done
all_there() { [ "$(field local)" = $((before + n)) ]; }
wait_for 120 all_there
is "tasks of one user" "$($nl tasks | grep -c ' uid=1000 ')" "$n"
is "a whole list has each once" "$($nl tasks | awk '{ print $2 }' | sort -u | wc -l)" "$n"
is "another user sees none of them" "$($nobody "$nl" tasks | wc -l)" 0
is "their user sees them all" "$(setpriv --reuid=1000 --regid=1000 --clear-groups "$nl" tasks | wc -l)" "$n"

# The time of an exec beside readers that loop, against readers of something that is none of ours: a ratio of one run.
fastest() { for _ in $(seq 40); do $probe timed in $cg/m -- true; done | sort -n | head -n 1; }
touch "$work/loop"
reader() { while [ -e "$work/loop" ]; do "$@" >/dev/null 2>&1; done; }
reader $nobody "$nl" get & other=$!
quiet=$(fastest)
rm "$work/loop"; wait $other
touch "$work/loop"
reader $nobody "$nl" tasks & lister=$!
beside=$(fastest)
rm "$work/loop"; wait $lister
holds "an exec beside a user who lists: $beside ms, beside one who asks for the node: $quiet ms" "beside <= 3 * quiet + 3"
pkill -KILL -U 1000 sleep
wait
at_zero "all counts are back at zero"
finish
