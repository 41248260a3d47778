#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A user who changes the cgroups of his own node, hundreds of times at once: what waits for all calls of generic netlink, as a
# family that comes, waits for no queue of his.
. "$(dirname "$0")/lib.sh"

has_other_family || skip_all "this kernel has no module psample"
mkdir -p $cg/his && chown 65534:65534 $cg/his
# flood CGROUP|-: what a family takes to come, in ms, while his 300 processes set this cgroup, or (-) only ask for the node: the
# shortest of three, as the machine may be busy
flood() {
	local attack from t best=1000000
	touch "$work/loop"
	: >"$out"
	setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --net nice -n 19 \
		"$nl" flood 300 "$work/loop" "$1" >"$out" 2>&1 &
	attack=$!
	wait_for 60 file_has "$out" ^flooding
	for _ in 1 2 3; do
		from=${EPOCHREALTIME/./}
		modprobe psample
		t=$(((${EPOCHREALTIME/./} - from) / 1000))
		modprobe -r psample
		best=$((t < best ? t : best))
	done
	rm "$work/loop"
	wait $attack
	is "all that he asked for was done ($1)" $? 0
	took=$best
}
flood -
asked=$took
flood $cg/his
holds "a family comes in $took ms beside changes, in $asked ms beside questions" "took <= 3 * asked + 200 * slow"
finish
