#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A part of what `make demo` shows: a build whose tasks run on all nodes.
. "$(dirname "$0")/lib.sh"

ehctl set load-index=runnable
"$here/../demo/on-node" "$EHS_BUILD/demo/tree" "$EHS_BUILD/demo/out" \
	stub/lib/job/{end,link,message}.o stub/lib/wire/{frame,job,named,terminal,view}.o >demo.out 2>&1
ok "the demo's build goes to all nodes, with the results of one host alone" 'tail -n 60 demo.out'
rm -rf demo demo.out
finish
