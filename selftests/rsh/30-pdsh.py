#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""pdsh -R exec."""

import os, signal, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from nodes import PIPE, RSH, Nodes
from wait import WAIT, until

c = Nodes(3)
PDSH = ["pdsh", "-R", "exec", "-w", "n[0-2]", RSH, "%h"]
status, out, err = c.run(*PDSH, "hostname")
ok(
    "on all nodes",
    (status, sorted(out.splitlines())) == (0, [f"n{i}: n{i}" for i in range(3)]),
    (status, out, err),
)
status, out, err = c.run(*PDSH, "echo out; echo err >&2")
ok(
    "output and errors apart",
    sorted(out.splitlines()) == [f"n{i}: out" for i in range(3)]
    and sorted(err.splitlines()) == [f"n{i}: err" for i in range(3)],
    (status, out, err),
)
status, out, err = c.run("pdsh", "-S", *PDSH[1:], "test $(hostname) != n1 || exit 9")
ok("-S: the largest status", status == 9, (status, out, err))
status, out, err = c.run(
    "pdsh", "-S", "-R", "exec", "-w", "n1,n9", RSH, "-l", "%u", "%h", "hostname"
)
ok(
    "a node that is not there: 255, and the others are done",
    status == 255 and "n1: n1" in out and "n9: ehrsh: n9: no such node" in err,
    (status, out, err),
)
p = c.spawn("pdsh", "-R", "exec", "-w", "n[1-2]", RSH, "%h", "sleep 1000", stdout=PIPE, stderr=PIPE)
ok(
    "a command on two nodes",
    until(lambda: c.has(1, "^sleep 1000") and c.has(2, "^sleep 1000")),
    c.shown(),
)
# the first asks for the state, the second within a second ends it
while p.poll() is None:
    os.killpg(p.pid, signal.SIGINT)
    until(lambda: p.poll() is not None, 0.1)
p.communicate(timeout=WAIT)
c.nothing_left("^C ends all")
done()
