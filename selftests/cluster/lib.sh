# SPDX-License-Identifier: GPL-2.0-or-later
# For the cluster tests, sourced first; they run as root on node 0 of three:
#   selftests/vm/cluster --nodes 3 --append 'view-own={"/usr"}' --append learn=false -- selftests/cluster/20-semantics.sh
# Nothing is learned: the probe is one program whatever it does, and stayed at home for having been short.
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

# value TEXT KEY…: what JSON has behind these keys, one after another; no string with a comma. To start a python takes an
# emulated guest ten times as long as to ask an agent, and some of what is asked here is asked again and again.
value() {
	local text=$1 key

	for key in "${@:2}"; do
		[[ $text == *"\"$key\":"* ]] || return 1
		text=${text#*"\"$key\":"}
	done
	text=${text%%[],\}]*}
	text=${text#\"}
	echo "${text%\"}"
}
# status_of NODE FIELD…: one value out of status --json; a node's object begins with its code
status_of() {
	local all of="{\"code\":\"$1\","

	all=$(ehctl status --json) && [[ $all == *"$of"* ]] && value "${all#*"$of"}" "${@:2}"
}
reason_of() { value "$(ehctl why "$1" --json)" reason; }
has_module() { [ "$(status_of 0.0 module)" = true ]; }
agent_pid() { on "$1" cat "/run/ehsched/node$1/pid"; }
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

# set_limit MS: of a job without a connection. It is long (settings), as starved guests hear nothing of each other for seconds;
# who waits for its end makes it short.
set_limit() {
	local n log seen
	for n in 0 1 2; do
		log=$EHS_SHARE/.agent/n$n.log
		seen=$(grep -c 'is now in effect' "$log")
		on "$n" sh -c "cd /run/ehsched/node$n && sed -i 's/^job-limit *=.*/job-limit = $1/' agent.conf && kill -HUP \$(cat pid)"
		wait_for 20 reloaded_since "$seen"
	done
}
# configure LINE: node 0's configuration has this option from now on, in place of what it said of it.
configure() {
	local conf=/run/ehsched/node0/agent.conf log=$EHS_SHARE/.agent/n0.log seen

	seen=$(grep -c 'is now in effect' "$log")
	sed -i "/^${1%% *} *=/d" $conf
	printf '\n%s\n' "$1" >>$conf
	kill -HUP "$(agent_pid 0)"
	wait_for 20 reloaded_since "$seen"
}
reloaded_since() { [ "$(grep -c 'is now in effect' "$log")" -gt "$1" ]; }
