#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ehctl history --plot`: its bars are what the history has, in local time; and hours of which
there are more than an answer has."""

import contextlib, json, os, re, shutil, sqlite3, sys, time
from xml.etree import ElementTree

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok
from users import ONE, TWO
from wait import WAIT

ZONE = 5.5 * 3600
c = Cluster(2, "heartbeat = 1000\ncapacity = 1000\nthreshold = 1000\nthreshold-floor = 1000\n")
must("two agents", c.start_all(), c.log(0) + c.log(1))
os.chmod(c.dir, 0o777)
HOUR = 3600
end = int(time.time()) // HOUR * HOUR - HOUR
real = shutil.which("gnuplot")
must("gnuplot is there", real, "packaging/deps test installs it")
folder = os.path.join(c.dir, "bin")
os.mkdir(folder)
with open(os.path.join(folder, "gnuplot"), "w") as f:
    f.write(
        f'#!/bin/sh\ncat >{c.dir}/script\n[ -s {c.dir}/script ] && exec {real} "$@"'
        f" <{c.dir}/script\n"
    )
os.chmod(f.name, 0o755)


def ehctl(*words, uid=0):
    become = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if uid else []
    return c.call(
        0,
        [*become, EHCTL, "history", *words],
        env={**os.environ, "TZ": "XYZ-5:30", "PATH": f"{folder}:{os.environ['PATH']}"},
        cwd=c.dir,
    )


def put(i, rows):
    """(start in s, whether it ran elsewhere, whose)."""
    with contextlib.closing(
        sqlite3.connect(os.path.join(os.path.dirname(c.state(i)), "history.db"), timeout=WAIT)
    ) as db, db:
        db.executemany(
            (
                "INSERT INTO tasks(id, pid, uid, program, command, home, home_host, executor,"
                " executor_host, state, started, ended, reason) VALUES(?, 1, ?, '/bin/w', 'w',"
                f" '0.{i}', 'n{i}', ?, ?, 'ended', ?, ?, 'auto')"
            ),
            [
                (
                    f"0.{i}:{start}.{k}",
                    uid,
                    f"0.{1 - i if away else i}",
                    f"n{1 - i if away else i}",
                    start * 1000,
                    start * 1000 + 5,
                )
                for k, (start, away, uid) in enumerate(rows)
            ],
        )


def bars(*words, **more):
    global script
    """What was drawn: local time → (away, stayed); and the texts of the picture."""
    r = ehctl(*words, "--plot", "it's.svg", **more)
    must(f"a picture {' '.join(words)}", r.returncode == 0 and not r.stderr and not r.stdout, r)
    root = ElementTree.parse(os.path.join(c.dir, "it's.svg")).getroot()
    ok("it is one", root.tag.endswith("svg"), root.tag)
    os.unlink(os.path.join(c.dir, "it's.svg"))
    with open(os.path.join(c.dir, "script"), encoding="utf-8") as f:
        script = f.read()
    os.unlink(f.name)  # another user's
    rows = [
        tuple(map(float, line.split()))
        for line in re.search(r"<< EOD\n(.*?)EOD", script, flags=re.S)[1].splitlines()
    ]
    return {x: (away, stayed) for x, away, stayed in rows}, " ".join(
        "".join(t.itertext()) for t in root.iter() if t.tag.endswith("text")
    )


r = ehctl("--plot", "none.svg")
ok(
    "without tasks there is nothing to draw",
    r.returncode == 1
    and "no such task" in r.stderr
    and not os.path.exists(os.path.join(c.dir, "none.svg")),
    r,
)

# two hours: bars of 5 minutes
begin = end - 2 * HOUR
put(0, [(begin + k * 60, k % 3 == 0, ONE) for k in range(120)] + [(end, False, ONE)])
put(1, [(begin + 7, True, TWO), (end - 1, True, TWO)])


def wanted(width, tasks):
    found = {}
    for start, away, _ in tasks:
        at = (start + ZONE) // width * width
        a, s = found.get(at, (0, 0))
        found[at] = (a + away, s + (not away))
    return found


own = [(begin + k * 60, k % 3 == 0, ONE) for k in range(120)] + [(end, False, ONE)]
other = [(begin + 7, True, TWO), (end - 1, True, TWO)]
saw, texts = bars()
ok("each bar has its tasks", saw == wanted(300, own), (saw, wanted(300, own)))
edges = re.search(r"set xrange \['(\d+)':'(\d+)'\]", script)
ok(
    "from the first to the end of the last",
    (int(edges[1]), int(edges[2])) == (min(saw), max(saw) + 300),
    edges[0],
)
ok(
    "and words",
    "away" in texts
    and "stayed" in texts
    and "tasks started in 5:00" in texts
    and re.search(r"\b\d\d:\d\d\b", texts),
    texts,
)
clock = time.strftime("%H:", time.gmtime(begin + ZONE))
ok("its axis has local time", clock in texts, (clock, texts))
saw, _ = bars("--all")
ok("of all nodes", saw == wanted(300, own + other), saw)
saw, _ = bars("--all", uid=TWO)
ok("a user sees no others", saw == wanted(300, other), saw)
until = begin + 30 * 60
saw, _ = bars("--until", f"@{until}")
ok("filters", saw == wanted(60, [t for t in own if t[0] < until]), saw)
for words in (["--csv"], ["--json"], ["--by", "user"]):
    r = ehctl("--plot", "a.svg", *words)
    ok(f"not with {words[0]}", r.returncode == 2 and "one of them" in r.stderr, r)
r = ehctl("--plot", "absent/a.svg")
ok("a directory that is not there", r.returncode == 1 and "No such file" in r.stderr, r)

# ---- more hours than an answer has

many = [(end - k * HOUR, k % 2 == 0, ONE) for k in range(1700)]
put(0, many)
put(1, [(at, away, TWO) for at, away, _ in many[:1300]])
r = ehctl("--all", "--by", "hour", "-n", "0", "--json")
hours = json.loads(r.stdout)["groups"] if r.returncode == 0 else []
keys = [h["key"] for h in hours]
# the zone is half an hour off, so the last tasks of an hour of UTC are in another one than the
# first
ok(
    "all hours, each once and in their order",
    keys == sorted(set(keys)) and len(keys) >= 1700,
    (len(keys), r.stderr),
)
ok(
    "with all tasks",
    sum(h["tasks"] for h in hours) == 1700 + 1300 + len(own) + len(other),
    sum(h["tasks"] for h in hours),
)
ok(
    "as many of them away",
    sum(h["away"] for h in hours) == 850 + 650 + 40 + 2,
    sum(h["away"] for h in hours),
)
saw, texts = bars("--all")
ok(
    "the picture has wider bars",
    len(saw) <= 101 and sum(a + s for a, s in saw.values()) == 3000 + len(own) + len(other),
    (len(saw), texts),
)
ok("no sanitizer has reported", not c.reports(), c.reports())
done()
