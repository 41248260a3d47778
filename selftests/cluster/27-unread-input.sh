#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Input that a task away has not read stays for the next reader, beside busy loops at home: each case again and again, as what
# goes wrong does so by chance. EHS_ROUNDS=N times; 400 with EHS_LONG=1.
. "$(dirname "$0")/lib.sh"

rounds=${EHS_ROUNDS:-$([ "${EHS_LONG:-0}" = 0 ] && echo 4 || echo 400)}
at_once=4
ehctl set time-limit=10000
busy=()
for _ in 1 2 3 4; do while :; do :; done & busy+=($!); done

# repeated NAME PROBES WANTED SCRIPT: in managed shells, which print what they have printed each time in a line; it starts so
# many probes
repeated() {
	local name=$1 probes=$2 wanted=$3 k right wrong shells=()

	rm -f printed.* where.*
	for k in $(seq $at_once); do
		EHS_WHERE=$PWD/where.$k ehctl run --all -- bash -c "for i in \$(seq $(((rounds + at_once - 1) / at_once))); do echo \$($4); done" >printed.$k 2>&1 &
		shells+=($!)
	done
	wait "${shells[@]}"
	right=$(cat printed.* | grep -cFx "$wanted")
	wrong=$(cat printed.* | grep -vcFx "$wanted")
	[ "$right" -ge "$rounds" ] && [ "$wrong" = 0 ]
	ok "$name: $rounds times" 'echo "$wrong wrong"; cat printed.* | sort | uniq -c'
	[ "$(cat where.* | grep -vcFx "$(hostname)")" -ge $((rounds * probes * 9 / 10)) ]
	ok "$name: away" 'sort where.* | uniq -c'
}
repeated "a loop over lines" 3 "1 2 3" "seq 3 | while read x; do $PROBE exit 0; echo \$x; done"
repeated "one that starts others" 1 "1 2" "printf '1\n2\n3\n' | { read p; sh -c '$PROBE exit 0; :'; read q; echo \$p \$q; }"
repeated "what it leaves of what it reads" 1 headerBODY "printf headerBODY | { sh -c '$PROBE exit 0; exec dd bs=6 count=1' 2>/dev/null; cat; }"
kill "${busy[@]}"
wait "${busy[@]}" 2>/dev/null
finish
