#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A user who floods the nodes of his own namespaces: no caller of netlink sleeps in the module, so no call of others waits for his,
# and the host's own node is sampled.
. "$(dirname "$0")/lib.sh"
. "$here/samples.sh"

has_other_family || skip_all "this kernel has no module psample"
number=${EHS_ROUNDS:-$(many 200 500)}
mkdir -p $cg/his && chown 65534:65534 $cg/his
own="setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --net nice -n 19"
another="setpriv --reuid=1000 --regid=1000 --clear-groups"

# Where processes of the flood go to sleep, as the scheduler sees it.
naps=$traces/instances/naps
mkdir -p $naps
echo 16384 >$naps/buffer_size_kb
asleep='prev_comm == "nl" && prev_state > 0 && prev_state < 256'
naps_begin() {
	echo >$naps/trace
	echo "stacktrace if $asleep" >$naps/events/sched/sched_switch/trigger
	echo "$asleep" >$naps/events/sched/sched_switch/filter
	echo 1 >$naps/events/sched/sched_switch/enable
}
naps_end() {
	echo 0 >$naps/events/sched/sched_switch/enable
	echo '!stacktrace' >$naps/events/sched/sched_switch/trigger
	cp $naps/trace "$work/naps"
}
# With PREEMPT_RT a spinlock that is held is slept for, for as long as others would spin.
sleeps_in_module() { awk -v RS='<stack trace>' '!/=> (rt_spin_lock|rtlock_slowlock)/' "$work/naps" | grep -o "=> ehs_[a-z_]*"; }
# comings: a family comes and goes while the file is there; how long the slowest took to come, ms
comings() {
	local from t most=0
	while [ -e "$work/loop" ]; do
		from=${EPOCHREALTIME/./}
		modprobe psample
		t=$(((${EPOCHREALTIME/./} - from) / 1000))
		modprobe -r psample
		most=$((t > most ? t : most))
	done
	echo $most
}

# flood family|node|CGROUP|STUB: what his processes do; what others see of it is in $slowest and $came, ms
flood() {
	local attack family
	touch "$work/loop"
	: >"$out"
	$own "$nl" flood "$number" "$work/loop" "$1" >"$out" 2>&1 &
	attack=$!
	wait_for 200 file_has "$out" ^flooding || bail_out "no flood: $(cat "$out")"
	naps_begin
	comings >"$work/came" &
	family=$!
	slowest=$($another "$nl" slowest "$(many 200 1000)")
	[ "$1" != node ] || age=$(field load-age)
	rm "$work/loop"
	wait $family
	naps_end
	wait $attack
	is "all that he asked for was done ($1)" $? 0
	came=$(cat "$work/came")
	holds "he sleeps where the scheduler is seen ($1)" "$(grep -c "=> __schedule\|=> schedule" "$work/naps") > number"
	is "but not in the module ($1)" "$(sleeps_in_module | sort | uniq -c | xargs)" ""
}
node_reset
$nl set index=runnable
flood family
before=$slowest came_before=$came
samples_begin
flood node
samples_end
holds "the host's own node is sampled meanwhile ($age ms ago)" "age < 1000 * slow"
holds "a sample has some of his nodes, not all" "$(samples 0 nodes | awk '$2 > m { m = $2 } END { print m + 0 }') == 64"
holds "another user's question takes $slowest ms at most, $before ms beside one that is not ours" "slowest <= 3 * before + 1000 * slow"
flood $cg/his
holds "and beside changes $slowest ms" "slowest <= 3 * before + 1000 * slow"
flood "$stub"
holds "and beside agents that replace one another $slowest ms" "slowest <= 3 * before + 1000 * slow"
if [[ $(uname -v) = *PREEMPT_RT* ]]; then
	skip "a family comes in $came ms, in $came_before ms beside what is not ours" "readers pass a writer that waits (kernel/locking/rwbase_rt.c), so there is no bound for any family"
else
	holds "a family comes in $came ms, in $came_before ms beside what is not ours" "came <= 3 * came_before + 1000 * slow"
fi
rmdir $naps
finish
