#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Processor-bound tasks started on one node run on all of them.
. "$(dirname "$0")/lib.sh"

: >where
fifo=$(mktemp -u) # the share has none
mkfifo "$fifo"
# One after the other: shells that wait for a processor before their exec are load of home, which then keeps none.
ehctl run -n spread -- bash -c 'exec 9<>"$0"
	for i in {1..12}; do
		EHS_WHERE=$PWD/where '"$PROBE"' burn 1600 &
		until mapfile -t ran <where && [ ${#ran[@]} -ge $i ]; do read -rt 0.05 -u 9; done
	done
	wait' "$fifo"
rm "$fifo"
[ "$(wc -l <where)" -eq 12 ]
ok "12 tasks ran once each" 'cat where'
[ "$(sort -u where | wc -l)" -eq "$EHS_NODES" ]
ok "they ran on all $EHS_NODES nodes" 'sort where | uniq -c'
most=$(sort where | uniq -c | sort -rn | awk 'NR == 1 {print $1}')
[ "$most" -le 7 ]
ok "no node got more than 7 of 12" 'sort where | uniq -c'
finish
