#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each fuzz target links and holds with the inputs that are kept for it; what is new is searched by `make fuzz`.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/ktap.sh"
top=$here/../..
build=${EHS_BUILD:-$top/build}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

for source in "$top"/selftests/fuzz/fuzz_*.c; do
	name=${source##*/fuzz_}
	name=${name%.c}
	check "$name" "$build/selftests/fuzz/replay_$name" "$top/selftests/fuzz/corpus/$name"
done

# An input that breaks a target is found.
mkdir "$work/corpus"
printf x >"$work/corpus/bad"
"$build/selftests/fuzz/replay_must" "$work/corpus" >"$work/out" 2>&1
is "one that breaks it is named" "$?:$(grep -c "^$work/corpus/bad breaks the target" "$work/out")" 1:1
finish
