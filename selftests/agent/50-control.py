#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The hierarchy at work without the module. Under load index `tasks` a node's load is the number of its guests and of
the tasks of --auto that stayed, so that states, thresholds and choices can be told to the task."""

import os, signal, subprocess, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import BUILD, Cluster, Tap, until

EHCTL = os.path.join(BUILD, "bin", "ehctl")
tap = Tap()
c = Cluster(3, 'load-index = "tasks"\nthreshold = 2\nthreshold-floor = 2\nthreshold-length = 1\n'
               "capacity = 1\ndwell = 0\nlease = 1000\n")
sleeping = []


def ehctl(i, *words, **how):
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, **how}
    return subprocess.Popen(["ip", "netns", "exec", c.net.name(i), EHCTL, *words], **how)


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
    return {int(n["code"][2:]): n for n in c.ask(i, {"command": "status"})["nodes"]}


def group(i):
    """What node i says of the one group."""
    return c.ask(i, {"command": "status"})["groups"][0]


def is_so(i, **expect):
    """Waits until node i knows this of all nodes: name=[values]."""
    return until(lambda: all([nodes(i).get(k, {}).get(name) for k in range(len(values))] == values
                             for name, values in expect.items()))


def auto(i, n=1):
    """Places n tasks at once from node i; what each printed, its executor's node code, or HOME."""
    script = 'readlink /proc/self/ns/net; sleep 2'
    tasks = [ehctl(i, "exec", "--auto", "--", "sh", "-c", script if n > 1 else script[:26]) for _ in range(n)]
    where = {os.readlink(f"/proc/{a.pid}/ns/net"): k for k, a in pids.items()}
    return sorted(where.get(t.communicate()[0].strip(), "?") for t in tasks)


class Pid:
    def __init__(self, pid):
        self.pid = pid


tap.ok(c.start_all(), "three agents", c.log(0))
pids = {i: Pid(c.agents[i].pid) for i in range(3)}
tap.ok(is_so(2, state=["receiver"] * 3, load=[0.0] * 3), "all are receivers", nodes(2))
tap.ok(auto(1) == [1], "from a node that is no sender, a task stays")
stayed = ehctl(1, "exec", "--auto", "--", "sleep", "1000")
tap.ok(is_so(2, load=[0.0, 1.0, 0.0]) and nodes(1)[1]["tasks"]["local"] == 1, "one that stayed is load of its node", nodes(1))
stayed.kill()
stayed.communicate()
tap.ok(is_so(2, load=[0.0, 0.0, 0.0]) and nodes(1)[1]["tasks"]["local"] == 0, "until it ends", nodes(1))

load(1, 0, 4)
tap.ok(is_so(2, state=["sender", "receiver", "receiver"], load=[4.0, 0.0, 0.0]), "four guests make node 0 a sender",
       nodes(2))
tap.ok(auto(0)[0] in (1, 2), "its tasks go elsewhere")
load(0, 1, 4)
tap.ok(is_so(2, state=["sender", "sender", "receiver"]), "nodes 0 and 1 are senders", nodes(2))
tap.ok(auto(0) == [2] and auto(1) == [2], "the receiver gets the tasks of both")
c.ask(0, {"command": "drain", "node": "0.2"})
tap.ok(until(lambda: nodes(0)[2]["draining"]), "node 2 is drained", nodes(0))
tap.ok(auto(0) == [0], "then they stay")
refused = ehctl(0, "exec", "0.2", "--", "true")
text = refused.communicate()[0]
tap.ok(refused.returncode == 1 and "exec: " in text, "a drained node refuses, even those who name it", text)
c.ask(0, {"command": "undrain", "node": "0.2"})
tap.ok(until(lambda: not nodes(0)[2]["draining"]) and auto(1) == [2], "until it is undrained")

c.ask(1, {"command": "set", "dwell": 60000})
end(1)
tap.ok(is_so(0, load=[4.0, 0.0, 0.0], state=["sender", "ok", "receiver"]), "node 1 is idle again and dwells", nodes(0))
tap.ok(until(lambda: group(0)["load"] == 4.0), "its load is reported as it is", group(0))
tap.ok(all(is_so(0, load=[4.0, 0.0, 0.0]) and until(lambda: group(0)["load"] == 4.0) and auto(0) == [2] for _ in range(5)),
       "the receiver comes before it")
c.ask(1, {"command": "set", "dwell": 0})
tap.ok(is_so(0, load=[4.0, 0.0, 0.0], state=["sender", "receiver", "receiver"]), "until its dwell is over", nodes(0))
got = auto(0, 8)
tap.ok(len(got) == 8 and all(3 <= got.count(i) <= 5 for i in (1, 2)), f"eight at once are spread: {got}")

tap.ok(is_so(0, load=[4.0, 0.0, 0.0]), "they end", nodes(0))
load(0, 1, 4)
load(0, 2, 4)
tap.ok(until(lambda: all(n["load"] == 4.0 for n in nodes(0).values())), "four tasks on each node", nodes(0))
auto(1)
tap.ok(until(lambda: all(n["threshold"] >= 4.0 and n["state"] != "sender" for n in nodes(0).values())),
       "the group is overloaded: thresholds follow the load", nodes(0))
before = [n["threshold"] for n in nodes(2).values()]
epoch = c.ask(2, {"command": "status"})["epoch"]
tap.ok(epoch >= 1, f"with a new epoch ({epoch})")

c.end(0, signal.SIGKILL)
sleeping[:] = [s for s in sleeping if s[1].poll() is None or s[1].communicate() is None]
tap.ok(until(lambda: c.ask(2, {"command": "status"})["controller"] == "0.1"), "the controller dies, 0.1 follows")
tap.ok(until(lambda: nodes(2)[1]["threshold"] == before[1] and nodes(2)[2]["threshold"] == before[2]
             and c.ask(2, {"command": "status"})["epoch"] >= epoch), "it goes on with thresholds and epoch",
       nodes(2))
c.start(0)
pids[0] = Pid(c.agents[0].pid)
tap.ok(c.all_up(range(3)), "the controller is back", c.log(0))
for node in range(3):
    end(node)
tap.ok(until(lambda: all(n["threshold"] == 2.0 and n["load"] == 0.0 for n in nodes(1).values())),
       "without load the thresholds fall to their floors", nodes(1))
tap.ok(c.ask(1, {"command": "set", "threshold": 5000}) == {"version": 1} and
       until(lambda: nodes(0)[1]["threshold"] == 5.0), "a user's threshold is taken by the controller", nodes(0))

c.stop()
# Heartbeats would tell after a minute.
d = Cluster(3, "heartbeat = 20000\n")
tap.ok(d.start_all(), "three agents of rare heartbeats", d.log(0))
d.end(2)
tap.ok(until(lambda: {n["code"]: n["agent"] for n in d.ask(0, {"command": "status"})["nodes"]}.get("0.2") != "up"),
       "one that ends tells its controller", d.log(0))
d.end(0)
tap.ok(until(lambda: d.ask(1, {"command": "status"})["controller"] == "0.1"), "a controller those that report to it", d.log(1))
tap.done()
