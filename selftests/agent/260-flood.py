#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A member that floods another with requests, bodies without an end, and reservations: honest
members are served."""

import json, os, re, sys, threading

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from bodies import place
from cluster import Cluster
from ktap import done, must, ok
from netns import address
from wait import until

REQUESTS, BYTES = 512, 4 << 20  # INTAKE_REQUESTS, INTAKE_BYTES
GUESTS = 8

# nobody is lost because this process, or the machine, stands still for a second
c = Cluster(3, settings=f"heartbeat = 5000\nheadroom = 0\nguests = {GUESTS}\nlease = 60000")
cert = os.path.join(c.dir, "cert")
c.start(0)
values = {"load": 0, "threshold": 2000, "length": 1000, "floor": 1000, "capacity": 1000, "nodes": 1}


def client(i):
    h = http2.Client(http2.connect(c.net, i, address(0), cert, f"n{i}"))
    assert h.hello(node=c.code(i)) == 200
    return h


def begin(h, path, body):
    """A request whose body goes on."""
    h.stream += 2
    h.s.sendall(
        http2.frame(http2.HEADERS, http2.END_HEADERS, h.stream, http2.headers("POST", path))
    )
    for at in range(0, len(body), 16384):
        h.s.sendall(http2.frame(http2.DATA, 0, h.stream, body[at : at + 16384]))
    return h.stream


def served(n):
    """How many of n requests of an honest member are answered."""
    h = client(1)
    return sum(
        h.request("POST", "/v1/control", {"type": "report", "level": 1, **values})[0] == 200
        for i in range(n)
    )


def lines(what):
    return len(re.findall(what, c.log(0)))


# ---- bodies without an end ----

before = c.memory(0)
crowd = []
PART = 60000  # within the window of a stream
for k in range(2):
    h = client(2)
    crowd.append(h)
    for i in range(BYTES // PART):
        begin(h, "/v1/control", b" " * PART)
ok(
    "bodies beyond the budget are refused",
    c.logged(0, r"n2: 1 requests refused .*its unfinished bodies are too large"),
    c.log(0)[-1500:],
)
grown = c.memory(0) - before
ok(f"the agent has grown by less than twice the budget: {grown} KiB", grown < 2 * BYTES >> 10)
ok("meanwhile all requests of an honest member are answered", (saw := served(100)) == 100, saw)


def reset(h):
    """Whether a stream of it was reset; its link is kept."""
    h.s.sendall(http2.frame(http2.PING, 0, 0, bytes(8)))
    while True:
        kind, flags, stream, payload = h.next()
        if kind == http2.RST_STREAM:
            return stream
        if kind == http2.SETTINGS and not flags & http2.ACK:
            h.s.sendall(http2.frame(http2.SETTINGS, http2.ACK, 0))
        if kind == http2.PING and flags & http2.ACK:
            return 0


for h in crowd:
    h.s.close()
slow = client(2)
stream = begin(slow, "/v1/control", b"{")
ok("a body that does not come to its end is ended", until(lambda: reset(slow) == stream, 60))
slow.s.close()

# ---- requests without an end ----

crowd = [client(2) for i in range(2)]
for h in crowd:
    for i in range(REQUESTS * 3 // 4):
        begin(h, "/v1/control", b"")


def refused(h):
    """The status of the first response."""
    while True:
        kind, flags, stream, payload = h.next()
        if kind == http2.HEADERS:
            return h.status(payload)


ok(
    "requests beyond the quota of a host are refused, on all its connections together",
    (saw := refused(crowd[1])) == 503,
    saw,
)
ok("meanwhile all of an honest member are answered", (saw := served(100)) == 100, saw)
for h in crowd:
    h.s.close()

over, count = threading.Event(), [0]


def flood():
    h = client(2)
    while not over.is_set():
        h.request("POST", "/v1/control", {"type": "report", "level": 1, "load": 1 << 60})
        count[0] += 1


threads = [threading.Thread(target=flood) for i in range(3)]
for t in threads:
    t.start()
must("bad reports are on their way", until(lambda: count[0] > 50), count)
good = served(100)
over.set()
for t in threads:
    t.join()
ok(f"beside {count[0]} bad reports, {good} of 100 honest requests are answered", good == 100)
ok(
    f"which are {lines('is invalid')} lines in the log, and refusals {lines('requests refused')}",
    lines("is invalid") <= 60 and 2 <= lines("requests refused") <= 6,
)

# ---- reservations ----


def reserve(i, k):
    return json.loads(
        client(i).request(
            "POST",
            "/v1/reserve",
            place(f"{c.code(i)}:{k}"),
        )[1]
    )


answers = [reserve(2, k) for k in range(3 * GUESTS)]
ok(
    "one member reserves all places, and no more",
    sum("token" in a for a in answers) == GUESTS,
    answers,
)
got = [reserve(1, k) for k in range(GUESTS // 2)]
ok("another still gets its share", all("token" in a for a in got), got)
ok("more than a share it does not take from it", "token" not in (saw := reserve(1, 99)), saw)
ok("nor the first one anything from it", not any("token" in reserve(2, 100 + k) for k in range(5)))
ok(
    "the log says who has lost places",
    c.logged(0, r"0\.2 \(n2\) holds \d+ places of 8: it loses one to 0\.1"),
)
ok("the agent ends", (saw := c.end(0)) == 0, saw)
done()
