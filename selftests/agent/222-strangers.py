#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A stranger who can only reach the port keeps nobody out: connections without a certificate have a
limit and a deadline."""

import os, socket, struct, sys, threading

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster, STRANGERS
from frames import gone
from ktap import done, ok
from netns import address
from wait import until

c = Cluster(3)
c.start(0)
hello = struct.pack(">BHH", 22, 0x301, 512)  # of a ClientHello that never comes to its end


def knock(node):
    with c.net.enter(node):
        s = socket.socket()
    s.settimeout(15)
    s.connect((address(0), 7411))
    s.send(hello)
    return s


crowd = [knock(2) for i in range(STRANGERS)]
member = http2.Client(http2.connect(c.net, 1, address(0), os.path.join(c.dir, "cert"), "n1"))
ok(
    "a member is served while a host holds all places of strangers",
    (saw := member.hello()) == 200,
    saw,
)
ok(
    "and the oldest connection of that host made room",
    until(lambda: gone(crowd[0])) and not any(map(gone, crowd[1:])),
)
others = [knock(1), knock(1)]  # the first has the place that the member left when it was known
ok(
    "a stranger of another host, too",
    until(lambda: gone(crowd[1])) and not any(map(gone, crowd[2:] + others)),
)
for s in crowd + others:
    s.close()

# A byte now and then does not make it last.
slow, over = knock(2), threading.Event()


def trickle():
    while not over.wait(0.5):
        try:
            slow.send(b"\0")
        except OSError:
            return


thread = threading.Thread(target=trickle)
thread.start()
ok("a handshake that never ends is ended", until(lambda: gone(slow)))
over.set()
thread.join()
ok(
    "the log says why",
    c.logged(0, r"refused 10\.77\.0\.3:\d+ \(CN unknown\): handshake or admission timed out"),
    c.log(0)[-2000:],
)

# Knocking without a pause.
over.clear()
crowd = []


def besiege():
    while not over.is_set():
        crowd[:] = [s for s in crowd if not gone(s)]
        while len(crowd) < 2 * STRANGERS and not over.is_set():
            crowd.append(knock(2))
        over.wait(0.05)


thread = threading.Thread(target=besiege)
thread.start()
ok("the places are taken", until(lambda: len(crowd) >= STRANGERS))
c.start(1)
ok("a member that starts meanwhile finds the others", c.all_up([0, 1]))
over.set()
thread.join()
for s in crowd:
    s.close()
ok("the agents end", c.end(0) == 0 and c.end(1) == 0)
done()
