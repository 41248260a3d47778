#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A host asks who a user is in the agent's loop, and that takes long where there are many, or a
directory service is slow. A member that asks for places for users it makes up takes a part of the
loop's time with that, and the others get their answers."""

import json, os, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2, users
from cluster import Cluster
from ktap import done, ok
from netns import address

MANY, ASKS = 200000, 400
LIAR, HONEST = 2, 1

c = Cluster(3, "heartbeat = 20000")
with open("/etc/passwd") as f:
    text = f.read()
users.put(
    "/etc/passwd",
    text + "".join(f"ehs{n}:x:{100000 + n}:{100000 + n}::/:/bin/sh\n" for n in range(MANY)),
)
c.start(0)
clients = {}
for i in HONEST, LIAR:
    clients[i] = http2.Client(
        http2.connect(c.net, i, address(0), os.path.join(c.dir, "cert"), f"n{i}")
    )
    clients[i].hello(node=c.code(i))


def ask(i, uid, user):
    """What the answer to member i says."""
    return json.loads(
        clients[i].request(
            "POST",
            "/v1/reserve",
            {
                "id": f"{c.code(i)}:{uid}",
                "command": "x",
                "path": "/bin/true",
                "uid": uid,
                "user": user,
                "size": 1000,
                "program": {},
                "cwd": {"path": "/"},
            },
        )[1]
    )


said = [ask(LIAR, 1000000 + n, "x").get("text", "") for n in range(ASKS)]
late = [text for text in said if "has looked up users for node n2 for too long" in text]
ok(
    f"of {ASKS} users that nobody knows {len(late)} are not looked up",
    late and "is x at home, unknown on node n0" in said[0],
    (said[0], said[-1]),
)
got = ask(HONEST, 2001, "eht1")
ok("another member is answered", got.get("reason") == "files-differ", got)
done()
