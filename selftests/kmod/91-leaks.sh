#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the module left behind; needs a kernel that looks for leaks.
. "$(dirname "$0")/lib.sh"

leaks=/sys/kernel/debug/kmemleak
[ -e $leaks ] || mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
if [ -e $leaks ]; then
	[ ! -d /sys/module/ehsched ] || rmmod ehsched
	# kmemleak reports what it saw unreferenced twice and is 5 s old
	echo scan >$leaks
	sleep 6
	echo scan >$leaks
	# all that it found: functions of a module that is gone have no names in it
	is "nothing is leaked" "$(grep -c '^unreferenced object' $leaks)" 0
	sed 's/^/# /' $leaks | head -n 60
else
	skip "nothing is leaked" "this kernel has no kmemleak"
fi
finish
