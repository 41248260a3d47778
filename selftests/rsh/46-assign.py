#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl gang --profile and --assign with Open MPI: a stencil and a random graph whose ranks are
placed by what they sent take less time for it than in the order of the hosts, as the costs said.
Two switches, with late frames between them, have two hosts each."""

import json, os, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from placed import EHCTL, RANKS, Placed, dice, drawn, graph, stencil
from wait import WAIT

LATE, STEPS, WORK, BYTES = 60, 10, 1000, 1024
by = dice()
placed = Placed(LATE)
c = placed.c
# more ranks on a host than it has processors
many = os.cpu_count() + 1
with open(f"{c.work}/many", "w") as f:
    json.dump({"version": 1, "ranks": [{"work": 1}] * many, "messages": []}, f)
status, out, err = c.run(
    EHCTL,
    "gang",
    "--assign",
    f"{c.work}/many",
    "--slots",
    str(many),
    "--wait",
    str(WAIT),
    "--",
    "mpirun.openmpi",
    "sh",
    "-c",
    "echo rank $OMPI_COMM_WORLD_RANK",
)
ok(
    "more slots than processors: each rank runs",
    status == 0 and sorted(out.split("\n")[:-1]) == sorted(f"rank {r}" for r in range(many)),
    (status, out, err),
)
for name, make in ("stencil", stencil), ("graph", graph):
    edges = drawn(make, by, STEPS)
    got, told = placed.both(name, edges, STEPS, WORK, BYTES, times=5)
    profile = json.load(open(f"{c.work}/{name}.comm"))
    # both directions, in each step; and rank 0 gets a number from each at the end
    sent = {(min(a, b), max(a, b)): 0 for a, b, _ in edges}
    for a, b, n in edges:
        sent[min(a, b), max(a, b)] += 2 * n * STEPS
    counted = {(m["a"], m["b"]): m["count"] - (m["a"] == 0) for m in profile["messages"]}
    ok(
        f"{name}: the profile has each message",
        {pair: n for pair, n in counted.items() if n} == sent,
        (counted, sent),
    )
    ok(
        f"{name}: and what each rank computed",
        len(profile["ranks"]) == RANKS
        and all(STEPS * WORK / 1e6 <= r["work"] <= r["seconds"] for r in profile["ranks"]),
        profile["ranks"],
    )
    ranks = told["assign"]["ranks"]
    ok(
        f"{name}: two ranks on each host",
        len(ranks) == RANKS and all(ranks.count(host) == 2 for host in ranks),
        ranks,
    )
    slow = {frozenset((link["a"], link["b"])): link["seconds"] for link in told["assign"]["links"]}
    ok(
        f"{name}: links between the switches are as late as frames there",
        sum(s >= LATE / 2000 for s in slow.values()) >= 4,
        slow,
    )
    ratio = {what: after / before for what, (before, after) in got.items()}
    print(
        f"# {name}: after / before: cost {ratio['cost']:.2f}, messages {ratio['messages']:.2f},"
        f" makespan {ratio['seconds']:.2f}; {got}"
    )
    ok(f"{name}: the plan costs less", ratio["cost"] < 1, got)
    ok(
        f"{name}: less time with messages, and less altogether",
        ratio["messages"] < 1 and ratio["seconds"] < 1,
        got,
    )
    c.nothing_left(f"{name}: nothing is left")
done()
