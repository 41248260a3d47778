#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A user whose memory cgroup is full, of pages that no kill frees, asks for what takes memory: netlink's locks are held then, so
# nobody is killed for it, and the call fails.
. "$(dirname "$0")/lib.sh"

echo +memory >/sys/fs/cgroup/cgroup.subtree_control && echo +memory >$cg/cgroup.subtree_control ||
	skip_all "this kernel has no memory cgroups"
mkdir -p $cg/his && chown 65534:65534 $cg/his
his="$probe in $cg/his -- setpriv --reuid=65534 --regid=65534 --clear-groups"
full=/dev/shm/full
node_reset
touch "$work/loop"
: >"$out"
# of the kernel's, as its stack says
kills() { dmesg | awk '/invoked oom-killer/ { all++; on = 1 } on && /ehs_[a-z_]*\+/ { ours++; on = 0 } /memory: usage/ { on = 0 } END { print all + 0, ours + 0 }'; }
$his unshare --user --map-root-user --net "$nl" flood 30 "$work/loop" "$stub" >"$out" 2>&1 &
attack=$!
wait_for 100 file_has "$out" ^flooding || bail_out "no flood: $(cat "$out")"
read -r all ours < <(kills)
$his sh -c "head -c 10M /dev/zero >$full"
echo $(($(cat $cg/his/memory.current) + 500000)) >$cg/his/memory.max
# each of these fills what the last kill has freed
for _ in {1..14}; do $his sh -c "head -c 1M /dev/zero >>$full" 2>/dev/null; done
rm "$work/loop"
echo max >$cg/his/memory.max
wait $attack
read -r all_now ours_now < <(kills)
holds "processes are killed for memory ($((all_now - all)))" "all_now > all"
is "none from the module, under netlink's locks" $((ours_now - ours)) 0
rm -f $full
at_zero "all counts are back at zero"
finish
