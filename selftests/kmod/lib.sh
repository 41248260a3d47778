# SPDX-License-Identifier: GPL-2.0-or-later
# For the kernel tests, sourced first: a guest with the module just loaded and a node with its cgroups and
# agent. Loads and removes the module, so it runs only in a machine made for it:
#   selftests/vm/cluster --nodes 1 --smp 2 --bare -- selftests/kmod/40-verdict.sh
# shellcheck shell=bash

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
. "$here/../lib/ktap.sh"
. "$here/../lib/wait.sh"

[ "${EHS_SHARE:-}" ] || skip_all "not in a guest: make check T=kmod boots one"
cd "$EHS_SHARE" || exit 1
module=${EHS_MODULE:-$top/build/ehsched.ko}
built=${EHS_BUILD:-$top/build}/selftests/kmod
[ -e "$module" ] || bail_out "no $module: run make module"
[ -e "$built/stub" ] || bail_out "no $built/stub: run make tests"

# Programs are put on the guest's own file system: it knows set-user-id bits and file capabilities.
programs=/tmp/kmod
[ -d $programs ] || { mkdir $programs && cp "$built"/{nl,probe,stub} $programs; } || exit 1
# shellcheck disable=SC2034	# stub is for the tests
nl=$programs/nl probe=$programs/probe stub=$programs/stub
work=$(mktemp -d /tmp/kmod.XXXXXX)
chmod 755 "$work"
log=$work/agent.log out=$work/out cg=/sys/fs/cgroup/kmod
mkdir -p $cg/m/below $cg/g $cg/other

# What a test that broke off has left, too, is gone before the next one.
leave() {
	local pids

	[ $BASHPID = $$ ] || return 0 # a child that is killed before its exec runs it, too
	pids=$(jobs -p)
	rm -f "$work/storm"
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill -KILL $pids 2>/dev/null
	[ ! -d /sys/module/ehsched ] || { echo N >/sys/module/ehsched/parameters/intercept; wait_for 20 rmmod ehsched; }
	rm -rf "$work"
}
trap leave EXIT
insmod "$module" || bail_out "the module does not load"

# Random choices repeat with the same seed. EHS_LONG=1: storms of full size, see many().
seed=${EHS_SEED:-$((SRANDOM % 65536))}
RANDOM=$seed
echo "# EHS_SEED=$seed"

# yaml_python: a python that can read the specification
yaml_python() {
	local p
	for p in /usr/bin/python3 python3; do
		! $p -c 'import yaml' 2>/dev/null || { echo $p; return; }
	done
	return 1
}

# file_has FILE PATTERN: of a line, in a file that is short. Empty it before you start who writes it: a shell in the background may
# be later than the first look.
file_has() {
	local line lines
	mapfile -t lines <"$1"
	for line in "${lines[@]}"; do
		[[ ! $line =~ $2 ]] || return 0
	done
	return 1
}

# many SHORT LONG: the size of a storm; the long one with EHS_LONG=1, any other with EHS_ROUNDS
many() { echo "${EHS_ROUNDS:-$([ "${EHS_LONG:-0}" = 0 ] && echo "$1" || echo "$2")}"; }

# progress I N: a line for each tenth of a storm of full size
progress() { [ "${EHS_LONG:-0}" = 0 ] || (($1 % (($2 + 9) / 10))) || echo "# $1 of $2"; }

# log_mark; logged: what the kernel has said since then
log_mark() { kernel_mark="mark $EPOCHREALTIME"; echo "$kernel_mark" >/dev/kmsg; }
logged() { dmesg -t | sed "1,/$kernel_mark/d"; }

# field NAME…: of the node
field() { $nl field "$@"; }
field_is() { [ "$($nl field "$1")" = "$2" ]; }
counter() { $nl field "n.$1"; }
# The waiting is done by nl, as wait_for() starts two processes for each question of this kind.
wait_by_nl() { $nl wait $((wait_least * slow)) "$@" || { echo "# waited in vain: $* (now $($nl field "$2" 2>&1))" >&2; return 1; }; }
# becomes NAME VALUE|N+: waits until the field of the node is this, or N at least
becomes() { wait_by_nl field "$@"; }
# listed_as PATTERN: waits until a line of nl tasks is like this
listed_as() { wait_by_nl task "$1"; }
# nodes_are N: waits until there are so many; those of network namespaces that have ended go later
nodes_are() { wait_by_nl nodes "$1"; }
# ended PID: of a child
ended() { ! kill -0 "$1" 2>/dev/null; }
# refused NAME ERRNO TEXT COMMAND…: the command fails with this error and a text that has TEXT in it
refused() {
	local name=$1 errno=$2 text=$3 got
	shift 3
	if got=$("$@" 2>&1 >/dev/null); then
		fail "$name" "was accepted"
	else
		like "$name" "$got" "$errno: *$text*"
	fi
}

# agent STUB ARGS…: starts one in the background, waits until it is registered; its pid in $agent
agent() {
	: >"$log"
	"$nl" agent "$@" >"$log" 2>&1 &
	agent=$!
	wait_for 20 file_has "$log" '^registered' || bail_out "no agent: $(cat "$log")"
}
agent_end() {
	kill "$agent" 2>/dev/null
	wait "$agent" 2>/dev/null
	becomes agent ''
}

# sitter CGROUP: a task that is counted and sleeps; its pid in $sitter. It is waited for by its pid: the number of all tasks may
# still fall, by those of an earlier check that end.
sitter() {
	"$probe" in "$1" -- sleep infinity &
	sitter=$!
	listed_as "* pid=$sitter * local *"
}
sitter_end() {
	kill "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

# A node that manages $cg/m, has the guest cgroup $cg/g, knows its load exactly,
# and is a sender as soon as it has one task. The time limit is the longest: only tests of the limit set a shorter one.
node_reset() {
	"$nl" set clear && "$nl" set managed="$cg/m" guest="$cg/g" index=tasks weight=1000 \
		threshold=0 length=0 dwell=0 limit=10000 processors=0
}

# A user has made a network namespace of his own, with a node: he starts in $cg/his/c, and it manages $cg/his/t.
his_cgroups() {
	mkdir -p $cg/his/c $cg/his/t
	chown 65534:65534 $cg/his $cg/his/cgroup.procs $cg/his/t $cg/his/t/cgroup.procs
}
# shellcheck disable=SC2034	# for the tests
him="$probe in $cg/his/c -- setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --net"
# his_script FILE AGENT…: for $him bash FILE: it begins with this agent and one task, and goes on with standard input
his_script() {
	local script=$1
	shift
	his_cgroups
	{
		cat <<-HIS
			"$nl" set managed=$cg/his/t threshold=0 length=0 index=tasks dwell=0 limit=10000
			"$nl" agent $* >/dev/null &
			"$nl" wait $((wait_least * slow)) field agent 1+
			"$probe" in $cg/his/t -- sleep infinity &
			"$nl" wait $((wait_least * slow)) field local 1
		HIS
		cat
	} >"$script"
}

# at_zero NAME: no task is counted, listed or load
at_zero() {
	is "$1" "load, local, guest, away, pending: $(field load local guest away pending) $($nl tasks)" \
		"load, local, guest, away, pending: 0 0 0 0 0 "
}
# arrivals: all execs the node has counted
arrivals() { $nl get | awk '/^n\./ { n += $2 } END { print n }'; }
# storm_begin N -- CMD…: N processes that run CMD again and again; CMD must never fail. Nice: who drives the test is to get through.
storm_begin() {
	touch "$work/storm"
	nice "$probe" storm "$work/storm" "$@" &
	storms="${storms-} $!"
}
# storm_end NAME
storm_end() {
	local pid failures=0
	rm -f "$work/storm"
	for pid in $storms; do wait "$pid" || failures=$((failures + 1)); done
	storms=
	is "$1" $failures 0
}

# has_other_family: there is a module whose family of generic netlink can come and go, which waits for all calls of others
has_other_family() { modprobe -n psample 2>/dev/null && ! grep -q '/psample\.ko' "/lib/modules/$(uname -r)/modules.builtin"; }

debugfs=/sys/kernel/debug
# faults_ready: this kernel makes allocations fail on request: also those that may wait for memory, pages of any number, and
# without a backtrace each time
faults_ready() {
	local f setting
	[ -e /proc/self/fail-nth ] || return 1
	[ -d $debugfs/sched ] || mount -t debugfs debugfs $debugfs 2>/dev/null
	for f in failslab fail_page_alloc fail_usercopy; do
		for setting in ignore-gfp-wait:N ignore-gfp-highmem:N min-order:0 verbose:0; do
			[ ! -e $debugfs/$f/${setting%:*} ] || echo ${setting#*:} >$debugfs/$f/${setting%:*}
		done
	done
}

# counted REASON NAME COMMAND…: exactly this reason is counted, once, by COMMAND
counted() {
	local reason=$1 name=$2 before
	shift 2
	before=$($nl counts)
	"$@" >"$out" 2>&1
	is "$name" "$($nl counts "$before")" "$reason+1"
}
