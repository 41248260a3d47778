#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A member whose answers are as long as they may be. 0.0 leads the cluster and takes tasks, says a
Python program in its place; what it says of tasks and nodes costs the other host no more than to
read it, and shows no node twice."""

import json, os, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster
from commands import STUB
from ktap import done, ok
from netns import address
from wait import until

TASKS = 48
LONG = 1 << 20  # bytes of an answer, at most

c = Cluster(2, "heartbeat = 5000\nlease = 60000")
cert = os.path.join(c.dir, "cert")
says = {"epoch": 1, "tasks": [], "nodes": [], "groups": []}
heard = []


def answer(body):
    if body is None:  # GET /v1/guests or /v1/nodes
        return (
            says
            if isinstance(says, bytes)
            else {"draining": False, "guests": 0, "oldest": None, **says}
        )
    if "cluster" in body:
        return {
            "cluster": "test",
            "node": "0.0",
            "version": 1,
            "boot_id": "x",
            "capacity": 1000,
            "time": int(time.time() * 1000),
        }
    if "type" in body:
        heard.append(body["type"])
        return {
            "type": "order",
            "level": 1,
            "rule": {"epoch": 1, "load": 1000, "capacity": 1000},
            "top": "0.0",
        }
    if "program" in body:
        return {"token": os.urandom(16).hex(), "lease": 59000, "view": "shared"}
    return {"error": "no"}


liar = http2.Server(c.net, 0, address(0), cert, "n0", answer)
c.start(1)
ok(
    "it is followed",
    until(lambda: c.status(1)["controller"] == "0.0" and "report" in heard),
    (heard, c.log(1)),
)


def spent():
    """Seconds of processor time that the agent has had."""
    return int(open(f"/proc/{c.agents[1].pid}/schedstat").read().split()[0]) / 1e9


def cost(command):
    """Of the answer to this, in processor time; and the answer."""
    before = spent()
    said = c.ask(1, {"command": command})
    took = spent() - before
    print(f"# {command}: {took:.3f} s")
    return took, said


away = [
    c.popen(
        1, [STUB, "@0.0", "/bin/true", "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    for i in range(TASKS)
]
ok(
    "it has tasks",
    until(lambda: len(c.tasks(1)) == TASKS),
    c.log(1)[-2000:],
)
ids = [t["id"] for t in c.tasks(1)]


def full(one, name):
    """As many of these as an answer has room for."""
    room = LONG - 1000
    text = json.dumps(one, separators=(",", ":"))
    return (
        json.dumps(
            {"epoch": 1, "draining": False, "nodes": [], "groups": [], "tasks": []},
            separators=(",", ":"),
        )
        .replace(f'"{name}":[]', f'"{name}":[' + ",".join([text] * (room // (len(text) + 1))) + "]")
        .encode()
    )


says = full({"id": "0.1:1"}, "nodes")
plain, said = cost("tasks")
ok("a long answer is read", len(said["tasks"]) == TASKS, plain)
says = full({"id": "0.1:1"}, "tasks")
much, said = cost("tasks")
ok(
    "of tasks that are none",
    len(said["tasks"]) == TASKS and all(t["cpu"] is None for t in said["tasks"]),
    said,
)
ok("they cost what it costs to read them", much < 2 * plain + 0.1, (much, plain))
says = json.dumps(
    {"draining": False, "tasks": [{"id": id, "cpu": 1.5, "memory": 7 << 20} for id in ids]}
).encode()
_, said = cost("tasks")
ok(
    "what it says of tasks that are there is shown",
    all((t["cpu"], t["memory"]) == (1.5, 7 << 20) for t in said["tasks"]),
    said,
)

says = full({"id": "0.1:1"}, "tasks")
plain, said = cost("status")
ok(
    "a long answer of the top controller is read",
    [n["code"] for n in said["nodes"]] in ([], ["0.1"]),
    (plain, said),
)
says = full({"code": "0.2"}, "nodes")
much, said = cost("status")
ok("a node is there once", [n["code"] for n in said["nodes"]].count("0.2") <= 1, len(said["nodes"]))
ok("it costs what it costs to read it", much < 2 * plain + 0.1, (much, plain))
says = full({"code": "0"}, "groups")
much, said = cost("status")
ok(
    "a group, too",
    len(said["groups"]) <= 1 and much < 2 * plain + 0.1,
    (len(said["groups"]), much, plain),
)
for p in away:
    p.kill()
    p.wait()
ok("the agent ends", (saw := c.end(1)) == 0, saw)
done()
