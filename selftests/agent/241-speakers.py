#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A member speaks for itself, a controller for its group. 0.1.1 has a certificate and a place in
the roster, and tries to speak for others."""

import json, os, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster
from ktap import done, ok
from netns import address
from wait import until

c = Cluster(4, topology="1,2")
cert = os.path.join(c.dir, "cert")
for i in 0, 1, 2:
    c.start(i)
to = {}


def ask(i, method, path, body=None):
    """Status and answer of 0.1.1's request. The agent closes a connection that is silent while this
    waits."""
    for again in True, False:
        try:
            if i not in to:
                to[i] = http2.Client(http2.connect(c.net, 3, address(i), cert, "n3"))
                assert to[i].hello(node="0.1.1") == 200
            return to[i].request(method, path, body)
        except (EOFError, OSError):
            to.pop(i, None)
            if not again:
                raise


def say(i, kind, level, **message):
    return ask(i, "POST", "/v1/control", {"type": kind, "level": level, **message})[0]


def controller(i):
    return c.status(i)["controller"]


def settled():
    return [controller(i) for i in range(3)] == ["0.0.0", "0.0.0", "0.1.0"] and {
        "0.0.0",
        "0.0.1",
        "0.1.0",
    } <= c.up(0)


ok("three honest members on two levels", until(settled), [controller(i) for i in range(3)])
values = {"load": 0, "threshold": 2000, "length": 1000, "floor": 1000, "capacity": 1000, "nodes": 1}
rule = {"epoch": 99, "load": 1 << 40, "capacity": 1000}
home = {"load": 90000, "threshold": 2000, "length": 1000, "floor": 1000, "capacity": 1000}

ok("its own controller takes its report", (saw := say(2, "report", 1, **values)) == 200, saw)
ok("a controller of another group does not", (saw := say(0, "report", 1, **values)) == 403, saw)
ok(
    "nor a report that names nodes of other groups",
    say(
        0,
        "report",
        2,
        **values,
        best=[{"node": "0.0.1", "load": 0, "threshold": 2000, "length": 1000}],
    )
    == 403,
)
ok("an order to another group", (saw := say(1, "order", 1, rule=rule)) == 403, saw)
ok("a claim of another group", (saw := say(1, "claim", 1, rule=rule)) == 403, saw)
ok(
    "an ask for another home",
    (saw := say(2, "ask", 1, id=1, size=1000, home="0.1.0", at_home=home)) == 403,
    saw,
)
ok(
    "in another group, too",
    (saw := say(0, "ask", 2, id=1, size=1000, home="0.0.1", at_home=home, route=["0.1.1"])) == 403,
    saw,
)
ok(
    "an ask whose answer goes to another",
    say(0, "ask", 2, id=1, size=1000, home="0.1.1", at_home=home, route=["0.0.1", "0.1.1"]) == 403,
)
ok("a failure in another group", (saw := say(0, "failed", 1, id=1, to="0.0.1")) == 403, saw)
for i in 0, 1, 2:
    say(i, "redirect", 1, to=c.code(i), rule=rule)
    say(i, "redirect", 2, to="0.1.1", rule=rule)
    say(
        i,
        "answer",
        1,
        id=1,
        size=1000,
        home=c.code(i),
        at_home=home,
        to="0.1.1",
        why="sender",
        rule=rule,
    )
    say(i, "leave", 1, rule=rule)
ok(
    "redirects, answers and leaves of others change nothing",
    until(settled) and all(c.status(i)["epoch"] < 99 for i in range(3)),
    [controller(i) for i in range(3)],
)
ok(
    "which is logged with the name of the liar",
    all(
        c.logged(i, r"0\.1\.1 \(n3\) sent a message of the hierarchy that is not for it to send")
        for i in range(3)
    ),
    c.log(1),
)

# What is shown of it.
say(
    2,
    "report",
    1,
    **values,
    node={
        "code": "0.0.0",
        "host": "n0",
        "state": "receiver",
        "load": 77.0,
        "threshold": 1.0,
        "threshold_length": 1.0,
        "capacity": 1.0,
        "tasks": {"local": 0, "guest": 0, "away": 0},
        "controller_of": [],
        "module": False,
        "draining": False,
        "agent": "up",
    },
)
shown = json.loads(ask(2, "GET", "/v1/nodes")[1])["nodes"]
ok(
    "it is shown under its own name, whatever it says",
    [(n["code"], n["host"]) for n in shown if n["load"] == 77.0] == [("0.1.1", "n3")],
    shown,
)

# What is forwarded.
leave = {"cluster": "test", "host": "n1"}
for i in 0, 2:
    for hops in 1, 3:
        code = ask(i, "POST", "/v1/leave", {**leave, "hops": hops})[0]
        ok(f"a leave for another host, said to be passed on {hops} times", code == 403, code)
    ok("and as if it were its own", (saw := ask(i, "POST", "/v1/leave", leave)[0]) == 403, saw)
ok(
    "a reservation for a placement of another home",
    (
        saw := ask(
            1,
            "POST",
            "/v1/reserve",
            {
                "id": "0.0.0:1",
                "command": "true",
                "path": "/bin/true",
                "uid": 0,
                "user": "root",
                "size": 1000,
                "program": {},
                "cwd": {"path": "/"},
            },
        )[0]
    )
    == 400,
    saw,
)
ok("all are still members, and up", until(settled) and all(c.alive(i) for i in range(3)))
done()
