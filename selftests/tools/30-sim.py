#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl sim: figures of the paper, over the agents' protocol, traces, and what it refuses."""

import os, shutil, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from simulator import TRACE, figures, refused, sim, trace, work

# ---- the paper's experiment ----

d = figures(
    "--topology",
    "3,2",
    "--policy",
    "eta",
    "--threshold",
    "0",
    "--length",
    "1",
    "--arrivals",
    "500",
    "--runs",
    "200",
    "--seed",
    "1",
)
ok(
    "ETA: 0.20 probes an arrival, 4 changes",
    abs(d["mpn"]["mean"] - 0.20) <= 0.01
    and d["threshold_changes"]["mean"] == 4
    and d["refused"] == 0
    and d["load"]["total"] == 500,
    d,
)
ok("it varies from run to run", 0.015 < d["mpn"]["sd"] < 0.035, d)
ok(
    "all members are there",
    set(d)
    == {
        "version",
        "policy",
        "topology",
        "arrivals",
        "runs",
        "seed",
        "mpn",
        "threshold_changes",
        "refused",
        "first_refusal_load",
        "transfers",
        "load",
        "looked_at",
        "spread",
        "messages",
        "seconds",
        "decisions_per_second",
        "bytes_per_node",
        "protocol",
    },
    sorted(d),
)
ok("of the protocol only with --messages", d["protocol"] is None, d)
ok("64 bytes a node at most", 0 < d["bytes_per_node"] <= 64, d)
ok("nothing was refused, so at no load", d["first_refusal_load"] == {"min": None, "max": None}, d)
d = figures("--policy", "eta1", "--runs", "200")
ok(
    "ETA1: 0.67 probes an arrival, 7 changes",
    abs(d["mpn"]["mean"] - 0.67) <= 0.01 and d["threshold_changes"]["mean"] == 7,
    d,
)
for t in 1, 2, 3, 4:
    d = figures("--policy", "eta2", "--threshold", str(t), "--runs", "200")
    ok(
        f"ETA2 with threshold {t} refuses at {64 * t} exactly",
        d["first_refusal_load"] == {"min": 64 * t, "max": 64 * t}
        and d["refused"] == 200 * (500 - 64 * t)
        and d["load"] == {"min": t, "max": t, "total": 64 * t},
        d,
    )
a = figures("--runs", "200", "--threshold", "1", "--descent", "least")
b = figures("--runs", "200", "--threshold", "1", "--prefer", "receiver")
ok(
    "least descent: 0.18 probes, 3.6 apart",
    abs(a["mpn"]["mean"] - 0.18) <= 0.01 and abs(a["spread"]["mean"] - 3.6) <= 0.15,
    a,
)
ok("a receiver before a nearer ancestor that is ok costs probes", b["mpn"]["mean"] > 0.28, b)
for t in "0", "1":
    d = figures("--policy", "hint", "--threshold", t, "--runs", "200")
    ok(
        f"hints from T0={t}: 0.17 controllers looked at and 3.1 apart at most",
        d["looked_at"]["mean"] <= 0.17
        and d["looked_at"]["mean"] >= d["mpn"]["mean"]
        and d["spread"]["mean"] <= 3.1
        and d["messages"]["hints"] > 0,
        d,
    )
a, b = figures("--seed", "7"), figures("--seed", "7")
for x in a, b:
    del x["seconds"], x["decisions_per_second"]
ok("a seed repeats its run", a == b, f"{a}\n{b}")
ok("another seed is another run", (saw := figures("--seed", "8")["messages"]) != a["messages"], saw)
a = figures("--changes", "lazy", "--runs", "20")
ok("lazy changes ride", a["messages"]["thresholds"] == 0 and a["messages"]["rides"] > 50, a)
a = figures(
    "--release", "0.9", "--arrivals", "5000", "--initiation", "bidirectional", "--runs", "5"
)
ok("released tasks are gone", 300 < a["load"]["total"] < 700, a)
ok("receivers look for senders", a["messages"]["offers"] > 0, a)
a = [figures("--delay", d, "--runs", "50")["messages"]["missed"] for d in ("0", "1", "10", "100")]
ok(
    "the older what controllers know, the more often executors decline",
    a[0] == 0 and a[1] < a[2] < a[3],
    a,
)
r = sim("--runs", "3")
ok("text", r.returncode == 0 and b"EH(3,2), 3 runs of 500 arrivals" in r.stdout and not r.stderr, r)

# ---- over the agents' protocol ----


def protocol(*arguments):
    """The document of a run message by message, and its part on the protocol."""
    d = figures("--messages", *arguments)
    return d, d.get("protocol") or {}


d, p = protocol("--runs", "200")
ok(
    "without delay the protocol decides as the tree does, but for damped reports",
    0.2 <= d["mpn"]["mean"] <= 0.23
    and abs(d["spread"]["mean"] - 5.3) <= 0.2
    and d["threshold_changes"]["mean"] == 4
    and d["load"]["total"] == 500,
    d,
)
ok(
    "every task has its place",
    p["home"] + p["away"] == 500 and p["lost"] == p["late"] == p["killed"] == 0,
    p,
)
ok(
    "messages by type",
    set(p["messages"])
    == {"report", "order", "redirect", "claim", "leave", "ask", "answer", "failed", "reservation"}
    and p["messages"]["ask"] == p["messages"]["answer"]
    and p["messages"]["reservation"] == 2 * p["away"],
    p,
)
ok(
    "those of the top are some of them",
    0 < p["at_top"] < p["messages"]["report"] + p["messages"]["order"],
    p,
)
ok("at most 2l+3 of them for an ask", 2 < p["per_ask"] <= 7, p)
ok("nobody is without a controller", p["without_controller"] == {"mean": 0, "longest": 0}, p)
a, b = (
    protocol(
        "--delay", "0.5", "--loss", "0.05", "--fail", "top@50", "--fail", "back@200", "--seed", "3"
    )
    for _ in range(2)
)
ok(
    "a seed repeats its run",
    a[1] == b[1] and a[0]["mpn"] == b[0]["mpn"] and a[1]["time"] > 400,
    f"{a}\n{b}",
)
a = [protocol("--delay", d, "--runs", "20")[0]["mpn"]["mean"] for d in ("0", "10")]
ok("old news cost probes", a[0] < a[1], a)
d, p = protocol("--loss", "0.1", "--delay", "0.1", "--runs", "20")
ok(
    "with losses tasks run at home in the end",
    p["late"] > 0
    and p["home"] + p["away"] == 500
    and p["messages"]["ask"] > p["messages"]["answer"],
    p,
)
a = (
    protocol("--changes", "lazy", "--runs", "20")[1]["messages"],
    protocol("--runs", "20")[1]["messages"],
)
ok(
    "lazy changes are not sent on their own",
    a[0]["order"] == a[0]["report"] and a[1]["order"] > a[1]["report"],
    a,
)
d, p = protocol("--release", "0.9", "--arrivals", "2000", "--delay", "0.1")
ok("released tasks are gone", 100 < d["load"]["total"] < 350, d)
for what, dead in (
    ("node@100", 1),
    ("node 0.5.5@100", 1),
    ("controller 0.3@100", 1),
    ("top@100", 1),
    ("half 0.3@100", 4),
    ("half 03@100", 4),
    ("group 0.3@100", 8),
    ("half 0@100", 32),
):
    d, p = protocol("--fail", what, "--delay", "0.1")
    total = p["home"] + p["away"]
    ok(
        f"{what}: {dead} die, what ran there is lost, all else goes on",
        p["killed"] == dead
        and 0 < p["lost"] < 25 * dead
        and p["late"] == 0
        and 490 <= total <= 500
        and d["load"]["total"] >= 500 - p["lost"] - (500 - total),
        p,
    )
    ok(
        f"{what}: for no longer than ten heartbeats without a controller",
        p["without_controller"]["longest"] <= 200,
        p,
    )
d, p = protocol(
    "--fail", "top@100", "--fail", "top@150", "--fail", "back@200", "--delay", "0.1", "--runs", "20"
)
ok(
    "the next one too, and both come back",
    p["killed"] == 2
    and 0 < p["without_controller"]["mean"] < 5
    and d["load"]["total"] + p["lost"] == 500,
    p,
)
d, p = protocol("--fail", "cut 0.5@100..450", "--delay", "0.1")
ok(
    "a partition: nothing is lost, and it goes on in both parts",
    p["lost"] == 0
    and p["home"] + p["away"] == 500
    and 0 < p["without_controller"]["longest"] < 240,
    p,
)  # three heartbeats, one for each lower node, one more
d, p = protocol("--fail", "half 0@100", "--fail", "back@200", "--topology", "3,1")
ok("half of the only group", p["killed"] == 4 and 0 < p["without_controller"]["longest"] < 100, p)
for bad in (
    "",
    "node",
    "@5",
    "quake@5",
    "node@",
    "node@x",
    "node@1e2",
    "node@-1",
    "node@5 ",
    "node@1.2.3",
    "node 64@5",
    "node 0.0.8@5",
    "node 0.1@5",
    "group@5",
    "group 0.0.1@5",
    "controller@5",
    "half@5",
    "half 0.0.0@5",
    "top 0@5",
    "cut 0.1@5",
    "cut@5..6",
    "cut 0.1@5..5",
    "cut 0.1@6..5",
    "cut 0.1@1...2",
    "cut 0.1@5..x",
    "node@501",
    "cut 0.1@5..501",
    "back x@5",
    "node 0.0.0 0.0.1@5",
):
    refused(f"--fail '{bad}'", 2, "--fail", "--messages", "--fail", bad, "--json")
for bad in (
    ["--messages", "--policy", "hint"],
    ["--messages", "--policy", "eta1"],
    ["--messages", "--prefer", "receiver"],
    ["--messages", "--initiation", "bidirectional"],
    ["--messages", "--topology", "3,5"],
    ["--messages", "--plot", "x.svg"],
    ["--messages", "--loss", "1.5"],
    ["--messages", "--heartbeat", "0"],
    ["--loss", "0.1"],
    ["--fail", "top@5"],
    ["--heartbeat", "5"],
    ["--messages"] + ["--fail", "node@5"] * 65,
):
    refused(" ".join(bad)[:60], 2, "", *bad, "--json")
r = sim("--messages", "--fail", "top@10", "--arrivals", "50")
ok(
    "text",
    r.returncode == 0
    and b"without a controller" in r.stdout
    and b"redirect" in r.stdout
    and not r.stderr,
    r,
)

# ---- traces ----


d = figures("--trace", trace(TRACE), "--decisions", "--threshold", "1")
ok(
    "decisions",
    [(x["id"], x["at"]) for x in d["decisions"]]
    == [("a", "0.0.2"), ("b", "0.0.2"), ("c", "0.0.2"), ("d", "0.0.2"), ("e", "0.7.7")],
    d,
)
x = d["decisions"][3]
ok(
    "the fourth goes to a sibling, after one probe",
    x["to"] != "0.0.2"
    and x["to"].startswith("0.0.")
    and x["probes"] == 1
    and x["path"][0] == x["at"]
    and x["path"][-1] == x["to"],
    x,
)
ok("loads at the end", d["load"] == {"min": 0, "max": 2.001, "total": 3.501}, d["load"])
d = figures("--trace", "-", "--decisions", stdin=open("trace", "rb"))
ok("from standard input", len(d.get("decisions", [])) == 5, d)
d = figures(
    "--trace", trace(b"\xef\xbb\xbf" + TRACE.replace("# a story\n", "").encode()), "--decisions"
)
ok("with a byte order mark", len(d.get("decisions", [])) == 5, d)
d = figures("--trace", trace(""), "--decisions")
ok("an empty trace", d["decisions"] == [] and d["arrivals"] == 0 and d["mpn"]["mean"] == 0, d)
d = figures(
    "--trace",
    trace("arrive 0 1 a\n" * 1 + "arrive 0 1 b\narrive 1 1 c\nfinish c\nfinish b\n"),
    "--topology",
    "1,1",
    "--policy",
    "eta2",
    "--decisions",
)
ok(
    "refused: to nobody; its end is no event",
    [x["to"] for x in d["decisions"]] == ["0.0", "0.1", None]
    and d["load"]["total"] == 1
    and d["decisions"][2]["path"] == [],
    d,
)
r = sim("--trace", trace(TRACE), "--decisions", "--threshold", "1")
ok("decisions as text", b"a at 0.0.2 to 0.0.2, 0 probes\n" in r.stdout, r.stdout)

d, p = protocol(
    "--trace",
    trace(TRACE + "finish e\narrive 1 1 f\n"),
    "--decisions",
    "--threshold",
    "1",
    "--delay",
    "1",
)
ok(
    "a trace over messages: each task once, also those that wait for an answer",
    sorted(x["id"] for x in d["decisions"]) == list("abcdef")
    and d["load"]["total"] == 2.5
    and p["home"] + p["away"] == 6,
    d,
)
d, p = protocol(
    "--trace", trace("".join(f"arrive 0 1 {i}\n" for i in range(20))), "--fail", "node 0@10"
)
ok(
    "nothing arrives at a dead node of a trace",
    p["nowhere"] > 3
    and p["home"] + p["away"] + p["nowhere"] == 20
    and d["load"]["total"] == p["home"] + p["away"] - p["lost"],
    d,
)

BAD = {
    "no such word": ("arrive 0 1 a\ndepart a\n", 2),
    "no node": ("arrive 64 1 a\n", 1),
    "no code": ("arrive 0.0.8 1 a\n", 1),
    "a controller": ("arrive 0.0 1 a\n", 1),
    "a negative node": ("arrive -1 1 a\n", 1),
    "a size that is no number": ("\n\narrive 0 x a\n", 3),
    "a size of nan": ("arrive 0 nan a\n", 1),
    "a negative size": ("arrive 0 -1 a\n", 1),
    "a huge size": ("arrive 0 1e9 a\n", 1),
    "a size beyond": ("arrive 0 99999999999999999999 a\n", 1),
    "no id": ("arrive 0 1\n", 1),
    "a word too many": ("arrive 0 1 a b\n", 1),
    "two of an id": ("arrive 0 1 a\narrive 0 1 a\n", 2),
    "the end of nothing": ("finish a\n", 1),
    "two ends": ("arrive 0 1 a\nfinish a\nfinish a\n", 3),
    "an end with more": ("arrive 0 1 a\nfinish a b\n", 2),
    "arrive alone": ("arrive\n", 1),
    "finish alone": ("finish\n", 1),
    "a NUL": (b"arrive 0 1 a\narrive\0 0 1 b\n", 2),
    "binary": (bytes(range(128, 256)) + b"\n", 1),
}
for name, (text, line) in BAD.items():
    refused(f"a bad trace: {name}", 2, f"trace:{line}: ", "--trace", trace(text), "--json")
refused("no trace", 2, "No such file", "--trace", "absent")
refused("a directory", 2, "directory", "--trace", ".")

# ---- options ----

for bad in (
    ["--topology", "3"],
    ["--topology", "0,1"],
    ["--topology", "10,3"],
    ["--policy", "best"],
    ["--threshold", "-1"],
    ["--threshold", "x"],
    ["--threshold", "1e3"],
    ["--length", ""],
    ["--length", "nan"],
    ["--arrivals", "0"],
    ["--arrivals", "-5"],
    ["--arrivals", "1.5"],
    ["--release", "1.1"],
    ["--release", "nan"],
    ["--release", "0x1"],
    ["--runs", "0"],
    ["--seed", "x"],
    ["--seed", "99999999999999999999"],
    ["--descent", "up"],
    ["--prefer", "x"],
    ["--initiation", "x"],
    ["--changes", "x"],
    ["--delay", "-1"],
    ["--delay", "inf"],
    ["--delay"],
    ["--bogus"],
    ["more"],
    ["--decisions", "--runs", "2"],
):
    refused(" ".join(bad), 2, "", *bad, "--json")

os.chdir("/")
shutil.rmtree(work)
done()
