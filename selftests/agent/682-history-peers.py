#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of peers: each node tells a change of a peer once, and none of a peer that only follows
another node."""

import json, os, signal, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok
from wait import until

BEAT = 0.3
c = Cluster(
    3,
    (
        f"heartbeat = {int(BEAT * 1000)}\ncapacity = 1000\nthreshold = 1000\nthreshold-floor ="
        ' 1000\nlog = "info"\n'
    ),
)
must("three agents", c.start_all(), c.log(0) + c.log(1))
begun = time.monotonic()


def peers(i):
    """What node i has told of others, in its order."""
    r = c.ehctl(i, "history", "--events", "--json")
    must("history --events", r.returncode == 0, r)
    return [(e["host"], e["agent"]) for e in json.loads(r.stdout)["events"] if e["event"] == "peer"]


def news(i):
    return peers(i)[had[i] :]


def settle(*nodes):
    """These are up for all of them; some heartbeats more, for what is told twice."""
    must("all are up", c.all_up(nodes), [c.log(i) for i in nodes])
    time.sleep(4 * BEAT)


ok(
    "the first controller tells of each that comes up, once",
    until(lambda: sorted(peers(0)) == [("n1", "up"), ("n2", "up")]),
    peers(0),
)
ok(
    "those that follow it know that it is up",
    until(lambda: peers(1) == peers(2) == [("n0", "up")]),
    (peers(1), peers(2)),
)


def age(since):
    """What runs for longer is no news."""
    time.sleep(max(0, since + 11 * BEAT - time.monotonic()))


age(begun)

had = [len(peers(i)) for i in range(3)]
c.end(0, signal.SIGKILL)
settle(1, 2)
ok("n1 leads, and tells of n0 alone, once", news(1) == [("n0", "down")], news(1))
ok("n2 follows another, and tells the same", news(2) == [("n0", "down")], news(2))
c.start(0)
settle(0, 1, 2)
ok("both tell that it is back", news(1)[1:] == news(2)[1:] == [("n0", "up")], (news(1), news(2)))
ok("n0 tells nothing of those that were up before it", not news(0), news(0))

# links between all, of which none but those to n0 are kept
for i in range(3):
    c.call(
        i,
        [EHCTL, "history", "--all", "-n", "1"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=None,
    )
c.end(2, signal.SIGKILL)
ok("n0 tells that n2 is down", until(lambda: news(0) == [("n2", "down")]), news(0))
must("n1 has lost its link, too", c.logged(1, r"\(n2\) is down"), c.log(1))
c.start(2)
begun = time.monotonic()
settle(0, 1, 2)
ok("and that it is up, each once", news(0) == [("n2", "down"), ("n2", "up")], news(0))
ok("n1, which does not watch n2, tells neither", not [e for e in news(1) if e[0] == "n2"], news(1))
age(begun)
had = [len(peers(i)) for i in range(3)]
c.end(0)
settle(1, 2)
ok(
    "an agent that ends in order is down for both, once",
    news(1) == news(2) == [("n0", "down")],
    (news(1), news(2)),
)
ok("no sanitizer has reported", not c.reports(), c.reports())
done()
