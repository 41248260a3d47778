#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A cluster that fell in two gives out the same code twice. When it is whole again all agree, and
who lost its code ends, to join again."""

import os, re, signal, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, ok
from netns import address
from wait import until

c = Cluster(4)


def hosts(i):
    try:
        return {n["host"]: n["code"] for n in c.status(i).get("nodes", [])}
    except OSError:
        return {}


def top(i):
    try:
        return c.status(i).get("controller")
    except OSError:
        return None


def start(i, *join):
    c.start(i, c.conf(i, join=join), ready=False)


def wall(a, b, change):
    """Between two nodes: nothing passes (add), or all does again (del)."""
    c.net.ip(a, "route", change, "blackhole", f"{address(b)}/32")
    c.net.ip(b, "route", change, "blackhole", f"{address(a)}/32")


c.start(0, c.conf(0, peers=[0]))
start(1, 0)
ok(
    "two members",
    until(lambda: hosts(0) == hosts(1) == {"n0": "0.0", "n1": "0.1"}),
    [hosts(0), hosts(1)],
)
cut = [(0, 1), (0, 2), (1, 3), (2, 3)]
for a, b in cut:
    wall(a, b, "add")
ok(
    "a wall between them: each is the top of its part",
    until(lambda: (top(0), top(1)) == ("0.0", "0.1")),
    c.log(1),
)
start(2, 1)
start(3, 0)
ok(
    "both give out the same code",
    until(lambda: hosts(1).get("n2") == "0.2" and hosts(0).get("n3") == "0.2"),
    [hosts(0), hosts(1)],
)
loser = c.agents.pop(3)
for a, b in cut:
    wall(a, b, "del")
ok(
    "the wall falls: one of the two hosts has lost its code",
    until(lambda: loser.poll() is not None),
    c.log(3),
)
ok(
    "its agent ends and says why",
    loser.returncode == 1 and re.search(r"gives code 0\.2 to n2; .*join again", c.log(3)),
    c.log(3),
)
ok(
    "the others agree",
    until(lambda: all(hosts(i) == {"n0": "0.0", "n1": "0.1", "n2": "0.2"} for i in range(3))),
    [hosts(i) for i in range(3)],
)
start(3, 0)
whole = {"n0": "0.0", "n1": "0.1", "n2": "0.2", "n3": "0.3"}
ok(
    "it joins again, with another code",
    until(lambda: all(hosts(i) == whole for i in range(4))),
    [hosts(i) for i in range(4)],
)
ok("there is one top", until(lambda: all(top(i) == "0.0" for i in range(4))))

# The top dies with a decision that only it and the newcomer know; the other has decided otherwise.
c.end(2)
c.end(3)
for i in range(2, 4):
    os.unlink(c.state(i))
c.end(0)
c.end(1)
for i in range(2):
    os.unlink(c.state(i))
c.start(0, c.conf(0, peers=[0]))
start(1, 0)
ok(
    "two members, from the beginning",
    until(lambda: hosts(0) == hosts(1) == {"n0": "0.0", "n1": "0.1"}),
)
for a, b in (0, 1), (0, 3), (2, 3):
    wall(a, b, "add")
ok("a wall between them", until(lambda: (top(0), top(1)) == ("0.0", "0.1")))
start(3, 1)
ok("one gives the code to n3", until(lambda: hosts(1).get("n3") == "0.2"), c.log(3))
start(2, 0)
ok("the other to n2", until(lambda: c.log(2).count("n2 is node 0.2") == 2), c.log(2))
stranded = c.agents.pop(2)
c.end(0, signal.SIGKILL)
ok(
    "which nobody knows when the top is dead: it ends",
    until(lambda: stranded.poll() is not None)
    and stranded.returncode == 1
    and "no member knows this host, n2," in c.log(2),
    c.log(2),
)
start(2, 0, 1)
ok(
    "and joins the others",
    until(lambda: hosts(1) == {"n0": "0.0", "n1": "0.1", "n3": "0.2", "n2": "0.3"}),
    c.log(2),
)
for a, b in (0, 1), (0, 3), (2, 3):
    wall(a, b, "del")
c.start(0, c.conf(0, peers=[0]))


def restart():
    """As a service manager does."""
    for i in 2, 3:
        if c.agents[i].poll() is not None:
            start(i, 0, 1)
    return all(len(hosts(i)) == 4 and hosts(i) == hosts(0) for i in range(4))


ok(
    "the dead one comes back with what it decided: all agree",
    until(restart),
    [hosts(i) for i in range(4)],
)
done()
