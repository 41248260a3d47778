#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Very many short tasks, some at a time: each ends in order, and the connection stays. HTTP/2 has a
limit on streams that are reset: where the end of a task resets one, the connection between two
nodes is gone after some thousands."""

import os, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok
from wait import WAIT, until

TASKS, AT_ONCE = 2400, 8

c = Cluster(2, "heartbeat = 1000")
must("two agents", c.start_all(), c.log(0) + c.log(1))
loop = f'i=0; while [ $i -lt {TASKS // AT_ONCE} ]; do "$@" </dev/null || exit 1; i=$((i+1)); done'
ps = [
    c.popen(0, ["/bin/sh", "-c", loop, "sh", EHCTL, "exec", "0.1", "--", "/bin/true"], stdout=None)
    for _ in range(AT_ONCE)
]
errors = [p.communicate(timeout=10 * WAIT)[1] for p in ps]
ok("each task ends", [p.returncode for p in ps] == [0] * AT_ONCE, errors)
ok("home has none left", until(lambda: not c.tasks(0)))
broke = [
    line
    for i in range(2)
    for line in c.log(i).splitlines()
    if "broke" in line or "is down" in line or "did not end" in line
]
ok("no stream broke, nor the connection", not broke, (len(broke), broke[:5]))
codes = [c.end(i) for i in range(2)]
ok("both agents end", codes == [0, 0], codes)
c.stop()
done()
