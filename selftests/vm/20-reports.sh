#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whether the kernel EHS_KERNEL really finds what it is built to find, console-check sees each of its reports, and the
# run fails for them: errors are committed one by one by culprit/.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/ktap.sh"
case ${EHS_KERNEL-} in
debug | kcsan) ;;
*) skip_all "EHS_KERNEL=${EHS_KERNEL-}: debug or kcsan is needed" ;;
esac
culprit=$(realpath -m "${EHS_BUILD:-$here/../../build}")/kernel/$EHS_KERNEL/culprit

if [ -z "${EHS_SHARE-}" ]; then
	kernel_dir=$("$here/kernel" "$EHS_KERNEL") || exit 1
	mkdir -p "$culprit"
	cp "$here"/culprit/* "$culprit"
	make -s -C "$kernel_dir/build" O= M="$culprit" modules >"$culprit/log" 2>&1 || bail_out "$(cat "$culprit/log")"
	"$here/cluster" --kernel "$EHS_KERNEL" --bare --nodes 1 --smp 2 -- "$here/20-reports.sh" 2>"$culprit/run.err" | sed 's/^/    /'
	status=${PIPESTATUS[0]}
	# its own failures have been seen; this is whether it fails for what it found
	[ $status = 1 ] && grep -q 'the run fails for its kernel log (CMD.s status was 0)' "$culprit/run.err"
	ok "each report is seen, and the run fails for them" 'tail -n 40 "$culprit/run.err"'
	finish
fi

# What would end the guest at the first
echo 0 >/proc/sys/kernel/panic_on_warn
echo 0 >/proc/sys/kernel/panic_on_oops
seen() { grep -qE -- "$1" log && ! "$here/console-check" log >found && grep -qE -- "$1" found; }
finds() {	# finds WHAT PATTERN
	dmesg -C
	(insmod "$culprit/culprit.ko" what="$1") >insmod.log 2>&1
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
	name="$1: $(grep -oEm 1 -- "$2.{0,40}" log)"
	seen "$2"
	ok "$name" 'cat insmod.log log'
}
finds warning 'WARNING: CPU'
if [ "$EHS_KERNEL" = kcsan ]; then
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
finish
