#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl plan dag: what it refuses, sizes, diagrams, progress, and instances of EHS_DATA (default:
../shared/data beside the project), if they are there."""

import csv, glob, json, os, pty, shutil, sys
import xml.etree.ElementTree as ElementTree

sys.path.append(os.path.join(sys.path[0], "../lib"))
from dagplans import (
    EHCTL,
    HARD,
    MARK,
    PAPER,
    PLATFORM,
    STAR,
    WF,
    call,
    choose,
    plan,
    put,
    random_graph,
    refused,
    work,
)
from ktap import done, ok, skip
from tree import DATA

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
