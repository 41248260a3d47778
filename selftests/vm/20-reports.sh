#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# reports   whether the kernel EHS_KERNEL really finds what it is built to find, console-check sees each of its reports, and the
# run fails for them: errors are committed one by one by culprit/. Prints TAP.
set -u
here=$(cd "$(dirname "$0")" && pwd)
case ${EHS_KERNEL-} in
debug | kcsan) kernel=$EHS_KERNEL ;;
*) echo "reports: EHS_KERNEL=${EHS_KERNEL-}: debug or kcsan is needed" >&2; exit 2 ;;
esac
build=${EHS_BUILD:-$here/../../build}

kernel_dir=$("$here/kernel" "$kernel") || exit 1
mkdir -p "$build/kernel/$kernel/culprit"
culprit=$(cd "$build/kernel/$kernel/culprit" && pwd)
cp "$here"/culprit/* "$culprit"
make -s -C "$kernel_dir/build" O= M="$culprit" modules >"$culprit/log" 2>&1 || { cat "$culprit/log" >&2; exit 1; }

inside() {	# inside VM CULPRIT KERNEL: in the guest
	local tests=0 failed=0 vm=$1 culprit=$2

	# what would end the guest at the first
	echo 0 >/proc/sys/kernel/panic_on_warn
	echo 0 >/proc/sys/kernel/panic_on_oops
	finds() {	# finds WHAT PATTERN
		tests=$((tests + 1))
		dmesg -C
		(insmod "$culprit" what="$1") >insmod.log 2>&1
		if [ "$1" = leak ]; then
			# it reports what it saw unreferenced twice and is 5 s old
			echo scan >/sys/kernel/debug/kmemleak
			sleep 6
			echo scan >/sys/kernel/debug/kmemleak
			while IFS= read -r line; do
				echo "$line" >/dev/kmsg
			done </sys/kernel/debug/kmemleak
		fi
		dmesg >log
		if grep -qE -- "$2" log && ! "$vm/console-check" log >found && grep -qE -- "$2" found; then
			echo "ok $tests - $1: $(grep -oEm 1 -- "$2.{0,40}" log)"
		else
			failed=$((failed + 1))
			echo "not ok $tests - $1"
			cat insmod.log log | sed 's/^/# /'
		fi
	}
	finds warning 'WARNING: CPU'
	if [ "$3" = kcsan ]; then
		finds race 'BUG: KCSAN: data-race'
	else
		# KASAN's reports turn lockdep off, so they come after what that is to find
		finds sleeps 'BUG: sleeping function called'
		finds dereference 'suspicious RCU usage'
		finds shift 'UBSAN: shift-out-of-bounds'
		finds leak 'unreferenced object'
		finds active 'ODEBUG: free active'
		finds order 'possible circular locking'
		finds bounds 'UBSAN: array-index-out-of-bounds'
		finds after-free 'KASAN: (slab-)?use-after-free'
		finds out-of-bounds 'KASAN: slab-out-of-bounds'
		finds stack 'KASAN: stack-out-of-bounds'
		finds copy 'usercopy: Kernel memory exposure'
	fi
	finds list 'list_add (double add|corruption)'
	finds deleted 'list_del corruption'
	echo "tests $tests $failed"
}

log=$culprit/run
"$here/cluster" --kernel "$kernel" --bare --nodes 1 --smp 2 -- \
	bash -c "$(declare -f inside); inside '$here' '$culprit/culprit.ko' $kernel" >"$log" 2>"$log.err"
status=$?
grep -v '^tests' "$log"
read -r _ tests failed < <(grep '^tests' "$log") || { tail -n 40 "$log.err"; echo "Bail out! the guest did not get to the end"; exit 1; }
tests=$((tests + 1))
if [ $status = 1 ] && grep -q 'the run fails for its kernel log' "$log.err"; then
	echo "ok $tests - the run fails for these reports"
else
	failed=$((failed + 1))
	echo "not ok $tests - the run fails for these reports"
	tail -n 20 "$log.err" | sed 's/^/# /'
fi
echo "1..$tests"
[ "$failed" -eq 0 ]
