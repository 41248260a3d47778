#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The module's own allocations fail while it is loaded: those with a module on the stack, and this kernel has no other. By chance,
# as numbers would count the loader's, where a failure makes the kernel itself warn.
. "$(dirname "$0")/lib.sh"

if ! faults_ready || [ ! -e $debugfs/failslab/require-start ]; then
	skip "loads that are refused for want of memory" "no CONFIG_FAULT_INJECTION_STACKTRACE_FILTER; --kernel debug has"
else
	[ ! -d /sys/module/ehsched ] || rmmod ehsched
	# where the kernel puts modules: MODULES_VADDR and MODULES_END of x86
	echo 0xffffffffa0000000 >$debugfs/failslab/require-start
	echo 0xffffffffff000000 >$debugfs/failslab/require-end
	loads=$(many 20 60) refused=0 other=0
	for ((i = 0; i < loads; i++)); do
		progress $i $loads
		echo 1 >$debugfs/failslab/times
		echo 10 >$debugfs/failslab/probability
		insmod "$module" 2>"$out" || refused=$((refused + 1))
		echo 0 >$debugfs/failslab/probability
		if [ ! -d /sys/module/ehsched ]; then
			grep -qi 'cannot allocate memory' "$out" || { other=$((other + 1)); sed 's/^/# /' "$out"; }
		else
			rmmod ehsched
		fi
	done
	holds "$refused of $loads loads are refused" "refused > 0 && refused < loads"
	is "for want of memory each" $other 0
	[ -d /sys/module/ehsched ] || insmod "$module"
	is "it is as new" "$($nl dump | grep -c ^netns)" 1
	node_reset
	sitter $cg/m
	counted no-agent "and works" $probe in $cg/m -- true
	sitter_end $sitter
	at_zero "all counts are back at zero"
fi
finish
