#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A storm of twelve links of 1 GB on nodes of 4 GB: all are done, and no task of an owner is killed. Needs some 16 GB and
# is not part of `make check`: selftests/vm/30-memory-storm.sh. selftests/agent/293-memory-storm.py is the same, smaller.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" != inside ]; then
	exec "$here/cluster" --no-module --nodes 5 --memory 4096 --timeout 1500 --append 'time-limit = 10000' \
		--append 'learn = true' --append 'guest-oom-score = 500' --append 'load-index = "tasks"' \
		--append 'threshold-floor = 20.0' --append 'threshold = 20.0' -- "$here/30-memory-storm.sh" inside
fi
. "$here/../lib/ktap.sh"
. "$here/../lib/wait.sh"

python=$(readlink -f "$(command -v python3)")
# Takes so many MiB, says in a file where, and ends when there is another file.
program='
import os, sys, time
x = bytearray(int(sys.argv[1]) << 20)
with open(sys.argv[2] + ".new", "w") as f:
    f.write(os.uname().nodename + "\n")
os.rename(sys.argv[2] + ".new", sys.argv[2])
while not os.path.exists(sys.argv[3]):
    time.sleep(0.2)
'
limit=300
go=go
link() { ehctl exec "$@" -- "$python" -I -S -c "$program" 1000 "up.$n" "$go"; }
are_up() { [ "$(find . -maxdepth 1 -name "$1" | wc -l)" -eq "$2" ]; }
all_run() { local pid; for pid in "$@"; do kill -0 "$pid" || return 1; done; }
on_node() { cat up.[0-9]* | grep -cx "n$1"; }
killed() { for n in 0 1 2 3 4; do on "$n" dmesg; done | grep -c 'Killed process'; }

owners=() links=()
for n in 1 2 3 4; do
	on "$n" "$python" -I -S -c "$program" 256 "owner.$n" stop &
	owners+=($!)
done
wait_for $limit are_up 'owner.?' 4
ok "a task of its owner on each executor" 'ls'
failed=0
for n in 1 2 3 4; do
	go=up.$n link "n$n" || failed=$((failed + 1))
done
rm -f up.?
is "a first link on each is learned from" $failed 0
for n in $(seq 12); do
	link --auto --all 2>"err.$n" &
	links+=($!)
done
wait_for $limit are_up 'up.*[0-9]' 12
ok "twelve at once have their memory" 'ls; cat err.*; ehctl tasks'
worst=$(for n in 0 1 2 3 4; do on_node $n; done | sort -n | tail -n 1)
[ "$worst" -le 3 ]
ok "nowhere more than fit" 'cat up.*; ehctl tasks'
all_run "${owners[@]}"
ok "the owners' tasks go on" 'on 1 dmesg | tail'
touch go
failed=0
for pid in "${links[@]}"; do
	wait "$pid" || failed=$((failed + 1))
done
is "all links are done" $failed 0
touch stop
failed=0
for pid in "${owners[@]}"; do
	wait "$pid" || failed=$((failed + 1))
done
is "and so are the owners' tasks" $failed 0
is "the kernels have killed nobody" "$(killed)" 0
finish
