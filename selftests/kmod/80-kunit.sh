#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KUnit: the arithmetic of the module's headers, requests, scripts and formats, programs that stay, releases, and confinement.
# The suites are in ehsched_test.ko. Debian's kernels have no KUnit; for 6.1, selftests/kmod/kunit/build makes a module of
# it. The results are KTAP in the kernel log.
. "$(dirname "$0")/lib.sh"

kunit_line() {	# kunit_line LINE: of the log, as a result of ours or a comment
	case $1 in
	"    # Subtest: "*) suite=${1#*: } ;;
	"    1.."*) planned=$((planned + ${1#*..})) ;;
	"    ok "*) seen=$((seen + 1)); pass "$suite: ${1#*ok * }" ;;
	"    not ok "*) seen=$((seen + 1)); fail "$suite: ${1#*ok * }" ;;
	"ok "* | "not ok "*) suites=$((suites + 1)) ;;
	"" | *"KTAP version"* | *"pass:"*"total:"*) ;;
	*) echo "# $1" ;;
	esac
}

kunit=${EHS_BUILD:-$top/build}/kunit
[ ! -e "${module%/*}/ehsched_test.ko" ] || kunit=${module%/*}
if grep -q ' kunit_run_tests' /proc/kallsyms; then
	echo "# KUnit is this kernel's own"
elif [ "$(modinfo -F vermagic "$kunit/kunit.ko" 2>/dev/null | cut -d' ' -f1)" = "$(uname -r)" ]; then
	insmod "$kunit/kunit.ko" enable=1
	echo "# KUnit is a module of this project's build"
else
	kunit=
fi
if [ "$kunit" ]; then
	suite='' planned=0 seen=0 suites=0
	mark="KUnit tests of ehsched, $$"
	echo "$mark" >/dev/kmsg
	insmod "$kunit/ehsched_test.ko"
	is "the module with the tests loads" $? 0
	while IFS= read -r line; do
		kunit_line "$line"
	done < <(dmesg -t | sed "1,/$mark/d")
	is "KUnit ran what it planned" $seen $planned
	is "each file of tests is a suite" $suites "$(ls "$top"/kmod/*_test.c | wc -l)"
	rmmod ehsched_test
	! grep -q '^kunit ' /proc/modules || rmmod kunit
else
	skip "KUnit" "neither this kernel nor the build has KUnit for it"
fi
finish
