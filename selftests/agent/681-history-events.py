#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ehctl history --events`: what happened to nodes while nobody watched; what is kept of it, and
how much."""

import contextlib, json, os, re, signal, sqlite3, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, must, ok
from users import ONE
from wait import WAIT, until

BASE = "heartbeat = 1000\ncapacity = 1000\nthreshold = 1000\nthreshold-floor = 1000\n"
c = Cluster(3, BASE)
must("three agents", c.start_all(), c.log(0) + c.log(1))
os.chmod(c.dir, 0o755)
FILE = os.path.join(os.path.dirname(c.state(0)), "history.db")


def events(*words, i=0, **more):
    r = c.ehctl(i, "history", "--events", "--json", *words, **more)
    must(f"history --events {' '.join(words)}", r.returncode == 0, r)
    return json.loads(r.stdout)["events"]


def named(name, *words, **more):
    return [e for e in events(*words, **more) if e["event"] == name]


def read():
    with contextlib.closing(sqlite3.connect(FILE, timeout=WAIT)) as db:
        return db.execute("SELECT count(*) FROM events").fetchone()[0]


(start,) = named("start")
ok(
    "the start",
    (start["node"], start["host"], start["self"]) == ("0.0", "n0", "0.0")
    and "id" not in start
    and "at" not in start,
    start,
)
ok(
    "peers that came up",
    {e["host"] for e in named("peer") if e["agent"] == "up"} == {"n1", "n2"},
    named("peer"),
)
ok("and who leads", named("controller")[-1]["node"] == "0.0", named("controller"))

r = c.ehctl(0, "drain", "n1", "--reason", "new disk")
must("n1 is drained", r.returncode == 0, r)
must("and not", c.ehctl(0, "undrain", "n1").returncode == 0)
drains = named("drain", i=1)
ok(
    "a drain, by whom and why",
    [(e["node"], e["draining"], e["reason"]) for e in drains]
    == [("0.1", True, "new disk"), ("0.1", False, "")]
    and "root" in drains[0]["by"],
    drains,
)
ok("is told by its node alone", not named("drain"), named("drain"))
with open(c.conf(0, settings=BASE + "no-such-option = 1\n")):
    pass
must("a configuration is refused", "error" in c.ask(0, {"command": "reload"}))
c.conf(0)
must("the next one is not", c.ask(0, {"command": "reload"}) == {"version": 1})
first, second = named("reload")
ok("both are kept", "refused" not in second, second)
ok(
    "with the line of the first error, and nothing of what the file has",
    re.fullmatch(r"line \d+, see its log", first["refused"])
    and c.logged(0, f":{first['refused'].split()[1].rstrip(',')}: .*no-such-option"),
    first,
)
c.launch(0)
ok(
    "ehlaunch was lost, and another one is there",
    until(lambda: [e["runs"] for e in named("launcher")] == [False, True]),
    named("launcher"),
)

# n1 and n2 report to n0
c.end(0, signal.SIGKILL)


def down(i):
    return [e for e in named("peer", i=i) if e["host"] == "n0" and e["agent"] == "down"]


ok(
    "a node is down, which those say that report to it",
    until(lambda: down(1) and down(2)),
    (down(1), down(2)),
)
must("they have found each other", c.all_up([1, 2]))
told = [e for e in named("peer", "--all", i=1) if e["host"] == "n0" and e["agent"] == "down"]
ok("both tell it", {e["self_host"] for e in told} == {"n1", "n2"}, told)
r = c.ehctl(1, "history", "--events", "--all")
lines = [line for line in r.stdout.splitlines() if " n0 " in line and "agent down" in line]
ok("in one line", len(lines) == 1 and "2 nodes" in lines[0] and "no answer from n0" in r.stderr, r)
ok(
    "another line has its teller",
    any(
        line.split()[1:3] == ["n1", "drain"] and line.endswith(" n1")
        for line in (x.rstrip() for x in r.stdout.splitlines())
    ),
    r.stdout,
)
r = c.ehctl(1, "history", "--events")
ok(
    "of one node without tellers",
    "TOLD-BY" not in r.stdout
    and r.stdout.splitlines()[0].split() == ["TIME", "NODE", "EVENT", "WHAT"],
    r.stdout,
)
c.start(0)
must("it is back", c.all_up(range(3)))
ok("it tells of its own start", len(named("start")) == 2 and not named("stop"), named("start"))
c.end(1)
c.start(1)
must("n1 is back", c.all_up(range(3)))
last = [e["event"] for e in events(i=1)]
stop = last.index("stop")
ok(
    "an agent that ends says so, and nothing of its peers then",
    last[stop + 1] == "start" and last.count("stop") == 1,
    last,
)

# ---- what is asked

every = events()
ok("in their order", [e["time"] for e in every] == sorted(e["time"] for e in every), every)
ok(
    "--node",
    {e["event"] for e in events("--node", "n2")} == {"peer"}
    and all(e["host"] == "n2" for e in events("--node", "n2")),
    events("--node", "n2"),
)
ok("-n", events("-n", "2") == every[-2:])
ok("--since", events("--since", "1h") == every and events("--until", "1h") == [])
ok("all users see them", events(uid=ONE) == every and len(events("--all", uid=ONE)) > len(every))
for words in (["--csv"], ["--by", "user"], ["--program", "x"], ["--failed"]):
    r = c.ehctl(0, "history", "--events", *words)
    ok(f"not with {words[0]}", r.returncode == 2 and "only with" in r.stderr, r)
ok(
    "states and thresholds are not kept",
    not {e["event"] for e in events("--all")} & {"state", "threshold", "place", "finish"},
)

# ---- how much

for k in range(130):
    c.ask(0, {"command": "reload"})
ok(
    "of a minute not all: others have their room",
    50 < len(named("reload")) <= 102,
    len(named("reload")),
)
before = int(time.time() - 3 * 86400) * 1000
with contextlib.closing(sqlite3.connect(FILE, timeout=WAIT)) as db, db:
    db.executemany(
        "INSERT INTO events VALUES(?, '0.2', 'n2', '0.0', 'n0', ?)",
        (
            [
                k + before,
                json.dumps(
                    {
                        "event": "peer",
                        "time": time.strftime("%FT%T.000Z", time.gmtime(before // 1000)),
                        "self": "0.0",
                        "node": "0.2",
                        "host": "n2",
                    }
                ),
            ]
            for k in range(10500)
        ),
    )
c.ehctl(0, "exec", "n1", "--", "true")
ok("in all, so many", until(lambda: read() == 10000), read())
found = events("-n", "0", "--all", "--since", "4d", "--until", "2d")
with contextlib.closing(sqlite3.connect(FILE, timeout=WAIT)) as db:
    late = db.execute("SELECT count(*) FROM events WHERE at < ?", (before + 86400000,)).fetchone()[
        0
    ]
ok("pages of all nodes have each once", len(found) == late > 9000, (len(found), late))
ok("no sanitizer has reported", not c.reports(), c.reports())
done()
