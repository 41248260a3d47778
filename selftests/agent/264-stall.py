#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine, or a network, that stands still is no silent peer: agents that did not run for longer
than three heartbeats, and then do, one a moment before the other, keep their connections. One that
stands still alone is told from that."""

import os, re, signal, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, ok
from wait import until

HEARTBEAT = 0.4
c = Cluster(2, f"heartbeat = {int(HEARTBEAT * 1000)}\nlink-idle = 60000")


def linked():
    return all(c.up(i) == {c.code(0), c.code(1)} for i in range(2))


def silences():
    return [re.findall(r".*silent for too long.*", c.log(i)) for i in range(2)]


def send(i, sig):
    c.agents[i].send_signal(sig)


ok("two agents", c.start_all() and until(linked), c.log(0) + c.log(1))
for first in range(2):
    for i in range(2):
        send(i, signal.SIGSTOP)
    time.sleep(5 * HEARTBEAT)
    send(first, signal.SIGCONT)
    time.sleep(HEARTBEAT / 4)
    send(1 - first, signal.SIGCONT)
    time.sleep(3 * HEARTBEAT)  # as long as a silence
    ok(
        f"both stood still, n{first} goes on first: it does not take the other for silent",
        silences() == [[], []] and linked(),
        silences(),
    )
send(1, signal.SIGSTOP)
ok("n1 stands still alone: it is silent", until(lambda: silences()[0]), c.log(0))
send(1, signal.SIGCONT)
ok("and is linked again", until(linked), c.log(0) + c.log(1))
ok("both end", all(c.end(i) == 0 for i in range(2)))
done()
