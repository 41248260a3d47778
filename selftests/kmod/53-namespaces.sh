#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Idle network namespaces cost the sampler nothing, and a dump shows each of many once.
. "$(dirname "$0")/lib.sh"
. "$here/samples.sh"

cost_of_sample() {	# the median of 50
	samples_begin
	wait_for 60 samples_are 2 50
	samples_end
	samples 2 cost | median
}
node_reset
"$nl" set index=cpu
before=$(cost_of_sample)
number=${EHS_ROUNDS:-$(many 1000 2000)}
: >"$out"
"$probe" namespaces "$number" >"$out" &
maker=$!
wait_for 200 file_has "$out" made
is "$number namespaces are made" $? 0
after=$(cost_of_sample)
holds "a sample costs the same with them ($before ns without, $after with)" "after < before * 2"
is "it looks at the node that wants it" "$(samples 2 nodes | awk '{ print $2 }' | sort -u)" 1

# all of them, once, while others come and go
netns() { "$nl" dump | awk '$1 == "netns" { print $2 }'; }
storm_begin 2 -- unshare --net true
twice=0 short=0
for _ in 1 2 3 4 5; do
	netns >"$out"
	[ -z "$(sort "$out" | uniq -d)" ] || twice=$((twice + 1))
	(($(wc -l <"$out") > number)) || short=$((short + 1))
done
storm_end "namespaces come and go"
is "a dump shows no node twice" $twice 0
is "and none is missing" $short 0
is "in another namespace it shows the own node" \
	"$(unshare --net "$nl" dump | grep -c ^netns)" 1
kill $maker
wait $maker 2>/dev/null
finish
