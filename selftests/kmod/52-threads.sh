#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The walk over all threads keeps to its part of a processor, on a host with many.
. "$(dirname "$0")/lib.sh"
. "$here/samples.sh"

# As load_math.h: one part in so many; what was saved before may be spent at once; and a sample is charged no more than this and
# this for each thread, ns.
part=200 credit=5000000 most=2000000 most_thread=3000
charged() {
	paste -d ' ' <(samples 0 cost) <(samples 0 threads) |
		awk -v most=$most -v thread=$most_thread '{ m = most + thread * $4; print $1, $2 < m ? $2 : m }'
}
# within NAME: the walks since samples_begin cost no more than their part of the time; the last is not yet paid
within() {
	local took cost last n
	samples_end	# to read them takes time, too
	took=$((${EPOCHREALTIME/./} - begin))
	read -r cost last n < <(charged | awk '{ c += $2; l = $2 } END { print c + 0, l + 0, NR }')
	echo "# $n walks of $(samples 0 threads | median) threads, $(samples 0 cost | median) ns each, in $took us:" \
		"1/$((took * 1000 / (cost + 1))) of a processor"
	holds "$1 (of $((took * 1000 / part)) + $credit ns took $cost, $last of them last)" \
		"cost - last <= took * 1000 / part + credit"
}
watch_begin() { samples_begin; begin=${EPOCHREALTIME/./}; }

threads=${EHS_ROUNDS:-$(many 10000 20000)}
echo $((threads * 2 + 10000)) >/proc/sys/kernel/threads-max
(($(cat /proc/sys/kernel/pid_max) > threads * 2)) || echo $((threads * 2 + 10000)) >/proc/sys/kernel/pid_max
: >"$out"
"$probe" sleepers "$threads" >"$out" &
crowd=$!
wait_for 100 file_has "$out" asleep
is "$threads threads sleep" $? 0

: >"$out"
sleep infinity | unshare --user --map-root-user --net sh -c 'echo $$; read x' >"$out" &
wait_for 20 file_has "$out" '^[0-9]+$'
home=$(cat "$out")
mkdir -p $cg/own
there="nsenter --user --preserve-credentials --net=/proc/$home/ns/net -t $home"

# a namespace's owner changes its index again and again
watch_begin
$there "$nl" flip 200
is "its owner may change a namespace's load index" $? 0
within "and so causes no walks beyond their part"
watch_begin
for _ in 1 2 3 4 5; do $there "$nl" set index=cpu; $there "$nl" get >"$out"; $there "$nl" set index=runnable; done
within "nor do reads in between"
like "what is shown is a load" "$($there "$nl" get | grep ^load)" "load [0-9]*"

# a node that is sampled all the time
node_reset
"$nl" set index=runnable
watch_begin
wait_for 120 samples_are 0 6
is "a managed node is sampled" $? 0
within "sampling keeps to its part"
# KCSAN stops any thread at random, for as long as it likes
if [ "${EHS_KERNEL-}" = kcsan ]; then
	skip "most samples take no more than they are charged" "KCSAN delays what it watches"
else
	holds "most samples take no more than they are charged" "$(samples 0 cost | median) <= most + most_thread * threads"
fi
holds "each walk sees all threads" "$(samples 0 threads | sort -k2n | awk 'NR == 1 { print $2 }') >= threads"
: >"$out"
"$probe" busy 1 >"$out" &
busy=$!
wait_for 20 file_has "$out" busy
got=$("$nl" load 1000 $((60 * slow)))
is "a computing task is seen ($got)" $? 0
kill $busy
wait $busy 2>/dev/null
got=$("$nl" load 0 $((60 * slow)))
is "and its end ($got)" $? 0

# Samples are far apart here. Between two of them, a task that was placed counts as one, though it never computes.
$there "$nl" set index=runnable threshold=9000 managed=$cg/own
$there "$nl" load 0 $((60 * slow)) >"$out"
seen=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
	$there "$probe" in $cg/own -- sleep infinity &
	sitter=$!
	wait_for 20 eval '[ "$(cat /proc/$sitter/comm)" = sleep ]'
	l=$($there "$nl" get | awk '$1 == "load" { print $2 }')
	((l > seen)) && seen=$l
	sitter_end $sitter
	((seen < 1000)) || break
	$there "$nl" load 0 $((60 * slow)) >"$out"
done
holds "a task counts as soon as it starts (seen $seen)" "seen >= 1000 && seen < 2000"
kill $crowd $home
finish
