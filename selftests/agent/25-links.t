#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Links are made when they are needed and closed when they are not; a peer that is gone costs no time.
Nodes 0.0.0 and 0.0.1 are one group and watch each other; 0.1.0 and 0.1.1 are of another."""

import json, os, select, subprocess, sys, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import Cluster, STUB, Tap, frame, read_frame, until

tap = Tap()
c = Cluster(4, "link-idle = 600", topology="1,2")


def link(i, j):
    """What node i's doctor says of its link to node j."""
    return next(d for d in c.ask(i, {"command": "doctor"})["checks"] if d["name"] == f"peer {c.code(j)}")


def is_up(i, j):
    return link(i, j)["what"].endswith("is up")


def is_idle(i, j):
    return link(i, j)["ok"] and "not needed" in link(i, j)["what"]


def drain(i, j, command="undrain"):
    """The reply, and how long it took."""
    began = time.monotonic()
    return c.ask(i, {"command": command, "node": c.code(j)}), time.monotonic() - began


def refusal(reply):
    return reply.get("error", {}).get("why", "")


for i in range(4):
    c.start(i)
tap.ok(until(lambda: is_up(0, 1) and is_up(1, 0)), "a group's nodes are linked", c.log(0))
tap.ok(is_idle(0, 2) and is_idle(0, 3), "others are not", link(0, 2))
tap.ok("connection from" not in c.log(2) + c.log(3), "and heard nothing", c.log(2))

tap.ok(drain(0, 2)[0] == {"version": 1} and is_up(0, 2), "a request makes the link", c.log(0))
tap.ok(until(lambda: is_idle(0, 2)), "which is closed when it was idle for a while", link(0, 2))
tap.ok(c.logged(2, r"connection from 0\.0\.0 .* ended: it said good-bye"), "in an orderly way", c.log(2))
tap.ok(is_up(0, 1), "the group's link stays")
tap.ok(drain(0, 2)[0] == {"version": 1}, "and is made again")

with c.net.enter(0):
    job = subprocess.Popen([STUB, "@" + c.code(2), "/bin/cat", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
job.stdin.write(b"one")
job.stdin.flush()
tap.ok(select.select([job.stdout], [], [], 15)[0] and os.read(job.stdout.fileno(), 9) == b"one", "a job runs there")
for _ in range(2):
    drain(0, 3)
    tap.ok(until(lambda: is_idle(0, 3)), "while another link was idle and closed")
    tap.ok(is_up(0, 2), "the job's is up")
tap.ok(job.communicate(b"two")[0] == b"two" and job.returncode == 0, "and the job ends well")
tap.ok(until(lambda: is_idle(0, 2)), "then it is closed, too")

c.end(2)
reply, took = drain(0, 2)
tap.ok("refused" in refusal(reply) and took < 1, f"a peer that is not there: told why at once ({took:.2f} s)", reply)
tap.ok(not link(0, 2)["ok"] and "Connection refused" in link(0, 2)["what"], "doctor says so", link(0, 2))
with c.net.enter(0):
    began = time.monotonic()
    refused = subprocess.run([STUB, "@" + c.code(2), "/bin/true", "true"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             text=True, timeout=15)
    took = time.monotonic() - began
tap.ok("unreachable" in refused.stderr and took < 1, f"a job for it is refused at once ({took:.2f} s)", refused)
c.start(2)
tap.ok(until(lambda: drain(0, 2)[0] == {"version": 1}), "it is back: so is the link", c.log(0))

tap.ok(until(lambda: is_idle(0, 3)), "an idle peer")
c.net.ip("br", "link", "set", "p3", "down")
asking = [c.connect(0) for _ in range(80)]
began = time.monotonic()
for s in asking:
    s.sendall(frame("FRAME_REQUEST", json.dumps({"command": "undrain", "node": c.code(3)}).encode()))
times = []
while asking:
    for s in select.select(asking, [], [], 15)[0] or asking:
        read_frame(s)
        times.append(time.monotonic() - began)
        asking.remove(s)
        s.close()
at_once = sum(t < 1 for t in times)
tap.ok(at_once == 16, f"a silent one: 64 requests wait, the others are told at once ({at_once} of 80)")
tap.ok(max(times) < 5, f"and all are answered in time ({max(times):.2f} s)")
tap.ok(until(lambda: "silent" in link(0, 3)["what"]), "doctor says that it is silent", link(0, 3))
c.net.ip("br", "link", "set", "p3", "up")
tap.ok(until(lambda: drain(0, 3)[0] == {"version": 1}), "it is back", c.log(0))

c.end(1)
tap.ok(c.logged(0, r"0\.0\.1 \(n1\) is down: it said good-bye"), "an agent that ends says good-bye", c.log(0))
c.start(1)
tap.ok(until(lambda: is_up(0, 1)), "a watched peer is linked again", c.log(0))
tap.ok(all(c.end(i) == 0 for i in range(4)), "all end")
tap.done()
