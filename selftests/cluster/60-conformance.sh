#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The conformance suite with the module: the cases that are another one with it, and one in 40 of the rest, which is what
# emulated guests have time for. `make check-conformance` runs all of them.
here=$(cd "$(dirname "$0")" && pwd)
[ "${EHS_SHARE:-}" ] || { . "$here/../lib/ktap.sh"; skip_all "not on a node of the virtual cluster: make check T=cluster boots one"; }
# What is seen is where a task runs, not how soon: the first comparison of a large program takes a starved guest long.
ehctl set time-limit=10000 || exit 1
exec "$here/../conformance/10-cases.py" --every 40
