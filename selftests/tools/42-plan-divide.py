#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl plan divide: the paper's example, its document, diagrams, and what it refuses."""
import json
import os
import random
import shutil
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok, skip
from planner import EHCTL, Planner
from seed import new_seed
from tree import DATA, run

seed = new_seed()
random.seed(seed)
work = tempfile.mkdtemp()
os.chdir(work)


def ring(n=4, send="parallel", result=None, **members):
    """The paper's homogeneous ring, or with other members."""
    return {
        "work": 100,
        "processors": [{"id": f"P{i + 1}", "a": 1, "s": 0.5, "c": 0.1} for i in range(n)],
        "send": send,
        "result": result or {"kind": "none"},
        **members,
    }


planner = Planner("divide")
put, plan, refused = planner.put, planner.plan, planner.refused


LINEAR = {"kind": "linear", "m": 0.2, "b": 0}
POWER = {"kind": "power", "k": 0.5, "e": 0.5}

# ---- the paper's cases ----

d = plan(b"\xef\xbb\xbf" + json.dumps(ring()).encode())
ok("a byte order mark", "shares" in d, d)
for send, result, seconds in (
    ("parallel", None, 33.265165),
    ("serial", None, 37.592045),
    ("parallel", LINEAR, 35.393977),
    ("serial", LINEAR, 39.676149),
):
    d = plan(ring(send=send, result=result))
    ok(
        f"{send}, {'with' if result else 'no'} results: {seconds:.3f} s",
        abs(d["seconds"] - seconds) < 1e-5
        and d["optimal"]
        and abs(sum(d["shares"]) - 100) < 1e-9
        and d["residual"] <= 1e-7,
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
        "seconds",
        "shares",
        "speedup",
        "efficiency",
        "residual",
        "used",
        "lower_bound",
        "optimal",
        "formula_seconds",
        "steps",
        "processors",
        "messages",
    },
    sorted(d),
)
ok(
    "speed-up and efficiency",
    abs(d["speedup"] - 100 / d["seconds"]) < 1e-9
    and abs(d["efficiency"] - d["speedup"] / 4) < 1e-9,
    d,
)
ok(
    "what is sent",
    [(m["from"], m["to"], m["kind"]) for m in d["messages"]]
    == [
        ("P1", "P2", "data"),
        ("P2", "P3", "data"),
        ("P3", "P4", "data"),
        ("P2", "P3", "result"),
        ("P3", "P4", "result"),
        ("P4", "P1", "result"),
    ],
    d["messages"],
)
ok(
    "the last results are the end",
    (saw := abs(d["messages"][-1]["finish"] - d["seconds"])) < 1e-9,
    saw,
)
path = os.path.join(DATA, "anchors", "seed002.json")
if os.path.exists(path):
    with open(path, encoding="utf-8") as f:
        anchors = json.load(f)
    for name, send, result in (
        ("par_noreturn", "parallel", None),
        ("ser_noreturn", "serial", None),
        ("par_return", "parallel", LINEAR),
        ("ser_return", "serial", LINEAR),
    ):
        d = plan(ring(send=send, result=result))
        ok(
            f"anchor {name}",
            abs(d["seconds"] - anchors[name]["T"]) < 1e-5
            and all(abs(a - b) < 1e-4 for a, b in zip(d["shares"], anchors[name]["W"])),
            d,
        )
else:
    skip("anchors", f"{path} is absent")

# ---- kinds, sizes, algorithms ----

d = plan(ring(n=1, result=LINEAR))
ok(
    "one processor keeps all",
    d["seconds"] == 100 and d["shares"] == [100] and d["messages"] == [],
    d,
)
d = plan(ring(n=3, result={"kind": "linear", "m": 0.2, "b": 1000}))
ok(
    "where results cost more than they bring, too",
    d["shares"] == [100, 0, 0] and d["processors"][1]["start"] is None,
    d,
)
far = ring(n=4, result={"kind": "linear", "m": 0.2, "b": 1})
far["processors"][1]["a"] = far["processors"][2]["a"] = 1e6
d = plan(far)
ok(
    "relays get nothing, what is behind them does",
    d["shares"][1] == d["shares"][2] == 0 < d["shares"][3]
    and [m["kind"] for m in d["messages"]] == ["data", "data", "data", "result"],
    d,
)
d = plan(ring(result=POWER))
ok(
    "results that are a power",
    d["used"] == 4 and 33 < d["seconds"] < 36 and d["lower_bound"] <= d["seconds"],
    d,
)
d = plan(ring(result=LINEAR), "--algorithm", "printed")
ok(
    "the system as it is printed is slower",
    41.7 < d["seconds"] < 41.8
    and d["algorithm"] == "printed"
    and d["lower_bound"] is None
    and d["formula_seconds"] > 0,
    d,
)
dear = ring()
dear["processors"][0]["s"] = 60
dear["processors"][1]["s"] = 60
refused("and may have no shares", 1, "--algorithm best", dear, "--algorithm", "printed")
r = run(EHCTL, "plan", "divide", put(ring(result=LINEAR)))
ok(
    "text",
    r.returncode == 0 and b"35.394 s" in r.stdout and b"P4" in r.stdout and b"optimal" in r.stdout,
    r,
)
r = run(EHCTL, "plan", "divide", "-", "--json", stdin=open(put(ring()), "rb"))
ok("from standard input", json.loads(r.stdout)["used"] == 4, r)


def random_ring(n, b=0.0):
    """A ring of unequal processors and links, with expensive ones too."""
    p = ring(
        n,
        random.choice(["parallel", "serial"]),
        {"kind": "linear", "m": random.uniform(0, 2), "b": b},
    )
    for q in p["processors"]:
        q.update(
            a=10 ** random.uniform(-1, 1),
            s=10 ** random.uniform(-3, 0.5),
            c=10 ** random.uniform(-3, 0.5),
        )
    return p


p = random_ring(12, 0.5)
a, b = plan(p), plan(p, "--seed", "9")
for x in a, b:
    x.pop("seconds_to_plan", None)
ok("the same plan each time", a == b and a["optimal"], f"{a}\n{b}")
p = random_ring(300, 1)
d = plan(p, "--time-limit", "0.05")
ok(
    "a time limit ends the search, and the plan is still one",
    abs(sum(d["shares"]) - 100) < 1e-7
    and (d["time_limit_hit"] or d["seconds_to_plan"] < 0.05)
    and d["lower_bound"] <= d["seconds"],
    d,
)


def results_first(d):
    """The processors on whose link the plan sends results before data."""
    start = {(m["kind"], m["from"]): m["start"] for m in d["messages"]}
    return {
        x for kind, x in start if kind == "result" and start[kind, x] < start.get(("data", x), 0)
    }


def finish(p, w, first=()):
    """The finish time of shares w, from the definition alone; data go before results but on the
    links of `first`."""
    q = p["processors"]
    n, m, b, serial = len(q), p["result"]["m"], p["result"]["b"], p["send"] == "serial"
    at = gone = results = 0
    all_done = back = 0
    last = max(i for i in range(n) if w[i] > 0)
    returning = False
    for i in range(n):
        gone += w[i]
        data = q[i]["s"] + q[i]["c"] * (sum(w) - gone) if i < last else 0
        late = q[i]["id"] in first
        computed = at + (data if serial else 0) + q[i]["a"] * w[i]
        at += 0 if late else data
        if not i:
            all_done = computed
            continue
        if w[i] > 0:
            results += m * w[i] + b
            returning = True
            back = max(back, computed)
        if returning:
            back = max(back, at if i < last and not late else 0) + q[i]["s"] + q[i]["c"] * results
        if late:
            at = max(at, back) + data
    return max(all_done, back)


good = worse = 0
for _ in range(20):
    p = random_ring(random.randrange(2, 7), random.choice([0, 0.3]))
    d = plan(p)
    good += abs(finish(p, d["shares"], results_first(d)) / d["seconds"] - 1) < 1e-9
    for _ in range(300):
        w = [random.random() ** 3 * (random.random() < 0.7) for _ in p["processors"]]
        w[0] += 1e-3
        w = [x * 100 / sum(w) for x in w]
        worse += finish(p, w) >= d["seconds"] * (1 - 1e-9)
ok("plans take what they say", good == 20, good)
ok("and no random shares are better", worse == 6000, worse)

# ---- refusals ----

for name, says, problem in (
    ("no JSON", "problem.json:1: no JSON", b"{"),
    ("truncated", "problem.json:1: no JSON", json.dumps(ring()).encode()[:150]),
    ("invalid UTF-8", "problem.json:1: no JSON", b'{"work": "\xff"}'),
    ("deep nesting", "problem.json:1: no JSON", b"[" * 100000),
    ("a document that is a list", "$: ", b"[]"),
    ("nothing", "no JSON", b""),
    ("a null byte", "no JSON", b"{}\0{}"),
    ("an unknown member", '$: no member "wrok"', ring(wrok=1)),
    ("no work", "$.work", ring(work=0)),
    ("negative work", "$.work", ring(work=-3)),
    ("infinite work", "no JSON", json.dumps(ring()).replace("100,", "1e400,").encode()),
    ("a number that is none", "no JSON", json.dumps(ring()).replace("100,", "NaN,").encode()),
    ("huge work", "$.work", ring(work=1e300)),
    ("no processors", "$.processors: ", ring(n=0)),
    (
        "two of an id",
        "$.processors[4].id",
        {**ring(4), "processors": ring(4)["processors"] + [{"id": "P2", "a": 1, "s": 1, "c": 1}]},
    ),
    ("an unknown way to send", "$.send", ring(send="both")),
    ("an unknown kind", "$.result.kind", ring(result={"kind": "log"})),
    ("a member of another kind", "$.result: ", ring(result={"kind": "linear", "m": 1, "e": 1})),
    (
        "results that are too large",
        "$.result: ",
        ring(work=1e20, result={"kind": "power", "k": 1, "e": 16}),
    ),
):
    refused(name, 2, says, problem)
p = ring()
p["processors"][2]["a"] = 0
refused("a processor without speed", 2, "$.processors[2].a: 0 is not", p)
refused("no such algorithm", 2, "--algorithm", ring(), "--algorithm", "fast")
refused("a format", 2, "--format", ring(), "--format", "rankfile")
refused(
    "a diagram where there is no directory", 1, "No such file", ring(), "--gantt", "absent/a.svg"
)
r = run(EHCTL, "plan", "divide", "absent.json")
ok("no such file", r.returncode == 2 and b"absent.json: No such file" in r.stderr, r)

# ---- diagrams ----

if shutil.which("gnuplot"):
    d = plan(ring(result=LINEAR), "--gantt", "a.svg")
    shape = ElementTree.parse("a.svg").getroot().tag if os.path.exists("a.svg") else ""
    ok(
        "a diagram",
        shape.endswith("svg") and "results" in open("a.svg", encoding="utf-8").read(),
        d,
    )
else:
    ok("a diagram", False, "gnuplot is missing; packaging/deps test installs it")

os.chdir("/")
shutil.rmtree(work)
sys.stdout.flush()
done()
