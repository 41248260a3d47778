#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel that is known to be bad: the module with a table that has all kernels is refused, and says why. What such a kernel is
# asked comes first in that table; this one answers well, or that would be the reason.
. "$(dirname "$0")/lib.sh"

bad=$built/bad/ehsched.ko
if [ "$(modinfo -F vermagic "$bad" 2>/dev/null | cut -d' ' -f1)" = "$(uname -r)" ]; then
	is "this kernel is not bad" "$(cat /sys/module/ehsched/initstate)" live
	rmmod ehsched
	log_mark
	like "a bad kernel: the module is refused" "$(insmod "$bad" 2>&1)" "*: Operation not supported"
	is "and the log says why" "$(logged | grep '^ehsched: ')" \
		"ehsched: refuses to run on Linux $(uname -r): test of a row"
	check "nothing of it is left" test ! -e /sys/module/ehsched
	check "the one without this row loads" insmod "$module"
else
	skip "a bad kernel: the module is refused" "the build has no such module for this kernel"
fi
finish
