#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The local socket: what is served to whom, and what closes the connection."""

import json, os, re, resource, socket, struct, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from frames import FRAME, closed, frame, read_exactly, read_frame
from ktap import done, ok
from player import job
from tree import BUILD
from wait import WAIT, until

resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
c = Cluster(2)
c.start_all()


def error(reply):
    return reply.get("error", {})


status = c.status(0)
ok(
    "status",
    status["version"] == 1
    and status["self"] == "0.0"
    and status["topology"] == {"n": 2, "l": 1}
    and [n["code"] for n in status["nodes"]] == ["0.0", "0.1"],
    json.dumps(status),
)
members = {
    "code": str,
    "host": str,
    "state": str,
    "load": float,
    "threshold": float,
    "threshold_length": float,
    "capacity": float,
    "tasks": dict,
    "controller_of": list,
    "module": bool,
    "agent": str,
}
ok(
    "status: members of each node",
    all(isinstance(n[m], t) for n in status["nodes"] for m, t in members.items()),
    json.dumps(status),
)
ok("tasks", (saw := c.ask(0, {"command": "tasks"})) == {"version": 1, "tasks": []}, saw)
doctor = c.ask(0, {"command": "doctor"})
ok(
    "doctor: each failed check suggests a fix",
    all(
        isinstance(d["ok"], bool) and d["what"] and (d["ok"] or d["fix"] == d["mend"] != "")
        for d in doctor["checks"]
    ),
    json.dumps(doctor),
)
ok("doctor: no module here", not next(d for d in doctor["checks"] if d["name"] == "module")["ok"])
views = [d for d in doctor["checks"] if d["name"] == "views"]
ok(
    "doctor: how views would come",
    len(views) == 1 and views[0]["ok"] and "home files of guests" in views[0]["what"],
    views,
)
ok(
    "run without the module: not managed",
    (saw := c.ask(0, {"command": "run"})["managed"]) is False,
    saw,
)
ok(
    "why of an unknown id",
    error(c.ask(0, {"command": "why", "id": "0.0:1"}))["why"].startswith("not known"),
)

ok(
    "everybody may ask for the status",
    (saw := c.ask(0, {"command": "status"}, uid=2001)["version"]) == 1,
    saw,
)
for command in "set", "drain", "undrain":
    reply = c.ask(0, {"command": command, "threshold": 1000, "node": "0.1"}, uid=2001)
    ok(f"only root may {command}", "root only" in error(reply).get("why", ""), reply)
for request in (
    {"command": "nonsense"},
    {"x": 1},
    {"command": "set"},
    {"command": "set", "threshold": -1},
    {"command": "set", "threshold": 2.5},
    {"command": "set", "colour": 1},
    {"command": "set", "load-index": "x"},
    {"command": "set", "time-limit": 0},
    {"command": "why"},
    {"command": "drain", "node": "0.7"},
):
    reply = c.ask(0, request)
    ok(f"usage: {request}", error(reply).get("usage") is True, reply)
limits = [
    error(c.ask(0, {"command": "set", **s}))["why"]
    for s in ({"threshold": -1}, {"weight": 0}, {"dwell": -1})
]
ok(
    "limits are in what ehctl set takes: tasks and milliseconds",
    limits
    == [f"must be a number from {r}" for r in ("0 to 1000000", "0.001 to 1000", "0 to 60000")],
    limits,
)
ok(
    "a threshold that is set reaches the controller and the other node",
    "error" not in c.ask(0, {"command": "set", "threshold": 3500, "length": 500})
    and until(lambda: [n["threshold"] for n in c.status(1)["nodes"]][0] == 3.5),
)

saw = c.ask(0, {"command": "set", "threshold": 3500, "dwell": 7, "load-index": "cpu"})
ok(
    "set says what was and is",
    saw
    == {
        "version": 1,
        "settings": [
            {"name": "threshold", "before": 3.5, "value": 3.5},
            {"name": "dwell", "before": 1000, "value": 7},
            {"name": "load-index", "before": "runnable", "value": "cpu"},
        ],
    },
    saw,
)
refused = c.ask(0, {"command": "set", "dwell": 9, "load-index": "x"})
saw = {s["name"]: s for s in c.ask(0, {"command": "get"}, uid=2001)["settings"]}
ok(
    "get shows everybody the values in force",
    "error" in refused
    and {n: s["value"] for n, s in saw.items()}
    == {
        "threshold": 3.5,
        "length": 0.5,
        "load-index": "cpu",
        "weight": 1.0,
        "time-limit": 100,
        "dwell": 7,
    },
    saw,
)
ok(
    "and what each may be",
    saw["dwell"]["unit"] == "ms"
    and saw["dwell"]["max"] == 60000
    and saw["load-index"]["choices"] == ["runnable", "tasks", "cpu"]
    and saw["weight"]["min"] == 0.001,
    saw,
)
c.ask(0, {"command": "set", "dwell": 1000, "load-index": "runnable"})

with c.connect(0) as s:
    s.sendall(frame("FRAME_REQUEST", b'{"command":"watch"}'))
    c.ask(0, {"command": "drain", "node": "0.1"})
    ok(
        "drain of another node",
        until(lambda: c.status(0)["nodes"][1]["draining"]),
    )
    c.ask(0, {"command": "undrain", "node": "0.1"})
    c.ask(0, {"command": "set", "length": 250000})
    number, event = read_frame(s)
    ok(
        "watch: an event",
        number == FRAME["FRAME_EVENT"] and event["event"] and event["time"].endswith("Z"),
        event,
    )

# A user's tasks are no other user's business.
watchers = {}
for uid in 2001, 2002, 0:
    watchers[uid] = c.connect(0, uid=uid)
    watchers[uid].sendall(frame("FRAME_REQUEST", b'{"command":"watch"}'))
    c.ask(0, {"command": "tasks"}, uid=uid)  # by now the agent has read that
task = c.popen(
    0,
    [
        "setpriv",
        "--reuid",
        "2001",
        "--regid",
        "2001",
        "--clear-groups",
        f"{BUILD}/bin/ehctl",
        "exec",
        "0.1",
        "--",
        "sh",
        "-c",
        "echo; exec sleep 1000",
    ],
    stderr=None,
    text=False,
)
task.stdout.readline()
shown = {
    (i, uid): c.ask(i, {"command": "tasks"}, uid=uid)["tasks"] for i in (0, 1) for uid in watchers
}
ok(
    "tasks: root and the owner see one, at both ends",
    [len(shown[i, uid]) for i in (0, 1) for uid in (0, 2001)] == [1] * 4,
    shown,
)
ok("and others do not", not shown[0, 2002] and not shown[1, 2002], shown)
id, pid = shown[0, 0][0]["id"], str(shown[0, 0][0]["pid"])
whys = {
    (uid, what): c.ask(0, {"command": "why", "id": what}, uid=uid)
    for uid in watchers
    for what in (id, pid)
}
ok(
    "why: the same",
    all(("error" in reply) == (uid == 2002) for (uid, _), reply in whys.items()),
    whys,
)
task.kill()
task.wait()
ok("the task has ended", until(lambda: not c.tasks(0)))
ok(
    "why of one that has ended: the same",
    "error" in c.ask(0, {"command": "why", "id": id}, uid=2002)
    and c.ask(0, {"command": "why", "id": pid}, uid=2001)["id"] == id,
)
c.ask(0, {"command": "set", "length": 300000})  # an event for all, after those of the task
seen = {}
for uid, s in watchers.items():
    seen[uid] = []
    while not seen[uid] or seen[uid][-1]["event"] != "threshold":
        seen[uid].append(read_frame(s)[1])
    places = [e for e in seen[uid] if e["event"] == "place"]
    seen[uid] = [e["event"] for e in seen[uid] if e["event"] in ("place", "finish")]
    ok(
        f"watch by {uid}: how long each placement took",
        all(0 <= e["at_ms"] < 1e3 * WAIT for e in places),
        places,
    )
    s.close()
ok("watch: the same", seen[2002] == [] and seen[0] == seen[2001] == ["place", "finish"], seen)

RIGHTS = socket.SOL_SOCKET, socket.SCM_RIGHTS


def rude(name, data, reason, fds=0, hang_up=False):
    before = len(c.log(0))
    with c.connect(0) as s:
        if fds:
            s.sendmsg([data], [(*RIGHTS, struct.pack("i", 0) * fds)])
        else:
            s.sendall(data)
        if hang_up:
            s.shutdown(socket.SHUT_WR)
        good = closed(s)
    found = until(lambda: reason in c.log(0)[before:])
    ok(
        f"{name}: closed, with the reason in the log",
        good and found and c.alive(0),
        c.log(0)[before:],
    )


good = job(b"true", node=b"@auto", path=b"/bin/true", folder=b"/tmp")[8:]
rude("an unknown type", frame(200, b""), "unknown type")
rude("type 0", frame(0, b""), "unknown type")
rude(
    "reserved bits", struct.pack("<II", FRAME["FRAME_REQUEST"] | 1 << 16, 2) + b"{}", "unknown type"
)
rude("a frame for others", frame("FRAME_NOTED", b""), "not allowed")
rude("4 GiB", frame("FRAME_REQUEST", b"", 0xFFFFFFFF), "longer than its type")
rude("a long request", frame("FRAME_REQUEST", b"", 1 << 20), "longer than 64 KiB")
rude("an empty request", frame("FRAME_REQUEST", b""), "empty")
rude("a truncated header", b"\1\0\0", "truncated", hang_up=True)
rude("a truncated request", frame("FRAME_REQUEST", b"{", 50), "truncated", hang_up=True)
rude("a malformed job", frame("FRAME_JOB", good[:4] + os.urandom(596)), "malformed job")
rude("a job of a newer version", frame("FRAME_JOB", b"\xff" * 4 + good[4:]), "newer version")
rude("a truncated job", frame("FRAME_JOB", good[:-5]), "malformed job")
rude("a malformed job with descriptors", frame("FRAME_JOB", good[:-5]), "malformed job", fds=7)
rude(
    "a malformed description of a job that runs",
    frame("FRAME_ATTACH", os.urandom(300)),
    "cannot go on here",
)
rude("silence", b"", "no first frame in time")
with c.connect(0) as s:
    s.sendall(frame("FRAME_REQUEST", b"not JSON"))
    ok("what is not JSON gets an error", (saw := error(read_frame(s)[1])["usage"]) is True, saw)
    s.sendall(frame("FRAME_REQUEST", b'{"command":"tasks"}'))
    ok("and the connection goes on", (saw := read_frame(s)[1]["version"]) == 1, saw)
    s.sendall(frame("FRAME_JOB", good))
    ok("a job after a request: closed", closed(s))

# Jobs that never become complete: 8 MiB each, so most are turned away.
crowd = []
for i in range(400):
    s = c.connect(0, uid=2001)
    try:
        s.sendall(frame("FRAME_JOB", bytes(4096), 8 << 20))
    except OSError:
        pass
    crowd.append(s)
ok(f"memory stays bounded ({c.memory(0)} KiB)", c.alive(0) and c.memory(0) < 110000)
for s in crowd:
    s.close()


def hangs_on(s):
    """Whether the agent has this connection. It has answered before."""
    s.setblocking(False)
    try:
        while s.recv(65536):
            pass
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def one_of_many(uid):
    s = c.connect(0, uid=uid)
    try:
        s.sendall(frame("FRAME_REQUEST", b'{"command":"tasks"}'))
    except OSError:
        pass
    return s


crowd = {uid: [one_of_many(uid) for i in range(700)] for uid in (2001, 2002)}
ok("root gets in although users hold all connections they may have", c.alive(0))
ok("another user, too", (saw := c.ask(0, {"command": "status"}, uid=2003)["version"]) == 1, saw)
held = {uid: sum(map(hangs_on, all)) for uid, all in crowd.items()}
ok("they share what there is", min(held.values()) > 400 and sum(held.values()) <= 960, held)
for s in sum(crowd.values(), []):
    s.close()

# Requests whose replies nobody reads: what the agent keeps of them must not grow with their number.
before, request = c.memory(0), frame("FRAME_REQUEST", b'{"command":"status"}')
left = {c.connect(0, uid=2001): len(request) * 10000 for i in range(8)}
for s in left:
    s.setblocking(False)
stalled = 0
while stalled < 50 and any(left.values()):
    stalled += 1
    for s in left:
        try:
            # a whole number of requests, from wherever the last one ended
            at = -left[s] % len(request)
            left[s] -= s.send((request * 100)[at:][: left[s]])
            stalled = 0
        except BlockingIOError:
            pass
    c.alive(0)
ok(
    "replies that nobody reads are not piled up",
    c.memory(0) - before < 20000,
    f"{before} to {c.memory(0)} KiB",
)
ok("and the agent serves others", c.alive(0))
for s in left:
    s.close()
files = lambda: len(os.listdir(f"/proc/{c.agents[0].pid}/fd"))
ok("no descriptor is left over", until(lambda: files() < 60), files())
# What many do wrong is few lines of the log: a journal drops what comes too fast, and with it what
# others are to see.
before = len(c.log(0))
for _ in range(100):
    with c.connect(0, uid=2001) as s:
        s.sendall(frame("FRAME_JOB", struct.pack("<I", 3)))
        read_exactly(s, 8)
said = re.findall(r"malformed job", c.log(0)[before:])
ok(
    f"100 malformed jobs of a user are {len(said)} lines in the log",
    0 < len(said) <= 20,
    c.log(0)[before:],
)
ok("the agents end", c.end(0) == 0 and c.end(1) == 0)
done()
