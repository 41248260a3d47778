#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The hierarchy's story with the module: eight nodes on one level and 40 tasks in flight. `make check-hierarchy` has the
# long ones.
here=$(cd "$(dirname "$0")" && pwd)
[ "${EHS_SHARE:-}" ] || { . "$here/../lib/ktap.sh"; skip_all "not on a node of the virtual cluster: make check T=hierarchy boots one"; }
exec "$here/../agent/700-hierarchy.py" 3,1 40
