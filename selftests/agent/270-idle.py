#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Policy idle, the default: tasks fill free processors, one each, before any node gets two; who may
say what about credits; credits that were taken and not used, or that a controller had that was
killed, are there again."""

import ctypes, json, os, re, signal, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster
from ktap import done, ok
from netns import address
from tree import BUILD
from wait import WAIT, until

EHCTL = os.path.join(BUILD, "bin", "ehctl")
LIAR = 7  # has a certificate and a place, but no agent
NODES = range(LIAR)
# eta would keep three tasks at home
c = Cluster(
    8,
    (
        'capacity = 1\nload-index = "tasks"\nthreshold = 2\nthreshold-floor = 2\n'
        "threshold-length = 1\ndwell = 0\ntime-limit = 10000\n"
    ),
    topology="2,2",
)
ETA = c.settings + 'policy = "eta"\n'
cert = os.path.join(c.dir, "cert")
near = {}
tasks = []


def start(home, *more):
    """A task that says where it runs and stays until it is ended."""
    p = c.popen(
        home,
        [EHCTL, "exec", "--auto", *more, "--", "sh", "-c", "readlink /proc/self/ns/net; read x"],
        stdin=subprocess.PIPE,
    )
    tasks.append(p)
    return p


def where(p):
    return near.get(p.stdout.readline().strip())


def end_all():
    good = True
    for p in tasks:
        p.stdin.close()
        good &= p.wait(WAIT) in (0, 1)
        p.stdout.close()
        p.stderr.close()
    tasks.clear()
    return good and quiet()


def loads(among):
    return {
        i: next(
            (n["load"] for n in c.status(i)["nodes"] if n["code"] == c.code(i)),
            None,
        )
        for i in among
        if i in c.agents
    }


def quiet():
    return until(lambda: not any(loads(NODES).values()))


def counts(ran):
    return {i: ran.count(i) for i in sorted(set(ran), key=str)}


def fill(home, n):
    """n tasks, each after the one before has begun."""
    return [where(start(home)) for _ in range(n)]


def fills(home, among, stay=False):
    """Whether as many tasks as there are nodes go to one each, without an ask of thresholds; waits
    until credits are there. stay: they do not end then."""
    ran = []

    def once():
        ran[:] = fill(home, len(among))
        good = sorted(ran, key=str) == sorted(among)
        if not (good and stay) and not end_all():
            raise RuntimeError("tasks do not end")
        return good

    good = until(once)
    return good, ran


def open_control(i):
    h = http2.Client(http2.connect(c.net, LIAR, address(i), cert, f"n{LIAR}"))
    assert h.hello(node=c.code(LIAR), protocol={"min": 3, "max": 3}) == 200
    return h


links = {}


def say(i, body, path="/v1/credit"):
    """The liar's message: status and answer."""
    for again in True, False:
        try:
            if i not in links:
                links[i] = open_control(i)
            status, data = links[i].request("POST", path, body)
            return status, json.loads(data or b"{}")
        except (EOFError, OSError):
            links.pop(i, None)
            if not again:
                raise


def ask(i, home, n):
    return say(
        i,
        {
            "type": "ask",
            "level": 1,
            "id": n,
            "home": c.code(home),
            "hold_ms": 0,
            "tier": 0,
            "hops": 1,
            "down": False,
            "missed": False,
        },
    )


for i in NODES:
    c.start(i)
ok("seven agents in two groups", c.all_up(NODES), c.log(0)[-2000:])
for i in NODES:
    with c.net.enter(i):
        near[os.readlink("/proc/self/ns/net")] = i

# ---- one each, then two ----

home = 5
good, ran = fills(home, NODES)
ok("as many tasks as nodes: each node gets one", good, (counts(ran), c.log(home)[-3000:]))
ran = fill(home, 7)
ok("again: one each", sorted(ran) == list(NODES), counts(ran))
ids = [c.why(home, p) for p in tasks]
away = [w for w, i in zip(ids, ran) if i != home]
ok(
    "the first is at home, which was not overloaded",
    ran[0] == home and ids[0]["reason"] == "not-sender",
    ids[0],
)
ok(
    "why names the credit",
    all(
        w["reason"] == "credit" and any("credit of" in s["what"] for s in w["steps"]) for w in away
    ),
    away,
)
text = c.ehctl(home, "why", away[0]["id"]).stdout
ok("ehctl why shows it", "credit" in text and "before thresholds were asked" in text, text)
reasons = {r["reason"]: r["tasks"] for r in c.status(home)["reasons"]}
ok("status counts it", reasons.get("credit", 0) >= 6, reasons)
shown = json.loads(c.ehctl(home, "status", "--json").stdout)
ok(
    "ehctl status --json shows it",
    any(r["reason"] == "credit" for r in shown["reasons"]),
    shown["reasons"],
)

for n in 2, 3, 4:
    ran += fill(home, 7)
    ok(f"seven more: each node has {n}", counts(ran) == {i: n for i in NODES}, counts(ran))
said = c.ask(home, {"command": "why", "id": str(tasks[-1].pid)})
ok(
    "why says how many were there",
    any("none has less than 3 tasks" in s["what"] for s in said["steps"]),
    said,
)
ok("all end", end_all(), loads(NODES))

# ---- many at once, from two homes ----

both = [start(h) for h in (1, 6) * 7]
ran = [where(p) for p in both]
ok(
    "fourteen at once from two homes: all run, none has three",
    None not in ran and max(counts(ran).values()) <= 3 and len(set(ran)) == 7,
    counts(ran),
)
ok("all end", end_all(), loads(NODES))
for k in range(3):
    crowd = [start(home) for _ in range(42)]
    ran = [where(p) for p in crowd]
    print(f"# 42 at once: {counts(ran)}")
    ok(
        "six for each node at once from one home: no node has more than eight",
        None not in ran and len(set(ran)) == 7 and max(counts(ran).values()) <= 8,
        counts(ran),
    )
    ok("all end", end_all(), loads(NODES))

# ---- a program that is known waits for a processor, for a fifth of its time ----

KNOWN = "sleep", "7"
known = [
    c.popen(home, [EHCTL, "exec", "--auto", "--", *KNOWN], stdout=None, stderr=None)
    for _ in range(4)
]
ok("a program has run four times", [p.wait(WAIT) for p in known] == [0] * 4 and quiet())


def waits_for(which, meanwhile=None):
    """With a task on each node: what why says of a known program, where the task of `which` ends
    while it is placed, and `meanwhile` is called."""
    good, ran = fills(home, NODES, stay=True)
    p = c.popen(home, [EHCTL, "exec", "--auto", "--", *KNOWN], stdout=None, stderr=None)
    why = lambda: c.why(home, p)
    asked = until(lambda: any("expected: " in s["what"] for s in why().get("steps", [])))
    if meanwhile:
        meanwhile()
    if which is not None:
        tasks[ran.index(which)].stdin.close()
    said = until(lambda: (w := why())["reason"] != "none" and w)
    p.kill()
    p.wait(WAIT)
    return good and asked, said, end_all()


good, said, over = waits_for(3)
ok(
    "a processor elsewhere becomes free: it goes there",
    good
    and over
    and said["executor"] == c.code(3)
    and any("a processor is free" in s["what"] for s in said["steps"]),
    said,
)
good, said, over = waits_for(home)
ok(
    "one at home: it stays",
    good
    and over
    and said["reason"] == "not-sender"
    and any("has waited for a processor of this node" in s["what"] for s in said["steps"]),
    said,
)
good, said, over = waits_for(None)
ok(
    "none: after that time it goes where the fewest are",
    good and over and any("none has less than 1 task" in s["what"] for s in said["steps"]),
    said,
)

# ---- a draining node gives none ----

c.ask(0, {"command": "drain", "node": c.code(3)})
ok(
    "a node drains",
    until(lambda: next(n for n in c.status(0)["nodes"] if n["code"] == c.code(3))["draining"]),
)
rest = [i for i in NODES if i != 3]
good, ran = fills(home, rest)
ok("it gets nothing, the others one each", good, counts(ran))
for i in rest:
    c.ask(0, {"command": "drain", "node": c.code(i)})
ok(
    "all nodes drain",
    until(lambda: all(n["draining"] for n in c.status(home)["nodes"] if n["code"] != c.code(LIAR))),
    c.status(home),
)
last = fill(home, 2)  # the first has a free processor
said = c.ask(home, {"command": "why", "id": str(tasks[-1].pid)})
ok(
    "there is no credit, and the task stays",
    last == [home] * 2 and any("no credit" in s["what"] for s in said["steps"]),
    (last, said),
)
ok("all end", end_all(), loads(NODES))
for i in rest:
    c.ask(0, {"command": "undrain", "node": c.code(i)})
c.ask(0, {"command": "undrain", "node": c.code(3)})
good, ran = fills(home, NODES)
ok("it does again", good, counts(ran))

# ---- who may say what ----

offer = {
    "type": "offer",
    "level": 1,
    "life": 1,
    "version": 1,
    "tasks": 0,
    "processors": 1,
    "credits": [1, 2, 0],
    "reign": 0,
    "beat": True,
}
got = say(4, offer)
ok(
    "the liar's offer is answered as any node's",
    got[0] == 200 and got[1].get("type") == "taken",
    got,
)
reign = got[1].get("reign", 0)
ok("another group's controller does not hear it", (saw := say(0, offer)[0]) == 403, saw)
ok(
    "nor one of more credits than a node gives",
    (saw := say(4, {**offer, "credits": [1, 60, 0]})[0]) == 403,
    saw,
)
ok("nor one without a processor", (saw := say(4, {**offer, "processors": 0})[0]) == 403, saw)
ok("an ask for another's exec is refused", (saw := ask(4, 5, 1)[0]) == 403, saw)
credit = {"tier": 0, "life": 1, "serial": 1}
ok(
    "a credit of another group is refused in an answer",
    say(5, {"type": "answer", "level": 0, "id": 1, "node": c.code(0), "credit": credit})[0] == 403,
)
ok(
    "one of another node cannot be returned",
    (saw := say(5, {"type": "return", "level": 0, "node": c.code(6), "credit": credit})[0]) == 403,
    saw,
)
for name, value in (
    ("level", 9),
    ("level", -1),
    ("hops", 1 << 20),
    ("tier", 16),
    ("home", "0.9"),
    ("id", "x"),
):
    body = {
        "type": "ask",
        "level": 1,
        "id": 1,
        "home": c.code(LIAR),
        "hold_ms": 0,
        "tier": 0,
        "hops": 1,
        name: value,
    }
    if say(4, body)[0] != 400:
        ok(f"{name} {value} is refused", False)
        break
else:
    ok("numbers out of bounds are refused", True)


def guess():
    """Answers with the liar's credit for the home's next tasks, by what is known of them: they are
    numbered."""
    code, n = c.ask(home, {"command": "why", "id": str(tasks[-1].pid)})["id"].rsplit(":", 1)
    for k in range(1, 5):
        task = f"{code}:{int(n) + k}".encode()
        said.append(
            say(
                home,
                {
                    "type": "answer",
                    "level": 0,
                    "id": xxhash(task, len(task)),
                    "node": c.code(LIAR),
                    "credit": credit,
                },
            )[0]
        )


xxhash = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
xxhash.argtypes, xxhash.restype = [ctypes.c_char_p, ctypes.c_size_t], ctypes.c_int64
said = []
good, why, over = waits_for(3, guess)
ok(
    "it cannot answer for the controller, because it does not know which ask that is",
    good
    and over
    and said == [200] * 4
    and why["executor"] == c.code(3)
    and not any(f"credit of n{LIAR}" in s["what"] for s in why["steps"]),
    (said, why),
)

# It offers a processor, so somebody is sent there: the task runs elsewhere.
say(4, {**offer, "version": 2, "reign": reign})
ran = fill(home, 7)
ok(
    "a node that offers what it does not give: all tasks run on others",
    None not in ran and set(ran) <= set(NODES) and len(set(ran)) >= 6,
    (counts(ran), c.log(home)[-2000:]),
)
ok("all end", end_all(), loads(NODES))
good, ran = fills(home, NODES)
ok("its credit is over when it is silent: one each", good, counts(ran))

# ---- credits that were taken and not used ----

taken = [ask(4, LIAR, 100 + k) for k in range(6)]
mine = [b["credit"]["serial"] for s, b in taken if s == 200 and "credit" in b]
ok("the liar takes credits of its group", len(mine) >= 3, taken)
good, ran = fills(home, NODES)
ok("after their lease they are there again: one each", good, counts(ran))

# ---- a controller is killed ----

for dead, home in (4, 5), (0, 5):
    for k in range(4):  # with credits taken that nobody uses
        if dead == 4:
            ask(dead, LIAR, 200 + k)
    c.end(dead, signal.SIGKILL)
    links.pop(dead, None)
    rest = sorted(c.agents)
    good, ran = fills(home, rest)
    ok(
        f"controller {c.code(dead)} is killed: the credits of the others are there again",
        good,
        (counts(ran), rest),
    )
for dead in 4, 0:
    c.start(dead)
good, ran = fills(2, NODES)
ok("they are back: one each", good, counts(ran))
ok(
    "nothing was invalid between honest nodes",
    not any(
        re.search(r"about credits that", line) and f"(n{LIAR})" not in line
        for i in NODES
        for line in c.log(i).splitlines()
    ),
    [line for i in NODES for line in c.log(i).splitlines() if "about credits that" in line][:5],
)

# ---- another policy ----

c.conf(home, settings=ETA)
c.ask(home, {"command": "reload"})
ran = fill(home, 3)
ok("with eta, after a reload, three tasks stay at home", ran == [home] * 3, counts(ran))
ok("all end", end_all(), loads(NODES))
c.conf(home)
c.ask(home, {"command": "reload"})
good, ran = fills(home, NODES)
ok("with idle again: one each", good, counts(ran))
c.conf(0, settings=ETA)
c.ask(0, {"command": "reload"})
began = time.monotonic()
ran = fill(home, 6)
took = time.monotonic() - began
said = c.ask(home, {"command": "why", "id": str(tasks[-1].pid)})
ok(
    (
        "the top has eta: thresholds decide where a group has no free processor, and nobody waits"
        " for half of his time limit first"
    ),
    None not in ran and any("no credit" in s["what"] for s in said["steps"]) and took < 10,
    (ran, took, said),
)
ok("all end", end_all(), loads(NODES))
c.conf(0)
c.ask(0, {"command": "reload"})
good, ran = fills(home, NODES)
ok("the top has idle again: one each", good, counts(ran))
ok("no report of a sanitizer", not c.reports(), c.reports())
done()
