#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the harness itself makes of a test's output: passed, failed, skipped, and what is wrong with the whole.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/ktap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# counts WANTED NAME LINE…: a test that prints these lines is counted so
counts() {
	local wanted=$1 name=$2
	shift 2
	: >"$work/skips"
	printf '%s\n' "$@" | awk -v sums="$work/sums" -v skips="$work/skips" -v name=dir/test -v all=0 \
		-f "$here/../lib/count.awk" >"$work/shown"
	is "$name" "$(cat "$work/sums")" "$wanted"
}
counts "2 0 0 " "all well" "KTAP version 1" "ok 1 - a" "ok 2 - b" "1..2"
counts "1 1 0 " "a failure" "1..2" "ok 1 a" "not ok 2 b"
is "is shown a level deeper" "$(cat "$work/shown")" $'    ok 1 a\n    not ok 2 b'
counts "1 0 1 " "a skip" "ok 1 - a # SKIP no root" "ok 2 - b" "1..2"
is "is named with its reason" "$(cat "$work/skips")" "dir/test: a: no root"
counts "0 0 1 " "all of a program" "KTAP version 1" "1..0 # SKIP no machine"
is "is named, too" "$(cat "$work/skips")" "dir/test: no machine"
counts "1 0 0 no plan" "no end" "ok 1 - a"
counts "1 0 0 2 results planned, 1 seen" "too few" "1..2" "ok 1 - a"
counts "0 1 0 Bail out! no agent" "given up" "KTAP version 1" "Bail out! no agent"
counts "2 0 0 " "nested results count once" "1..1" "    # Subtest: x" "    1..2" "    ok 1 a" "    ok 2 b" "ok 1 x"
counts "1 1 0 " "so does a nested failure" "1..1" "    1..2" "    ok 1 a" "    not ok 2 b" "not ok 1 x"
counts "1 1 0 " "a failure beside nested results is one more" "1..1" "    1..1" "    ok 1 a" "not ok 1 x"
counts "2 1 1 " "two levels" "    # Subtest: dir/x" "        not ok 1 a" "        ok 2 b # SKIP why" "    not ok 1 x" "not ok 1 y" \
	"    ok 1 c" "ok 2 z" "ok 3 d" "1..3"
is "a skip in them is named by its subtest" "$(cat "$work/skips")" "dir/x: b: why"
finish
