#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The family under selftests/fuzz/netlink. EHS_FUZZ_SECONDS, EHS_SEED and EHS_FUZZ_OPTIONS for longer and other runs.
. "$(dirname "$0")/lib.sh"

fuzz=${EHS_BUILD:-$top/build}/selftests/fuzz/netlink/fuzz
# the debug kernels' counter of places
[ -e /sys/kernel/debug/kcov ] || mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
if [ -x "$fuzz" ]; then
	# shellcheck disable=SC2086
	"$fuzz" --stub "$stub" --seconds "${EHS_FUZZ_SECONDS:-5}" --corpus "$top/selftests/fuzz/corpus/netlink" \
		${EHS_SEED:+--seed "$EHS_SEED"} ${EHS_FUZZ_OPTIONS-}
	is "the family is well after random and malformed messages" $? 0
	echo "# execs of the machine's node: $($nl get | sed -n 's/^n\.\(.*\) \([1-9].*\)/\1 \2,/p' | xargs)"
else
	fail "the family is well after random and malformed messages" "no $fuzz: run make tests"
fi
finish
