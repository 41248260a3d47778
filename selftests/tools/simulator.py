# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl sim, called in a directory of its own."""

import json, os, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from planner import refusal
from tree import BUILD, run

EHCTL = os.path.realpath(f"{BUILD}/bin/ehctl")


def sim(*arguments, **how):
    """ehctl sim with these arguments."""
    return run(EHCTL, "sim", *arguments, **how)


def figures(*arguments, **how):
    """Its document."""
    r = sim(*arguments, "--json", **how)
    if r.returncode or r.stderr:
        return {"error": r.stderr.decode()}
    return json.loads(r.stdout)


def refused(name, status, says, *arguments, **how):
    refusal(name, sim(*arguments, **how), "sim", status, says)


work = tempfile.mkdtemp()
os.chdir(work)


def trace(text, name="trace"):
    """A file of this text."""
    with open(name, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return name


TRACE = """# a story
arrive 0.0.2 1 a
arrive 2 0.5 b      # the same node by its index
arrive 002 1 c

arrive 2 1 d
finish a
finish d
arrive 63 2.0005 e
"""
