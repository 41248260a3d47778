# SPDX-License-Identifier: GPL-2.0-or-later
# Shared by the cluster tests; runs as root on node 0 of selftests/vm/cluster.
# shellcheck shell=bash

PROBE=$EHS_SHARE/probe
count=0 failed=0

# ok NAME [SHOW]: the last command's status decides; SHOW is a command for when it failed, in quotes
# (as "$(…)" it would run before, and its status be the one that counts).
ok() {
	local status=$? name=$1

	count=$((count + 1))
	if [ "$status" -eq 0 ]; then
		echo "ok $count - $name"
	else
		failed=$((failed + 1))
		echo "not ok $count - $name"
		echo "# after $SECONDS s"
		[ -z "${2-}" ] || eval "$2" 2>&1 | sed 's/^/# /'
	fi
}

skip() { count=$((count + 1)); echo "ok $count - $1 # SKIP $2"; }

finish() { echo "1..$count"; [ "$failed" -eq 0 ]; }

# wait_for SECONDS CMD…: until CMD succeeds; the bound only ends a broken run.
wait_for() {
	local end=$((SECONDS + $1 * ${EHS_SLOW:-1})); shift

	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# status_of NODE FIELD…: one value out of status --json
status_of() {
	ehctl status --json | python3 -c '
import json, sys
node = [n for n in json.load(sys.stdin)["nodes"] if n["code"] == sys.argv[1]][0]
for key in sys.argv[2:]:
    node = node[key]
print(node)' "$@"
}
state_is() { [ "$(status_of "$1" state)" = "$2" ]; }
no_guests() { [ "$(status_of "$1" tasks guest)" = 0 ]; }

# Home is overloaded by sleeping tasks: under load index "tasks" they count as
# load and cost no processor time, so that only the path of a task is tested. So many,
# that home stays above the mean of the cluster, which the thresholds follow.
overload() {
	ehctl set load-index=tasks || return 1
	sleepers=()
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
		ehctl run -- sleep infinity &
		sleepers+=($!)
	done
	wait_for 20 state_is 0.0 sender
}

relax() {
	kill "${sleepers[@]}" && wait "${sleepers[@]}"
	sleepers=()
	ehctl set load-index=runnable
} 2>/dev/null

# away OUT CMD…: CMD as a child of a managed shell; how it ended goes to OUT.
away() {
	local out=$1; shift

	ehctl run -- "$PROBE" reap "$out" "$@"
}
ended() { sed -n '$p' "$1"; }
