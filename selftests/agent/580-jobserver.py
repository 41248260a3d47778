#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl run --jobserver: as many jobs of make run as the cluster has processors that nobody else
uses, more and fewer while it builds; users have equal shares; controllers come and go; what a
member or a user says who lies."""

import json, os, shutil, signal, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2, users
from build import Build, slots
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok
from netns import address
from wait import until

NODES, PROCESSORS = 3, 1
ALL = slots(NODES * PROCESSORS, NODES)
LIAR = NODES  # has a certificate and a place, but no agent
c = Cluster(
    NODES + 1,
    (
        f'policy = "idle"\ncapacity = {PROCESSORS}\nload-index = "tasks"\nthreshold ='
        " 2\nthreshold-floor = 2\nthreshold-length = 1\ndwell = 0\ntime-limit = 10000\n"
    ),
)
work = tempfile.mkdtemp(prefix="ehs-jobs-")
os.chmod(work, 0o755)

for i in range(NODES):
    c.start(i)
ok("three agents", c.all_up(range(NODES)), c.log(0) + c.log(1) + c.log(2))

# ---- as many as there are processors ----

b = Build(c, work, 0, 120)
ok(
    "as many jobs as the cluster has processors, and one for each host that is ready",
    b.reaches(ALL),
    b.running(),
)
most = 0
for _ in range(10):
    b.let_go()
    must("another job follows", b.reaches(ALL), b.running())
    most = max(most, b.running())
ok("never more", most == ALL, most)

others = [
    c.popen(
        1,
        [EHCTL, "exec", "--auto", "--", "sh", "-c", "echo; read x"],
        stdin=subprocess.PIPE,
        stderr=None,
        text=False,
    )
    for _ in range(2)
]
for p in others:
    p.stdout.readline()
ok(
    "fewer when somebody else has tasks",
    b.shrinks_to(slots(NODES * PROCESSORS - 2, NODES)),
    b.running(),
)
for p in others:
    p.communicate(b"\n")
ok("more when these have ended", b.reaches(ALL), b.running())
got = b.ends()
ok("it ends, and no token is missing", got == (0, "", "") and b.whole(), (got, b.started()))

b = Build(c, work, 0, 8, scope="node")
ok("of one node: its processors", b.reaches(slots(PROCESSORS)), b.running())
b.let_go()
must("of one node: another job follows", b.reaches(slots(PROCESSORS)), b.running())
got = b.ends()
ok("of one node: never more", got == (0, "", "") and b.whole(), got)

# ---- a fair share ----

one = Build(c, work, 0, 120, users.ONE)
ok("one user alone has all", one.reaches(ALL), one.running())
two = Build(c, work, 1, 120, users.TWO)
ok("another user comes: half", one.shrinks_to(ALL // 2), one.running())
ok("the other half is for that one", two.reaches(ALL // 2), two.running())
third = Build(c, work, 2, 120, users.TWO)
must("the third build has a job", until(third.running), (two.running(), third.running()))
ok(
    "who has two builds has no more for it",
    two.shrinks_to(ALL // 2, third),
    (two.running(), third.running()),
)
ok("and each of them has some", two.running() and third.running(), (two.running(), third.running()))
ok("nor has the other less", one.shrinks_to(ALL // 2), one.running())
got = [b.ends() for b in (two, third)]
ok("these end", got == [(0, "", "")] * 2, got)
ok("who is left has all", one.reaches(ALL), one.running())
got = one.ends()
ok("and ends", got == (0, "", ""), got)

# ---- controllers come and go ----

b = Build(c, work, 1, 120, stay=True)
must("it has all", b.reaches(ALL), b.running())
c.end(0, signal.SIGKILL)
ok(
    "the top controller is killed: fewer, as its processors are gone",
    b.shrinks_to(slots((NODES - 1) * PROCESSORS, NODES - 1)),
    b.running(),
)
c.start(0)
ok("it comes back: more", b.reaches(ALL), b.running())
got = b.ends()
ok("the build has not noticed", got == (0, "", ""), got)

# ---- what others say ----


def say(body):
    """The liar's message to the top controller: status and answer."""
    h = http2.Client(
        http2.connect(c.net, LIAR, address(0), os.path.join(c.dir, "cert"), f"n{LIAR}")
    )
    if h.hello(node=c.code(LIAR)) != 200:
        return 0, {}
    status, data = h.request("POST", "/v1/slots", body)
    return status, json.loads(data or b"{}")


ok("all are up again", c.all_up(range(NODES)), c.log(0)[-2000:])
good = {"uid": 5, "builds": 1, "used": 1, "wants": 9}
bad = (
    [{}, {"users": 3}, {"users": [3]}, {"users": [good] * 257}]
    + [
        {"users": [{**good, name: value}]}
        for name in good
        for value in (-1, 1 << 40, "x", None, 1.5)
    ]
    + [{"users": [{**good, "builds": 0}]}]
)
said = [(say(body)[0], body) for body in bad]
ok(
    "what is no message about slots is refused",
    all(s == 400 for s, _ in said),
    [b for s, b in said if s != 400][:3],
)
one = Build(c, work, 0, 40, users.ONE, stay=True)
must("it has all", one.reaches(ALL), one.running())
status, answer = say(
    {
        "users": [
            {"uid": 1 << 20 | u, "builds": 1, "used": 4 << 20, "wants": 4 << 20} for u in range(256)
        ]
    }
)
ok(
    "a liar's users get their shares, and no more",
    status == 200 and all(u["slots"] <= 1 for u in answer["users"]),
    (status, answer),
)
got = one.ends()
ok("a build beside them comes to its end", got == (0, "", ""), got)
wish = {"command": "slots", "build": 1, "used": 1, "wants": 1}
bad = [
    {**wish, name: value}
    for name in ("build", "used", "wants")
    for value in (-1, 1 << 70, "x", None)
]
said = [c.ask(0, request, users.TWO) for request in bad if request["build"] != 1 << 70]
ok(
    "what is no question for slots is refused",
    all(s.get("error", {}).get("usage") for s in said),
    said[:3],
)
said = [c.ask(0, {**wish, "build": n}, users.TWO)["slots"] for n in range(70)]
ok(
    "one user has so many builds, and each has a slot",
    min(said) == 1 and len(said) == 70 and c.alive(0),
    said,
)
for n in range(70):
    c.ask(0, {**wish, "build": n, "ended": True}, users.TWO)
said = c.ask(0, {**wish, "wants": 99}, users.ONE)
ok(
    "those that have ended count no more",
    until(lambda: c.ask(0, {**wish, "wants": 99}, users.ONE)["slots"] == slots(PROCESSORS)),
    said,
)

c.stop()
shutil.rmtree(work)
done()
