# SPDX-License-Identifier: GPL-2.0-or-later
# Waiting for events. A bound only ends a broken run: no test waits for a time to pass.
# shellcheck shell=bash

# How many times as long as usual things take with this guest's kernel
slow=${EHS_SLOW:-1}

# A machine that has other work may stand still for long: nobody is waited for in vain before so many seconds.
wait_least=60

# nap SECONDS: a terminal that nobody writes to is read, as to start sleep(1) takes an emulated guest as long as to ask
nap() {
	read -rt "$1" <>/dev/ptmx
	(($? > 128)) || sleep "$1"
}

# wait_for SECONDS COMMAND…: until the command succeeds; when the time is over it says so, and what the command says, and its
# status is 1. It is asked again at once for a while, as most events are near. What has not come by
# then is asked for less often: it leaves the processor to others.
wait_for() {
	local end=$((SECONDS + ($1 > wait_least ? $1 : wait_least) * slow)) asked=0

	shift
	until "$@" >/dev/null 2>&1; do
		if ((SECONDS >= end)); then
			echo "# waited in vain: $*" >&2
			{ "$@"; echo "status $?"; } 2>&1 | sed 's/^/#   /' >&2
			return 1
		fi
		if ((++asked >= 50)); then nap 0.2; elif ((asked >= 20)); then nap 0.05; fi
	done
}
