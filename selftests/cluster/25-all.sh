#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ehctl run --all: every exec that may go does, though home is idle.
. "$(dirname "$0")/lib.sh"

ehctl set load-index=tasks
ehctl set time-limit=10000
wait_for 20 eval '! state_is 0.0 sender'
count() { sort "$1" | uniq -c | awk '{ printf "%s%s:%s", n++ ? " " : "", $2, $1 }'; }

rm -f where
# by this load index the shell, which waits, has a processor of its own
configure 'capacity = 20.0'
ehctl run -- bash -c 'for i in $(seq 4); do EHS_WHERE=$PWD/where '"$PROBE"' burn 1; done'
is "without --all the tasks of an idle node stay" "$(count where)" "n0:4"
configure 'capacity = 1.0'

rm -f where
ehctl run --all -n all -- bash -c 'for i in $(seq 12); do EHS_WHERE=$PWD/where '"$PROBE"' burn 1; done'
is "with it each of 12 leaves, and the shell does not" "$(wc -l <where) $(grep -c n0 where)" "12 0"

rm -f where
seq 1000 | ehctl run --all -- bash -c 'for i in 1 2 3 4 5; do
	seq 100 | EHS_WHERE=$PWD/where '"$PROBE"' copy | EHS_WHERE=$PWD/where '"$PROBE"' copy | tail -n 1; done; hostname' >out 2>/dev/null
[ "$(grep -c . where) $(grep -c n0 where)" = "10 0" ]
ok "all tasks of pipelines" 'count where; ehctl status'
is "with what they do" "$(xargs <out | sed 's/n[12]$/n/')" "100 100 100 100 100 n"

# what happened in which order, as both agents and both ends tell it
id=$(ehctl run --all -- bash -c '/bin/true /usr/bin/env & echo $!; wait')
steps=" asked look sent came admitted answered verdict stub job job-sent job-came launch ready-said ready go go-came executed exited exit ended"
timed() { ehctl why --timing "$id" --json | grep -o '"step": *"[^"]*"' | cut -d'"' -f4 | grep -xF "$(xargs -n 1 <<<"$steps")" | sed 's/^/ /' | tr -d '\n'; }
is "the steps of one that the module has placed" "$(timed)" "$steps"

# what stays has its reason
rm -f where up
ehctl run --all -- python3 -c "
import os, select
e = select.epoll()
os.set_inheritable(e.fileno(), True)
os.spawnl(os.P_WAIT, '$PROBE', 'probe', 'hold', '$PWD/up')" &
session=$!
wait_for 20 test -s up
read -r host pid <up
is "a task with a descriptor of epoll stays" "$host $(reason_of "$pid")" \
	"$(hostname) open-files"
kill "$pid" 2>/dev/null
wait $session 2>/dev/null
ehctl drain 0.1
ehctl drain 0.2
rm -f where
# until the controller knows of both
stayed() { rm -f where; ehctl run --all -- bash -c 'EHS_WHERE=$PWD/where '"$PROBE"' burn 1; :'; [ "$(count where)" = n0:1 ]; }
wait_for 20 stayed
is "with all others draining it stays" "$(count where)" "n0:1"
ehctl undrain 0.1
ehctl undrain 0.2
ehctl set load-index=runnable
finish
