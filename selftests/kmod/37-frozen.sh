#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An exec that waits for a verdict holds up neither the freezer of its cgroup nor the system's, longer than its limit, and is not
# lost by them.
. "$(dirname "$0")/lib.sh"

mkdir -p $cg/m/cold
node_reset
sitter $cg/m
mkfifo "$work/orders"
agent "$stub" manual "$work/orders"
answer() { echo "$(awk '/^request/ { c = $2 } END { print c }' "$log") $*" >"$work/orders"; }
frozen_is() { grep -q "^frozen $1$" $cg/m/cold/cgroup.events; }
# waiting: an exec of its own cgroup that waits; its pid in $waits
waiting() {
	$probe in $cg/m/cold -- sh -c 'echo ran' >"$out" 2>&1 &
	waits=$!
	becomes pending 1
}
# end: how it ended, and what it said, in $ended
end() {
	wait "$waits" 2>/dev/null
	ended="$? $(cat "$out")"
}

# the cgroup is frozen while the exec waits
waiting
echo 1 >$cg/m/cold/cgroup.freeze
is "the exec waits on" "$(field pending)" 1
answer local no-receiver -
wait_for 20 frozen_is 1
is "with the verdict its cgroup is frozen" "$? $(field pending) $(cat "$out")" "0 0 "
echo 0 >$cg/m/cold/cgroup.freeze
end
is "and thawed it runs" "$ended" "0 ran"

# one that is killed in a frozen cgroup
waiting
echo 1 >$cg/m/cold/cgroup.freeze
kill -KILL $waits
becomes pending 0
end
is "a fatal signal ends the wait in a cgroup that freezes" "$ended" "137 "
echo 0 >$cg/m/cold/cgroup.freeze

# without a verdict its limit ends it
$nl set limit=$((3000 * slow))
waiting
echo 1 >$cg/m/cold/cgroup.freeze
wait_for 20 frozen_is 1
is "its limit lets the cgroup freeze, too" $? 0
echo 0 >$cg/m/cold/cgroup.freeze
end
is "it runs when it is thawed" "$ended" "0 ran"

# the whole system, as for suspend
if [ -w /sys/power/pm_test ] && grep -qw freezer /sys/power/pm_test && grep -qw freeze /sys/power/state; then
	$nl set limit=$((3000 * slow))
	waiting
	echo freezer >/sys/power/pm_test
	suspended=yes
	echo freeze 2>"$work/suspend" >/sys/power/state || suspended=no
	is "suspend waits for it, and is not refused" "$suspended $(cat "$work/suspend")" "yes "
	echo none >/sys/power/pm_test
	end
	is "the exec has ended its wait, and runs" "$ended" "0 ran"
else
	skip "suspend with an exec that waits" "this kernel has no test of the freezer (CONFIG_PM_DEBUG)"
fi
agent_end
sitter_end $sitter
at_zero "all counts are back at zero"
finish
