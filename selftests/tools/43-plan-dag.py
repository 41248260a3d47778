#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl plan dag: formats, machines, methods, and independent checks and replays of plans."""

import json, os, shutil, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from dagplans import (
    HARD,
    MARK,
    PAPER,
    PLATFORM,
    SEED,
    WF,
    best_of_all,
    call,
    choose,
    graph,
    plan,
    put,
    random_graph,
    refused,
    work,
)
from dagreplay import check, replay
from ktap import done, ok

# ---- the paper's own shape: seven tasks, three processors ----

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
for name, text in ("STG", STG), ("DOT", DOT), ("WfFormat", json.dumps(WF)), ("DAX", DAX):
    d = plan(put("mark", MARK + text.encode()), "--processors", "2")
    ok(f"{name} with a byte order mark", d["schedule"] != [], d)
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

os.chdir("/")
shutil.rmtree(work)
done()
