#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A member that lies: 0.2 has a certificate and a place in the roster, and says what it likes. The
others go on."""

import json, os, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import bodies, http2
from cluster import Cluster
from ktap import done, ok
from netns import address
from wait import until

EPOCH_MAX = (1 << 53) - 1  # EH_EPOCH_MAX
NODE_MAX = 1 << 32  # EH_NODE_MAX

c = Cluster(4)
cert = c.certificates("cert", "n9")
for i in 0, 1:
    c.start(i)


def liar(to):
    h = http2.Client(http2.connect(c.net, 2, address(to), cert, "n2"))
    assert h.hello(node="0.2") == 200
    return h


def node(i, code):
    return next(n for n in c.status(i)["nodes"] if n["code"] == code)


def thresholds():
    return [(c.status(i)["epoch"], node(i, c.code(i))["threshold"]) for i in (0, 1)]


ok("two honest members", c.all_up([0, 1]) or until(lambda: {"0.0", "0.1"} <= c.up(1)), c.log(1))
to = {}
report = bodies.report("0.2", "n2")


def ask(i, method, path, body=None):
    """Status and answer. The agent closes a connection that is silent while this waits for
    something else."""
    for again in True, False:
        try:
            if i not in to:
                to[i] = liar(i)
            return to[i].request(method, path, body)
        except (EOFError, OSError):
            to.pop(i, None)
            if not again:
                raise


def say(i, **message):
    return ask(i, "POST", "/v1/control", {"level": 1, **message})[0]


# ---- numbers ----

ok("it reports as any member does", say(0, **report) == 200 and until(lambda: "0.2" in c.up(0)))
seen = [thresholds()]
for epoch in 1 << 20, EPOCH_MAX - 1, EPOCH_MAX, EPOCH_MAX + 1, (1 << 63) - 1:
    for rule in {"epoch": epoch, "load": 1 << 52, "capacity": 1}, {
        "epoch": epoch,
        "load": 1,
        "capacity": 1 << 52,
    }:
        redirect = {"type": "redirect", "to": "0.0"}
        for message in {"type": "order"}, {"type": "claim"}, redirect, report:
            say(1, **{**message, "rule": rule})
            seen.append(thresholds())
# Its own controller may have begun epochs meanwhile: small ones, with thresholds of real tasks.
ok(
    "a node follows no rule of a member that is not its controller",
    all(e < 1 << 20 and t < 1000 for now in seen for e, t in now),
    seen,
)
rule = {"epoch": EPOCH_MAX, "load": 1 << 52, "capacity": 1}
say(0, **{**report, "rule": rule})
ok(
    "a controller that has started takes over what is in force",
    thresholds()[0][0] in (EPOCH_MAX, 1),
    thresholds(),
)
# The floor of a node is its number of processors: a rule that asks for more than all have is taken
# back.
ok(
    "but lowers what is too high, in the next epoch",
    until(
        lambda: [e < 1 << 20 and t < 1000 for e, t in thresholds()] == [True, True]
        or say(0, **report) != 200
    ),
    thresholds(),
)
now = thresholds()
for epoch in EPOCH_MAX, EPOCH_MAX - 1:
    say(0, **{**report, "rule": {"epoch": epoch, "load": 1 << 52, "capacity": 1}})
ok("then it takes none from below", all(e < 1 << 20 for e, _ in thresholds()), [now, thresholds()])

for name in "load", "threshold", "length", "floor", "capacity":
    for value in -1, NODE_MAX + 1, 10**12, 1 << 52, 1 << 63:
        if say(0, **{**report, name: value}) != 400:
            ok(f"a report with {name} {value} is refused", False)
            break
    else:
        ok(f"a report with {name} out of bounds is refused", True)
for nodes in 0, 2, 1 << 31:
    ok(
        f"a node that says it is {nodes} nodes is refused",
        (saw := say(0, **{**report, "nodes": nodes})) == 400,
        saw,
    )
say(0, **{**report, "load": NODE_MAX})
ok(
    "what it may say is shown",
    until(
        lambda: say(0, **{**report, "load": NODE_MAX}) == 200
        and c.status(0)["groups"][0]["load"] > 1e6
    ),
    c.status(0)["groups"],
)
say(0, **report)
ok(
    "and is over with the next report",
    until(lambda: say(0, **report) == 200 and c.status(0)["groups"][0]["load"] < 1000),
    c.status(0)["groups"],
)

for size in -1, 1000001, 10**9, 10**12:
    code = ask(
        0,
        "POST",
        "/v1/reserve",
        {
            "id": "0.2:1",
            "command": "true",
            "path": "/bin/true",
            "uid": 0,
            "user": "root",
            "size": size,
            "program": {},
            "cwd": {"path": "/"},
        },
    )[0]
    ok(f"a task of size {size} gets no place", code == 400, code)

# ---- versions of the roster ----

roster = json.loads(ask(0, "GET", "/v1/roster")[1])


def forged(version, **entry):
    return {
        **roster,
        "version": version << 20,
        "roster": [
            {
                "code": "0.1",
                "host": "n2",
                "address": f"{address(2)}:7411",
                "version": version,
                **entry,
            }
        ],
    }


for version in (1 << 20) + 1, 1 << 40:
    code, body = ask(0, "POST", "/v1/roster", forged(version))
    ok(
        f"a roster with version {version} is refused",
        code == 400 and b"ahead" in body,
        (code, body),
    )
    code, body = ask(1, "POST", "/v1/roster", forged(version))
    ok("by the one whose place it takes, too", code == 400 and c.alive(1), (code, body))
ok(
    "the log says so",
    c.logged(0, r"0\.2 \(n2\) sent an unusable roster: it is too many changes ahead"),
    c.log(0)[-2000:],
)
h = http2.Client(http2.connect(c.net, 3, address(0), cert, "n3"))
code, body = h.request(
    "POST", "/v1/join", {"cluster": "test", "host": "n3", "address": f"{address(3)}:7500"}
)
got = json.loads(body)
ok("hosts still join, with the next version", code == 200 and got["entry"]["version"] == 1, body)
ok("nobody has ended", c.alive(0) and c.alive(1))
done()
