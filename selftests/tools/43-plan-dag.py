#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl plan dag: formats, machines, methods, independent checks and replays of plans, and what it
refuses. Instances of EHS_DATA (default: ../shared/data beside the project) are used when they are
there."""
import csv
import glob
import itertools
import json
import os
import pty
import random
import shutil
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

sys.path.append(os.path.join(sys.path[0], "../lib"))
from dagreplay import check, replay
from ktap import done, ok, skip
from seed import new_seed
from tree import BUILD, DATA, run

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
    """A clear error, and nothing on standard output."""
    r = call(document, *arguments)
    ok(
        name,
        r.returncode == status
        and not r.stdout
        and r.stderr.startswith(b"ehctl plan dag: ")
        and says in r.stderr.decode(),
        f"{r.returncode} {r.stdout[:200]} {r.stderr}",
    )


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


# ---- the paper's own shape: seven tasks, three processors ----

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
d = plan(PAPER, "--processors", "3")
ok(
    "a plan",
    not check(PAPER, d) and d["makespan"] == 12 and d["optimal"] and d["lower_bound"] == 12,
    d,
)
ok(
    "all members are there",
    set(d)
    == {
        "version",
        "planner",
        "algorithm",
        "seconds_to_plan",
        "time_limit_hit",
        "makespan",
        "lower_bound",
        "optimal",
        "tasks",
        "processors",
        "contention",
        "seed",
        "rate",
        "schedule",
        "messages",
    }
    and d["planner"] == "dag"
    and d["version"] == 1
    and [s["task"] for s in d["schedule"]] == [t["id"] for t in PAPER["tasks"]]
    and set(d["schedule"][0]) == {"task", "processor", "start", "finish"}
    and set(d["messages"][0]) == {"from", "to", "route", "start", "finish", "hops"},
    d,
)
r = call(PAPER, "--processors", "3")
ok(
    "a table",
    r.returncode == 0
    and not r.stderr
    and b"makespan 12, at least 12 (optimal), by best" in r.stdout
    and all(f"a{i}" in r.stdout.decode() for i in range(1, 8)),
    r,
)
ok(
    "standard input",
    json.loads(call("-", "--processors", "3", "--json", stdin=open("in.json", "rb")).stdout)[
        "makespan"
    ]
    == 12,
)
d = plan(graph([("only", 5)]), "--processors", "1")
ok("one task on one processor", d["makespan"] == 5 and d["messages"] == [] and d["optimal"], d)
d = plan(graph([("a", 0), ("b", 0)], [("a", "b", 3)]), "--processors", "2")
ok("tasks that take no time", d["makespan"] == 0, d)
d = plan({"tasks": [{"id": 1, "work": 1}, {"id": 'x"\\é', "work": 2}]}, "--processors", "2")
ok(
    "numbers and any characters as ids, no edges",
    [s["task"] for s in d["schedule"]] == ["1", 'x"\\é'] and d["makespan"] == 2,
    d,
)

# ---- machines ----

g = graph([("a", 6), ("b", 8)], [("a", "b", 10)])
put(
    "m.json",
    json.dumps(
        {
            "processors": [{"id": "slow", "speed": 1}, {"id": "fast", "speed": 2, "startup": 1}],
            "links": [{"a": "slow", "b": "fast", "rate": 5, "startup": 0.5}],
        }
    ),
)
d = plan(g, "--machine", "m.json")
ok(
    "speeds and process start-up: 6/2+1 + 8/2+1",
    d["makespan"] == 9 and {s["processor"] for s in d["schedule"]} == {"fast"},
    d,
)
g = graph(
    [("a", 10), ("b", 10), ("c", 10), ("d", 1)], [("a", "d", 4), ("b", "d", 4), ("c", "d", 4)]
)
put(
    "line.json",
    json.dumps(
        {
            "processors": [{"id": c} for c in "xyz"],
            "relays": [{"id": "r"}],
            "links": [
                {"a": "x", "b": "r", "rate": 4, "startup": 1},
                {"a": "r", "b": "y", "rate": 2},
                {"a": "y", "b": "z", "rate": 8},
            ],
        }
    ),
)
d = plan(g, "--machine", "line.json")
ok(
    "hops are added up: x-r-y takes 4/4+1 + 4/2",
    not check(g, d, json.load(open("line.json")))
    and d["makespan"] == 14.5 - 0
    or d["makespan"] == 15,
    d,
)
ok(
    "routes lead past the relay",
    any(m["route"] == ["x", "r", "y"] or m["route"] == ["x", "r", "y", "z"] for m in d["messages"]),
    d["messages"],
)
d = plan(
    g,
    "--machine",
    put("one.json", '{"processors":[{"id":"x"},{"id":"y"}]}'),
    "--rate",
    "4",
    "--startup",
    "2",
)
ok(
    "without links all are joined, by --rate and --startup",
    all(m["finish"] - m["start"] == 3 for m in d["messages"])
    and not check(g, d, rate=4, startup=2),
    d,
)
g = random_graph(25)
for topology, processors in (
    ("ring", 5),
    ("hypercube", 8),
    ("mesh:2x3", 6),
    ("eh:2,2", 16),
    ("full", 3),
    ("ring", 2),
    ("mesh:1x1", 1),
    ("eh:1,1", 2),
):
    d = plan(
        g,
        "--processors",
        str(processors),
        "--topology",
        topology,
        "--rate",
        "2",
        "--startup",
        "0.5",
    )
    ok(
        f"{topology} with {processors} processors",
        d.get("processors") == processors
        and not check(g, d, rate=2, startup=0.5, neighbours=topology),
        check(g, d, rate=2, startup=0.5) or d,
    )
d = plan(g, "--topology", "mesh:2x2")
ok("a topology may say how many", d.get("processors") == 4, d)
d = plan(
    {
        "tasks": [{"id": "a", "times": [3, 9]}, {"id": "b", "times": [9, 3]}],
        "edges": [{"from": "a", "to": "b", "data": 1}],
    },
    "--processors",
    "2",
)
ok("run times of each processor", d["makespan"] == 7, d)

# ---- formats ----

STG = "  3\n 0 0 0\n 1 4 1 0\n 2 5 1 0\n 3 2 1 0\n 4 0 3 1 2 3\n# comment\n"
d = plan(put("a.stg", STG), "--processors", "2")
ok("STG with its dummy tasks", d["makespan"] == 6 and len(d["schedule"]) == 5, d)
d = plan(put("b.stg", "2 2\n1 3 0\n2 4 0\n"))
ok("STG that names processors", d["makespan"] == 4, d)
DOT = """/* c */ digraph "x y" { graph [a=b, TargetSystem="Homogeneous-2", Modes="on\\
e"]; node [shape=box] edge [color=red];
 a [Weight=3]; "b" [label=<<b>B</b>>, Weight="4"]; c:p:n [Weight=2.5] // more
 a -> b -> c [Weight=1]; subgraph s { d [Weight=1] } a -> "c" }
"""
d = plan(put("a.dot", DOT))
ok(
    "DOT: chains, ports, subgraphs, comments, processors",
    d["makespan"] == 9.5
    and d["processors"] == 2
    and {s["task"] for s in d["schedule"]} == set("abcd"),
    d,
)
ok("an option says otherwise", (saw := plan("a.dot", "--processors", "3")["processors"]) == 3, saw)
d = plan(
    put(
        "b.dot",
        """digraph { "a\\\\" [Weight=1, label="C:\\dir\\\\"];
        "\\"b\\\\\\"c" [Weight=2] "a\\\\" -> "\\"b\\\\\\"c" }""",
    ),
    "--processors",
    "2",
)
ok(
    "DOT: backslashes in strings, also at their end",
    sorted(s["task"] for s in d["schedule"]) == ['"b\\\\"c', "a\\\\"],
    d,
)
d = plan(
    put(
        "c.dot",
        (
            "strict digraph { a [Weight=1]; node [Weight=100] edge [Weight=7] a -> b; a -> c; a ->"
            " b [Weight=3]; a -> c [Weight=3]\nedge [Weight=9] a -> b; a -> c }"
        ),
    ),
    "--processors",
    "2",
    "--rate",
    "1",
)
ok(
    (
        "DOT: an edge of a strict graph that is named again is the same one, with what is said of"
        " it there"
    ),
    [m["finish"] - m["start"] for m in d["messages"]] == [3],
    d,
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
d = plan(WF, "--processors", "2", "--rate", "100")
ok(
    "WfFormat: bytes of the files that go from one to the other",
    d["makespan"] == 7 and [m["finish"] - m["start"] for m in d["messages"]] == [1],
    d,
)
ok(
    "bytes go at 125e6 a second unless said",
    (saw := plan(WF, "--processors", "2")["rate"]) == 125e6,
    saw,
)
DAX = """<?xml version="1.0"?><adag xmlns="x">
<job id="p" runtime="1"><uses file="f" link="output" size="100"/>
<uses file="g" link="output" size="50"/></job>
<job id="q" runtime="5"><uses name="f" link="input" size="100"/></job>
<job id="r" runtime="5"><uses file="g" link="input" size="50"/>
<uses file="f" link="input" size="100"/></job>
<child ref="q"><parent ref="p"/></child><child ref="r"><parent ref="p"/></child></adag>"""
d = plan(put("a.dax", DAX), "--processors", "2", "--rate", "100")
ok(
    "DAX: the same",
    d["makespan"] == 7 and [m["finish"] - m["start"] for m in d["messages"]] == [1],
    d,
)
MARK = b"\xef\xbb\xbf"
for name, text in ("STG", STG), ("DOT", DOT), ("WfFormat", json.dumps(WF)), ("DAX", DAX):
    d = plan(put("mark", MARK + text.encode()), "--processors", "2")
    ok(f"{name} with a byte order mark", d["schedule"] != [], d)
PLATFORM = """<?xml version='1.0'?><!DOCTYPE platform SYSTEM "x">
<platform version="4.1"><zone id="z" routing="Full">
<host id="h1" speed="4.2Gf"/><host id="h2" speed="8.4Gf"/>
<link id="l" bandwidth="100Bps" latency="0us"/>
<route src="h1" dst="h2"><link_ctn id="l"/></route></zone></platform>"""
d = plan("a.dax", "--machine", put("p.xml", PLATFORM))
ok(
    "a SimGrid platform",
    d["makespan"] == 5.5 and {s["processor"] for s in d["schedule"]} == {"h2"},
    d,
)

# ---- methods ----

for i in range(6):
    g = random_graph(choose.randint(2, 5))
    machine = {
        "speed": [1, choose.choice((1, 2, 3))],
        "process": [0, choose.choice((0, 2))],
        "rate": choose.choice((1, 2)),
        "startup": choose.choice((0, 1)),
    }
    put(
        "m.json",
        json.dumps(
            {
                "processors": [
                    {"id": f"p{j}", "speed": s, "startup": machine["process"][j]}
                    for j, s in enumerate(machine["speed"])
                ]
            }
        ),
    )
    options = (
        "--machine",
        "m.json",
        "--rate",
        str(machine["rate"]),
        "--startup",
        str(machine["startup"]),
    )
    least, d = best_of_all(g, machine), plan(g, *options, "--algorithm", "exact")
    others = [plan(g, *options, "--algorithm", a) for a in ("best", "list", "heft")]
    ok(
        f"exact is the least of all {i}",
        abs(d["makespan"] - least) < 1e-9
        and d["optimal"]
        and d["lower_bound"] == d["makespan"]
        and all(o["makespan"] >= least - 1e-9 and o["lower_bound"] <= least + 1e-9 for o in others),
        f"{least} {d} {others} {g} {machine}",
    )
put(
    "m.json",
    json.dumps(
        {"processors": [{"id": "a", "speed": 1}, {"id": "b", "speed": 3}, {"id": "c", "speed": 2}]}
    ),
)
for i, method in enumerate(("best", "list", "heft", "exact")):
    g = random_graph(12, data=100)
    d = plan(g, "--machine", "m.json", "--algorithm", method, "--time-limit", "5")
    ok(
        f"{method}: never worse than all on the fastest",
        not check(g, d, json.load(open("m.json")))
        and d["makespan"] <= sum(t["work"] for t in g["tasks"]) / 3 + 1e-9,
        d,
    )
g = random_graph(60)
a, b = (plan(g, "--processors", "4", "--seed", "7") for _ in "ab")
ok("a seed repeats its plan", a["schedule"] == b["schedule"] and a["seed"] == 7)
a = plan(g, "--processors", "4", "--steps", "1")["makespan"]
b = plan(g, "--processors", "4", "--steps", "50000")["makespan"]
ok("more steps are no worse", b <= a, f"{a} {b}")
choose.seed(3)  # one whose bound is out of reach
HARD = random_graph(300, data=100)
choose.seed(SEED + 1)
begun = time.monotonic()
d = plan(HARD, "--processors", "8", "--steps", "100000000", "--time-limit", "0.5")
ok(
    "a time limit ends the search, with a good plan",
    d["time_limit_hit"] and time.monotonic() - begun < 15 and not check(HARD, d),
    d.get("error"),
)
g = random_graph(40, data=200)
d = plan(g, "--processors", "4", "--algorithm", "exact", "--time-limit", "0.3")
ok("and branch and bound", not check(g, d) and d["lower_bound"] <= d["makespan"], d.get("error"))

# ---- contention ----

STAR = graph([("s", 1), ("a", 4), ("b", 4), ("c", 4)], [("s", x, 4) for x in "abc"])
put(
    "pair.json",
    json.dumps(
        {"processors": [{"id": "x"}, {"id": "y", "speed": 4}], "links": [{"a": "x", "b": "y"}]}
    ),
)
for topology in "ring", "hypercube", "mesh:2x4", "full", "eh:1,3":
    for n, data in (20, 10), (60, 40), (120, 10):
        g = random_graph(n, data=data)
        d = plan(g, "--processors", "8", "--topology", topology, "--contention", "on")
        wrong = check(g, d, contention=True, neighbours=topology)
        again = 0 if wrong else replay(g, d)
        ok(
            f"{topology}, {n} tasks: a plan, and the same as its replay",
            not wrong and 0 < again and abs(again - d["makespan"]) <= 1e-9 * again,
            f"{wrong} {again} {d['makespan']} {g}",
        )
# z has to wait for y's data on the one link from p0 to p1, or go the other way round a ring of four
g = graph(
    [("a", 1), ("b", 1)] + [(f"z{i}", 9) for i in range(4)],
    [("a", f"z{i}", 3) for i in range(4)] + [("b", "z0", 3)],
)
d = plan(g, "--processors", "4", "--topology", "ring", "--contention", "on")
ok("links are busy one message at a time", not check(g, d, contention=True, neighbours="ring"), d)
refused(
    "exact with contention",
    "without contention",
    PAPER,
    "--processors",
    "2",
    "--contention",
    "on",
    "--algorithm",
    "exact",
)

# ---- refusals ----

for says, text in (
    ("in.bad:1: the input is empty", ""),
    ("empty", " \n# only a comment\n"),
    ("no task graph of a known format", "hello"),
    ("$.tasks: from 1 to", '{"tasks":[]}'),
    ('$: "tasks" is missing', "{}"),
    ("in.bad:2: no JSON", '{"tasks":\n['),
    ("in.bad:1: no JSON", '{"tasks":[{"id":"\xff","work":1}]}'.encode("latin1")),
    ('$.tasks[1].id: "a" is listed twice', '{"tasks":[{"id":"a","work":1},{"id":"a","work":1}]}'),
    ("$.tasks[0].work: -1 is not from 0", '{"tasks":[{"id":"a","work":-1}]}'),
    ("$.tasks[0].work: a number is needed", '{"tasks":[{"id":"a","work":"1"}]}'),
    ("in.bad:1: no JSON", '{"tasks":[{"id":"a","work":NaN}]}'),
    ("no JSON", '{"tasks":[{"id":"a","work":1e999}]}'),
    ("$.tasks[0].work", '{"tasks":[{"id":"a","work":1e300}]}'),
    ('"work" is missing', '{"tasks":[{"id":"a"}]}'),
    ("$.tasks[0].id: it is empty", '{"tasks":[{"id":"","work":1}]}'),
    ("control character", '{"tasks":[{"id":"a\\n","work":1}]}'),
    ('"wrok"', '{"tasks":[{"id":"a","wrok":1}]}'),
    (
        "$.edges[0].to: there is no task b",
        '{"tasks":[{"id":"a","work":1}],"edges":[{"from":"a","to":"b"}]}',
    ),
    (
        "$.edges[0]: a <- a: a cycle",
        '{"tasks":[{"id":"a","work":1}],"edges":[{"from":"a","to":"a"}]}',
    ),
    (
        "$.edges[1]: the edge from a to b is listed twice",
        '{"tasks":[{"id":"a","work":1},{"id":"b","work":1}],'
        '"edges":[{"from":"a","to":"b"},{"from":"a","to":"b"}]}',
    ),
    (
        "$.edges[0].data: -1 is not",
        (
            '{"tasks":[{"id":"a","work":1},{"id":"b","work":1}],'
            '"edges":[{"from":"a","to":"b","data":-1}]}'
        ),
    ),
    ("no JSON", '{"tasks":' + "[" * 100000),
    ("no JSON", '{"tasks":' + "[" * 5000 + "]" * 5000 + "}"),
    ("times", '{"tasks":[{"id":"a","times":[1,2]},{"id":"b","times":[1]}]}'),
    ("for all tasks or for none", '{"tasks":[{"id":"a","times":[1,2]},{"id":"b","work":1}]}'),
    ("3 run times for 2 processors", '{"tasks":[{"id":"a","times":[1,2,3]}]}'),
    ("in.bad:3: task 1 is listed twice", "2\n1 1 0\n1 2 0\n"),
    ("in.bad:2: no task has the number 9", "1\n1 1 1 9\n"),
    ("in.bad:2: 2 <- 1 <- 2: a cycle", "2\n1 1 1 2\n2 1 1 1\n"),
    ('in.bad:2: its time: "-1"', "1\n1 -1 0\n"),
    ('"nan"', "1\n1 nan 0\n"),
    ("5 tasks are announced, and 1", "5\n1 1 0\n"),
    ("in.bad:2: a task number is missing", "1\n1 1 2 1\n"),
    ("in.bad:2: more predecessors than the 0", "1\n1 1 0 1\n"),
    ('99999999999" is not a whole number', "99999999999\n1 1 0\n"),
    ("in.bad:2: its time is missing", "1\n1"),
    ("in.bad:2: not valid UTF-8", b"1\n1 1 \xff0\n"),
    ("a control character", b"1\n1 1 0\x00\n"),
    ("in.bad:3: ']' where", "digraph {\na [Weight=1]\n] a\n"),
    ("in.bad:1: task a has no Weight", "digraph { a }"),
    ("the file ends where", "digraph { a [Weight=1]; "),
    ("-- has no direction", "digraph { a -- b }"),
    ("a digraph is needed", "graph { a -- b }"),
    ("not a number from 0", "digraph { a [Weight=x] }"),
    ("not a number from 0", "digraph { a [Weight=-3] }"),
    ("a string has no end", 'digraph { "a'),
    ("HTML has no end", "digraph { a [label=<b] }"),
    ("Homogeneous-P", 'digraph { TargetSystem="Ring-3" a [Weight=1] }'),
    ("nested deeper", "digraph " + "{" * 100),
    ("a cycle", "digraph { node [Weight=1] a -> b -> c -> a }"),
    ("is listed twice", "digraph { node [Weight=1] a -> b; a -> b }"),
    ("ends at a subgraph", "digraph { a -> subgraph { b } }"),
    ("ends at a subgraph", "digraph { a -> { b c } }"),
    ("in.bad:1: no XML", "<adag>"),
    ("a DAX file begins", "<foo/>"),
    ("in.bad:2: the attribute runtime is missing", '<adag>\n<job id="a"/></adag>'),
    (
        "the job a is listed twice",
        '<adag><job id="a" runtime="1"/><job id="a" runtime="1"/></adag>',
    ),
    (
        "no job has the id b",
        '<adag><job id="a" runtime="1"/><child ref="a"><parent ref="b"/></child></adag>',
    ),
    ("a number from 0", '<adag><job id="a" runtime="-1"/></adag>'),
    ("a number from 0", '<adag><job id="a" runtime="inf"/></adag>'),
    ("no tasks to plan", "<adag/>"),
    ("nested deeper", "<adag>" + "<a>" * 1000),
    (
        "a cycle",
        (
            '<adag><job id="a" runtime="1"/><job id="b" runtime="1"/><child ref="a"><parent'
            ' ref="b"/></child><child ref="b"><parent ref="a"/></child></adag>'
        ),
    ),
    ("entity", '<!DOCTYPE a [<!ENTITY x "y">]><adag/>'),
    ("no XML", '<adag a="\xff"/>'.encode("latin1")),
):
    refused(f"refused: {says}", says, put("in.bad", text), "--processors", "2")
for says, change in (
    (
        '$.workflow.execution.tasks: the run time of "r" is missing',
        lambda w: w["execution"]["tasks"].pop(),
    ),
    (
        "$.workflow.specification.tasks[0].inputFiles[0]: no file has",
        lambda w: w["specification"]["files"].pop(0),
    ),
    (
        "$.workflow.specification.tasks[2].parents[0]: no task has",
        lambda w: w["specification"]["tasks"][2].update(parents=["zz"]),
    ),
    ("it ran twice", lambda w: w["execution"]["tasks"].append({"id": "p", "runtimeInSeconds": 1})),
    ("runtimeInSeconds: -1", lambda w: w["execution"]["tasks"][0].update(runtimeInSeconds=-1)),
    ("a cycle", lambda w: w["specification"]["tasks"][0].update(parents=["q"])),
    ('"tasks" is missing', lambda w: w["specification"].pop("tasks")),
):
    wrong = json.loads(json.dumps(WF))
    change(wrong["workflow"])
    refused(f"WfFormat refused: {says}", says, wrong, "--processors", "2")
for version in "1.3", "", None:
    wrong = {"schemaVersion": version, "workflow": {"tasks": []}}
    refused(
        f"WfFormat of another version: {version}",
        "WfFormat 1.5 is read, and this "
        + ("names no version" if version is None else f"is of {version}"),
        wrong,
        "--processors",
        "2",
    )
for says, text in (
    ("m.bad: $.processors: from 1 to", '{"processors":[]}'),
    ("m.bad:1: no JSON", "{"),
    ("is listed twice", '{"processors":[{"id":"a"},{"id":"a"}]}'),
    ("$.processors[0].speed: 0 is not", '{"processors":[{"id":"a","speed":0}]}'),
    (
        "$.links[0].b: there is no processor",
        '{"processors":[{"id":"a"}],"links":[{"a":"a","b":"z"}]}',
    ),
    ("no links lead from a to b", '{"processors":[{"id":"a"},{"id":"b"}],"links":[]}'),
    (
        "linked twice",
        '{"processors":[{"id":"a"},{"id":"b"}],"links":[{"a":"a","b":"b"},{"a":"b","b":"a"}]}',
    ),
    ("linked to itself", '{"processors":[{"id":"a"}],"links":[{"a":"a","b":"a"}]}'),
    (
        "rate: 0 is not",
        '{"processors":[{"id":"a"},{"id":"b"}],"links":[{"a":"a","b":"b","rate":0}]}',
    ),
    ("relays without links", '{"processors":[{"id":"a"}],"relays":[{"id":"r"}]}'),
    ('"cpus"', '{"cpus":[]}'),
    (
        "<cluster> of SimGrid platforms is not supported",
        '<platform><zone><cluster id="c"/></zone></platform>',
    ),
    ("no hosts", "<platform/>"),
    ("is not a value", '<platform><zone><host id="a" speed="3Gx"/></zone></platform>'),
    ("no link has the id", PLATFORM.replace('link_ctn id="l"', 'link_ctn id="k"')),
):
    refused(f"machine refused: {says}", says, PAPER, "--machine", put("m.bad", text))
d = plan(PAPER, "--machine", put("mark.json", MARK + b'{"processors":[{"id":"a"}]}'))
ok("a machine with a byte order mark", d["schedule"] != [], d)
refused("no machine", "--processors P or --machine FILE", PAPER)
refused(
    "two machines", "--processors is not allowed", PAPER, "--machine", "m.json", "--processors", "2"
)
refused("no such machine", "No such file", PAPER, "--machine", "absent.json")
refused("no such input", "No such file", "absent.json", "--processors", "2")
for option, value in (
    ("--processors", "0"),
    ("--processors", "2000000"),
    ("--rate", "0"),
    ("--rate", "-1"),
    ("--rate", "x"),
    ("--startup", "-1"),
    ("--contention", "maybe"),
    ("--steps", "x"),
    ("--algorithm", "magic"),
    ("--time-limit", "0"),
    ("--seed", "x"),
    ("--topology", "star"),
    ("--topology", "mesh:0x3"),
    ("--topology", "mesh:3"),
    ("--topology", "eh:0,1"),
    ("--format", "rankfile"),
):
    refused(f"{option} {value}", "", PAPER, "--processors", "4", option, value)
refused(
    "a hypercube of three", "power of two", PAPER, "--processors", "3", "--topology", "hypercube"
)
refused(
    "a mesh of another size",
    "has 6 processors, not 4",
    PAPER,
    "--processors",
    "4",
    "--topology",
    "mesh:2x3",
)
refused(
    "too many for routes",
    "too many for routes",
    PAPER,
    "--processors",
    "100000",
    "--topology",
    "ring",
)
refused("too many to watch", "at most 1024", PAPER, "--processors", "5000", "--contention", "on")

# ---- sizes ----

d = plan(random_graph(30), "--processors", "100000")
ok("a hundred thousand processors", d["makespan"] > 0, d.get("error"))
count = 60000
put(
    "wide.stg",
    f"{count}\n"
    + "".join(
        (
            f"{i} {1 + i % 7} {min(i, 2)} {' '.join(str(i - 1 - k) for k in range(min(i, 2)))}\n"
            if i % 3
            else f"{i} {1 + i % 7} 0\n"
        )
        for i in range(count)
    ),
)
d = plan("wide.stg", "--processors", "2000")
ok(
    "many tasks on more processors than are all tried",
    d["makespan"] > 0 and d["lower_bound"] <= d["makespan"],
    d.get("error"),
)

# ---- diagrams and progress ----

if shutil.which("gnuplot"):
    r = call(PAPER, "--processors", "3", "--gantt", "g.svg")
    ok(
        "a time-space diagram",
        r.returncode == 0
        and ElementTree.parse("g.svg").getroot().tag.endswith("svg")
        and "a1" in open("g.svg", encoding="utf-8").read(),
        r,
    )
    r = call(
        STAR,
        "--processors",
        "4",
        "--topology",
        "ring",
        "--contention",
        "on",
        "--gantt",
        "c.svg",
        "--rate",
        "9",
    )
    ok(
        "with the links",
        r.returncode == 0 and "message" in open("c.svg", encoding="utf-8").read(),
        r,
    )
else:
    ok("a time-space diagram", False, "gnuplot is missing; packaging/deps test installs it")
pid, fd = pty.fork()
if not pid:
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    os.execv(
        EHCTL,
        [
            "ehctl",
            "plan",
            "dag",
            put("long.json", json.dumps(HARD)),
            "--processors",
            "8",
            "--steps",
            "100000000",
            "--time-limit",
            "2",
        ],
    )
text = b""
try:
    while piece := os.read(fd, 4096):
        text += piece
except OSError:
    pass
ok("progress on a terminal", os.waitpid(pid, 0)[1] == 0 and b"searching" in text, text)

# ---- public instances ----


def optimum(name, files, mean, worst, part):
    """Makespans over the optimum of (file, options, optimum)."""
    rows = [(plan(f, *options), best) for f, options, best in files]
    ratios = [p["makespan"] / best for p, best in rows]
    average, share = sum(ratios) / len(ratios), sum(r < 1 + 1e-9 for r in ratios) / len(ratios)
    ok(
        f"{name}: mean {average:.4f}, worst {max(ratios):.3f}, {share:.0%} optimal of {len(rows)}",
        average <= mean
        and max(ratios) <= worst
        and share >= part
        and all(p["lower_bound"] <= best + 1e-9 for p, best in rows),
    )


if os.path.isdir(f"{DATA}/sinnen"):
    rows = list(csv.DictReader(open(f"{DATA}/sinnen/INDEX.csv", encoding="utf-8")))
    optimum(
        "sinnen",
        [(f"{DATA}/sinnen/{r['file']}", (), float(r["optimal"])) for r in choose.sample(rows, 60)],
        1.02,
        1.5,
        0.7,
    )
    rows = []
    for p in 2, 4, 8, 16:
        with open(f"{DATA}/stg50/Case50_{p}_OPT.csv", encoding="utf-8") as f:
            rows += [r for r in csv.reader(f) if len(r) == 3]
    optimum(
        "stg50",
        [
            (f"{DATA}/stg50/{os.path.basename(r[0])}", ("--processors", r[1]), float(r[2]))
            for r in choose.sample(rows, 60)
        ],
        1.003,
        1.1,
        0.9,
    )
    d = plan(f"{DATA}/dax/Montage_25.xml", "--machine", f"{DATA}/dax/simulacrum_7_hosts.xml")
    ok(
        "Montage_25 on simulacrum's seven hosts: at most 98.13",
        0 < d["makespan"] <= 98.13,
        d["makespan"],
    )
    for name in sorted(
        glob.glob(f"{DATA}/wfcommons/*.json")
        + glob.glob(f"{DATA}/dax/[A-Z]*.xml")
        + glob.glob(f"{DATA}/stg_apps/*.stg")
    ):
        d = plan(name, "--processors", "8", "--algorithm", "list")
        ok(
            f"read: {os.path.basename(name)}",
            d["makespan"] > 0 and d["lower_bound"] <= d["makespan"] + 1e-9,
            d.get("error"),
        )
else:
    skip("instances of others", f"no {DATA}; EHS_DATA names another directory")

os.chdir("/")
shutil.rmtree(work)
done()
