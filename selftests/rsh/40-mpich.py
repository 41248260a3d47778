#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""MPICH's hydra -launcher-exec."""

import os, signal, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from launchers import Story
from nodes import RSH
from wait import WAIT, until

story = Story("mpich", 3)
c = story.c
HYDRA = ["mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", RSH]
with open(f"{c.work}/hosts", "w") as f:
    f.write("n1:2\nn2:1\n")
FILE = [*HYDRA, "-f", f"{c.work}/hosts", "-n", "3"]
status, out, err = c.run(*FILE, "hostname")
ok(
    "a hostfile, and a program that knows nothing of MPI",
    (status, sorted(out.split())) == (0, ["n1", "n1", "n2"]),
    (status, out, err),
)
story.works("ranks on nodes", [*HYDRA, "-hosts", "n1,n2", "-n", "4"], ["n1", "n1", "n2", "n2"])
story.works(
    "ranks on nodes, and at home", [*HYDRA, "-hosts", "n0,n1,n2", "-n", "3"], ["n0", "n1", "n2"]
)
story.works(
    "-launcher rsh", [*HYDRA[:2], "rsh", *HYDRA[3:], "-hosts", "n1,n2", "-n", "2"], ["n1", "n2"]
)
status, out, err = c.run(*FILE, "sh", "-c", "exit 3")
ok("the exit status of a rank", status == 3, (status, out, err))
# hydra shows what its launcher says, and then waits for a proxy that will not come, with ssh as
# well
with open(f"{c.work}/said", "w") as f:
    p = c.spawn(*HYDRA, "-hosts", "n1,n9", "-n", "2", "true", stderr=f)
ok(
    "a node that is not there: said",
    until(lambda: "ehrsh: n9: no such node" in open(f"{c.work}/said").read()),
)
if p.poll() is None:
    os.killpg(p.pid, signal.SIGINT)
p.wait(WAIT)
c.nothing_left()
story.interrupts(FILE, 3)
story.ends("SIGTERM to mpiexec", FILE, 3, lambda p: p.terminate())
story.ends("SIGKILL to mpiexec", FILE, 3, lambda p: p.kill())
story.ends(
    "SIGKILL to an ehrsh",
    FILE,
    3,
    lambda p: os.kill(min(c.has(0, "^\\S*ehstub .*@n1 ")), signal.SIGKILL),
)
done()
