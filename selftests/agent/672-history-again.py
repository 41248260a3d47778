#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The history of tasks that go on when their home's agent is killed, of tasks with children that
outlive them, and of what users say."""

import json, os, signal, struct, subprocess, sys, tempfile, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from frames import frame
from ktap import done, must, ok
from users import TWO
from wait import WAIT, until

SETTINGS = 'heartbeat = 1000\nload-index = "tasks"\nthreshold-floor = 20.0\n'
c = Cluster(2, SETTINGS)
must("two agents", c.start_all(), c.log(0) + c.log(1))


def history(*words):
    return json.loads(c.ehctl(0, "history", "--json", *words).stdout)["tasks"]


def why(id):
    return json.loads(c.ehctl(0, "why", id, "--json").stdout)


def kill():
    """The agent of node 0; another one is started."""
    c.again([0], signal.SIGKILL)
    must("all is well again", c.all_up([0, 1]), c.log(0)[-2000:])


# ---- a task that goes on

task = c.popen(
    0,
    [EHCTL, "run", "-n", "long", "--", EHCTL, "exec", "n1", "--", "sh", "-c", "echo; read x"],
    stdin=subprocess.PIPE,
    stderr=None,
    text=False,
)
task.stdout.readline()
t = next(t for t in history() if t["executor"] == "0.1")
c.ehctl(0, "exec", "--auto", "--", "true")
stayed = next(t for t in history() if t["program"].endswith("true"))
kill()
ok(
    "it is there again",
    until(
        lambda: [x["id"] for x in c.tasks(0) if x["state"] == "running" and x["executor"] == "0.1"]
        == [t["id"]]
    ),
    c.tasks(0),
)
ok(
    "with the reason for which it went",
    (saw := why(t["id"]))["reason"] == t["reason"] == "explicit"
    and "explicit" not in saw["text"]
    and len(saw["text"]) > 9,
    saw,
)
ok(
    "one that stayed has the text of its reason",
    (saw := why(stayed["id"]))["reason"] == stayed["reason"]
    and "not decided" not in saw["text"]
    and saw["text"] != "",
    saw,
)

# ---- what users say

rows = history()


def says(id, started_ms, other="0.1", uid=TWO):
    """A process of a user that claims to be the stub of a task, and ends."""
    s = c.connect(0, uid=uid)
    s.sendall(
        frame(
            "FRAME_ATTACH",
            struct.pack("<BBIIQ", 0, 0, 4, 0, started_ms)
            + b"".join(t.encode() + b"\0" for t in (os.urandom(16).hex(), id, other, "forged")),
        )
    )
    return s


made = [says(f"0.0:{n}", ms) for n, ms in ((1, 0), (2, 1), (3, 2777777777777), (4, (1 << 64) - 1))]
ok(
    "they are listed as tasks",
    until(lambda: len([x for x in c.tasks(0) if x["command"] == "forged"]) == 4),
    c.tasks(0),
)
ok(
    "that began before now, and did begin",
    all(0 <= x["elapsed"] < time.time() + 60 for x in c.tasks(0))
    and {
        n
        for n in (1, 3, 4)
        if next(x for x in c.tasks(0) if x["id"] == f"0.0:{n}")["elapsed"] > 3600
    }
    == set(),
    c.tasks(0),
)
for s in made:
    s.close()
ok(
    "until they end",
    until(lambda: not [x for x in c.tasks(0) if x["command"] == "forged"]),
    c.tasks(0),
)
ok("but no row is made of them", history() == rows, history())
# An agent that has not yet heard of the task itself: its process is stopped.
os.kill(task.pid, signal.SIGSTOP)
stub = next(x["pid"] for x in c.tasks(0) if x["id"] == t["id"])
os.kill(stub, signal.SIGSTOP)
kill()
ok(
    "it is not known then",
    until(lambda: next(x for x in history() if x["id"] == t["id"])["state"] == "unknown"),
    history(),
)
s = says(t["id"], 1, "0.0")
ok(
    "another user takes its ID",
    until(lambda: [x["uid"] for x in c.tasks(0) if x["id"] == t["id"]] == [TWO]),
    c.tasks(0),
)
s.close()
must("and ends", until(lambda: not [x for x in c.tasks(0) if x["id"] == t["id"]]), c.tasks(0))
ok(
    "its row is as it was",
    [(x["state"], x["executor"], x["ended"]) for x in history() if x["id"] == t["id"]]
    == [("unknown", "0.1", None)],
    history(),
)
os.kill(stub, signal.SIGCONT)
os.kill(task.pid, signal.SIGCONT)
task.communicate(b"\n")

# ---- children that outlive their task

with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o755)
    for name, script, end in ("it ends", "exit 3", (3, None)), (
        "it is killed",
        "kill -9 $$",
        (None, 9),
    ):
        fifo = os.path.join(folder, name.replace(" ", "-"))
        os.mkfifo(fifo)
        task = c.popen(
            0,
            [EHCTL, "exec", "n1", "--", "sh", "-c", f"cat {fifo} & {script}"],
            stderr=None,
            text=False,
        )
        writer = open(fifo, "wb", buffering=0)
        ok(
            f"{name}: its parent is told",
            task.wait(WAIT) == (end[0] if end[0] else -end[1])
            or task.returncode == 128 + (end[1] or 0),
            task.returncode,
        )
        ok(
            f"{name}: the history knows at once",
            until(
                lambda: (x := history()[-1])["state"] == "ended" and (x["exit"], x["signal"]) == end
            ),
            history()[-1:],
        )
        ok(f"{name}: it is no task any more", until(lambda: not c.tasks(0)), c.tasks(0))
        rows = history()
        kill()
        writer.write(b"from a child\n")
        ok(
            f"{name}: its child's output comes through another agent",
            task.stdout.readline() == b"from a child\n",
        )
        ok(f"{name}: which knows of no task", c.tasks(0) == [], c.tasks(0))
        writer.close()
        ok(f"{name}: its child ends", task.stdout.read() == b"")
        task.stdout.close()
        ok(f"{name}: it has one row", history() == rows, history()[-2:])
# ---- without a history

task = c.popen(
    0,
    [EHCTL, "exec", "n1", "--", "sh", "-c", "echo; read x"],
    stdin=subprocess.PIPE,
    stderr=None,
    text=False,
)
task.stdout.readline()
c.end(0, signal.SIGKILL)
c.start(0, c.conf(0, settings=SETTINGS + "history = false\n"))
must("all is well again", until(lambda: c.up(0) == {"0.0", "0.1"}), c.log(0)[-2000:])
ok("a task goes on", until(lambda: [x["state"] for x in c.tasks(0)] == ["running"]), c.tasks(0))
ok(
    "nobody knows why it went",
    (saw := why(c.tasks(0)[0]["id"]))["reason"] == "none"
    and "agent before this one" in saw["text"],
    saw,
)
task.communicate(b"\n")
ok("no sanitizer has reported", not c.reports(), c.reports())
done()
