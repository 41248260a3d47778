#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehlaunch is asked of one process after the other whether it may leave, and to look at one with
many threads takes long. A user with many such processes does not keep those of others waiting:
users take turns."""

import os, signal, socket, struct, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import agent_socket, player
from cluster import Cluster
from confinement import become, filtered
from frames import read_exactly
from ktap import done, must, ok

PROCESSES, EACH = 5, 8  # AWAY_A_PROCESS
MANY, OTHER = 2001, 2002

c = Cluster(2, "heartbeat = 1000\nthreshold-floor = 20.0")
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def ask(uid, n):
    """A process of this user asks n times, is confined, and so is refused each time. Returns where
    it says when."""
    reader, writer = os.pipe()
    if not os.fork():
        os.close(reader)
        with c.net.enter(0):
            filtered()
            become(uid)
            all = [socket.socket(socket.AF_UNIX) for i in range(n)]
            for s in all:
                agent_socket.connect(s)
                s.sendall(player.job(b"true", path=b"/bin/true"))
            os.write(writer, b"!")
            for s in all:
                _, length = struct.unpack("<II", read_exactly(s, 8))
                text = read_exactly(s, length)
                os.write(writer, struct.pack("<d?", time.monotonic(), text.endswith(b"(confined)")))
            os._exit(0)
    os.close(writer)
    must("it has asked", os.read(reader, 1) == b"!")
    return open(reader, "rb")


def answers(f):
    with f:
        text = f.read()
    return list(struct.iter_unpack("<d?", text))


must("one is answered", answers(ask(OTHER, 1))[0][1], c.log(0))
os.kill(c.launchers[0].pid, signal.SIGSTOP)
asked = [ask(MANY, EACH) for i in range(PROCESSES)]
other = ask(OTHER, 1)
c.status(0)  # the agent has taken all of them
os.kill(c.launchers[0].pid, signal.SIGCONT)
many = [answer for f in asked for answer in answers(f)]
((when, confined),) = answers(other)
before = sum(its < when for its, _ in many)
ok(
    "all are answered",
    len(many) == PROCESSES * EACH and all(confined for _, confined in many) and confined,
    (many, confined),
)
ok(
    "another user does not wait for all of one user's",
    before < len(many) / 2,
    f"{before} of {len(many)} were answered before",
)
done()
