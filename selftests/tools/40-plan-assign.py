#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl plan assign: the paper's example, all options, what it refuses, graphs of a public
collection when they are there (EHS_DATA)."""
import json
import os
import random
import shutil
import sys
import tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok, skip
from seed import new_seed
from tree import BUILD, DATA, run

EHCTL = os.path.realpath(f"{BUILD}/bin/ehctl")
SEED = new_seed()
chance = random.Random(SEED)
work = tempfile.mkdtemp()
os.chdir(work)


def assign(*arguments, **how):
    """ehctl plan assign with these arguments."""
    return run(EHCTL, "plan", "assign", *arguments, **how)


def write(text, name="input.json"):
    """A file with this, as JSON unless it is text."""
    with open(name, "wb") as f:
        f.write(
            text
            if isinstance(text, bytes)
            else (text if isinstance(text, str) else json.dumps(text)).encode()
        )
    return name


def plan(problem, *arguments, name="input.json", **how):
    """The document for a problem."""
    r = assign(write(problem, name), "--json", *arguments, **how)
    if r.returncode or r.stderr:
        return {"error": r.stderr.decode()}
    return json.loads(r.stdout)


def costs(problem, assignment):
    """f of each processor, by the definition."""
    f, works = {}, {t["id"]: t["work"] for t in problem["tasks"]}
    for task, work_of in works.items():
        f[assignment[task]] = f.get(assignment[task], 0) + work_of
    for pair in problem["comm"]:
        a, b = assignment[pair["a"]], assignment[pair["b"]]
        if a != b:
            f[a] += pair["volume"]
            f[b] += pair["volume"]
    return f


WORK = [10, 12, 8, 10, 9, 6, 3, 6]
VOLUME = [
    [7, 5, 4, 4, 2, 4, 2],
    [4, 0, 2, 3, 2, 0],
    [4, 2, 2, 0, 5],
    [0, 0, 3, 2],
    [3, 2, 3],
    [4, 3],
    [0],
]
EXAMPLE = {
    "tasks": [{"id": str(i + 1), "work": w} for i, w in enumerate(WORK)],
    "comm": [
        {"a": str(i + 1), "b": str(i + 2 + j), "volume": v}
        for i, row in enumerate(VOLUME)
        for j, v in enumerate(row)
        if v
    ],
    "processors": 4,
}

# ---- the paper's example ----

d = plan(b"\xef\xbb\xbf" + json.dumps(EXAMPLE).encode())
ok("a byte order mark", "assignment" in d, d)
d = plan(EXAMPLE, "--algorithm", "paper", "--trace")
ok(
    "paper: 54, as printed",
    d.get("cost") == 54
    and d["assignment"]
    == {"1": "P1", "2": "P2", "3": "P3", "4": "P4", "5": "P4", "6": "P3", "7": "P2", "8": "P3"},
    d,
)
ok(
    "and its steps",
    [s["costs"] for s in d["trace"]]
    == [
        [10, 0, 0, 0],
        [17, 19, 0, 0],
        [22, 23, 17, 0],
        [26, 23, 21, 18],
        [30, 25, 23, 35],
        [32, 28, 37, 38],
        [36, 44, 41, 43],
        [38, 44, 54, 48],
    ]
    and [s["processor"] for s in d["trace"]][:4] == ["P1", "P2", "P3", "P4"],
    d,
)
d = plan(EXAMPLE, "--algorithm", "paper-sorted", "--trace")
ok(
    "paper-sorted: 51",
    d.get("cost") == 51
    and d["trace"][-1]["costs"] == [p["cost"] for p in d["processors"]]
    and d["trace"][0]["task"] == "1",
    d,
)
for algorithm in "exact", "best":
    d = plan(EXAMPLE, "--algorithm", algorithm)
    ok(
        f"{algorithm}: 48, optimal",
        d.get("cost") == 48 == d["lower_bound"] and d["optimal"] is True,
        d,
    )
ok(
    "the document's shape",
    set(d)
    == {
        "version",
        "planner",
        "algorithm",
        "seconds_to_plan",
        "time_limit_hit",
        "cost",
        "lower_bound",
        "optimal",
        "assignment",
        "processors",
        "trace",
    }
    and d["version"] == 1
    and d["planner"] == "assign"
    and d["trace"] == []
    and all(set(p) == {"id", "work", "comm", "cost"} for p in d["processors"])
    and len(d["processors"]) == 4,
    d,
)
ok("best is the default", (saw := plan(EXAMPLE).get("algorithm")) == "best", saw)
got = [
    plan(EXAMPLE, "--algorithm", "exact", "--processors", str(p)).get("cost") for p in range(1, 10)
]
ok("1 to 9 processors", got == [64, 64, 54, 48, 42, 38, 38, 38, 38], got)
r = assign(write(EXAMPLE), "--algorithm", "paper", "--trace")
ok(
    "as text",
    b"8 on P3: 38 44 54 48" in r.stdout
    and b"cost 54" in r.stdout
    and b"3 6 8" in r.stdout
    and not r.stderr,
    r,
)
r = assign(write(EXAMPLE))
ok("a table", b"processor" in r.stdout and b"cost 48, optimal" in r.stdout, r)
with open("input.json", "rb") as f:
    r = assign("-", "--json", stdin=f)
ok("from standard input", r.returncode == 0 and json.loads(r.stdout)["cost"] == 48, r)

# ---- other problems ----


def random_problem(tasks, processors, density, most):
    """Tasks of 1 to 20, and pairs."""
    return {
        "tasks": [{"id": f"t{i}", "work": chance.randint(1, 20)} for i in range(tasks)],
        "comm": [
            {"a": f"t{i}", "b": f"t{j}", "volume": chance.randint(1, most)}
            for i in range(tasks)
            for j in range(i)
            if chance.random() < density
        ],
        "processors": processors,
    }


bad = []
for i in range(12):
    p = random_problem(
        chance.randint(8, 12), chance.randint(3, 4), (0.2, 0.9)[i % 2], (3, 40)[i // 2 % 2]
    )
    a, b, c = (plan(p, "--algorithm", x) for x in ("best", "exact", "paper"))
    if not (
        a.get("cost") == b.get("cost") <= c.get("cost", -1)
        and b["optimal"]
        and a["cost"] <= sum(t["work"] for t in p["tasks"])
        and all(max(costs(p, x["assignment"]).values()) == x["cost"] for x in (a, b, c))
    ):
        bad.append((p, a, b, c))
ok(
    "random ones: best is as good as exact, and costs are what the definition says",
    not bad,
    bad[:1],
)
p = random_problem(60, 6, 0.2, 8)
a, b, c = plan(p, "--seed", "5"), plan(p, "--seed", "5"), plan(p, "--seed", "6")
for x in a, b, c:
    x.pop("seconds_to_plan", None)
ok("a seed repeats its plan", a == b and "cost" in a, f"{a}\n{b}")
ok(
    "another is no worse than the paper's either",
    c.get("cost", 1e9) <= plan(p, "--algorithm", "paper-sorted")["cost"],
    c,
)
d = plan(random_problem(200, 16, 0.5, 5), "--algorithm", "exact", "--time-limit", "0.4")
ok(
    "a time limit ends it, with a plan and a bound",
    d.get("time_limit_hit") is True and d["optimal"] is False and 0 < d["lower_bound"] < d["cost"],
    {k: v for k, v in d.items() if k != "assignment"},
)
d = plan({"tasks": [{"id": i, "work": 3} for i in range(3)], "comm": [], "processors": 5})
ok(
    "more processors than tasks",
    d.get("cost") == 3 and d["optimal"] and len(set(d["assignment"].values())) == 3,
    d,
)
d = plan({"tasks": [{"id": "a", "work": 0}, {"id": "b", "work": 0}], "processors": 3})
ok("no work and no pairs", d.get("cost") == 0 and d["optimal"] is True, d)
d = plan(
    {
        "tasks": [{"id": "ä", "work": 0.1}, {"id": "b", "work": 0.2}],
        "comm": [{"a": "ä", "b": "b", "volume": 0.05}],
        "processors": [{"id": "x"}, {"id": "y"}],
    }
)
ok(
    "no whole numbers",
    abs(d.get("cost", 0) - 0.25) < 1e-12 and d["assignment"].keys() == {"ä", "b"},
    d,
)
d = plan(
    {"tasks": [{"id": "a"}, {"id": "b"}], "comm": [{"a": "a", "b": "b"}]},
    "--processors",
    "2",
    "--work",
    "4",
    "--volume",
    "1",
)
ok("--work, --volume, --processors for JSON", d.get("cost") == 5, d)

# ---- processors that differ ----

MACHINE = {
    "tasks": [{"id": "a", "work": 10}, {"id": "b", "work": 6}],
    "comm": [{"a": "a", "b": "b", "volume": 8}],
    "processors": [{"id": "x", "speed": 2}, {"id": "y"}],
    "links": [{"a": "x", "b": "y", "speed": 8}],
}
d = plan(MACHINE)
ok(
    "speeds and links",
    d.get("cost") == 7
    and d["assignment"] == {"a": "x", "b": "y"}
    and d["processors"][0] == {"id": "x", "work": 5, "comm": 1, "cost": 6}
    and d["optimal"],
    d,
)
d = plan(
    {**MACHINE, "links": [{"a": "x", "b": "y", "speed": 8}, {"a": "y", "b": "x", "speed": 0.5}]}
)
ok("the way back", d.get("cost") == 8 and d["assignment"] == {"a": "x", "b": "x"}, d)
d = plan(
    {
        **MACHINE,
        "b0": 0.2,
        "processors": [{"id": "x", "speed": 2, "b": 0.3}, {"id": "y", "b": 0.5}],
    },
    "--algorithm",
    "paper",
    "--trace",
)
ok(
    "B_0 and B_j",
    d.get("trace")
    and [round(c, 9) for c in d["trace"][0]["costs"]] == [1, 0]
    and abs(d["cost"] - max(1 + 0.5, 0.2 * 6 + 0.3)) < 1e-9,
    d,
)

# ---- Open MPI's files ----

HOSTS = {**EXAMPLE, "processors": [{"id": f"node{i}", "cores": 2} for i in range(4)]}
r = assign(write(HOSTS), "--algorithm", "paper", "--format", "rankfile")
ok(
    "a rankfile",
    r.stdout.decode().splitlines()
    == [
        "rank 0=node0 slot=0",
        "rank 1=node1 slot=0",
        "rank 2=node2 slot=0",
        "rank 3=node3 slot=0",
        "rank 4=node3 slot=1",
        "rank 5=node2 slot=1",
        "rank 6=node1 slot=1",
        "rank 7=node2 slot=0",
    ],
    r,
)
r = assign(write({**HOSTS, "processors": [{"id": "a"}]}), "--format", "rankfile")
ok(
    "no processor is named that may not be there",
    r.stdout.decode().splitlines() == [f"rank {i}=a slot=S*" for i in range(8)],
    r,
)
r = assign(write(HOSTS), "--algorithm", "paper", "--format", "hostfile")
ok(
    "a hostfile",
    r.stdout.decode().splitlines()
    == ["node0 slots=1", "node1 slots=2", "node2 slots=3", "node3 slots=2"],
    r,
)

# ---- METIS graphs ----


def grid(rows, columns):
    """A mesh."""
    lines = [f"{rows * columns} {rows * (columns - 1) + columns * (rows - 1)}"]
    for i in range(rows):
        for j in range(columns):
            v = i * columns + j + 1
            lines.append(
                " ".join(
                    str(u)
                    for u, there in (
                        (v - columns, i),
                        (v - 1, j),
                        (v + 1, j < columns - 1),
                        (v + columns, i < rows - 1),
                    )
                    if there
                )
            )
    return "\n".join(lines) + "\n"


d = plan(
    "% comment\n3 2 11\n% more\n5 2 7\n6 1 7 3 1\n\t4 2 1\r\n",
    "--processors",
    "2",
    "--algorithm",
    "exact",
    name="a.graph",
)
ok(
    "weights, comments, blanks",
    d.get("cost") == 12 and d["assignment"]["1"] == d["assignment"]["2"],
    d,
)
d = plan(
    "4 2 100\n9 2\n9 1\n9 4\n9 3", "--processors", "2", "--work", "10", "--volume", "3", name="a"
)
ok("sizes are read over; --work and --volume", d.get("cost") == 20, d)
d = plan("3 1\n2\n1\n\n", "--processors", "3", name="a.graph")
ok("a line may be empty", d.get("cost") == 2 and set(d["assignment"]) == {"1", "2", "3"}, d)
d = plan(grid(100, 100), "--processors", "16", "--work", "10", name="a.graph")
ok(
    "a mesh of 100 x 100 to 16: within 0.5 % of squares",
    6250 < d.get("cost", 0) <= 1.005 * (6250 + 100),
    d.get("cost"),
)

# ---- refusals ----

T = EXAMPLE["tasks"]
C = EXAMPLE["comm"]


def with_task(**members):
    """The example, whose third task has these members too."""
    return {**EXAMPLE, "tasks": T[:2] + [{**T[2], **members}] + T[3:]}


def with_pair(**members):
    """And whose second pair has these."""
    return {**EXAMPLE, "comm": C[:1] + [{**C[1], **members}] + C[2:]}


TWO = [{"id": "x"}, {"id": "y"}]
REFUSED = {
    "nothing": ("", "input.json:1: no JSON"),
    "no JSON": ("{", "input.json:1: no JSON"),
    "a list": ([], "$: an object"),
    "cut off": (json.dumps(EXAMPLE, indent=1)[:200], "no JSON"),
    "more behind it": (json.dumps(EXAMPLE) + "x", "input.json:1: no JSON"),
    "a member twice": ('{"processors":1,\n"processors":2}', "input.json:2: no JSON: duplicate"),
    "invalid UTF-8": (
        b'{"tasks":[{"id":"\xff","work":1}],"processors":1}',
        "input.json:1: no JSON",
    ),
    "deep nesting": ("[" * 100000, "no JSON: maximum parsing depth"),
    "a null byte": (
        b'{"tasks":[{"id":"a\\u0000","work":1}],"processors":1}',
        "input.json:1: no JSON",
    ),
    "an unknown member": ({**EXAMPLE, "task": []}, '$: no member "task"'),
    "no tasks": ({**EXAMPLE, "tasks": []}, "$.tasks: from 1"),
    "tasks missing": ({"processors": 2}, '$: "tasks" is missing'),
    "no list of tasks": ({**EXAMPLE, "tasks": {}}, "$.tasks: an array"),
    "a task that is none": ({**EXAMPLE, "tasks": [3]}, "$.tasks[0]: an object"),
    "a task's unknown member": (with_task(effort=1), '$.tasks[2]: no member "effort"'),
    "no id": ({**EXAMPLE, "tasks": [{"work": 1}]}, '$.tasks[0]: "id" is missing'),
    "an empty id": (with_task(id=""), "$.tasks[2].id: it is empty"),
    "an id with a newline": (with_task(id="a\nb"), "$.tasks[2].id: it has a control"),
    "two tasks of an id": (with_task(id="1"), '$.tasks[2].id: "1" is listed twice'),
    "the same id as a number": (with_task(id=1), '$.tasks[2].id: "1" is listed twice'),
    "no work": ({**EXAMPLE, "tasks": [{"id": "a"}]}, '$.tasks[0]: "work" is missing'),
    "negative work": (with_task(work=-1), "$.tasks[2].work: -1 is not from 0"),
    "work that is too much": (
        json.dumps(with_task(work=7)).replace('"work": 7}', '"work": 1e200}'),
        "$.tasks[2].work",
    ),
    "infinite work": (
        json.dumps(with_task(work=7)).replace('"work": 7}', '"work": 1e999}'),
        "no JSON",
    ),
    "work that is NaN": (with_task(work=float("nan")), "no JSON"),
    "work that is text": (with_task(work="7"), "$.tasks[2].work: a number"),
    "an unknown end": (with_pair(b="99"), "$.comm[1].b: there is no task 99"),
    "no end": ({**EXAMPLE, "comm": [{"a": "1", "volume": 1}]}, '$.comm[0]: "b" is missing'),
    "a pair of one": (with_pair(b="1"), "$.comm[1]: a task cannot communicate with itself"),
    "a pair twice": (with_pair(b="2"), "$.comm[1]: this pair is listed twice"),
    "a pair from its other end": (with_pair(a="2", b="1"), "$.comm[1]: this pair is listed twice"),
    "negative volume": (with_pair(volume=-0.5), "$.comm[1].volume: -0.5 is not from 0"),
    "no processors": ({**EXAMPLE, "processors": 0}, "$.processors: 0 is not from 1"),
    "negative processors": ({**EXAMPLE, "processors": -4}, "$.processors: -4 is not from 1"),
    "half a processor": ({**EXAMPLE, "processors": 1.5}, "$.processors: a whole number"),
    "too many processors": ({**EXAMPLE, "processors": 10**9}, "$.processors: 1000000000 is not"),
    "beyond all numbers": ({**EXAMPLE, "processors": 10**30}, "no JSON"),
    "an empty list of processors": ({**EXAMPLE, "processors": []}, "$.processors: from 1"),
    "processors missing": ({"tasks": T}, '$: "processors" is missing'),
    "two processors of an id": (
        {**EXAMPLE, "processors": [{"id": "x"}, {"id": "x"}]},
        '$.processors[1].id: "x" is listed twice',
    ),
    "a processor's unknown member": (
        {**EXAMPLE, "processors": [{"id": "x", "speeed": 1}]},
        "$.processors[0]: no member",
    ),
    "no speed at all": (
        {**EXAMPLE, "processors": [{"id": "x", "speed": 0}]},
        "$.processors[0].speed: 0 is not",
    ),
    "a link to nowhere": (
        {**EXAMPLE, "processors": TWO, "links": [{"a": "x", "b": "z", "speed": 1}]},
        "$.links[0].b: there is no processor z",
    ),
    "a link to itself": (
        {**EXAMPLE, "processors": TWO, "links": [{"a": "x", "b": "x", "speed": 1}]},
        "$.links[0]: a link",
    ),
    "a link twice": (
        {**EXAMPLE, "processors": TWO, "links": [{"a": "x", "b": "y", "speed": 1}] * 2},
        "$.links[1]: this link is listed twice",
    ),
    "links of nobody": (
        {**EXAMPLE, "links": [{"a": "P1", "b": "P2", "speed": 1}]},
        "$.links: links need",
    ),
    "a share without b0": (
        {**EXAMPLE, "processors": [{"id": "x", "b": 0.5}]},
        "$.processors[0].b: it needs b0",
    ),
    "b0 without shares": (
        {**EXAMPLE, "b0": 0.2, "processors": TWO},
        '$.processors[0]: "b" is missing',
    ),
    "b0 of nobody": ({**EXAMPLE, "b0": 0.2}, "$.b0: it needs"),
    "b0 above a share": (
        {**EXAMPLE, "b0": 0.6, "processors": [{"id": "x", "b": 0.4}]},
        "$.processors[0].b: 0.4 is not",
    ),
    "shares that do not sum up": (
        {**EXAMPLE, "b0": 0.1, "processors": [{"id": "x", "b": 0.4}]},
        "$.b0: b0 and all b",
    ),
}
for name, (text, says) in REFUSED.items():
    r = assign(write(text), "--json")
    ok(
        f"refused: {name}",
        r.returncode == 2
        and not r.stdout
        and r.stderr.startswith(b"ehctl plan assign: ")
        and says in r.stderr.decode(),
        f"{r.returncode} {r.stdout[:200]} {r.stderr}",
    )
GRAPHS = {
    "nothing": ("", 1),
    "only a comment": ("% x\n", 2),
    "no header": ("x\n", 1),
    "one number": ("3\n", 1),
    "no vertices": ("0 0\n", 1),
    "negative": ("-3 2\n", 1),
    "huge": ("99999999999999999999 1\n", 1),
    "more than the text": ("1000000 2\n\n", 1),
    "edges more than the text": ("2 4000000\n2\n1\n", 1),
    "a format of 2": ("2 1 2\n2\n1\n", 1),
    "three weights": ("2 1 10 3\n1 1 1 2\n1 1 1 1\n", 1),
    "a word in the header": ("2 1 0 1 7\n2\n1\n", 1),
    "a header with text": ("2 1x\n2\n1\n", 1),
    "too few lines": ("3 1\n2\n", 3),
    "too many lines": ("2 1\n2\n1\n1\n", 4),
    "too few edges": ("3 2\n2\n1\n\n", 1),
    "too many edges": ("% c\n3 1\n2 3\n1 3\n1 2\n", 4),
    "a neighbour of 0": ("2 1\n0\n1\n", 2),
    "a neighbour too far": ("2 1\n3\n1\n", 2),
    "itself": ("2 1\n1\n2\n", 2),
    "a neighbour twice": ("3 2\n2 2\n1 1\n\n", 2),
    "one side only": ("3 2\n2 3\n1\n2\n", 3),
    "two weights of an edge": ("2 1 1\n2 5\n1 6\n", 2),
    "a weight missing": ("2 1 1\n2\n1 6\n", 2),
    "a vertex weight missing": ("2 1 10\n\n1 1\n", 2),
    "a negative weight": ("2 1 10\n-1 2\n1 1\n", 2),
    "half a weight": ("2 1 10\n0.5 2\n1 1\n", 2),
    "a weight beyond": ("2 1 10\n99999999999999999999 2\n1 1\n", 2),
    "binary": (b"2 1\n\xff\xfe\n1\n", 2),
    "a null byte": (b"2 1\n2\0\n1\n", 2),
}
for name, (text, line) in GRAPHS.items():
    r = assign(write(text, "b.graph"), "--processors", "2", "--json")
    ok(
        f"refused: a graph: {name}",
        r.returncode == 2
        and not r.stdout
        and r.stderr.decode().startswith(f"ehctl plan assign: b.graph:{line}: "),
        f"{r.returncode} {r.stderr}",
    )
r = assign(write("2 1\n2\n1\n", "b.graph"))
ok("refused: a graph without --processors", r.returncode == 2 and b"--processors" in r.stderr, r)
HOST = {**EXAMPLE, "processors": [{"id": "a b"}]}
for arguments, says in (
    (["--algorithm", "greedy"], "greedy"),
    (["--processors", "0"], "processors"),
    (["--processors", "x"], "processors"),
    (["--work", "-1"], "work"),
    (["--volume", "nan"], "volume"),
    (["--trace"], "paper"),
    (["--format", "xml"], "xml"),
    (["--gantt", "x.svg"], "times"),
    (["--time-limit", "0"], "seconds"),
    (["--seed", "-1"], "seed"),
    (["--bogus"], "bogus"),
    (["more"], "one file"),
    (["--json", "--format", "rankfile"], "not both"),
):
    r = assign(write(EXAMPLE), *arguments)
    ok(
        f"refused: {' '.join(arguments)}",
        r.returncode == 2 and not r.stdout and says in r.stderr.decode(),
        r,
    )
r = assign(write(HOST), "--format", "rankfile")
ok(
    "refused: a host's name with a blank",
    r.returncode == 2 and not r.stdout and b"$.processors[0].id" in r.stderr,
    r,
)
r = assign(write({**EXAMPLE, "processors": TWO}), "--processors", "3")
ok("refused: another number than are listed", r.returncode == 2 and b"$.processors" in r.stderr, r)
for name, says in (("absent", b"No such file"), (".", b"directory")):
    r = assign(name, "--json")
    ok(f"refused: {name}", r.returncode == 2 and says in r.stderr and not r.stdout, r)

# ---- graphs of the collection ----

path = os.path.join(DATA, "graphs/delaunay_n15.graph")
if os.path.exists(path):
    r = assign(path, "--processors", "64", "--work", "10", "--json")
    d = json.loads(r.stdout or "{}")
    ok(
        "delaunay_n15: 5344 at most",
        d.get("cost", 1e9) <= 5344 and d["lower_bound"] == 5120,
        r.stderr,
    )
    r = assign(os.path.join(DATA, "graphs/example_weighted.graph"), "--processors", "8", "--json")
    ok("a weighted graph", r.returncode == 0 and json.loads(r.stdout)["cost"] <= 4800, r.stderr)
else:
    skip("delaunay_n15", f"{path} is not there")

os.chdir("/")
shutil.rmtree(work)
done()
