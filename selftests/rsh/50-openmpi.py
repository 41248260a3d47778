#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Open MPI's plm_rsh_agent, with its tree: daemons on executors start others."""

import os, signal, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from launchers import Story
from nodes import RSH

story = Story("openmpi", 4)
c = story.c
# as ehctl gang sets it: else each daemon gives its ranks a second with SIGCONT, and one with
# SIGTERM
MPIRUN = [
    "mpirun.openmpi",
    "--mca",
    "plm_rsh_agent",
    RSH,
    "--mca",
    "odls_base_sigkill_timeout",
    "0",
]
# each daemon starts one more: n0, n1, n2, n3
CHAIN = [*MPIRUN, "--mca", "routed_radix", "1"]
with open(f"{c.work}/hosts", "w") as f:
    f.write("n1 slots=1\nn2 slots=1\nn3 slots=1\n")
FILE = ["--hostfile", f"{c.work}/hosts"]
status, out, err = c.run(*MPIRUN, *FILE, "hostname")
ok(
    "a hostfile, and a program that knows nothing of MPI",
    (status, sorted(out.split())) == (0, ["n1", "n2", "n3"]),
    (status, out, err),
)
story.works(
    "ranks on nodes, and at home", [*MPIRUN, "--host", "n0:1,n1:2,n2:1"], ["n0", "n1", "n1", "n2"]
)
story.works("ranks on nodes that executors have called", [*CHAIN, *FILE], ["n1", "n2", "n3"])
status, out, err = c.run(*CHAIN, *FILE, "sh", "-c", "exit 3")
ok("the exit status of a rank", status == 3, (status, out, err))
status, out, err = c.run(*MPIRUN, "--host", "n1:1,n9:1", "true")
ok(
    "a node that is not there: said, and nothing runs",
    status != 0 and "ehrsh: n9: no such node" in err,
    (status, out, err),
)
c.nothing_left()


def in_turn():
    """Who has called whom."""
    got = [c.has(i, rf"^\S*ehstub .*@n{i + 1} ") for i in range(3)]
    ok("each node was called by the one before it", all(got), c.shown())


story.interrupts([*CHAIN, *FILE], 3, in_turn)
story.ends("SIGTERM to mpirun", [*CHAIN, *FILE], 3, lambda p: p.terminate())
story.ends("SIGKILL to mpirun", [*CHAIN, *FILE], 3, lambda p: p.kill())
story.ends(
    "SIGKILL to a daemon's ehrsh",
    [*CHAIN, *FILE],
    3,
    lambda p: os.kill(min(c.has(1, "^\\S*ehstub .*@n2 ")), signal.SIGKILL),
)
done()
