#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A full cluster gives the code of a host that has been dead for `code-days` to one that joins: by
what its top controller has seen itself, which survives a restart of it, and with a majority only. A
host that lives keeps its code, and a dead one that comes back ends and says why."""

import json, os, re, signal, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster
from ktap import done, ok
from netns import address
from wait import until

DAY = 86400
c = Cluster(5, "code-days = 1\n")
cert = os.path.join(c.dir, "cert")


def hosts(i):
    try:
        return {n["host"]: n["code"] for n in c.status(i).get("nodes", [])}
    except OSError:
        return {}


def start(i, *join):
    c.start(i, c.conf(i, join=join), ready=False)


def kept(i):
    """What agent i keeps beside its state; None: nothing."""
    try:
        with open(os.path.join(os.path.dirname(c.state(i)), "unseen.json")) as f:
            return json.load(f)
    except FileNotFoundError:
        return None


def top(seconds, ago=0):
    """Restarts node 0 as if it had not seen these hosts for so long, until `ago` seconds before
    now. Returns the length of its log, and what it had kept."""
    status, said = c.end(0), kept(0)
    assert status == 0, c.log(0)
    with open(os.path.join(os.path.dirname(c.state(0)), "unseen.json"), "w") as f:
        json.dump({"format": 1, "watched": int(time.time()) - ago, "hosts": seconds}, f)
    length = len(c.log(0))
    c.start(0, c.conf(0, peers=[0]))
    return length, said


def says(i, length, pattern):
    """Whether node i's log says it after these characters; waits for it."""
    return until(lambda: re.search(pattern, c.log(i)[length:]))


def refused(i, host=None, **more):
    """Whether the top gives no code to this host, node i by default, for which node i asks."""

    def answer():
        try:
            h = http2.Client(http2.connect(c.net, i, address(0), cert, f"n{i}"))
            body = {
                "cluster": "test",
                "host": host or f"n{i}",
                "address": "10.77.99.99:7411",
                **more,
            }
            status, said = h.request("POST", "/v1/join", body)
            h.s.close()
        except (OSError, EOFError):
            return None
        return (status, json.loads(said).get("error")) if status != 503 else None

    said = until(answer)
    return said[0] == 409 and said[1].startswith("the cluster is full: no free code; ")


# ---- a full cluster, and one more

c.start(0, c.conf(0, peers=[0]))
for i in 1, 2, 3:
    start(i, 0)
    ok(f"n{i} joins", until(lambda: hosts(0).get(f"n{i}") == f"0.{i}"), c.log(i))
four = {f"n{i}": f"0.{i}" for i in range(4)}
ok(
    "four members",
    until(lambda: all(hosts(i) == four for i in range(4))),
    [hosts(i) for i in range(4)],
)
ok("there is no code for a fifth", refused(4), c.log(0)[-2000:])

# ---- those that live keep their codes

ok("the top begins to look", until(lambda: kept(0)), c.log(0))
length, said = top({"n1": 30 * DAY, "n3": 30 * DAY})
ok(
    "what it has seen is kept",
    said and said["format"] == 1 and abs(said["watched"] - time.time()) < 3600,
    said,
)
ok("it is the top again", until(lambda: hosts(0) == four), c.log(0))
ok("a host that is seen has its code, whatever is in the file", refused(4), c.log(0)[length:])
ok(
    "a host that is seen has its code, whatever a member passes on",
    refused(2, "n4", hops=1),
    c.log(0)[length:],
)
ok(
    "a host that is seen has its code, whatever a newcomer runs with",
    not refused(4, code="0.3", runs=True) and hosts(0) == four,
    (hosts(0), c.log(0)[length:]),
)

# ---- one that is dead does, as long as it is not dead for long

c.agents[3].send_signal(signal.SIGSTOP)
length, said = top({"n3": 30 * DAY}, ago=7200)
ok(
    "days in which nobody looked do not count",
    says(0, length, r"nobody has checked for 72\d\d s which hosts are dead"),
    c.log(0)[length:],
)
ok("it is seen to be dead", says(0, length, r"0\.3 \(n3\) is not seen any more"), c.log(0)[length:])
ok("its code stays", refused(4) and hosts(0) == four, (hosts(0), c.log(0)[length:]))

# ---- then it is given away

length, said = top({"n3": DAY - 1, "n1": 40 * DAY})
ok("it was counted from the beginning", said and 0 <= said["hosts"].get("n3", 0) < 7200, said)
ok(
    "and now goes on, over a restart",
    says(0, length, r"0\.3 \(n3\) is not seen any more")
    and says(0, length, r"0\.3 \(n3\) has not been seen for 1 days"),
    c.log(0)[length:],
)
start(4, 0, 1)
five = {"n0": "0.0", "n1": "0.1", "n2": "0.2", "n4": "0.3"}
ok(
    "after a day its code is another's, of which all know",
    until(lambda: all(hosts(i) == five for i in (0, 1, 2, 4))),
    ([hosts(i) for i in range(5)], c.log(0)[length:], c.log(4)[-2000:]),
)
ok(
    "the log says whose it was",
    says(0, length, r"n4 gets code 0\.3 of n3, which has not been seen for 1\.0 days"),
    c.log(0)[length:],
)
r = c.ehctl(0, "exec", "n4", "--", "true")
ok("tasks go there", r.returncode == 0, r)

# ---- and it comes back

back = c.agents.pop(3)
back.send_signal(signal.SIGCONT)
ok(
    "the dead one comes back, and ends",
    until(lambda: back.poll() is not None) and back.returncode == 1,
    c.log(3)[-2000:],
)
ok(
    "it says why",
    re.search(r"gives code 0\.3 to n4; .*join again|no member knows this host, n3", c.log(3)),
    c.log(3)[-2000:],
)
ok(
    "the new one keeps the code",
    all(hosts(i) == five for i in (0, 1, 2, 4)),
    [hosts(i) for i in range(5)],
)
r = c.ehctl(2, "leave", "--now")
ok("another leaves", r.returncode == 0 and until(lambda: c.agents[2].poll() is not None), r)
c.end(2)


def joined():
    """Node 3 is restarted as a service manager does it."""
    if 3 not in c.agents or c.agents[3].poll() is not None:
        start(3, 0, 1)
    return hosts(0) == hosts(3) == {"n0": "0.0", "n1": "0.1", "n3": "0.2", "n4": "0.3"}


ok("and it joins again, with a free code", until(joined), (hosts(0), c.log(3)[-2000:]))

# ---- two: nobody knows which of them is cut off

for i in 0, 1, 3, 4:
    c.end(i)
for i in range(5):
    if os.path.exists(c.state(i)):
        os.unlink(c.state(i))
c.topology = "1,1"
c.start(0, c.conf(0, peers=[0]))
start(1, 0)
ok(
    "a cluster of two",
    until(lambda: hosts(0) == hosts(1) == {"n0": "0.0", "n1": "0.1"}),
    [hosts(0), hosts(1), c.log(1)[-2000:]],
)
c.agents[1].send_signal(signal.SIGSTOP)
length, said = top({"n1": 30 * DAY})
ok("the other is dead", says(0, length, r"0\.1 \(n1\) is not seen any more"), c.log(0)[length:])
ok("nobody gets the code", refused(4), c.log(0)[length:])
ok(
    "half of the members do not decide that the others are dead",
    says(0, length, r"has seen 1 of 2 members.* not a majority"),
    c.log(0)[length:],
)
c.agents[1].send_signal(signal.SIGCONT)
ok(
    "it comes back, and has it",
    until(lambda: hosts(0) == hosts(1) == {"n0": "0.0", "n1": "0.1"})
    and c.agents[1].poll() is None,
    [hosts(0), hosts(1), c.log(1)[-2000:]],
)
done()
