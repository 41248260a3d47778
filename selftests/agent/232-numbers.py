#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A member that says each number of each message near its limits, and what is not a number: what
others have stays within bounds, and is true again when it has stopped."""

import copy, json, os, random, socket, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster
from ktap import done, must, ok
from netns import address
from seed import new_seed
from wait import until

HEARTBEAT = 1000
THRESHOLD_MOST, EPOCH_MOST = 1e6, (1 << 53) - 1  # docs/protocol.md, "Limits of numbers"; tasks
LOAD_MOST = (1 << 32) / 1000  # of a node
NUMBERS = [
    -1 << 63,
    -1,
    0,
    1,
    1 << 31,
    (1 << 32) + 1,
    (1 << 53) - 1,
    1 << 53,
    (1 << 63) - 1,
    1 << 63,
    1 << 64,
]
OTHERS = [0.5, -1e308, 1e308, "1", "NaN", "-Infinity", None, True, [], {}, [1 << 62], "9" * 400]
RAW = ["NaN", "Infinity", "1e999", "0x10", "-", "01"]  # no JSON, so nothing of the message counts

c = Cluster(3, f'heartbeat = {HEARTBEAT}\nheadroom = 0\npolicy = "idle"\nlease = 1000\nguests = 4')
cert = os.path.join(c.dir, "cert")
for i in 0, 1:
    c.start(i)
ok("two honest members", c.all_up([0, 1]), c.log(0)[-1000:])

rule = {"epoch": 1, "load": 1, "capacity": 1}
home = {"load": 5000, "threshold": 1000, "length": 1000, "floor": 1000, "capacity": 1000}
path = [{"level": 1, "node": "0.0", "state": "ok"}]
ask = {
    "level": 1,
    "rule": rule,
    "id": 7,
    "size": 1000,
    "home": "0.2",
    "at_home": home,
    "tried": [],
    "route": ["0.2"],
    "probes": 0,
    "path": path,
    "roster": 1,
    "revoked": 0,
}
credit = {"tier": 0, "life": 1, "serial": 1}
body = "/v1/control"
MESSAGES = [
    (
        body,
        {
            "type": "report",
            "level": 1,
            "load": 1,
            "threshold": 2000,
            "length": 1000,
            "floor": 1000,
            "capacity": 1000,
            "nodes": 1,
            "rule": rule,
            "best": [{"node": "0.2", "load": 1, "threshold": 2000, "length": 1000}],
            "seen": [1],
            "roster": 1,
            "revoked": 0,
            "node": {
                "load": 0.0,
                "threshold": 1.0,
                "capacity": 1.0,
                "tasks": {"local": 1, "guest": 0, "away": 0},
            },
        },
    ),
    (body, {"type": "order", "level": 1, "rule": rule, "roster": 1, "revoked": 0}),
    (body, {"type": "redirect", "level": 1, "to": "0.2", "rule": rule}),
    (body, {"type": "claim", "level": 1, "rule": rule}),
    (body, {"type": "leave", "level": 1, "rule": rule}),
    (body, {"type": "ask", **ask}),
    (body, {"type": "answer", **ask, "to": "0.1", "why": "sender"}),
    (body, {"type": "failed", "level": 1, "id": 7, "to": "0.1", "rule": rule}),
    (
        "/v1/credit",
        {
            "type": "offer",
            "level": 1,
            "life": 1,
            "version": 1,
            "tasks": 0,
            "processors": 1,
            "credits": [0, 1, 0],
            "reign": 1,
            "beat": True,
        },
    ),
    ("/v1/credit", {"type": "taken", "level": 1, "life": 1, "next": 0, "reign": 1}),
    ("/v1/credit", {"type": "some", "level": 1, "version": 1, "best": 0, "count": 1}),
    (
        "/v1/credit",
        {
            "type": "ask",
            "level": 1,
            "id": 7,
            "home": "0.2",
            "hold_ms": 0,
            "tier": 0,
            "hops": 0,
            "down": False,
            "missed": False,
        },
    ),
    ("/v1/credit", {"type": "answer", "level": 1, "id": 7, "node": "0.1", "credit": credit}),
    ("/v1/credit", {"type": "return", "level": 1, "node": "0.0", "credit": credit}),
    ("/v1/slots", {"users": [1000, 1, 1, 1]}),
    ("/v1/gang", {"type": "request", "gang": 7, "threshold": 1.0, "home": "0.2", "level": 1}),
    ("/v1/gang", {"type": "occupy", "gang": 7, "stamp": 1, "lease": 1000, "offer": 1}),
    ("/v1/gang", {"type": "release", "gang": 7, "offer": 1}),
    (
        "/v1/reserve",
        {
            "id": "0.2:1",
            "command": "true",
            "path": "/bin/true",
            "uid": 0,
            "user": "root",
            "size": 1000,
            "memory": 1,
            "credit": credit,
            "program": {"boot_id": "x", "dev": 1, "ino": 1, "size": 1, "digest": "x"},
            "cwd": {
                "path": "/",
                "boot_id": "x",
                "dev": 1,
                "ino": 1,
                "mode": 1,
                "uid": 0,
                "gid": 0,
                "mtime": 1,
                "ctime": 1,
            },
        },
    ),
    (
        "/v1/hello",
        {
            "cluster": "test",
            "node": "0.2",
            "version": 1,
            "boot_id": "x",
            "capacity": 1000,
            "time": 1,
            "users": "x",
            "roster": 1,
            "revoked": 0,
            "protocol": {"min": 1, "max": 2},
        },
    ),
    (
        "/v1/join",
        {
            "cluster": "test",
            "host": "n2",
            "address": f"{address(2)}:7411",
            "hops": 1,
            "runs": False,
            "protocol": {"min": 1, "max": 2},
        },
    ),
    (
        "/v1/roster",
        {
            "topology": {"n": 2, "l": 1},
            "version": 1,
            "roster": [
                {"code": "0.2", "host": "n2", "address": f"{address(2)}:7411", "version": 1}
            ],
        },
    ),
    (
        "/v1/roster/parts",
        {"topology": {"n": 2, "l": 1}, "version": 1, "roster": [], "sums": [0, 1]},
    ),
    ("/v1/roster/parts", {"topology": {"n": 2, "l": 1}, "version": 1, "roster": [], "part": 0}),
    ("/v1/mounts", {"uid": 0}),
]


def numbers(value, at=()):
    """Where there are numbers in a message."""
    if isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers(part, at + (key,))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield at


def changed(message, at, value):
    out = copy.deepcopy(message)
    place = out
    for key in at[:-1]:
        place = place[key]
    place[at[-1]] = value
    return out


class Liar:
    def __init__(self, to):
        self.to, self.h, self.sent = to, None, 0

    def say(self, path, message):
        """The status; 0: the agent has ended the stream or the connection."""
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        for again in True, False:
            try:
                if not self.h:
                    self.h = http2.Client(http2.connect(c.net, 2, address(self.to), cert, "n2"))
                    self.h.s.setsockopt(
                        socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
                    )  # a body follows its headers at once
                    if self.h.hello(node="0.2") != 200:
                        return 0
                self.sent += 1
                status = self.h.request("POST", path, data)[0]
                if path == "/v1/hello" and status != 200:
                    self.h = None
                return status
            except (EOFError, OSError):
                self.h = None
                if not again:
                    return 0


def seen(i):
    """What node i says of the honest ones, besides loads; thresholds follow the load of this
    machine."""
    s = c.status(i)
    return {
        n["code"]: (
            n["threshold"] < 1000,
            n["threshold_length"],
            n["capacity"],
            n["agent"],
            n["draining"],
        )
        for n in s["nodes"]
        if n["code"] in ("0.0", "0.1")
    }


def bounds():
    """What is out of bounds now, if anything."""
    found = []
    for i in 0, 1:
        s = c.status(i)
        if not 0 <= s["epoch"] <= EPOCH_MOST:
            found.append((i, "epoch", s["epoch"]))
        for n in s["nodes"]:
            for name, most in ("load", LOAD_MOST), ("threshold", THRESHOLD_MOST):
                if n["code"] in ("0.0", "0.1") and n[name] is not None and not 0 <= n[name] <= most:
                    found.append((i, n["code"], name, n[name]))
    return found


must(
    "both see the same two",
    until(lambda: seen(0) == seen(1) and len(seen(0)) == 2),
    [seen(0), seen(1)],
)
before = seen(0)
wrong, bad = [], []
seed = new_seed()
chance = random.Random(seed)
EACH = 16  # messages of a type to a node, of those there are
for to in 0, 1:
    liar = Liar(to)
    for path, message in MESSAGES:
        name = f"{path} {message.get('type', '')}".strip()
        all_of_it = [(at, value, True) for at in numbers(message) for value in NUMBERS + OTHERS]
        for at, value, whole in chance.sample(all_of_it, min(EACH, len(all_of_it))) + [
            (at, raw, False) for at in list(numbers(message))[:1] for raw in RAW
        ]:
            if whole:
                code = liar.say(path, changed(message, at, value))
                if code >= 500 and code != 503:
                    bad.append((to, name, at, value, code))
                continue
            code = liar.say(
                path, json.dumps(changed(message, at, "@@")).replace('"@@"', value).encode()
            )
            if code != 400:
                wrong.append((to, name, at, value, code))
        out = bounds()
        ok(
            f"{c.code(to)}, {name}: all stays within bounds",
            not out and all(c.agents[i].poll() is None for i in (0, 1)),
            out,
        )
    print(f"# {liar.sent} messages")
ok("what is no JSON is refused", not wrong, wrong[:10])
ok("nothing is an error of the agent", not bad, bad[:10])

# ---- it has stopped ----

true = lambda: all(seen(i) == before for i in (0, 1)) and not bounds()
ok("what the others have is true again", until(true), (before, seen(0), seen(1)))
ok(
    "both follow one rule",
    until(lambda: c.status(0)["epoch"] == c.status(1)["epoch"]),
    (c.status(0)["epoch"], c.status(1)["epoch"]),
)
ok("the liar is gone", until(lambda: c.up(0) == c.up(1) == {"0.0", "0.1"}), (c.up(0), c.up(1)))


def group_load(i):
    return next(g["load"] for g in c.status(i)["groups"] if g["load"] is not None)


ok(
    "the load of their group is that of the two",
    until(lambda: group_load(0) < 1000),
    c.status(0)["groups"],
)
h = http2.Client(http2.connect(c.net, 2, address(0), cert, "n2"))
h.hello(node="0.2")
roster = json.loads(h.request("GET", "/v1/roster")[1])
h.s.close()
ok(
    "no version of an entry was moved",
    roster["roster"] and all(e["version"] == 0 for e in roster["roster"]),
    roster,
)
ok(
    "slots of builds are shared out as before",
    (saw := c.ask(1, {"command": "slots", "build": 1, "used": 0, "wants": 2}).get("slots", 0)) >= 1,
    saw,
)
ok("the agents end", c.end(0) == 0 and c.end(1) == 0)
done()
