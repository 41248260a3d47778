# SPDX-License-Identifier: GPL-2.0-or-later
# KTAP for test programs in shell: source this file, report results with the functions below, and
# call finish at the end. The plan comes last, so that it also proves that the end was reached.
# shellcheck shell=bash

KSFT_SKIP=4
ktap_tests=0 ktap_failed=0
echo "KTAP version 1"

# pass NAME
pass() { ktap_tests=$((ktap_tests + 1)); echo "ok $ktap_tests - $1"; }
# fail NAME [LINE]…: the lines say why
fail() {
	ktap_tests=$((ktap_tests + 1)) ktap_failed=$((ktap_failed + 1))
	# those who see no more than this line should see why
	echo "not ok $ktap_tests - $1${2:+ # ${2:0:300}}" | tr '\n' ' '
	echo
	shift
	[ $# = 0 ] || printf '%s\n' "$@" | sed 's/^/# /'
}
# skip NAME REASON: this result cannot be had here
skip() { ktap_tests=$((ktap_tests + 1)); echo "ok $ktap_tests - $1 # SKIP $2"; }
# skip_all REASON: nor can any other of this program
skip_all() { echo "1..0 # SKIP $*"; exit $KSFT_SKIP; }
# bail_out REASON: the rest makes no sense
bail_out() { echo "Bail out! $*"; exit 1; }
# finish: the plan, and the exit status
finish() {
	echo "1..$ktap_tests"
	exit $((ktap_failed > 0))
}

# ok NAME [SHOW]: the status of the command before decides. SHOW is a command for when it failed, in
# quotes: as "$(…)" it would run before, and its own status would decide.
ok() {
	local status=$?

	if [ $status = 0 ]; then
		pass "$1"
	else
		fail "$1" "status $status after $SECONDS s" ${2:+"$(eval "$2" 2>&1)"}
	fi
}
# check NAME COMMAND…: the command succeeds
check() {
	local name=$1 said
	shift
	if said=$("$@" 2>&1); then pass "$name"; else fail "$name" "$said"; fi
}
# is NAME GOT WANTED
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "got:    $2" "wanted: $3"; fi; }
# like NAME GOT PATTERN (of the shell)
like() {
	# shellcheck disable=SC2053
	if [[ $2 == $3 ]]; then pass "$1"; else fail "$1" "got:    $2" "wanted: $3"; fi
}
# holds NAME EXPRESSION (of arithmetic)
holds() { if (($2)); then pass "$1"; else fail "$1" "not true: $2"; fi; }
