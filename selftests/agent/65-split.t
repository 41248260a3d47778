#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A cluster that fell in two gives out the same code twice. When it is whole again all agree, and who lost its code
ends, to join anew."""

import os, re, subprocess, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import Cluster, Tap, address, until

tap = Tap()
c = Cluster(4)


def hosts(i):
    try:
        return {n["host"]: n["code"] for n in c.ask(i, {"command": "status"}).get("nodes", [])}
    except OSError:
        return {}


def top(i):
    try:
        return c.ask(i, {"command": "status"}).get("controller")
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
tap.ok(until(lambda: hosts(0) == hosts(1) == {"n0": "0.0", "n1": "0.1"}), "two members", [hosts(0), hosts(1)])
cut = [(0, 1), (0, 2), (1, 3), (2, 3)]
for a, b in cut:
    wall(a, b, "add")
tap.ok(until(lambda: (top(0), top(1)) == ("0.0", "0.1")), "a wall between them: each is the top of its part", c.log(1))
start(2, 1)
start(3, 0)
tap.ok(until(lambda: hosts(1).get("n2") == "0.2" and hosts(0).get("n3") == "0.2"), "both give out the same code",
       [hosts(0), hosts(1)])
loser = c.agents.pop(3)
for a, b in cut:
    wall(a, b, "del")
tap.ok(until(lambda: loser.poll() is not None), "the wall falls: one of the two hosts has lost its code", c.log(3))
tap.ok(loser.returncode == 1 and re.search(r"node 0\.2 of the roster is n2, .*joins anew", c.log(3)),
       "its agent ends and says why", c.log(3))
tap.ok(until(lambda: all(hosts(i) == {"n0": "0.0", "n1": "0.1", "n2": "0.2"} for i in range(3))),
       "the others agree", [hosts(i) for i in range(3)])
start(3, 0)
whole = {"n0": "0.0", "n1": "0.1", "n2": "0.2", "n3": "0.3"}
tap.ok(until(lambda: all(hosts(i) == whole for i in range(4))), "it joins anew, with another code",
       [hosts(i) for i in range(4)])
tap.ok(until(lambda: all(top(i) == "0.0" for i in range(4))), "there is one top")
tap.done()
