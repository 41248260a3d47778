#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What all nodes are asked for, when a member lies: 0.0.1.1 reports as a node does, and a Python
program answers in its place. Nothing of what the others say is lost, nobody grows, and what cannot
be believed is named."""

import json, os, signal, socket, subprocess, sys, threading, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import bodies, http2
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok
from netns import address
from wait import until

MAX = (1 << 63) - 1
LIAR = 3
c = Cluster(
    4,
    'heartbeat = 1000\nload-index = "tasks"\nthreshold-floor = 20.0\nguests = 50\n',
    topology="1,2",
)
cert = os.path.join(c.dir, "cert")
CODE = c.code(LIAR)
must("all are up, the liar's agent too", c.start_all(), c.log(0))
guest = c.popen(
    LIAR,
    [EHCTL, "exec", "n1", "--", "sh", "-c", "echo; read x"],
    stdin=subprocess.PIPE,
    stderr=None,
    text=False,
)
guest.stdout.readline()
c.end(LIAR, signal.SIGKILL)
os.chmod(c.dir, 0o755)
lies = {}  # what is asked: what is said
asked = []


def answer(body):
    if body and "what" in body:
        asked.append(body)
        said = lies.get(body["what"], {"items": []})
        said = said(body) if callable(said) else said
        return said if isinstance(said, bytes) else {"nodes": [{"node": CODE, **said}]}
    if body and "cluster" in body:
        return {
            "cluster": "test",
            "node": CODE,
            "version": 1,
            "boot_id": "x",
            "capacity": 1000,
            "time": int(time.time() * 1000),
        }
    return {}


server = http2.Server(c.net, LIAR, address(LIAR), cert, "n3", answer)
report = bodies.report(CODE, "n3")
over = threading.Event()


def tell():
    """It is a member of its group as long as it reports."""
    h = None
    while not over.is_set():
        try:
            if not h:
                h = http2.Client(http2.connect(c.net, LIAR, address(2), cert, "n3"))
                assert h.hello(node=CODE) == 200
            h.request("POST", "/v1/control", report)
        except (EOFError, OSError, AssertionError):
            h = None
        over.wait(0.5)


threading.Thread(target=tell, daemon=True).start()


def ehctl(*words, i=0, env=()):
    return c.call(i, ["env", *env, EHCTL, *words])


def document(*words, **more):
    r = ehctl(*words, "--json", **more)
    return json.loads(r.stdout) if r.returncode == 0 else r


began = time.monotonic()
is_guest = lambda: next(t for t in document("tasks", i=1)["tasks"] if t["home"] == CODE)
id = is_guest()["id"]
lies["why"] = {"items": [{"id": f"{CODE}:1", "at": 0, "text": "All is well."}]}
r = until(lambda: "of no use" in (r := ehctl("why", id, i=1)).stdout and r)
ok(
    "of another task",
    r and "All is well" not in r.stdout and "its home n3 says what is of no use" in r.stdout,
    r or ehctl("why", id, i=1),
)
lies["why"] = {
    "items": [
        {
            "id": id,
            "at": 0,
            "home": "0.0.0",
            "home_host": "n0",
            "executor": "0.0.1",
            "executor_host": "n2",
            "command": "update",
            "reason": "auto",
            "text": "All is well.",
            "steps": [],
        }
    ]
}
said = until(lambda: (r := document("why", id, i=1)).get("text") == "All is well." and r)
ok(
    "why a guest is here, from its home: not what its executor knows better",
    said
    and [said[k] for k in ("id", "home", "home_host", "executor", "executor_host", "command")]
    == [id, CODE, "n3", c.code(1), "n1", "sh"],
    said or document("why", id, i=1),
)
lies.clear()
ok(
    "it is ended",
    ehctl("cancel", id, i=1).returncode == 0 and until(lambda: not document("tasks", i=1)["tasks"]),
    document("tasks", i=1),
)
guest.communicate()
ok(
    "the liar is asked",
    until(lambda: document("tasks", "--all") and any(q["what"] == "tasks" for q in asked)),
    c.log(2),
)
away = c.popen(
    0,
    [EHCTL, "exec", "n1", "--", "sh", "-c", "echo; read x"],
    stdin=subprocess.PIPE,
    stderr=None,
    text=False,
)
away.stdout.readline()
for _ in range(3):
    ehctl("exec", "n1", "--", "true")
honest = document("tasks", "--all")["tasks"]
ran = document("history", "--all")["tasks"]
must("what is so", len(honest) == 1 and len(ran) == 4, (honest, ran))


def still(name, *words):
    """What the honest ones say is there; returns the answer."""
    said = document(*words)
    kind = "tasks"
    ids = [t["id"] for t in (honest if words[0] == "tasks" else ran)]
    ok(
        f"{name}: nothing is lost",
        isinstance(said, dict) and [t["id"] for t in said[kind] if t["id"] in ids] == ids,
        said,
    )
    return said


TASK = {
    "id": f"{CODE}:1",
    "home": CODE,
    "executor": CODE,
    "command": "evil",
    "uid": 0,
    "user": "root",
    "state": "running",
    "elapsed": 1.0,
}
lies["tasks"] = {"items": [{"at": MAX - n} for n in range(1000)]}
still("tasks of the future", "tasks", "--all")
lies["tasks"] = {"items": [{**TASK, "id": f"{CODE}:{n}", "at": 0} for n in range(1000)]}
said = still("as many as an answer has", "tasks", "--all")
ok("which says so", said["more"] and len(said["tasks"]) <= 1000, len(said["tasks"]))
lies["tasks"] = {"items": [{**TASK, "id": honest[0]["id"], "at": 0}]}
said = still("the ID of another home's task", "tasks", "--all")
ok("it is that home's", said["tasks"][0]["command"] == "sh" and len(said["tasks"]) == 1, said)
lies["tasks"] = {
    "items": [
        1,
        "x",
        None,
        [],
        {},
        {"at": "0"},
        {"id": 7, "home": CODE, "at": 0},
        {**TASK, "uid": "x", "user": [], "elapsed": {}, "session": 7, "at": 0},
    ]
}
still("items that are none", "tasks", "--all")
ok("nor as a table", ehctl("tasks", "--all").returncode == 0)
lies["tasks"] = (
    b'{"nodes":[{"node":"' + CODE.encode() + b'","items":[' + b"{}," * 340000 + b"{}]}]}"
)
before = c.memory(0)
for _ in range(5):
    still("300,000 of nothing", "tasks", "--all")
ok("what the others do not pass on", c.memory(0) < before + 4096, (before, c.memory(0)))
lies["tasks"] = {"items": [], "junk": ["x" * 8000] * 100}
still("what nobody asked for", "tasks", "--all")
lies["tasks"] = {"refused": "é" * 4000}
still("a reason that is too long", "tasks", "--all")

for name, said in {
    "rest": {"items": [], "rest": MAX},
    "rest, and one of the future": {"items": [{"at": MAX}], "rest": MAX},
}.items():
    lies["history"] = said
    got = still(f"history, {name}", "history", "--all")
    ok("the liar is named", [x["node"] for x in got["refused"]] == [CODE], got)
now = int(time.time() * 1000)
lies["history"] = lambda q: {
    "items": [{**TASK, "id": ran[0]["id"], "started": "x", "at": now}],
    "rest": MAX,
}
still("history, the ID of another home's task", "history", "--all")


def endless(q):
    """Each page has a next one."""
    last, n = min(q.get("until", now), now), 2000 if q["what"] == "hours" else 200
    return {
        "items": [
            {
                **TASK,
                "id": f"{CODE}:{last - k}",
                "key": last - k,
                "tasks": 1,
                "started": "2026-11-30T10:00:00Z",
                "last": "2026-11-30T10:00:00Z",
                "at": last - k,
            }
            for k in range(1, n + 1)
        ],
        "rest": last - n,
    }


lies["history"] = lies["hours"] = endless
for words in ("-n", "0"), ("--by", "hour"):

    def whole():
        """The answer, if all answered in time: a list ends where one does not."""
        asked.clear()
        r = ehctl("history", "--all", *words)
        return r if "no answer" not in r.stderr else None

    must("all answer", r := until(whole))
    ok(
        f"without end: {' '.join(words)}",
        r.returncode == 0 and len(asked) <= 260 and "left out" in r.stderr,
        (len(asked), r.stderr[-500:]),
    )


def one_line(q):
    """Events without end, of which all make one line, as each is told by another node."""
    last = min(q.get("until", now), now)
    return {
        "items": [
            {
                "event": "peer",
                "node": CODE,
                "agent": "up",
                "self": f"x{last - k}",
                "time": "2026-11-30T10:00:00Z",
                "id": f"{CODE}:{last - k}",
                "at": last - k,
            }
            for k in range(1, 201)
        ],
        "rest": last - 200,
    }


lies["history"] = one_line
asked.clear()
r = ehctl("history", "--all", "--events", "-n", "20")
ok(
    "events without end that make one line",
    r.returncode == 0 and len(asked) < 1000 and "nodes" in r.stdout,
    (len(asked), r),
)
lies["history"] = {"items": []}
lies["hours"] = {"items": [], "rest": MAX}
r = document("history", "--all", "--by", "hour")
ok(
    "hours, rest",
    sum(g["tasks"] for g in r["groups"]) == 4 and [x["node"] for x in r["refused"]] == [CODE],
    r,
)

# ---- why

lies["why"] = {"refused": "é" * 90}
r = ehctl("why", f"{CODE}:1234567")
ok("why, refused", r.returncode == 1 and "tells nothing: éé" in r.stderr, r)
for said in {"id": f"{c.code(0)}:1234567"}, {"id": f"{CODE}:7654321"}, {"id": 7}, [], 7, {}:
    lies["why"] = {"items": [{**said, "at": 0} if isinstance(said, dict) else said]}
    r = ehctl("why", f"{CODE}:1234567")
    ok(
        f"why, of another: {said}",
        r.returncode == 1 and "not known" in r.stderr and not r.stdout,
        r,
    )
lies["why"] = {"items": [{"id": f"{CODE}:1234567", "at": 0}]}
r = ehctl("why", f"{CODE}:1234567")
ok("why, of nothing", r.returncode == 0 and CODE in r.stdout, r)
lies["why"] = {"items": [{"id": f"{CODE}:1234567", "at": 0, "home": c.code(1), "home_host": "n1"}]}
said = document("why", f"{CODE}:1234567")
ok("why, of another home", said["home"] == CODE and said["home_host"] == "n3", said)
before = c.memory(0)
known = None


def ask(question):
    """Status and answer of n0, which the liar asks; it closes a second connection of one node."""
    global known
    for again in True, True, False:
        try:
            if not known:
                known = http2.Client(http2.connect(c.net, LIAR, address(0), cert, "n3"))
                known.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                assert known.hello(node=CODE) == 200
            return known.request("POST", "/v1/survey", question)
        except (EOFError, OSError):
            known = None
            if not again:
                raise


question = {
    "what": "why",
    "from": CODE,
    "uid": 999,
    "user": "nobodyatall",
    "all": False,
    "id": f"{c.code(0)}:1",
}
ask(question)
before = c.memory(0)
answered, began = 0, time.monotonic()
while answered < 3000 and time.monotonic() < began + 20:
    try:
        for _ in range(15):
            known.send("POST", "/v1/survey", question)
        answered += len(known.statuses(15))
    except (EOFError, OSError):  # it keeps one connection of a node
        known = None
        ask(question)
must("it has answered", answered >= 1000, answered)
ok(
    "why, asked again and again by a user who is none here",
    c.memory(0) < before + 400,
    (before, c.memory(0), answered),
)
saw = ask({**question, "junk": ["x" * 8000] * 10})
ok("a question that is long", saw[0] == 400, saw)

# ---- west of Greenwich

for zone in "America/New_York", "America/St_Johns", "Asia/Kolkata":
    r = ehctl("history", "--all", "--by", "hour", "--json", env=[f"TZ={zone}"])
    said = json.loads(r.stdout or "{}")
    ok(
        f"hours in {zone}",
        r.returncode == 0
        and sum(g["tasks"] for g in said["groups"]) == 4
        and not [x for x in said["refused"] if x["node"] != CODE],
        r,
    )
away.communicate(b"\n")
over.set()
for i in 0, 1, 2:
    ok(f"n{i} lives", c.alive(i), c.log(i))
done()
