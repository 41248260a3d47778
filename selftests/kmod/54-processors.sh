#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Load index cpu while a processor goes and comes.
. "$(dirname "$0")/lib.sh"
. "$here/samples.sh"

switch=/sys/devices/system/cpu/cpu1/online
[ -e $switch ] || { skip "a processor goes and comes" "this machine cannot take one offline"; finish; }
# worked [CPU]: ms that all processors, or this one, have worked since boot; user, nice, system, irq, softirq
worked() {
	awk -v cpu="${1:-}" '$1 ~ "^cpu[0-9]" && (cpu == "" || $1 == "cpu" cpu) { n += $2 + $3 + $4 + $7 + $8 }
		END { print n * 10 }' /proc/stat
}
worked_is() { (($(worked "$1") >= $2)); }

# a past of some seconds
taskset -c 1 "$probe" busy 1 >"$out" &
busy=$!
wait_for 100 worked_is 1 4000
kill $busy
wait $busy 2>/dev/null
node_reset
"$nl" set index=cpu
for round in 1 2; do
	samples_begin
	wait_for 20 samples_are 2 3
	begin=$(worked)
	echo >$traces/trace
	echo 0 >$switch
	wait_for 20 samples_are 2 10
	echo 1 >$switch
	at=$(samples 2 cost | wc -l)
	wait_for 20 samples_are 2 $((at + 10))
	real=$(($(worked) - begin))
	samples_end
	counted=$(samples 2 counted | awk '{ n += $2 } END { printf "%d\n", n / 1e6 }')
	holds "round $round: it brings no past along (worked $real ms, counted $counted)" "counted <= real + 500"
	holds "and its work counts again" "counted * 2 + 500 >= real"
done
taskset -c 1 "$probe" busy 1 >"$out" &
busy=$!
wait_for 20 file_has "$out" busy
got=$("$nl" load 1000 $((20 * slow)))
is "a task on it is a busy processor ($got)" $? 0
kill $busy
wait $busy 2>/dev/null
finish
