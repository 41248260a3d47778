#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl plan gang: Table 2, against all subsets, formats, and what it refuses."""
import itertools
import json
import math
import os
import random
import shutil
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from planner import EHCTL, Planner
from seed import new_seed
from tree import run

seed = new_seed()
random.seed(seed)
work = tempfile.mkdtemp()
os.chdir(work)

LOADS = [0.03] * 7 + [0.3], [0.03] * 6 + [0.3, 0.6], [0.03] * 5 + [0.3, 0.6, 0.8]
CHOSEN = 35.77, 38.67, 44.69  # Table 2, the model's
MEASURED = 50.50, 53.63, 56.55  # and all eight hosts
WAVE = {
    "kind": "wave",
    "points": 100000,
    "steps": 1000,
    "alpha": 0.00538,
    "beta": 2.86e-6,
    "t_mult": 152 / 7e8,
    "t_add": 152 / 7e8,
}


def job(loads, model):
    """Hosts W1.. with these utilisations."""
    return {
        "hosts": [{"id": f"W{i + 1}", "utilization": u} for i, u in enumerate(loads)],
        "model": model,
    }


planner = Planner("gang", "job.json")
put, plan, refused = planner.put, planner.plan, planner.refused


# ---- Table 2 ----

d = plan(b"\xef\xbb\xbf" + json.dumps(job(LOADS[0], WAVE)).encode())
ok("a byte order mark", "hosts" in d, d)
for i, loads in enumerate(LOADS):
    d = plan(job(loads, WAVE))
    ok(
        f"run {i + 1}: {7 - i} hosts",
        d["hosts"] == [f"W{k + 1}" for k in range(7 - i)]
        and abs(d["seconds"] / CHOSEN[i] - 1) < 0.02,
        d,
    )
    d = plan(job(loads, WAVE), "--slowdown", "fair")
    ok(
        f"run {i + 1}, fair: all eight within 10 % of what was measured",
        len(d["hosts"]) == 7 - i and abs(d["prefixes"][7]["seconds"] / MEASURED[i] - 1) < 0.1,
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
        "hosts",
        "count",
        "seconds",
        "speedup",
        "slowdown",
        "utilization",
        "threshold",
        "offered",
        "parts",
        "seconds_alone",
        "prefixes",
    },
    sorted(d),
)
ok("no threshold unless asked for", d["threshold"] is None and d["slowdown"] == "fair", d)


# ---- all subsets ----


def seconds(model, count, eta):
    """The paper's T with its slowdown; infinite where there is none."""
    slow = 1 / (1 - eta) if eta < 1 else math.inf
    if model["kind"] == "table":
        if count > len(model["compute"]):
            return math.inf
        return (
            sum(model[k][count - 1] for k in ("comm", "load", "collect"))
            + model["compute"][count - 1] * slow
        )
    a, b, n = model["alpha"], model["beta"], model.get("n", 0)
    if model["kind"] == "wave":
        n = model["points"]
        return (
            2 * model["steps"] * (a + 8 * b)
            + count * (a + 8 * b * n / count)
            + model["steps"] * n / count * (3 * model["t_mult"] + 4 * model["t_add"]) * slow
        )
    root = math.isqrt(count)
    if root * root != count:
        return math.inf
    part = a + 4 * b * n * n / count
    return (
        root * (a + 4 * b * n * n)
        + (root * (root + 1) * part if count > 1 else 0)
        + count * part
        + n**3 / count * (model["t_mult"] + model["t_add"]) * slow
    )


def random_model():
    """One of the three kinds."""
    costs = {
        "alpha": random.uniform(0, 0.01),
        "beta": random.uniform(0, 1e-6),
        "t_mult": random.uniform(0, 1e-6),
        "t_add": random.uniform(0, 1e-6),
    }
    return random.choice(
        [
            {"kind": "matmul", "n": random.randrange(1, 500), **costs},
            {
                "kind": "wave",
                "points": random.randrange(1, 10**5),
                "steps": random.randrange(1, 1000),
                **costs,
            },
            {
                "kind": "table",
                **{
                    k: [random.uniform(0, 9) for _ in range(9)]
                    for k in ("compute", "comm", "load", "collect")
                },
            },
        ]
    )


good = squares = 0
for _ in range(25):
    loads = [random.choice([0, 0.1, 0.5, random.random()]) for _ in range(random.randrange(1, 9))]
    model = random_model()
    d = plan(job(loads, model))
    best = min(
        seconds(model, len(s), max(s))
        for k in range(1, len(loads) + 1)
        for s in itertools.combinations(loads, k)
    )
    good += abs(d.get("seconds", -1) - best) <= 1e-9 * best
    squares += model["kind"] != "matmul" or all(
        math.isqrt(p["count"]) ** 2 == p["count"] for p in d["prefixes"]
    )
ok("no subset is better", good == 25, good)
ok("matrices on squares only", squares == 25, squares)

# ---- options ----

d = plan(job(LOADS[2], WAVE), "--min-speedup", "3")
ok(
    "a threshold, and only hosts below it",
    0.3 < d["threshold"] < 0.6 and d["offered"] == 6 and d["speedup"] >= 3,
    d,
)
t, one = d["threshold"], d["seconds_alone"]
ok("all hosts as busy as it are just so fast", abs(one / seconds(WAVE, 8, t) - 3) < 1e-9, d)
refused(
    "a speed-up that cannot be had",
    1,
    "not 20 times as fast",
    job(LOADS[0], WAVE),
    "--min-speedup",
    "20",
)
refused(
    "one that these hosts are too busy for",
    1,
    "threshold",
    job([0.9] * 8, WAVE),
    "--min-speedup",
    "4",
)
refused("hosts that are never idle", 1, "never ends", job([1, 1], WAVE))
d = plan(job([1, 1], WAVE), "--slowdown", "fair")
ok("which under fair they are", d["count"] == 2, d)
r = run(EHCTL, "plan", "gang", put(job([0.2, 0, 0.1], WAVE)), "--format", "hostfile")
ok("a hostfile", r.stdout == b"W2 slots=1\nW3 slots=1\nW1 slots=1\n", r)
r = run(EHCTL, "plan", "gang", put(job(LOADS[1], WAVE)))
ok("text", r.returncode == 0 and b"6 of 8 hosts" in r.stdout and b"best" in r.stdout, r)
a, b = plan(job(LOADS[1], WAVE), "--time-limit", "1"), plan(job(LOADS[1], WAVE), "--seed", "5")
for x in a, b:
    x.pop("seconds_to_plan", None)
ok("the same plan each time", a == b, f"{a}\n{b}")
if shutil.which("gnuplot"):
    d = plan(job(LOADS[1], WAVE), "--gantt", "a.svg")
    shape = ElementTree.parse("a.svg").getroot().tag if os.path.exists("a.svg") else ""
    ok(
        "a diagram",
        shape.endswith("svg") and "communicating" in open("a.svg", encoding="utf-8").read(),
        d,
    )
else:
    ok("a diagram", False, "gnuplot is missing; packaging/deps test installs it")

# ---- refusals ----

for name, says, problem in (
    ("no JSON", "job.json:1: no JSON", b"{"),
    ("truncated", "no JSON", json.dumps(job([0], WAVE)).encode()[:60]),
    ("invalid UTF-8", "no JSON", b'{"hosts": "\xff"}'),
    ("deep nesting", "no JSON", b'{"hosts":' * 100000),
    ("nothing", "no JSON", b""),
    ("no hosts", "$.hosts: ", job([], WAVE)),
    ("a negative utilisation", "$.hosts[1].utilization", job([0, -0.1], WAVE)),
    ("one above 1", "$.hosts[0].utilization", job([30], WAVE)),
    (
        "two of an id",
        "$.hosts[2].id",
        {"hosts": job([0, 0], WAVE)["hosts"] + [{"id": "W1", "utilization": 0}], "model": WAVE},
    ),
    ("no model", '"model" is missing', {"hosts": []}),
    ("an unknown kind", "$.model.kind", job([0], {"kind": "sort"})),
    ("a member of another kind", "$.model: no member", job([0], {**WAVE, "n": 3})),
    ("a missing one", "$.model", job([0], {"kind": "wave", "points": 3})),
    ("an empty table", "$.model.compute", job([0], {"kind": "table", "compute": []})),
    (
        "tables of unequal length",
        "$.model.comm",
        job([0], {"kind": "table", "compute": [1], "comm": [1, 2]}),
    ),
    (
        "an entry that is no number",
        "$.model.compute[1]",
        job([0], {"kind": "table", "compute": [1, "2"]}),
    ),
    ("too many points", "$.model.points", job([0], {**WAVE, "points": 2**60})),
    (
        "a number that is none",
        "no JSON",
        json.dumps(job([0], {**WAVE, "alpha": math.nan})).encode(),
    ),
):
    refused(name, 2, says, problem)
for bad in (
    ["--slowdown", "none"],
    ["--min-speedup", "0"],
    ["--min-speedup", "x"],
    ["--min-speedup", "nan"],
    ["--algorithm", "best"],
    ["--format", "rankfile"],
    ["--slowdown"],
    ["--bogus"],
):
    refused(" ".join(bad), 2, bad[0], job([0], WAVE), *bad)

os.chdir("/")
shutil.rmtree(work)
done()
