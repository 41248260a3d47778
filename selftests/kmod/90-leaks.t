# SPDX-License-Identifier: GPL-2.0-or-later
# What the module left behind; needs a kernel that looks for leaks.

leaks=/sys/kernel/debug/kmemleak
[ -e $leaks ] || mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
if [ -e $leaks ]; then
	[ ! -d /sys/module/ehsched ] || rmmod ehsched
	# the second scan confirms the first: an object must be unreferenced twice
	echo scan >$leaks
	echo scan >$leaks
	is "nothing is leaked" "$(grep -c ehs_ $leaks)" 0
	grep -A 20 "unreferenced object" $leaks | sed 's/^/# /' | head -n 60
else
	skip "nothing is leaked" "this kernel has no kmemleak"
fi
