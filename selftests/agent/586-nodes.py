#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules about nodes: which homes an executor takes tasks of, and which executors a home sends tasks
to."""

import os, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from commands import EHCTL
from ktap import done, ok
from rules import Site
from wait import WAIT

c = Site(3)
rule, where = c.rule, c.where


def run(home, *words):
    p = c.popen(home, [EHCTL, "exec", *words, "--", "readlink", "/proc/self/ns/net"], cwd="/")
    out, err = p.communicate(timeout=WAIT)
    why = c.why(home, p)
    # "auto", whether a credit or thresholds chose
    return (
        p.returncode,
        where.get(out.strip(), out),
        "auto" if why.get("reason") == "credit" else why.get("reason"),
        err,
    )


def goes(name, home, to):
    got = run(home, f"n{to}")
    ok(name, got[:3] == (0, to, "explicit"), got)


def refused(name, home, to, reason, text):
    got = run(home, f"n{to}")
    ok(name, got[0] == 1 and got[2] == reason and text in got[3], got)


def leaves(name, home, to, reason="auto"):
    for n in range(3):
        got = run(home, "--auto", "--all")
        ok(f"{name}, {n}", got[:3] == (0, to, reason), got)


# ---- the executor ----

rule(1, 'guest-deny-nodes = { "n0" }')
refused(
    "a home that is denied",
    0,
    1,
    "guest-node",
    'node n1 does not run tasks of node n0: "n0" in guest-deny-nodes',
)
goes("another home", 2, 1)
leaves("the other node takes it", 0, 2)
rule(1, 'guest-allow-nodes = { "n2" }')
refused("a home that is not allowed", 0, 1, "guest-node", "not in guest-allow-nodes")
goes("one that is", 2, 1)
rule(2, 'guest-deny-nodes = { "N0" }')
leaves("nobody takes it", 0, 0, "guest-node")
rule(1)
rule(2)

# ---- home ----

rule(0, 'away-deny-nodes = { "n1" }')
refused("an executor that is denied", 0, 1, "away-node", "away-deny-nodes")
goes("another executor", 0, 2)
leaves("it is not chosen", 0, 2)
rule(0, 'away-allow-nodes = { "n1" }')
refused("an executor that is not allowed", 0, 2, "away-node", "away-allow-nodes")
leaves("the other one is", 0, 1)
rule(0, 'away-allow-nodes = { "n1" }', 'away-deny-nodes = { "n1" }')
leaves("none is left: it stays, for that", 0, 0, "away-node")
goes("what others send is not concerned", 2, 0)
rule(0)
goes("without rules", 0, 1)
done()
