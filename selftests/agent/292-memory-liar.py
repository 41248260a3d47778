#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A member that says that its tasks take all memory of an executor, and sends none: those of others
get there."""

import json, os, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from bodies import place
from cluster import Cluster
from ktap import done, ok
from netns import address

MIB = 1 << 20
c = Cluster(3, "heartbeat = 5000\nlease = 60000")
files = os.path.join(c.dir, "memory")
os.makedirs(os.path.join(files, "pressure"))
with open(os.path.join(files, "meminfo"), "w") as f:  # what the executor has
    f.write(f"MemTotal: 9999999 kB\nMemFree: 1 kB\nMemAvailable: {4064 << 10} kB\n")
with open(os.path.join(files, "pressure", "memory"), "w") as f:
    f.write("some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n")
c.start(0)
c.start(
    1,
    c.conf(1, settings=c.settings + f'\nmemory = "{files}"\nheadroom = 64\nguest-memory = 1000\n'),
)
ok("two honest members", c.all_up([0, 1]), c.log(1))
liar = http2.Client(http2.connect(c.net, 2, address(1), os.path.join(c.dir, "cert"), "n2"))
ok("and one that is not", (saw := liar.hello(node="0.2")) == 200, saw)
number = 0


def reserve(memory):
    global number
    number += 1
    status, said = liar.request(
        "POST",
        "/v1/reserve",
        place(f"0.2:{number}", memory=memory),
    )
    return status, json.loads(said)


for memory in -1, (1 << 50) + 1, 1 << 62, "much", 1.5:
    status, said = reserve(memory)
    ok(
        f"{memory} bytes: none",
        status == 400 or (memory in ("much", 1.5) and status == 200),
        (status, said),
    )
status, said = reserve(1001 * MIB)
ok(
    "more than a guest may have is refused",
    status == 200
    and said.get("reason") == "no-headroom"
    and "guest-memory is 1000" in said["text"],
    said,
)
said = [reserve(1000 * MIB)[1] for i in range(4)]
ok("all of it is reserved", all("token" in s for s in said), said)
status, said = reserve(1)
ok("nothing is left for it", said.get("reason") == "no-headroom", said)


def run():
    return c.ehctl(0, "exec", "0.1", "--", "true", cwd="/")


r = run()
ok("a task of another home gets there", r.returncode == 0, r)
ok(
    "and the log says who lost its place",
    c.logged(1, r"0\.2 \(n2\) has reserved 4000 MiB of memory: it loses 1000 to 0\.0"),
    c.log(1)[-1000:],
)
reserve(1000 * MIB)
ok("the next one, too", (saw := run().returncode) == 0, saw)
ok("the agents end", c.end(0) == 0 and c.end(1) == 0)
done()
