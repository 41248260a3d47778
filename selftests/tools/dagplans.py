# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of ehctl plan dag share: graphs, calls, and the best of all plans of a few tasks."""

import itertools, json, os, random, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from planner import refusal
from seed import new_seed
from tree import BUILD, run

EHCTL = os.path.realpath(f"{BUILD}/bin/ehctl")
SEED = new_seed()
choose = random.Random(SEED)
work = tempfile.mkdtemp()
os.chdir(work)


def put(name, text):
    """A file in the directory of the test."""
    with open(name, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return name


def graph(tasks, edges=()):
    """Our own format: works by id, and (from, to, data)."""
    return {
        "tasks": [{"id": i, "work": w} for i, w in tasks],
        "edges": [{"from": a, "to": b, "data": d} for a, b, d in edges],
    }


def call(document, *arguments, **how):
    """ehctl plan dag on a document or a file."""
    if isinstance(document, str):
        return run(EHCTL, "plan", "dag", document, *arguments, **how)
    return run(EHCTL, "plan", "dag", put("in.json", json.dumps(document)), *arguments, **how)


def plan(document, *arguments):
    """Its plan."""
    r = call(document, *arguments, "--json")
    if r.returncode or r.stderr:
        return {
            "error": r.stderr.decode(),
            "makespan": -1,
            "lower_bound": 0,
            "schedule": [],
            "messages": [],
        }
    return json.loads(r.stdout)


def refused(name, says, document, *arguments, status=2):
    refusal(name, call(document, *arguments), "plan dag", status, says)


def random_graph(n, most=3, data=10):
    """Tasks of work 1..20 with up to `most` of the last eight before each."""
    edges = {
        (choose.randrange(max(0, i - 8), i), i)
        for i in range(1, n)
        for _ in range(choose.randint(0, most))
    }
    return graph(
        [(f"t{i}", choose.randint(1, 20)) for i in range(n)],
        [(f"t{a}", f"t{b}", choose.randint(0, data)) for a, b in sorted(edges)],
    )


def best_of_all(g, machine):
    """The least makespan of all lists and assignments of a few tasks, without contention and with
    full links."""
    ids = [t["id"] for t in g["tasks"]]
    into = {i: [(e["from"], e["data"]) for e in g["edges"] if e["to"] == i] for i in ids}
    load = {t["id"]: t["work"] for t in g["tasks"]}
    best = float("inf")
    for order in itertools.permutations(ids):
        if any(order.index(a) > order.index(i) for i in ids for a, _ in into[i]):
            continue
        for places in itertools.product(range(len(machine["speed"])), repeat=len(ids)):
            where, end, ready = dict(zip(order, places)), {}, [0.0] * len(machine["speed"])
            for i in order:
                j = where[i]
                begin = max(
                    [ready[j]]
                    + [
                        end[a] + (d / machine["rate"] + machine["startup"]) * (where[a] != j)
                        for a, d in into[i]
                    ]
                )
                end[i] = ready[j] = begin + load[i] / machine["speed"][j] + machine["process"][j]
            best = min(best, max(ready))
    return best


PAPER = graph(
    [("a1", 2), ("a2", 3), ("a3", 3), ("a4", 4), ("a5", 5), ("a6", 2), ("a7", 1)],
    [
        ("a1", "a2", 1),
        ("a1", "a3", 1),
        ("a1", "a4", 2),
        ("a2", "a5", 1),
        ("a3", "a6", 2),
        ("a4", "a6", 1),
        ("a5", "a7", 2),
        ("a6", "a7", 1),
    ],
)

WF = {
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {
                    "id": "p",
                    "children": ["q", "r"],
                    "parents": [],
                    "outputFiles": ["f", "g"],
                    "inputFiles": ["e"],
                },
                {"id": "q", "children": [], "parents": ["p"], "inputFiles": ["f"]},
                {"id": "r", "children": [], "parents": ["p"], "inputFiles": ["f", "g"]},
            ],
            "files": [
                {"id": "e", "sizeInBytes": 9},
                {"id": "f", "sizeInBytes": 100},
                {"id": "g", "sizeInBytes": 50},
            ],
        },
        "execution": {
            "tasks": [
                {"id": "p", "runtimeInSeconds": 1},
                {"id": "q", "runtimeInSeconds": 5},
                {"id": "r", "runtimeInSeconds": 5},
            ]
        },
    },
}

MARK = b"\xef\xbb\xbf"

PLATFORM = """<?xml version='1.0'?><!DOCTYPE platform SYSTEM "x">
<platform version="4.1"><zone id="z" routing="Full">
<host id="h1" speed="4.2Gf"/><host id="h2" speed="8.4Gf"/>
<link id="l" bandwidth="100Bps" latency="0us"/>
<route src="h1" dst="h2"><link_ctn id="l"/></route></zone></platform>"""

HARD = random_graph(300, data=100)

STAR = graph([("s", 1), ("a", 4), ("b", 4), ("c", 4)], [("s", x, 4) for x in "abc"])
