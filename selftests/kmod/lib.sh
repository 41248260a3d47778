# SPDX-License-Identifier: GPL-2.0-or-later
# For the kernel tests: KTAP, waiting, and a node with its cgroups and agent.
# shellcheck shell=bash

tests=0 failed=0
# How many times as long things take with this guest's kernel: limits are so much longer.
slow=${EHS_SLOW:-1}
ok() { tests=$((tests + 1)); echo "ok $tests $1"; }
not_ok() {
	tests=$((tests + 1)) failed=$((failed + 1))
	echo "not ok $tests $1"
	shift
	printf '# %s\n' "$@"
}
skip() { tests=$((tests + 1)); echo "ok $tests $1 # SKIP $2"; }
finish() {
	echo "1..$tests"
	exit $((failed > 0))
}

# is NAME GOT WANTED
is() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got:    $2" "wanted: $3"; fi
}
# like NAME GOT PATTERN (of the shell)
like() {
	# shellcheck disable=SC2053
	if [[ $2 == $3 ]]; then ok "$1"; else not_ok "$1" "got:    $2" "wanted: $3"; fi
}
# holds NAME EXPRESSION
holds() { if (($2)); then ok "$1"; else not_ok "$1" "not true: $2"; fi; }

# until_true SECONDS COMMAND…: waits for an event by asking again and again
until_true() {
	local end=$((SECONDS + $1 * slow))
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || return 1
	done
}
# file_has FILE PATTERN
file_has() { grep -qE -- "$2" "$1"; }

# many SHORT LONG: the size of a storm; the long one with EHS_LONG=1, any other with EHS_ROUNDS
many() { echo "${EHS_ROUNDS:-$([ "${EHS_LONG:-0}" = 0 ] && echo "$1" || echo "$2")}"; }

# progress I N: a line for each tenth of a storm of full size
progress() { [ "${EHS_LONG:-0}" = 0 ] || (($1 % (($2 + 9) / 10))) || echo "# $1 of $2"; }

# field NAME: of the node; a second operand is the file with another output
field() { $nl get | awk -v n="$1" '$1 == n { print $2 }'; }
field_is() { [ "$(field "$1")" = "$2" ]; }
counter() { field "n.$1"; }
# refused NAME ERRNO TEXT COMMAND…: the command fails with this error and a text that has TEXT in it
refused() {
	local name=$1 errno=$2 text=$3 got
	shift 3
	if got=$("$@" 2>&1 >/dev/null); then
		not_ok "$name" "was accepted"
	else
		like "$name" "$got" "$errno: *$text*"
	fi
}

# agent STUB ARGS…: starts one in the background, waits until it is registered; its pid in $agent
agent() {
	: >"$log"
	"$nl" agent "$@" >"$log" 2>&1 &
	agent=$!
	until_true 20 file_has "$log" '^registered' || { echo "Bail out! no agent: $(cat "$log")"; exit 1; }
}
agent_end() {
	kill "$agent" 2>/dev/null
	wait "$agent" 2>/dev/null
	until_true 20 field_is agent ''
}

# sitter CGROUP: a task that is counted and sleeps; its pid in $sitter
sitter() {
	local before
	before=$(field local)
	"$probe" in "$1" -- sleep infinity &
	sitter=$!
	until_true 20 field_is local $((before + 1))
}
sitter_end() {
	kill "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

# A node that manages $cg/m, has the guest cgroup $cg/g, knows its load exactly,
# and is a sender as soon as it has one task.
node_reset() {
	"$nl" set clear && "$nl" set managed="$cg/m" guest="$cg/g" index=tasks weight=1000 \
		threshold=0 length=0 dwell=0 limit=$((100 * slow))
}

# at_zero NAME: no task is counted, listed or load
at_zero() {
	is "$1" "$($nl get | awk '/^(load|local|guest|away|pending) / { print $1, $2 }' | xargs) $($nl tasks)" \
		"load 0 local 0 guest 0 away 0 pending 0 "
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
	before=$($nl get)
	"$@" >"$out" 2>&1
	is "$name" "$({ echo "$before"; $nl get; } | awk '/^n\./ {
		if ($1 in old) { if ($2 != old[$1]) printf "%s%s+%d", n++ ? " " : "", substr($1, 3), $2 - old[$1] }
		else old[$1] = $2
	}')" "$reason+1"
}
