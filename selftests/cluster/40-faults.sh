#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Agents, links and the module go away; a task runs once or is reported lost.
. "$(dirname "$0")/lib.sh"

agent_up() { [ "$(status_of "0.$1" agent)" = up ]; }
agent_not_up() { ! agent_up "$1"; }

# begin_away COMMAND…: a task that holds is away, on $host, as process $remote. Thresholds may still be those of a cluster without
# the executors that were killed or stopped just before; and on a loaded machine these may be late, so that one stays first.
begin_away() {
	wait_for 60 state_is 0.0 sender
	for _ in 1 2 3 4 5 6 7 8; do
		rm -f up out err
		"$@" "$PROBE" hold "$PWD/up" 2>err &
		reaper=$!
		wait_for 20 test -s up
		read -r host remote <up
		other=${host#n}
		[ "$host" = "$(hostname)" ] || return 0
		kill -KILL "$remote"
		wait $reaper
	done
	fail "a task is away" "8 stayed: $(ehctl status)"
	finish
}

set_limit 5000
overload

# Executor lost after the start: killed, said so, not run again.
begin_away away out
on "$other" kill -KILL "$(agent_pid "$other")"
wait $reaper
[ "$(ended out)" = "signal 9" ]
ok "executor lost: the task ends as killed" 'cat out'
grep -q "it is reported as killed" err
ok "and a message says so" 'cat err'
[ "$(wc -l <up)" -eq 1 ]
ok "it is not run twice" 'cat up'

# The same in a session whose tasks may run twice: it runs again, at home, and the session remembers that.
wait_for 20 on "$other" test ! -e "/proc/$remote"
on "$other" agent-start "$other"
wait_for 30 agent_up "$other"
begin_away ehctl run --retry -- "$PROBE" reap out
on "$other" kill -KILL "$(agent_pid "$other")"
wait_for 20 eval '[ "$(wc -l <up)" -eq 2 ]'
[ "$(sed -n '2s/ .*//p' up)" = "$(hostname)" ] && grep -q "run again here" err
ok "--retry: a lost task is run again at home" 'cat up err'
pid=$(sed -n 's/^pid //p' out)
id=$(sed -n 's/.*task (\(.*\));.*/\1/p' err)
[ "$(sed -n '2s/.* //p' up)" = "$pid" ] && ehctl why "$id" | grep -q "run again at home"
ok "with the same process id, and why says so" 'ehctl why "$id"; cat up out'
kill -TERM "$pid"
wait $reaper
[ "$(ended out)" = "signal 15" ]
ok "and ends as a local one" 'cat out'

# Its agent is dead now: nothing more is sent there, nothing fails.
rm -f where
ehctl run -- bash -c 'for i in 1 2 3 4 5 6; do
	EHS_WHERE=$PWD/where '"$PROBE"' exit 5; [ $? = 5 ] || echo wrong; done' >got 2>&1
[ ! -s got ] && [ "$(wc -l <where)" -eq 6 ] && ! grep -q "^$host$" where
ok "tasks go elsewhere or stay while it is dead" 'cat got where'
on "$other" agent-start "$other"
wait_for 30 agent_up "$other"
ok "the restarted agent is taken back"
on "$other" sh -c "! kill -0 $remote" 2>/dev/null
ok "the guest of the dead agent is gone" 'on "$other" cat "/proc/$remote/status" 2>&1 | head -3'

# Frozen before the start: the answer does not come, the task runs at home.
for i in 1 2; do on $i kill -STOP "$(agent_pid $i)"; done
rm -f where
ehctl run -- bash -c 'EHS_WHERE=$PWD/where '"$PROBE"' exit 6; echo $?' >got
[ "$(cat got)" = 6 ] && [ "$(cat where)" = "$(hostname)" ]
ok "executors that do not answer: the task runs at home, once" 'cat got where'
for i in 1 2; do on $i kill -CONT "$(agent_pid $i)"; done
wait_for 30 agent_up 1 && wait_for 30 agent_up 2
ok "they are taken back"

# The agent of home dies while tasks are away, and requests come.
begin_away away out
on 0 kill -KILL "$(agent_pid 0)"
wait $reaper
[ "$(ended out)" = "signal 9" ]
ok "home agent lost: its stubs end as killed" 'cat out err'
wait_for 20 on "${host#n}" test ! -e "/proc/$remote"
ok "and their tasks on $host with them"
agent-start 0
wait_for 30 status_of 0.1 state && wait_for 30 agent_up 1 && wait_for 30 agent_up 2
ok "the restarted home agent finds the others"
relax

# Module removed under load, then loaded again: the agent goes on through both.
overload
rm -f began stop used
ehctl run -- bash -c 'sh -c "uname -n >began; until [ -e stop ]; do sleep 0.1; done; exec '"$PROBE"' burn 500"; times' >used &
worker=$!
wait_for 30 test -s began
ehctl run -- bash -c 'for i in $(seq 40); do '"$PROBE"' burn 20 & done; wait; echo end' >got 2>&1 &
load=$!
wait_for 20 rmmod ehsched
ok "the module can be removed under load"
wait $load
[ "$(cat got)" = end ]
ok "the tasks went on" 'cat got'
no_module() { [ "$(status_of 0.0 module)" = false ]; }
wait_for 20 no_module
ok "the agent sees that it is gone"
ehctl exec 0.1 -- "$PROBE" exit 9
[ $? -eq 9 ]
ok "ehctl exec works without it"
rm -f where
EHS_WHERE=$PWD/where ehctl run -- "$PROBE" exit 8
[ $? -eq 8 ] && [ "$(wc -l <where)" -eq 1 ]
ok "ehctl run places the command itself" 'cat where'
insmod "$EHS_MODULE"
wait_for 20 has_module
ok "and takes the module back"
touch stop
wait $worker
[ "$(cat began)" != "$(hostname)" ] && [[ "$(sed -n 2p used)" =~ ^0m([0-9]+)\.([0-9]+)s ]] && ((10#${BASH_REMATCH[1]} * 1000 + 10#${BASH_REMATCH[2]} > 200))
ok "what a task used that was away meanwhile is its parent's" 'cat began used'
relax
overload
rm -f where
ehctl run -- bash -c 'EHS_WHERE=$PWD/where '"$PROBE"' exit 0'
[ -s where ] && ! grep -q "^$(hostname)$" where
ok "tasks leave again" 'cat where'
relax
set_limit 60000
finish
