#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The local socket: what is served to whom, and what closes the connection."""

import json, os, socket, struct, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import FRAME, Cluster, Tap, closed, frame, read_frame, until

tap = Tap()
c = Cluster(2)
c.start_all()


def error(reply):
    return reply.get("error", {})


status = c.ask(0, {"command": "status"})
tap.ok(status["version"] == 1 and status["self"] == "0.0" and status["topology"] == {"n": 2, "l": 1} and
       [n["code"] for n in status["nodes"]] == ["0.0", "0.1"], "status", json.dumps(status))
members = {"code": str, "host": str, "state": str, "load": float, "threshold": float,
           "threshold_length": float, "capacity": float, "tasks": dict, "controller_of": list,
           "module": bool, "agent": str}
tap.ok(all(isinstance(n[m], t) for n in status["nodes"] for m, t in members.items()),
       "status: members of each node", json.dumps(status))
tap.ok(c.ask(0, {"command": "tasks"}) == {"version": 1, "tasks": []}, "tasks")
doctor = c.ask(0, {"command": "doctor"})
tap.ok(all(isinstance(d["ok"], bool) and d["what"] and (d["ok"] or d["fix"] == d["mend"] != "") for d in doctor["checks"]),
       "doctor: each failed check suggests a fix", json.dumps(doctor))
tap.ok(not next(d for d in doctor["checks"] if d["name"] == "module")["ok"], "doctor: no module here")
views = [d for d in doctor["checks"] if d["name"] == "views"]
tap.ok(len(views) == 1 and views[0]["ok"] and "home files of guests" in views[0]["what"], "doctor: how views would come", views)
tap.ok(c.ask(0, {"command": "run"})["managed"] is False, "run without the module: not managed")
tap.ok(error(c.ask(0, {"command": "why", "id": "0.0:1"}))["why"].startswith("not known"), "why of an unknown id")

tap.ok(c.ask(0, {"command": "status"}, uid=2001)["version"] == 1, "everybody may ask for the status")
for command in "set", "drain", "undrain":
    reply = c.ask(0, {"command": command, "threshold": 1000, "node": "0.1"}, uid=2001)
    tap.ok("root only" in error(reply).get("why", ""), f"only root may {command}", reply)
for request in ({"command": "nonsense"}, {"x": 1}, {"command": "set"}, {"command": "set", "threshold": -1},
                {"command": "set", "threshold": 2.5}, {"command": "set", "colour": 1},
                {"command": "set", "load-index": "x"}, {"command": "set", "time-limit": 0},
                {"command": "why"}, {"command": "drain", "node": "0.7"}):
    reply = c.ask(0, request)
    tap.ok(error(reply).get("usage") is True, f"usage: {request}", reply)
tap.ok(c.ask(0, {"command": "set", "threshold": 3500, "length": 500}) == {"version": 1} and
       until(lambda: [n["threshold"] for n in c.ask(1, {"command": "status"})["nodes"]][0] == 3.5),
       "a threshold that is set reaches the controller and the other node")

with c.connect(0) as s:
    s.sendall(frame("FRAME_REQUEST", b'{"command":"watch"}'))
    c.ask(1, {"command": "drain", "node": "0.0"})
    tap.ok(until(lambda: c.ask(1, {"command": "status"})["nodes"][0]["draining"]), "drain of another node")
    c.ask(1, {"command": "undrain", "node": "0.0"})
    c.ask(0, {"command": "set", "length": 250000})
    number, event = read_frame(s)
    tap.ok(number == FRAME["FRAME_EVENT"] and event["event"] and event["time"].endswith("Z"), "watch: an event",
           event)

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
    tap.ok(good and found and c.alive(0), f"{name}: closed, with the reason in the log", c.log(0)[before:])


job = struct.pack("<9I", 1, 7, 0o22, 0, 0, 0, 0, 1, 0) + b"\xff" * 256 + bytes(16 + 19 * 8)
job += b"@auto\0/bin/true\0/tmp\0true\0"
rude("an unknown type", frame(200, b""), "unknown type")
rude("type 0", frame(0, b""), "unknown type")
rude("reserved bits", struct.pack("<II", FRAME["FRAME_REQUEST"] | 1 << 16, 2) + b"{}", "unknown type")
rude("a frame for others", frame("FRAME_EXIT", bytes(64)), "not allowed")
rude("4 GiB", frame("FRAME_REQUEST", b"", 0xffffffff), "longer than its type")
rude("a long request", frame("FRAME_REQUEST", b"", 1 << 20), "longer than 64 KiB")
rude("an empty request", frame("FRAME_REQUEST", b""), "empty")
rude("a truncated header", b"\1\0\0", "truncated", hang_up=True)
rude("a truncated request", frame("FRAME_REQUEST", b"{", 50), "truncated", hang_up=True)
rude("a malformed job", frame("FRAME_JOB", os.urandom(600)), "malformed job")
rude("a truncated job", frame("FRAME_JOB", job[:-5]), "malformed job", fds=3)
rude("a job with two descriptors too few", frame("FRAME_JOB", job), "descriptors", fds=1)
rude("a job with too many", frame("FRAME_JOB", job), "descriptors", fds=7)
rude("silence", b"", "no first frame in time")
with c.connect(0) as s:
    s.sendall(frame("FRAME_REQUEST", b"not JSON"))
    tap.ok(error(read_frame(s)[1])["usage"] is True, "what is not JSON gets an error")
    s.sendall(frame("FRAME_REQUEST", b'{"command":"tasks"}'))
    tap.ok(read_frame(s)[1]["version"] == 1, "and the connection goes on")
    s.sendall(frame("FRAME_JOB", job))
    tap.ok(closed(s), "a job after a request: closed")

# Jobs that never become complete: 8 MiB each, so most are turned away.
crowd = []
for i in range(400):
    s = c.connect(0, uid=2001)
    try:
        s.sendall(frame("FRAME_JOB", bytes(4096), 8 << 20))
    except OSError:
        pass
    crowd.append(s)
tap.ok(c.alive(0) and c.memory(0) < 110000, f"memory stays bounded ({c.memory(0)} KiB)")
for s in crowd:
    s.close()
crowd = [c.connect(0, uid=2001) for i in range(700)]
tap.ok(c.alive(0), "root gets in although a user holds all connections he may have")
for s in crowd:
    s.close()
files = lambda: len(os.listdir(f"/proc/{c.agents[0].pid}/fd"))
tap.ok(until(lambda: files() < 60), "no descriptor is left over", files())
tap.ok(c.end(0) == 0 and c.end(1) == 0, "the agents end")
tap.done()
