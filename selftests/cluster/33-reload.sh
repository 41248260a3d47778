#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The configuration is read again: the module gets new bounds, and an exec that waits meanwhile is placed once.
. "$(dirname "$0")/lib.sh"
nl=$EHS_BUILD/selftests/kmod/nl

bound_is() { [ "$($nl field max-limit)" = "$1" ]; }
pending_is() { [ "$($nl field pending)" = "$1" ]; }
# set_bound MS: in the configuration
set_bound() {
	sed -i "s/^time-limit-max *=.*/time-limit-max = $1/" /run/ehsched/node0/agent.conf
	kill -HUP "$(agent_pid 0)"
}

ehctl set load-index=tasks
is "the bound of the configuration is the module's" "$($nl field max-limit)" 10000
set_bound 4000
wait_for 20 bound_is 4000
ok "a lower one after a reload" '$nl get | grep limit'
set_bound 10000
wait_for 20 bound_is 10000
ok "and a higher one" '$nl get | grep limit'

# Without its stub an agent cannot be registered; it has kept the place that it had, and tries again.
stub=$(sed -n 's/^stub *= *"\(.*\)"/\1/p' /run/ehsched/node0/agent.conf)
log=$EHS_SHARE/.agent/n0.log
vain() { grep -c "this agent is not registered: .*; trying again" "$log"; }
tried() { [ "$(vain)" -gt "$before" ]; }
before=$(vain)
put_back() { [ ! -e "$stub.away" ] || mv "$stub.away" "$stub"; }
trap '[ $BASHPID != $$ ] || put_back' EXIT
mv "$stub" "$stub.away"
set_bound 8000
wait_for 20 tried
is "a bound that cannot be told is not in force" "$? $($nl field max-limit)" "0 10000"
put_back
wait_for 20 bound_is 8000
ok "until the cause has gone: it is tried again" 'tail -n 5 "$log"; $nl get | grep limit'
set_bound 10000
wait_for 20 bound_is 10000
ok "and the next one at once" '$nl get | grep limit'

# The others stand still, so that it is undecided when another socket is registered.
ehctl set time-limit=10000
ehctl watch --json >events &
watch=$!
watched() { ehctl run --all -- bash -c 'true; sleep 0; :'; grep -q '"sleep"' events; }
wait_for 20 watched
ok "its placements are watched" 'cat events'
for n in 1 2; do on "$n" kill -STOP "$(agent_pid "$n")"; done
rm -f where
ehctl run --all -- bash -c "EHS_WHERE=$PWD/where $PROBE burn 1; :" &
session=$!
wait_for 20 pending_is 1
set_bound 9000
wait_for 20 bound_is 9000
is "it waits when another socket is registered" "$($nl field pending)" 1
for n in 1 2; do on "$n" kill -CONT "$(agent_pid "$n")"; done
wait $session
is "it runs elsewhere" "$(wc -l <where) $(grep -c n0 where)" "1 0"
kill $watch
wait $watch 2>/dev/null
is "and was placed once" "$(grep '"event": *"place"' events | grep -c '"probe"')" 1
set_bound 10000
wait_for 20 bound_is 10000
ehctl set load-index=runnable
finish
