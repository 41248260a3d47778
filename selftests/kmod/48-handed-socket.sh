#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The socket that ehlaunch hands to an agent. Its holder may be a user without rights, who has it written to by a
# set-user-ID program: that gives him what the socket is registered for, and no right of root.
. "$(dirname "$0")/lib.sh"

launch=${EHS_BUILD:-$top/build}/bin/ehlaunch
[ -x "$launch" ] || bail_out "no $launch: run make tools"
python3 -c '' 2>/dev/null || skip_all "no python3"
node_reset
python3 -B "$here/handed.py" "$stub" >"$out" 2>&1 || bail_out "$(cat "$out")"
says() { awk -v w="$1" '$1 == w { print $2 }' "$out"; }
is "a setting, written by root: it is the agent's socket" "$(says setting)" accepted
is "cgroups, written by root to no address: not with who opened it" "$(says cgroups)" EPERM
is "another family, the same" "$(says other-family)" EPERM
is "cgroups, written by root to the kernel: root's own right" "$(says cgroups-to-the-kernel)" accepted
is "another family, the same" "$(says other-family-to-the-kernel)" accepted
finish
