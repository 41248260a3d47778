#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ehctl history --all` and `--by`: the tasks of all homes in their order, each once; who sees
what; which nodes are missing; sums."""

import contextlib, csv, io, json, os, signal, sqlite3, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, must, ok
from users import ONE, TWO
from wait import WAIT

BASE = "heartbeat = 1000\ncapacity = 1000\nthreshold = 1000\nthreshold-floor = 1000\n"
c = Cluster(3, BASE)
must("three agents", c.start_all(), c.log(0) + c.log(1))
os.chmod(c.dir, 0o755)
NOW = int(time.time()) * 1000
HOUR = 3600000
first = NOW // HOUR * HOUR - 10 * HOUR  # of the 370 tasks below


def document(*words, i=0, uid=0):
    r = c.ehctl(i, "history", "--json", *words, uid=uid)
    must(f"history {' '.join(words)}", r.returncode == 0, r)
    return json.loads(r.stdout)


def tasks(*words, **more):
    return document("--all", *words, **more)["tasks"]


def ids(*words, **more):
    return [t["id"] for t in tasks(*words, **more)]


def put(i, rows):
    """Into the history of node i, as if they had run long ago."""
    usual = {
        "pid": 1,
        "uid": 0,
        "program": "/bin/work",
        "command": "work",
        "home": f"0.{i}",
        "home_host": f"n{i}",
        "executor": f"0.{i}",
        "executor_host": f"n{i}",
        "reason": "not-sender",
        "state": "ended",
    }
    with contextlib.closing(
        sqlite3.connect(os.path.join(os.path.dirname(c.state(i)), "history.db"), timeout=WAIT)
    ) as db, db:
        for row in rows:
            row = usual | row
            db.execute(
                f"INSERT INTO tasks({','.join(row)}) VALUES({','.join('?' * len(row))})",
                list(row.values()),
            )


def far(host, cpu, **more):
    return {
        "executor": f"0.{host}",
        "executor_host": f"n{host}",
        "reason": "auto",
        "status": 0,
        "cpu_user": cpu,
        "cpu_system": 0.5,
        **more,
    }


must(
    "nothing has run",
    document("--all") == {"version": 1, "tasks": [], "more": False, "silent": [], "refused": []},
    document("--all"),
)

# ---- pages of several homes

# Each third second has one of each, and n1's are written in another order than they began.
at = [first + k * 1000 for k in range(180)]
put(0, [{"id": f"0.0:{k}", "started": at[k], "ended": at[k] + 500} for k in range(180)])
put(
    1,
    [
        {
            "id": f"0.1:{k}",
            "started": first + k * 750,
            "uid": ONE if k % 2 else TWO,
            **far(2, 1.5),
            "ended": first + k * 750 + 9000,
        }
        for k in reversed(range(190))
    ],
)
want = [
    x[2]
    for x in sorted(
        [(at[k], 1, f"0.0:{k}") for k in range(180)]
        + [(first + k * 750, 0, f"0.1:{k}") for k in range(190)]
    )
]
found = ids("-n", "0")
ok("all of both, each once", sorted(found) == sorted(want), len(found))
starts = [t["started"] for t in tasks("-n", "0")]
ok("in their order", starts == sorted(starts), starts)
for n in 1, 7, 200, 201, 369:
    doc = document("--all", "-n", str(n))
    ok(f"the last {n}", [t["id"] for t in doc["tasks"]] == found[-n:] and doc["more"], doc["more"])
ok("asked at another node they are the same", ids("-n", "0", i=2) == found)
same = first + 3 * HOUR
put(0, [{"id": f"0.0:s{k}", "started": same, "ended": same} for k in range(150)])
put(1, [{"id": f"0.1:s{k}", "started": same, "ended": same} for k in range(100)])
r = c.ehctl(0, "history", "--all", "-n", "0")
ok(
    "more of one moment than a page has: it does not go on silently",
    r.returncode == 1 and "of one moment" in r.stderr,
    r,
)
ok("those before are there", sorted(ids("-n", "0", "--until", f"@{same // 1000}")) == sorted(want))
for i in 0, 1:
    with contextlib.closing(
        sqlite3.connect(os.path.join(os.path.dirname(c.state(i)), "history.db"), timeout=WAIT)
    ) as db, db:
        db.execute("DELETE FROM tasks WHERE started=?", (same,))
r = c.ehctl(0, "history", "--all", "-n", "3")
lines = r.stdout.splitlines()
ok(
    "the table has homes",
    "HOME" in lines[0]
    and len(lines) == 4
    and " n0 " in lines[3]
    and "older ones are left out" in r.stderr,
    r,
)
ok("without --all it has none", "HOME" not in c.ehctl(0, "history", "-n", "3").stdout)
r = c.ehctl(0, "history", "--all", "--csv", "-n", "5", text=False)
ok(
    "CSV",
    [x["id"] for x in csv.DictReader(io.StringIO(r.stdout.decode(), newline=""))] == found[-5:],
    r,
)

# ---- filters, and who sees what

put(
    1,
    [
        {
            "id": "0.1:p",
            "started": at[0] + HOUR,
            "session": "one.77.0",
            "uid": ONE,
            "program": "/opt/odd",
            "command": "odd",
            "status": 256,
            **far(0, 7, status=256),
            "ended": at[0] + HOUR + 61000,
            "pid": 77,
        },
        {
            "id": "0.1:q",
            "started": at[0] + HOUR + 1000,
            "session": "one.77.0",
            "uid": ONE,
            "ended": at[0] + HOUR + 2000,
            "reason": "files-differ",
            "text": "/bin/work: other contents, on node n2",
        },
        {
            "id": "0.1:r",
            "started": at[0] + HOUR + 1000,
            "session": "one.77.0",
            "uid": ONE,
            "state": "lost",
            **far(2, 0, status=9, cpu_system=0),
            "ended": at[0] + HOUR + 3000,
        },
    ],
)
for words, wanted in (
    (["--program", "odd"], ["0.1:p"]),
    (["--session", "one"], ["0.1:p", "0.1:q", "0.1:r"]),
    (["--reason", "files-differ"], ["0.1:q"]),
    (["--node", "n0", "--failed"], ["0.1:p"]),
    (["--failed"], ["0.1:p", "0.1:r"]),
    (["--since", f"@{at[0] // 1000 + 3601}"], ["0.1:q", "0.1:r"]),
):
    ok(" ".join(words), sorted(ids(*words)) == wanted, ids(*words))
ok(
    "by a user's name",
    len(ids("--user", "eht1")) == 95 + 3
    and {t["user"] for t in tasks("--user", "eht1")} == {"eht1"},
    ids("--user", "eht1"),
)
ok(
    "a user sees the tasks of all homes that are that user's",
    len(ids(uid=TWO)) == 95 and {t["user"] for t in tasks(uid=TWO)} == {"eht2"},
)
r = c.ehctl(0, "history", "--all", "--user", "eht1", uid=TWO)
ok("and may not ask for another's", r.returncode == 1 and "history-group" in r.stderr, r)
ok("an operator elsewhere sees those of all who could be guests", len(ids("-n", "0", i=1)) == 373)
c.conf(1, settings=BASE + 'guest-deny-users = { "eht2" }\n')
must("n1 reads its rules", c.ask(1, {"command": "reload"}) == {"version": 1})
ok(
    "and no others",
    {t["user"] for t in tasks("-n", "0") if t["home"] == "0.1"} == {"root", "eht1"} - {"root"},
    len(ids("-n", "0")),
)
ok(
    "nor in a sum",
    {g["key"] for g in document("--all", "--by", "user")["groups"]} == {"root", "eht1"},
    document("--all", "--by", "user"),
)

# ---- sums

c.conf(1, settings=BASE)
must("n1 reads its rules again", c.ask(1, {"command": "reload"}) == {"version": 1})


def groups(by, *words, **more):
    return document("--by", by, *words, **more)["groups"]


def sums(by, *words, **more):
    return {
        g["key"]: (g["tasks"], g["away"], round(g["cpu_away"], 3), g["failed"], g["lost"])
        for g in groups(by, *words, **more)
    }


ok("by user, here", (saw := sums("user")) == {"root": (180, 0, 0, 0, 0)}, saw)
ok(
    "by user, of all homes",
    (saw := sums("user", "--all"))
    == {
        "root": (180, 0, 0, 0, 0),
        "eht1": (98, 97, 95 * 2 + 7.5, 2, 1),
        "eht2": (95, 95, 190, 0, 0),
    },
    saw,
)
ok("of one's own", (saw := sums("user", "--all", uid=TWO)) == {"eht2": (95, 95, 190, 0, 0)}, saw)
ok(
    "with the most CPU time first",
    [g["key"] for g in groups("user", "--all")] == ["eht1", "eht2", "root"],
    groups("user", "--all"),
)
ok(
    "by node",
    (saw := sums("node", "--all"))
    == {"0.2": (191, 191, 380, 1, 1), "0.0": (181, 1, 7.5, 1, 0), "0.1": (1, 0, 0, 0, 0)},
    saw,
)
ok(
    "by program",
    (saw := {k: v[0] for k, v in sums("program", "--all").items()})
    == {"/bin/work": 372, "/opt/odd": 1},
    saw,
)
ok(
    "by reason",
    (saw := {k: v[0] for k, v in sums("reason", "--all").items()})
    == {"auto": 192, "not-sender": 180, "files-differ": 1},
    saw,
)
ok("with filters", (saw := sums("reason", "--all", "--failed")) == {"auto": (2, 2, 7.5, 2, 1)}, saw)
hours = groups("hour", "--all")
ok(
    "by hour, in their order",
    len(hours) == 2
    and hours[0]["key"] < hours[1]["key"]
    and [h["tasks"] for h in hours] == [370, 3],
    hours,
)
(s,) = groups("session", "--all")
ok(
    "a session",
    (s["key"], s["home"], s["tasks"], s["away"], s["lost"], s["elapsed"], s["exit"], s["user"])
    == ("one.77.0", "0.1", 3, 2, 1, 61, 1, "eht1"),
    s,
)
r = c.ehctl(0, "history", "--all", "--by", "session")
ok(
    "its line",
    r.stdout.split("\n")[0].split()
    == ["SESSION", "HOME", "START", "ELAPSED", "TASKS", "AWAY", "CPU-AWAY", "LOST", "EXIT"]
    and "one.77.0" in r.stdout
    and " 1:01 " in r.stdout
    and " 67% " in r.stdout
    and r.stdout.rstrip().endswith(" 1"),
    r,
)
r = c.ehctl(0, "history", "--all", "--by", "node", "-n", "1")
ok(
    "a table, and what is left out",
    len(r.stdout.splitlines()) == 2
    and "n2 " in r.stdout
    and " 100% " in r.stdout
    and "are left out" in r.stderr,
    r,
)
r = c.ehctl(0, "history", "--by", "hour", "--csv")
ok("CSV of groups", [x["tasks"] for x in csv.DictReader(io.StringIO(r.stdout))] == ["180"], r)
r = c.ehctl(0, "history", "--by", "weather")
ok("by what is not known", r.returncode == 2 and "must be one of" in r.stderr, r)
put(0, [{"id": f"0.0:g{k}", "program": f"/bin/p{k}", "started": at[0] + k} for k in range(1100)])
doc = document("--by", "program", "-n", "0")
ok(
    "so many groups at most, which it says",
    len(doc["groups"]) == 1000 and doc["more"],
    len(doc["groups"]),
)
ok("and of all homes", document("--all", "--by", "program", "-n", "0")["more"])

put(1, [{"id": f"0.1:f{k}", "started": at[0] + (k << 32)} for k in range(1, 300)])
seen = document("--all", "-n", "0")
ok(
    "rows of the future hide no others",
    not seen["refused"]
    and not seen["silent"]
    and "0.1" in {t["home"] for t in seen["tasks"]}
    and "0.1" in {g["key"] for g in groups("node", "--all")}
    and document("--all", "--by", "hour")["refused"] == [],
    (seen["refused"], seen["silent"], len(seen["tasks"])),
)

# ---- nodes that are missing

c.conf(1, settings=BASE + 'guest-deny-nodes = { "n0" }\n')
must("n1 reads its rules once more", c.ask(1, {"command": "reload"}) == {"version": 1})
doc = document("--all")
ok(
    "one that tells nothing is named",
    [n["node"] for n in doc["refused"]] == ["0.1"]
    and "n0" in doc["refused"][0]["refused"]
    and {t["home"] for t in doc["tasks"]} == {"0.0"},
    doc["refused"],
)
r = c.ehctl(0, "history", "--all")
ok("also beside the table", "n1 tells nothing" in r.stderr and r.returncode == 0, r.stderr)
c.agents[2].send_signal(signal.SIGSTOP)
try:
    doc = document("--all", "-n", "1")
    ok(
        "one that does not answer is named",
        [n["node"] for n in doc["silent"]] == ["0.2"] and len(doc["tasks"]) == 1,
        doc,
    )
    r = c.ehctl(0, "history", "--all", "--by", "user")
    ok("beside sums, too", "no answer from n2" in r.stderr and "root" in r.stdout, r)
finally:
    c.agents[2].send_signal(signal.SIGCONT)
ok("no sanitizer has reported", not c.reports(), c.reports())
done()
