#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The hierarchy at work without the module. Under load index `tasks` a node's load is the number of
its guests and of the tasks of --auto that stayed, so that states, thresholds and choices can be
told to the task: policy eta, as in the paper."""

import os, signal, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, ok
from tree import BUILD
from wait import until

EHCTL = os.path.join(BUILD, "bin", "ehctl")
c = Cluster(
    3,
    'policy = "eta"\nlearn = false\nload-index = "tasks"\nthreshold = 2\nthreshold-floor ='
    " 2\nthreshold-length = 1\ncapacity = 1\ndwell = 0\nlease = 3000\n"
    # a machine that is busy with other tests may stand still for a second: no guest is lost for
    # that
    "heartbeat = 3000\n"
    # nor is a task at home because the answer was late
    "time-limit = 10000\n",
)
sleeping = []


def ehctl(i, *words, **how):
    return c.popen(i, [EHCTL, *words], **{"stderr": subprocess.STDOUT, **how})


def load(i, node, n):
    """n tasks more on a node, started from i."""
    for _ in range(n):
        sleeping.append((node, ehctl(i, "exec", f"0.{node}", "--", "sleep", "1000")))


def end(node):
    """Ends the node's tasks."""
    for at, process in list(sleeping):
        if at == node:
            process.terminate()
            process.communicate()
            sleeping.remove((at, process))


def nodes(i):
    """What node i says of all: load, state and threshold by number."""
    return {int(n["code"][2:]): n for n in c.status(i)["nodes"]}


def group(i):
    """What node i says of the one group."""
    return c.status(i)["groups"][0]


def is_so(i, **expect):
    """Waits until node i knows this of all nodes: name=[values]."""
    return until(
        lambda: all(
            [nodes(i).get(k, {}).get(name) for k in range(len(values))] == values
            for name, values in expect.items()
        )
    )


def counted(n):
    """Waits until node 1 counts so many tasks that stayed, and node 2 knows them as its load."""
    return until(
        lambda: nodes(1)[1]["tasks"]["local"] == n
        and [nodes(2).get(k, {}).get("load") for k in range(3)] == [0.0, float(n), 0.0]
    )


def auto(i, n=1):
    """Places n tasks at once from node i; what each printed, its executor's node code, or HOME."""
    script = "readlink /proc/self/ns/net; sleep 2"
    tasks = [
        ehctl(i, "exec", "--auto", "--", "sh", "-c", script if n > 1 else script[:26])
        for _ in range(n)
    ]
    where = {os.readlink(f"/proc/{a.pid}/ns/net"): k for k, a in pids.items()}
    return sorted(where.get(t.communicate()[0].strip(), "?") for t in tasks)


class Pid:
    def __init__(self, pid):
        self.pid = pid


ok("three agents", c.start_all(), c.log(0))
pids = {i: Pid(c.agents[i].pid) for i in range(3)}
ok("all are receivers", is_so(2, state=["receiver"] * 3, load=[0.0] * 3), nodes(2))
ok("from a node that is no sender, a task stays", (saw := auto(1)) == [1], saw)

ok("it ends, and is no load any more", counted(0), nodes(1))
fifo = os.path.join(c.dir, "fifo")
os.mkfifo(fifo)
for name, words in (
    ("one that stayed", ["sleep", "1000"]),
    # of this host only, so the hierarchy is not asked
    ("one that names a pipe", ["sh", "-c", "exec sleep 1000", "sh", fifo]),
):
    stayed = ehctl(1, "exec", "--auto", "--", *words)
    good = counted(1)
    status = stayed.poll()
    stayed.kill()
    text = stayed.communicate()[0]
    ok(
        f"{name} is load of its node",
        good,
        f"{c.log(1)}\n{nodes(1)}\nits status {status}, it printed {text!r}",
    )
    ok("until it ends", counted(0), nodes(1))

load(1, 0, 4)
ok(
    "four guests make node 0 a sender",
    is_so(2, state=["sender", "receiver", "receiver"], load=[4.0, 0.0, 0.0]),
    nodes(2),
)
ok("its tasks go elsewhere", (saw := auto(0)[0]) in (1, 2), saw)
load(0, 1, 4)
ok("nodes 0 and 1 are senders", is_so(2, state=["sender", "sender", "receiver"]), nodes(2))
ok("the receiver gets the tasks of both", auto(0) == [2] and auto(1) == [2])
c.ask(0, {"command": "drain", "node": "0.2"})
ok("node 2 is drained", until(lambda: nodes(0)[2]["draining"]), nodes(0))
ok("then they stay", (saw := auto(0)) == [0], saw)
refused = ehctl(0, "exec", "0.2", "--", "true")
text = refused.communicate()[0]
ok(
    "a drained node refuses, even those who name it",
    refused.returncode == 1 and "exec: " in text,
    text,
)
c.ask(0, {"command": "undrain", "node": "0.2"})
ok("until it is undrained", until(lambda: not nodes(0)[2]["draining"]) and auto(1) == [2])

c.ask(1, {"command": "set", "dwell": 60000})
end(1)
ok(
    "node 1 is idle again and dwells",
    is_so(0, load=[4.0, 0.0, 0.0], state=["sender", "ok", "receiver"]),
    nodes(0),
)
ok("its load is reported as it is", until(lambda: group(0)["load"] == 4.0), group(0))
ok(
    "the receiver comes before it",
    all(
        is_so(0, load=[4.0, 0.0, 0.0]) and until(lambda: group(0)["load"] == 4.0) and auto(0) == [2]
        for _ in range(5)
    ),
)
c.ask(1, {"command": "set", "dwell": 0})
ok(
    "until its dwell is over",
    is_so(0, load=[4.0, 0.0, 0.0], state=["sender", "receiver", "receiver"]),
    nodes(0),
)
got = auto(0, 8)
ok(
    f"eight at once are spread: {got}",
    len(got) == 8 and all(3 <= got.count(i) <= 5 for i in (1, 2)),
)

ok("they end", is_so(0, load=[4.0, 0.0, 0.0]), nodes(0))
load(0, 1, 4)
load(0, 2, 4)
ok(
    "four tasks on each node",
    until(lambda: all(n["load"] == 4.0 for n in nodes(0).values())),
    nodes(0),
)
auto(1)
ok(
    "the group is overloaded: thresholds follow the load",
    until(lambda: all(n["threshold"] >= 4.0 and n["state"] != "sender" for n in nodes(0).values())),
    nodes(0),
)
before = [n["threshold"] for n in nodes(2).values()]
epoch = c.status(2)["epoch"]
ok(f"with a new epoch ({epoch})", epoch >= 1)

c.end(0, signal.SIGKILL)
sleeping[:] = [s for s in sleeping if s[1].poll() is None or s[1].communicate() is None]
ok(
    "the controller dies, 0.1 follows",
    until(lambda: c.status(2)["controller"] == "0.1"),
)
ok(
    "it goes on with thresholds and epoch",
    until(
        lambda: nodes(2)[1]["threshold"] == before[1]
        and nodes(2)[2]["threshold"] == before[2]
        and c.status(2)["epoch"] >= epoch
    ),
    nodes(2),
)
c.start(0)
pids[0] = Pid(c.agents[0].pid)
ok("the controller is back", c.all_up(range(3)), c.log(0))
for node in range(3):
    end(node)
ok(
    "without load the thresholds fall to their floors",
    until(lambda: all(n["threshold"] == 2.0 and n["load"] == 0.0 for n in nodes(1).values())),
    nodes(1),
)
ok(
    "a user's threshold is taken by the controller",
    "error" not in c.ask(1, {"command": "set", "threshold": 5000})
    and until(lambda: nodes(0)[1]["threshold"] == 5.0),
    nodes(0),
)

c.stop()
# Heartbeats would tell after a minute.
d = Cluster(3, "heartbeat = 20000\n")
ok("three agents of rare heartbeats", d.start_all(), d.log(0))
d.end(2)
ok(
    "one that ends tells its controller",
    until(
        lambda: {n["code"]: n["agent"] for n in d.ask(0, {"command": "status"})["nodes"]}.get("0.2")
        != "up"
    ),
    d.log(0),
)
d.end(0)
ok(
    "a controller those that report to it",
    until(lambda: d.ask(1, {"command": "status"})["controller"] == "0.1"),
    d.log(1),
)
done()
