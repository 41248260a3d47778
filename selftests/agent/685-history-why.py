#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ehctl why --session`: what is said of a session that is over, to whom, and that no time is said
to be won that was not."""

import contextlib, json, os, sqlite3, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, must, ok
from users import ONE, TWO
from wait import WAIT, until

c = Cluster(2, "heartbeat = 1000\ncapacity = 1000\nthreshold = 1000\nthreshold-floor = 1000\n")
must("two agents", c.start_all(), c.log(0) + c.log(1))
os.chmod(c.dir, 0o755)
PROCESSORS = os.sysconf("SC_NPROCESSORS_ONLN")
began = int(time.time() - 7200) * 1000


def why(name, **more):
    r = c.ehctl(0, "why", "--session", name, "--json", **more)
    return json.loads(r.stdout) if r.returncode == 0 else r.stderr


def put(session, *rows):
    """A session in the history of node 0: (start and end in s, of its tasks, where, what
    differs)."""
    with contextlib.closing(
        sqlite3.connect(os.path.join(os.path.dirname(c.state(0)), "history.db"), timeout=WAIT)
    ) as db, db:
        for k, (start, end, node, more) in enumerate(rows):
            row = {
                "id": f"0.0:{session}{k}",
                "session": session,
                "pid": 4,
                "uid": ONE,
                "program": "/bin/work",
                "command": "work",
                "home": "0.0",
                "home_host": "n0",
                "executor": f"0.{node}",
                "executor_host": f"n{node}",
                "reason": "auto" if node else "not-sender",
                "state": "ended",
                "started": began + start * 1000,
                "ended": began + end * 1000,
                **more,
            }
            db.execute(
                f"INSERT INTO tasks({','.join(row)}) VALUES({','.join('?' * len(row))})",
                list(row.values()),
            )


def used(seconds, **more):
    return {"cpu_user": seconds - 1, "cpu_system": 1, "status": 0, **more}


differ = {"reason": "files-differ", "text": "/bin/work: /lib/libx.so differs, on node n2"}
put("build.11.0", (0, 1, 1, used(2)))
put(
    "build.12.0",
    (10, 40, 0, {"pid": 12}),
    (10, 20, 1, used(20 * PROCESSORS)),
    (12, 30, 2, used(25 * PROCESSORS)),
    (12, 31, 2, used(2, status=256)),
    (13, 20, 2, {"state": "lost", "status": 9}),
    (14, 15, 0, {**differ, "text": "/bin/cc: other contents, on node n2"}),
    (15, 16, 0, differ),
    (16, 17, 0, differ),
)
s = why("build")
ok(
    "the last one of its name",
    (s["session"], s["user"], s["earlier"], s["elapsed"]) == ("build.12.0", "eht1", 1, 30),
    s,
)
ok(
    "what ran where",
    [(n["host"], n["tasks"]) for n in s["nodes"]] == [("n2", 3), ("n1", 1)]
    and (s["tasks"], s["away"]) == (8, 4),
    s,
)
ok(
    "why the rest stayed, and what differs most often",
    s["stayed"]
    == [
        {"reason": "files-differ", "tasks": 3, "most": differ["text"]},
        {"reason": "not-sender", "tasks": 1},
    ],
    s,
)
ok(
    "CPU time: what stayed has used is not known",
    abs(s["cpu_away"] - 45 * PROCESSORS - 2) < 1e-6 and s["cpu"] is None,
    s,
)
ok("failures", (s["failed"], s["lost"]) == (2, 1), s)
least = (45 * PROCESSORS + 2) / PROCESSORS
ok(
    "no less than the sum, spread over all processors",
    abs(s["alone"]["seconds_at_least"] - least) < 1e-6
    and s["alone"]["processors"] == PROCESSORS
    and s["alone"]["times_at_least"] == int(least / 30 * 10) / 10 >= 1.5,
    s,
)
text = c.ehctl(0, "why", "--session", "build").stdout
for part in (
    "build.12.0 of eht1, from ",
    "ended after 0:30; of 8 tasks that were to be placed 4 ran elsewhere (n2 3, n1 1)\n",
    "of what stayed it is not known",
    "2 failed, 1 of them lost",
    f"stayed: files-differ 3 (most often: {differ['text']}), not-sender 1",
    "or longer: at least 1.",
    "the last of 2 sessions of this name",
):
    ok(f"in words: {part.strip()}", part in text, text)
ok(
    "an earlier one by its whole name",
    why("build.11.0")["session"] == "build.11.0" and why("build.11.0")["earlier"] == 0,
    why("build.11.0"),
)

# ---- no time is won

put("even.1.0", (0, 10, 1, used(10 * PROCESSORS)))
put("short.1.0", (0, 0, 1, used(10 * PROCESSORS)))
put("open.1.0", (0, 10, 1, used(100 * PROCESSORS)), (10, 11, 2, {"state": "away", "ended": None}))
for name, what in (
    ("even", "as much as this host has"),
    ("short", "of less than a second"),
    ("open", "while it is not over"),
):
    ok(
        f"nothing is said to be won: {what}",
        why(name)["alone"] is None
        and "or longer" not in c.ehctl(0, "why", "--session", name).stdout,
        why(name),
    )
ok(
    "one that is not over goes on until now",
    (saw := why("open")["elapsed"]) - (time.time() - began / 1000) < 1 and saw > 11,
    saw,
)
ok(
    "one that is not over",
    "not over after" in c.ehctl(0, "why", "--session", "open").stdout
    and "; 1 run" in c.ehctl(0, "why", "--session", "open").stdout,
)

# ---- who is told

ok("its user is told", why("build", uid=ONE)["tasks"] == 8, why("build", uid=ONE))
r = c.ehctl(0, "why", "--session", "build", uid=TWO)
ok(
    "another one is not",
    r.returncode == 1
    and "no task of such a session" in r.stderr
    and "`ehctl history --all --by session`" in r.stderr
    and not r.stdout,
    r,
)
listing = lambda name: json.loads(c.ehctl(0, "history", "--session", name, "--json").stdout)[
    "tasks"
]
for name in (
    "odd näme with spaces",
    "v1.2",
    "4.5",
    "a" * 50 + "b",
    ".5.6",
    "linux-6.1.2",
    "1.2.3",
    "s390.1",
):
    c.ehctl(0, "run", "-n", name, "--", "true")
    ok(
        f"as it was given with run -n: {name}",
        until(lambda: "of 1 task " in c.ehctl(0, "why", "--session", name).stdout),
        c.ehctl(0, "why", "--session", name),
    )
    listed = listing(name)
    ok(
        f"in the history, too: {name}",
        len(listed) == 1 and listing(listed[0]["session"]) == listed,
        listed,
    )
for words in (["--session"], ["--session", "--timing", "build"]):
    r = c.ehctl(0, "why", *words)
    ok(f"why {' '.join(words)} is refused", r.returncode == 2 and not r.stdout, r)

# ---- the report of a run has the same words

r = c.ehctl(0, "run", "--report", "-n", "real", "--all", "--", "true")
ok(
    "of one that has just ended",
    "of 1 task that was to be placed 1 ran elsewhere (n1 1)\n" in r.stderr
    and "or longer" not in r.stderr,
    r,
)
ok(
    "and later",
    until(
        lambda: "of 1 task that was to be placed 1 ran elsewhere (n1 1)\n"
        in c.ehctl(0, "why", "--session", "real").stdout
    ),
    c.ehctl(0, "why", "--session", "real"),
)
ok("no sanitizer has reported", not c.reports(), c.reports())
done()
