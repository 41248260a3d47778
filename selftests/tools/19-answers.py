#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What run and exec make of an agent's answer; refusals, rubbish, and somebody else on the
socket."""

import os, struct, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok, skip
from replies import Agent, EVENT, REPLY, REQUEST, STATUS, clean_error, ehctl, frame, show, work
from tree import run

with open(f"{work}/ehstub", "w", encoding="utf-8") as f:
    f.write('#!/bin/sh\necho stub "$@"\n')
os.chmod(f"{work}/ehstub", 0o755)
with Agent(frame(REPLY, {"version": 1, "session": "s", "managed": True})) as a:
    r = ehctl("run", "-n", "name", "--retry", "--", "echo", "-n", "hi")
    ok("run: in a session", r.returncode == 0 and r.stdout == b"hi" and not r.stderr, show(r))
    ok(
        "with name and retry",
        a.asked == [(REQUEST, {"command": "run", "name": "name", "retry": True, "all": False})],
        a.asked,
    )
    r = ehctl("run", "--view", "auto", "--", "true")
    ok(
        "with a view",
        a.asked[1:]
        == [(REQUEST, {"command": "run", "retry": False, "all": False, "view": "auto"})],
        a.asked,
    )
    r = ehctl("run", "--all", "--", "true")
    ok(
        "all of them",
        a.asked[2:] == [(REQUEST, {"command": "run", "retry": False, "all": True})],
        a.asked,
    )
    r = ehctl("run", "--", "sh", "-c", "ls /proc/self/fd | wc -l")
    plain = run("sh", "-c", "ls /proc/self/fd | wc -l")
    ok("no descriptor is left open to it", r.stdout == plain.stdout, show(r))
with Agent(frame(REPLY, {"version": 1, "session": "", "managed": False})):
    r = ehctl("run", "--", "/bin/echo", "hi")
    ok(
        "run: without the module the stub places it",
        r.stdout == b"stub @auto /bin/echo /bin/echo hi\n",
        show(r),
    )
    r = ehctl("run", "--retry", "--", "/bin/echo", "hi")
    ok("and may run it again", r.stdout == b"stub --retry @auto /bin/echo /bin/echo hi\n", show(r))
    r = ehctl("run", "--all", "--view", "home", "--", "/bin/echo", "hi")
    ok("whatever the load", r.stdout == b"stub --view home @all /bin/echo /bin/echo hi\n", show(r))
r = ehctl("exec", "--auto", "--retry", "--", "/bin/echo", "hi")
ok("exec --auto --retry", r.stdout == b"stub --retry @auto /bin/echo /bin/echo hi\n", show(r))
for words in ("--auto", "--all"), ("--all", "--auto"):
    r = ehctl("exec", *words, "--", "/bin/echo", "hi")
    ok("exec " + " ".join(words), r.stdout == b"stub @all /bin/echo /bin/echo hi\n", show(r))
for words in ("0.1", "--all"), ("--all", "0.1"):
    r = ehctl("exec", *words, "--", "/bin/echo", "hi")
    ok(
        f"exec {' '.join(words)}: wrong usage, nothing runs",
        r.returncode == 2 and b"--all requires --auto" in r.stderr and not r.stdout,
        show(r),
    )
r = ehctl("exec", "--all", "--", "/bin/echo", "hi")
ok("exec --all alone: likewise", r.returncode == 2 and not r.stdout, show(r))
r = ehctl("exec", "0.1", "--view", "home", "--", "/bin/echo", "hi")
ok("exec NODE --view", r.stdout == b"stub --view home @0.1 /bin/echo /bin/echo hi\n", show(r))
r = ehctl("exec", "0.1", "--view", "mine", "--", "/bin/echo", "hi")
ok(
    "exec --view of another word: wrong usage, nothing runs",
    r.returncode == 2 and b"--view mine" in r.stderr and not r.stdout,
    show(r),
)
r = ehctl("exec", "--retry", "0.1", "--", "/bin/echo", "hi")
ok(
    "exec NODE --retry: wrong usage, nothing runs",
    r.returncode == 2 and b"requires --auto" in r.stderr and not r.stdout,
    show(r),
)

# ---- refusals and rubbish ----

with Agent(
    frame(REPLY, {"error": {"what": "0.9", "why": "not in the configuration", "usage": False}})
):
    r = ehctl("drain", "0.9")
    ok("a refusal", clean_error(r, 1, "drain", "0.9: not in the configuration"), show(r))
    r = ehctl("run", "--", "echo", "here")
    ok(
        "run: refused, so it runs here",
        r.returncode == 0 and r.stdout == b"here\n" and b"ehctl run: 0.9: not in" in r.stderr,
        show(r),
    )
with Agent(
    frame(REPLY, {"error": {"what": "drain", "why": "permitted for root only", "usage": False}})
):
    r = ehctl("drain", "0.1")
    ok(
        "the command is named once",
        r.returncode == 1 and r.stderr == b"ehctl drain: permitted for root only\n",
        show(r),
    )
with Agent(frame(REPLY, {"error": {"what": "dwell", "why": "not a number", "usage": True}})):
    r = ehctl("set", "dwell=x", "--json")
    ok(
        "wrong usage, as the agent sees it",
        clean_error(r, 2, "set", "dwell: not a number"),
        show(r),
    )
    r = ehctl("run", "-n", "/", "--", "echo", "here")
    ok("run: a name that cannot be", clean_error(r, 2, "run"), show(r))

RUBBISH = {
    "nothing": b"",
    "half a header": b"\x12\0\0",
    "a header alone": struct.pack("<II", REPLY, 10),
    "a cut document": frame(REPLY, STATUS)[:-3],
    "an unknown type": frame(200, STATUS),
    "type 0": frame(0, STATUS),
    "reserved bytes": struct.pack("<II", REPLY | 1 << 16, 2) + b"{}",
    "a type of another place": frame(1, b"x" * 100),
    "4 GiB announced": struct.pack("<II", REPLY, 0xFFFFFFFF) + b"x" * 1000,
    "an empty document": frame(REPLY, b""),
    "no JSON": frame(REPLY, b"hello"),
    "an array": frame(REPLY, []),
    "a number": frame(REPLY, 7),
    "NUL bytes": frame(REPLY, b"\0" * 100),
    "no UTF-8": frame(REPLY, b'{"version":1,"self":"\xff"}'),
    "two members of one name": frame(REPLY, b'{"version":1,"version":1}'),
    "something behind it": frame(REPLY, b'{"version":1} x'),
    "deep nesting": frame(REPLY, b"[" * 100000),
    "version 2": frame(REPLY, {**STATUS, "version": 2}),
    "no version": frame(REPLY, {"nodes": []}),
    "an HTTP server": b"HTTP/1.1 400 Bad Request\r\n\r\n",
}
for name, answer in RUBBISH.items():
    with Agent(answer):
        r = ehctl("status"), ehctl("status", "--json")
        ok(
            f"{name} is not taken for an answer",
            all(clean_error(x, 1, "status") for x in r),
            show(r[0]) + "\n" + show(r[1]),
        )
ODD = {
    "wrong types": {
        "version": 1,
        "self": 5,
        "topology": [],
        "epoch": "x",
        "nodes": [
            1,
            None,
            "a",
            [],
            {"code": 1, "load": "x", "controller_of": [1], "tasks": 3, "module": "?"},
        ],
    },
    "no members": {"version": 1},
    "nodes is a word": {"version": 1, "nodes": "many", "tasks": "few", "checks": 5, "steps": {}},
    "an odd error": {"error": 5},
}
for name, document in ODD.items():
    with Agent(frame(REPLY, document)):
        r = [ehctl(c) for c in ("status", "tree", "tasks", "doctor")] + [ehctl("why", "1")]
        ok(f"{name}: no crash", all(x.returncode in (0, 1) for x in r), "\n".join(map(show, r)))
with Agent(frame(EVENT, b"[]")):
    r = ehctl("watch")
    ok("watch: an event that is none", clean_error(r, 1, "watch"), show(r))

# ---- somebody else on the socket ----

with open("/proc/self/uid_map", encoding="ascii") as f:
    one_user = f.read().split()[2] == "1"
if os.geteuid() or one_user:
    skip("another user's socket", "needs root")
else:
    with Agent(frame(REPLY, STATUS)) as a:
        os.seteuid(65534)
        a.socket.listen()
        os.seteuid(0)
        r = ehctl("status")
        ok(
            "another user's socket is not believed",
            clean_error(r, 1, "status", "user 65534") and not a.asked,
            show(r),
        )

done()
