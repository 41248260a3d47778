#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ehctl history --events` as a table: what several nodes tell is one line, and as many lines come
as are asked for."""

import contextlib, json, os, resource, sqlite3, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, must, ok
from wait import WAIT, until

c = Cluster(3, "capacity = 1000\nthreshold = 1000\nthreshold-floor = 1000\n")
must("three agents", c.start_all(), c.log(0) + c.log(1))
NOW = int(time.time()) * 1000


def ehctl(*words):
    return c.ehctl(0, "history", "--events", *words, timeout=4 * WAIT)


def lines(*words):
    r = ehctl(*words)
    must(f"history --events {' '.join(words)}", r.returncode == 0, r)
    return [line.split() for line in r.stdout.splitlines()[1:]]


def put(i, *events):
    """(ms, the host that it is about, up or down), told by node i."""
    with contextlib.closing(
        sqlite3.connect(os.path.join(os.path.dirname(c.state(i)), "history.db"), timeout=WAIT)
    ) as db, db:
        db.executemany(
            "INSERT INTO events VALUES(?, '0.3', ?, ?, ?, ?)",
            [
                (
                    at,
                    host,
                    f"0.{i}",
                    f"n{i}",
                    json.dumps(
                        {
                            "event": "peer",
                            "time": (
                                time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at // 1000))
                                + f".{at % 1000:03}Z"
                            ),
                            "node": "0.3",
                            "host": host,
                            "agent": agent,
                            "self": f"0.{i}",
                            "self_host": f"n{i}",
                        }
                    ),
                )
                for at, host, agent in events
            ],
        )


# ---- words

ok(
    "a controller leads",
    until(
        lambda: any(x[-6:-1] == ["n0", "controller", "leads", "1", "level"] for x in lines("--all"))
    ),
    lines("--all"),
)
for i in 1, 2:
    ok(
        f"n{i} follows it",
        until(
            lambda: any(
                x[-5:] == [f"n{i}", "controller", "follows", "n0", f"n{i}"] for x in lines("--all")
            )
        ),
        lines("--all"),
    )

# ---- who tells it

old = NOW - 3600000
put(0, (old, "flaps", "down"), (old + 3000, "flaps", "up"), (old + 5000, "flaps", "down"))
put(1, (old + 200, "flaps", "down"), (old + 5200, "flaps", "down"))
put(2, (old + 9000, "flaps", "down"))
put(0, (old + 60000, "late", "down"))
put(1, (old + 72000, "late", "down"))
saw = [
    (
        next(w for w in x if w in ("flaps", "late")),
        x[x.index("agent") + 1],
        " ".join(x[x.index("agent") + 2 :]),
    )
    for x in lines("--all")
    if "agent" in x and ("flaps" in x or "late" in x)
]
ok(
    "each that tells it is counted once, and what comes again is another line",
    saw
    == [
        ("flaps", "down", "2 nodes"),
        ("flaps", "up", "n0"),
        ("flaps", "down", "3 nodes"),
        ("late", "down", "n0"),
        ("late", "down", "n1"),
    ],
    saw,
)

# ---- how many lines

old = NOW - 7200000
for i in range(3):
    put(i, *((old + k * 20000 + i, f"x{k}", "down") for k in range(120)))
until_then = f"@{NOW // 1000 - 4000}"
for n in 7, 70, 110:
    found = lines("--all", "-n", str(n), "--until", until_then)
    ok(
        f"-n {n}: as many lines, the last ones",
        [x[x.index("peer") - 1] for x in found] == [f"x{k}" for k in range(120 - n, 120)]
        and all(x[-2:] == ["3", "nodes"] for x in found),
        found,
    )
r = ehctl("--all", "-n", "7", "--until", until_then)
ok("it says that there are more", "older ones are left out" in r.stderr, r)
r = ehctl("--all", "-n", "120", "--until", until_then)
ok("but not if there are none", not r.stderr and len(r.stdout.splitlines()) == 121, r)
r = ehctl("--all", "-n", "7", "--json", "--until", until_then)
ok("as JSON they are as they were told", len(json.loads(r.stdout)["events"]) == 7, r)

# ---- many in a moment


def cpu(*words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines(*words) if "--json" not in words else ehctl(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


for k in range(4000 // 100):
    put(0, *((NOW - 1800000 + k, f"y{k * 100 + j}", "down") for j in range(100)))
plain, table = cpu("-n", "4000", "--json"), cpu("-n", "4000")
ok(
    "a table of 4000 costs not much more than they cost as JSON",
    table < 3 * plain + 0.5,
    (plain, table),
)
ok("no sanitizer has reported", not c.reports(), c.reports())
done()
