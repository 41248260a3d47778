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
load_is_at_least() { (($(field load) >= $1)); }

# agrees ROUND: what was counted since $begin is what the processors worked, no more and no less
agrees() {
	local real counted

	real=$(($(worked) - begin))
	samples_end
	counted=$(samples 2 counted | awk '{ n += $2 } END { printf "%d\n", n / 1e6 }')
	holds "$1: no past is counted (worked $real ms, counted $counted)" "$counted <= $real + 500"
	holds "and all work is" "$counted * 2 + 500 >= $real"
}
# begin: samples are counted from here
begin() {
	samples_begin
	wait_for 20 samples_are 2 3
	begin=$(worked)
	echo >$traces/trace
}

# a node of which no threshold was set
: >"$out"
sleep infinity | unshare --net sh -c 'echo $$; read x' >"$out" &
wait_for 20 file_has "$out" '^[0-9]+$'
unset_node="nsenter --net=/proc/$(cat "$out")/ns/net $nl"
n=$(nproc)
echo 0 >$switch
is "without a setting the threshold is the processors that there are" "$($unset_node field threshold)" $(((n - 1) * 1000))
echo 1 >$switch
is "and follows them" "$($unset_node field threshold)" $((n * 1000))
kill "$(cat "$out")"

# a past of some seconds
: >"$out"
taskset -c 1 "$probe" busy 1 >"$out" &
busy=$!
wait_for 100 worked_is 1 4000
kill $busy
wait $busy 2>/dev/null
node_reset
"$nl" set index=cpu
for round in 1 2; do
	begin
	echo 0 >$switch
	wait_for 20 samples_are 2 10
	echo 1 >$switch
	at=$(samples 2 cost | wc -l)
	wait_for 20 samples_are 2 $((at + 10))
	agrees "round $round"
done
# The host may have other work: the load is no less than the task, and what was counted is true.
begin
: >"$out"
taskset -c 1 "$probe" busy 1 >"$out" &
busy=$!
wait_for 20 file_has "$out" busy
wait_for 20 load_is_at_least 700
ok "a task on it is a busy processor" 'field load'
wait_for 100 worked_is 1 $(($(worked 1) + 2000))
agrees "with the task"
kill $busy
wait $busy 2>/dev/null
finish
