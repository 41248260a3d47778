#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Links are made when they are needed and closed when they are not; a peer that is gone costs no
time. Node 0.0.0 leads the group of 0.0.1 and the top; 0.0.1 watches it, and has nothing to do with
0.1.0 and 0.1.1."""

import json, os, select, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import STUB
from frames import frame, read_frame
from ktap import done, ok
from wait import WAIT, until

c = Cluster(4, "link-idle = 600", topology="1,2")


def link(i, j):
    """What node i's doctor says of its link to node j."""
    return next(
        d for d in c.ask(i, {"command": "doctor"})["checks"] if d["name"] == f"peer {c.code(j)}"
    )


def is_up(i, j):
    return link(i, j)["what"].endswith("is up")


def is_idle(i, j):
    return link(i, j)["ok"] and "no connection was needed" in link(i, j)["what"]


def question(j):
    """What node 1 asks node j."""
    return {"command": "guests", "node": c.code(j)}


def reply_of(j):
    """Its reply."""
    return c.ask(1, question(j))


def answered(asking, seconds=0):
    """Reads the reply of each that has one; waits so long for the first."""
    done = select.select(asking, [], [], seconds)[0]
    for s in done:
        replies.append(read_frame(s)[1])
        asking.remove(s)
        s.close()
    return bool(done)


def refusal(reply):
    return reply.get("error", {}).get("why", "")


for i in range(4):
    c.start(i)
ok("a node is linked to its controller", until(lambda: is_up(1, 0)), c.log(1))
ok("others are not", until(lambda: is_idle(1, 3) and is_idle(1, 2)), link(1, 3))
ok("and heard nothing of it", "connection from 0.0.1" not in c.log(2) + c.log(3), c.log(2))

ok(
    "a request makes the link",
    until(lambda: reply_of(3).get("version") == 1 and is_up(1, 3)),
    c.log(1),
)
ok("which is closed when it was idle for a while", until(lambda: is_idle(1, 3)), link(1, 3))
ok(
    "in an orderly way",
    c.logged(3, r"connection from 0\.0\.1 .* ended: closed by the peer \(GOAWAY\)"),
    c.log(2),
)
ok("the link to the controller stays", is_up(1, 0))
ok("and is made again", (saw := reply_of(3).get("version")) == 1, saw)

job = c.popen(
    1, [STUB, "@" + c.code(3), "/bin/cat", "cat"], stdin=subprocess.PIPE, stderr=None, text=False
)
job.stdin.write(b"one")
job.stdin.flush()
ok(
    "a job runs there",
    select.select([job.stdout], [], [], WAIT)[0] and os.read(job.stdout.fileno(), 9) == b"one",
)
for _ in range(2):
    reply_of(2)
    ok("while another link was idle and closed", until(lambda: is_idle(1, 2)))
    ok("the job's is up", is_up(1, 3))
ok("and the job ends well", job.communicate(b"two")[0] == b"two" and job.returncode == 0)
ok("then it is closed, too", until(lambda: is_idle(1, 3)))

c.end(3)
reply = reply_of(3)
ok("a peer that is not there: told why", "refused" in refusal(reply), reply)
ok(
    "doctor says so",
    not link(1, 3)["ok"] and "Connection refused" in link(1, 3)["what"],
    link(1, 3),
)

ok("an idle peer", until(lambda: is_idle(1, 2)))
c.net.ip("br", "link", "set", "p2", "down")
asking = [c.connect(1) for _ in range(80)]
replies = []
for s in asking:
    s.sendall(frame("FRAME_REQUEST", json.dumps(question(2)).encode()))
while len(asking) > 64 and answered(asking, WAIT):
    pass
# At once: the others wait still.
reply = reply_of(3)
refused = c.call(1, [STUB, "@" + c.code(3), "/bin/true", "true"], stdout=None)
ok(
    f"a silent one: 64 requests wait, the others are told at once ({len(asking)} of 80)",
    not answered(asking) and len(asking) == 64,
    replies,
)
ok("a request to one that is not there waits for none of these", "refused" in refusal(reply), reply)
ok("a job for it is refused at once, too", "unreachable" in refused.stderr, refused)
while asking and answered(asking, WAIT):
    pass
ok("and those that waited are told", not asking and all(map(refusal, replies)), replies)
ok("doctor says that it is silent", until(lambda: "silent" in link(1, 2)["what"]), link(1, 2))
c.net.ip("br", "link", "set", "p2", "up")
ok("it is back", until(lambda: reply_of(2).get("version") == 1), c.log(1))
c.start(3)
ok("so is the other, and its link", until(lambda: reply_of(3).get("version") == 1), c.log(1))

c.end(0)
ok(
    "an agent that ends says good-bye",
    c.logged(1, r"0\.0\.0 \(n0\) is down: closed by the peer \(GOAWAY\)"),
    c.log(1),
)
c.start(0)
ok("a watched peer is linked again", until(lambda: is_up(1, 0)), c.log(1))
ok("all end", all(c.end(i) == 0 for i in range(4)))
done()
