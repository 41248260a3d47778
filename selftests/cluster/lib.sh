# SPDX-License-Identifier: GPL-2.0-or-later
# For the cluster tests, sourced first; they run as root on node 0 of three:
#   selftests/vm/cluster --nodes 3 --append 'view-own={"/usr"}' -- selftests/cluster/20-semantics.sh
# shellcheck shell=bash

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../lib/ktap.sh"
. "$here/../lib/wait.sh"

[ "${EHS_SHARE:-}" ] || skip_all "not on a node of the virtual cluster: make check T=cluster boots one"
cd "$EHS_SHARE" || exit 1
chmod 777 .
PROBE=$EHS_SHARE/probe
[ -e "$PROBE" ] || cp "${EHS_BUILD:-$here/../../build}/selftests/cluster/probe" "$PROBE" ||
	bail_out "no probe: run make tests"

# Sleepers of a test that broke off are gone before the next one.
sleepers=()
trap '[ $BASHPID != $$ ] || [ ${#sleepers[@]} = 0 ] || relax' EXIT

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
