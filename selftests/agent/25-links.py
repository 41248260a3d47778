#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Links are made when they are needed and closed when they are not; a peer that is gone costs no time.
Node 0.0.0 leads the group of 0.0.1 and the top; 0.0.1 watches it, and has nothing to do with 0.1.0 and 0.1.1."""

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
    return link(i, j)["ok"] and "no connection was needed" in link(i, j)["what"]


def drain(i, j, command="undrain"):
    """The reply, and how long it took."""
    began = time.monotonic()
    return c.ask(i, {"command": command, "node": c.code(j)}), time.monotonic() - began


def refusal(reply):
    return reply.get("error", {}).get("why", "")


for i in range(4):
    c.start(i)
tap.ok(until(lambda: is_up(1, 0)), "a node is linked to its controller", c.log(1))
tap.ok(until(lambda: is_idle(1, 3) and is_idle(1, 2)), "others are not", link(1, 3))
tap.ok("connection from 0.0.1" not in c.log(2) + c.log(3), "and heard nothing of it", c.log(2))

tap.ok(drain(1, 3)[0] == {"version": 1} and is_up(1, 3), "a request makes the link", c.log(1))
tap.ok(until(lambda: is_idle(1, 3)), "which is closed when it was idle for a while", link(1, 3))
tap.ok(c.logged(3, r"connection from 0\.0\.1 .* ended: closed by the peer \(GOAWAY\)"), "in an orderly way", c.log(2))
tap.ok(is_up(1, 0), "the link to the controller stays")
tap.ok(drain(1, 3)[0] == {"version": 1}, "and is made again")

with c.net.enter(1):
    job = subprocess.Popen([STUB, "@" + c.code(3), "/bin/cat", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
job.stdin.write(b"one")
job.stdin.flush()
tap.ok(select.select([job.stdout], [], [], 15)[0] and os.read(job.stdout.fileno(), 9) == b"one", "a job runs there")
for _ in range(2):
    drain(1, 2)
    tap.ok(until(lambda: is_idle(1, 2)), "while another link was idle and closed")
    tap.ok(is_up(1, 3), "the job's is up")
tap.ok(job.communicate(b"two")[0] == b"two" and job.returncode == 0, "and the job ends well")
tap.ok(until(lambda: is_idle(1, 3)), "then it is closed, too")

c.end(3)
reply, took = drain(1, 3)
tap.ok("refused" in refusal(reply) and took < 1, f"a peer that is not there: told why at once ({took:.2f} s)", reply)
tap.ok(not link(1, 3)["ok"] and "Connection refused" in link(1, 3)["what"], "doctor says so", link(1, 3))
with c.net.enter(1):
    began = time.monotonic()
    refused = subprocess.run([STUB, "@" + c.code(3), "/bin/true", "true"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             text=True, timeout=15)
    took = time.monotonic() - began
tap.ok("unreachable" in refused.stderr and took < 1, f"a job for it is refused at once ({took:.2f} s)", refused)
c.start(3)
tap.ok(until(lambda: drain(1, 3)[0] == {"version": 1}), "it is back: so is the link", c.log(1))

tap.ok(until(lambda: is_idle(1, 2)), "an idle peer")
c.net.ip("br", "link", "set", "p2", "down")
asking = [c.connect(1) for _ in range(80)]
began = time.monotonic()
for s in asking:
    s.sendall(frame("FRAME_REQUEST", json.dumps({"command": "undrain", "node": c.code(2)}).encode()))
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
tap.ok(until(lambda: "silent" in link(1, 2)["what"]), "doctor says that it is silent", link(1, 2))
c.net.ip("br", "link", "set", "p2", "up")
tap.ok(until(lambda: drain(1, 2)[0] == {"version": 1}), "it is back", c.log(1))

c.end(0)
tap.ok(c.logged(1, r"0\.0\.0 \(n0\) is down: closed by the peer \(GOAWAY\)"), "an agent that ends says good-bye", c.log(1))
c.start(0)
tap.ok(until(lambda: is_up(1, 0)), "a watched peer is linked again", c.log(1))
tap.ok(all(c.end(i) == 0 for i in range(4)), "all end")
tap.done()
