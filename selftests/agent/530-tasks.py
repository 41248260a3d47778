#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What `ehctl tasks` knows of tasks: away, guests, those that stayed."""

import os, re, signal, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, ok
from wait import until

# What else this machine does makes nobody a sender.
c = Cluster(2, 'heartbeat = 1000\nload-index = "tasks"\nthreshold-floor = 20.0\n')
ehctl = c.ehctl
ok("two agents", c.start_all(), c.log(0))


def start(*words, script="echo; exec sleep 1000"):
    # a group of its own: the kernel does not stop one whose parents are of another session
    p = c.popen(
        0, [EHCTL, *words, "--", "sh", "-c", script], process_group=0, stderr=None, text=False
    )
    p.stdout.readline()
    return p


def state(i, wanted):
    return until(lambda: [t["state"] for t in c.tasks(i)] == [wanted])


task = start(
    "run",
    "-n",
    "linux build",
    "--all",
    script="i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo; exec sleep 1000",
)
home, there = c.tasks(0)[0], c.tasks(1)[0]
ok("elapsed time, and start", 0 < home["elapsed"] < 3600 and home["started"].endswith("Z"), home)
ok(
    "the session, without the module",
    home["session"] == f"linux-build.{task.pid}.0" and there["session"] == "",
    (home, there),
)
ok(
    "what the guest uses",
    until(lambda: c.tasks(1)[0]["cpu"] > 0 and c.tasks(1)[0]["memory"] > 10000),
    c.tasks(1),
)
ok(
    "and home asks for it",
    until(
        lambda: c.tasks(0)[0]["cpu"]
        and c.tasks(0)[0]["cpu"] > 0
        and c.tasks(0)[0]["memory"] > 10000
    ),
    c.tasks(0),
)
short = home["short"]
ok(
    "a short id",
    re.fullmatch(r"0\.0:[1-9]\d{3,5}", short)
    and home["id"].endswith(short[4:])
    and there["short"] == short,
    (home, there),
)
for id in (short, "n0:" + short[4:], home["id"], "n0:" + home["id"][4:]):
    r = c.why(0, id)
    ok(f"why {id[:4]}… of {len(id)} letters", r.get("id") == home["id"], r)
for id in ("0.0:" + home["id"][-3:], "0.1:" + short[4:]):
    ok(
        f"but not {id}",
        "not known" in (saw := c.why(0, id)["error"]["why"]),
        saw,
    )
text = ehctl(0, "tasks").stdout
ok(
    "tasks",
    text.splitlines()[1].split()[:5] == [short, "root", "n0", "n1", "running"]
    and " linux-build  sh\n" in text,
    text,
)

others = [start("exec", "n1") for _ in range(12)]
found = c.tasks(0)
ids = [t["short"] for t in found]
ok("no two have the same", len(found) == 13 and len(set(ids)) == 13, ids)
ok(
    "and each names its task",
    all(c.ask(0, {"command": "why", "id": t["short"]}).get("id") == t["id"] for t in found),
    ids,
)
for p in others:
    p.terminate()
    p.communicate()
ok("those have ended", state(0, "running"), c.tasks(0))

task.send_signal(signal.SIGTSTP)
ok(
    "stopped is shown, at home and there",
    state(0, "stopped") and state(1, "stopped"),
    (c.tasks(0), c.tasks(1)),
)
task.send_signal(signal.SIGCONT)
ok("so is running again", state(0, "running") and state(1, "running"), (c.tasks(0), c.tasks(1)))
task.terminate()
task.communicate()
ok("it has ended", until(lambda: not c.tasks(0) and not c.tasks(1)), (c.tasks(0), c.tasks(1)))

# placed, and here: the node is idle
task = start("exec", "--auto")
found = c.tasks(0)
ok(
    "one that stayed is shown",
    [(t["pid"], t["executor"], t["home"], t["command"]) for t in found]
    == [(task.pid, "0.0", "0.0", "sh")],
    found,
)
ok(
    "with what it uses",
    until(lambda: c.tasks(0)[0]["memory"] > 10000) and found[0]["cpu"] >= 0,
    c.tasks(0),
)
ok(
    "and why",
    c.ask(0, {"command": "why", "id": found[0]["short"]})["reason"] == found[0]["reason"] != "none",
    found,
)
task.send_signal(signal.SIGSTOP)
ok("stopped", state(0, "stopped"), c.tasks(0))
task.kill()
task.communicate()
ok("and gone when it has ended", until(lambda: not c.tasks(0)), c.tasks(0))
done()
