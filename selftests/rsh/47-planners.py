#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of docs/planners.md, "Run one of each", on eight nodes."""

import os, re, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import tour
from ktap import done, ok
from nodes import Nodes
from tree import BUILD, TOP

PLANNERS = {"divide", "dag", "gang", "gang --assign"}

with open(f"{TOP}/docs/planners.md", encoding="utf-8") as f:
    text = re.search(r"^## Run one of each\n(.*?)^## ", f.read(), re.M | re.S)[1]
steps, errors = tour.read(text)
said = " ".join(s.command for s in steps)
ok(
    "each planner has its commands",
    not errors and all(f"ehctl {p}" in said for p in PLANNERS),
    (errors, said),
)
c = Nodes(8, topology="3,1")


def run(host, root, command):
    status, out, _ = c.run(
        "env",
        f"PATH={BUILD}/bin:{os.environ['PATH']}",
        f"EHS_BUILD={BUILD}",
        f"XDG_STATE_HOME={c.work}",
        "sh",
        "-c",
        f"exec 2>&1; {command}",
        node=int(host[1:]),
        stderr=subprocess.STDOUT,
    )
    return status, out


example = tour.Tour(run, packages=False)
for step in steps:
    good, happened = example.step(step)
    ok(str(step), good, happened)
    print("# " + happened.split("\nexpected:")[0].replace("\n", "\n# "))
    c.nothing_left(f"nothing is left of {step.command.split(' ')[0]}")
done()
