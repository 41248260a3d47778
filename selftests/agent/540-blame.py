#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A node that refuses a task of one user, for what that user wants or is, is asked for places for
others as before."""

import os, shutil, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL, LAUNCH
from confinement import become
from fuse import Silent
from ktap import done, ok
from wait import WAIT, until

ONE, OTHER, SYSTEM = 2001, 2002, 1
c = Cluster(2, "heartbeat = 1000\nthreshold-floor = 20.0\ntime-limit = 10000\ndwell = 0")
os.chmod(c.dir, 0o755)
# beside this one there is no ehview
some = os.path.join(c.dir, "some")
os.mkdir(some)
for name in "ehlook", "ehlaunch":
    c.wrapped[1, "ehlaunch"] = shutil.copy(os.path.join(os.path.dirname(LAUNCH), name), some)
silent = os.path.join(c.dir, "silent")
os.mkdir(silent)
program = shutil.copy("/usr/bin/readlink", os.path.join(silent, "prog"))
c.wrap(1, "", mounts=True)  # what is silent there is not at home
ok("two agents", c.start_all(), c.log(0) + c.log(1))
near, far = (os.readlink(f"/proc/{c.agents[i].pid}/ns/net") for i in range(2))


def run(uid, *words, program="readlink"):
    """Where a task is that may go anywhere, and what was done to find a place."""
    p = c.popen(
        0,
        [EHCTL, "exec", "--auto", "--all", *words, "--", program, "/proc/self/ns/net"],
        cwd="/",
        preexec_fn=lambda: become(uid),
        stderr=None,
    )
    where = p.communicate(timeout=WAIT)[0].strip()
    return where, [step["what"] for step in c.why(0, p).get("steps", [])]


def goes(name):
    """A task of the other user. What the hierarchy knows of a node may be old for a moment; one
    that is to blame is left out for 5 s."""
    got = until(lambda: [got for got in [run(OTHER)] if got[0] == far], 3)
    ok(f"{name}: goes", got, run(OTHER))


def refused(uid, *words):
    """Whether the node has refused a task before it was sent, and it runs here."""
    where, steps = run(uid, *words)
    return where == near and "n1 refuses: refused" in steps


goes("a user's task")
for name, uid, words in ("a view that the node cannot mount", ONE, ["--view", "home"]), (
    "a user of the system",
    SYSTEM,
    [],
):
    ok(
        f"{name}: is refused",
        all(until(lambda: refused(uid, *words)) for i in range(8)),
        c.log(0)[-2000:],
    )
    goes(f"{name}: another user's task")

# ---- a file system there that does not answer ----

HELD = "n1 refuses: files-differ"
fs = Silent(silent, c.agents[1].pid)
ok("a file system there is silent", fs.up and fs.silence())
c.ask(0, {"command": "set", "time-limit": 3000})  # home waits for less long than the node
where, steps = run(ONE, program=program)
ok(
    "a program in it: the first task waits, and runs here",
    where == near and HELD not in steps,
    (where, steps),
)
got = []


def held():
    """It is refused. The hierarchy may still count the task before it."""
    got.append(run(ONE, program=program))
    return HELD in got[-1][1]


ok(
    "the next ones do not",
    all(until(held) for i in range(2))
    and all(where == near and "stays at home: time-out" not in steps for where, steps in got),
    got,
)
goes("a program that does not answer there: another user's task")
fs.end()
ok("when it is gone the user's tasks go again", until(lambda: run(ONE)[0] == far), run(ONE))
done()
