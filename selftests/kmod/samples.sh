# SPDX-License-Identifier: GPL-2.0-or-later
# The tracepoint ehs_sample, for tests of the sampler; sourced after lib.sh.
# shellcheck shell=bash

traces=/sys/kernel/tracing
[ -e $traces/trace ] || mount -t tracefs tracefs $traces || bail_out "no tracefs"

samples_begin() { echo >$traces/trace; echo 1 >$traces/events/ehsched/ehs_sample/enable; }
samples_end() { echo 0 >$traces/events/ehsched/ehs_sample/enable; }
# samples INDEX FIELD: of each sample so far, oldest first, a line: seconds, then the field
samples() {
	awk -v index_is="index=$1" -v name="$2" '/ ehs_sample: / && index($0, index_is " ") {
		time = ""
		for (i = 1; i <= NF; i++) {
			if ($i == "ehs_sample:") time = $(i - 1)
			if (index($i, name "=") == 1) print time + 0, substr($i, length(name) + 2)
		}
	}' $traces/trace
}
# samples_are INDEX N: so many have been taken
samples_are() { (($(samples "$1" cost | wc -l) >= $2)); }
# median: of the second words of its input
median() { sort -k2n | awk '{ a[NR] = $2 } END { print a[int((NR + 1) / 2)] }'; }
