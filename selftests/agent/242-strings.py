#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Strings of others. What comes in has no character that a terminal may take for an order: not from
a member, in its questions and answers, and not from a local user. What ehctl prints has none
either, whatever its agent says: node 1's is a Python program that answers as the real one does,
with such characters in each string."""

import json, os, re, socket, struct, sys, threading, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import agent_socket, http2
from cluster import Cluster
from commands import STUB
from frames import FRAME, frame, read_exactly
from ktap import done, ok
from netns import address
from tree import BUILD
from wait import until

EHRSH = os.path.join(BUILD, "bin", "ehrsh")
BAD = ["\x01", "\x1b[2J", "\n", "\t", "\r", "\x7f", "\x85", "\x9b31m", "\u2028", "\u202e", "\u2066"]
ALL = "".join(BAD)
LIAR, TALKER = 1, 2

c = Cluster(3, "heartbeat = 1000")
cert = os.path.join(c.dir, "cert")
c.start(0)


def raw(text):
    """The characters of it that are not to be printed."""
    return [
        x
        for x in text
        if x != "\n" and (ord(x) < 32 or 127 <= ord(x) < 160 or x in "\u2028\u202e\u2066")
    ]


# ---- what a member asks ----

to = []


def ask(method, path, body):
    """The agent closes a connection that is silent while this waits for something else."""
    for again in True, False:
        try:
            if not to:
                to.append(http2.Client(http2.connect(c.net, TALKER, address(0), cert, "n2")))
                assert to[0].hello(node="0.2") == 200
            code, body = to[0].request(method, path, body)
            return code, body.decode()
        except (EOFError, OSError):
            to.clear()
            if not again:
                raise


RESERVE = {
    "id": "0.2:1",
    "command": "true",
    "path": "/bin/true",
    "uid": 1000,
    "user": "x",
    "size": 1,
    "program": {},
    "cwd": {"path": "/"},
}
BODIES = {
    "/v1/hello": {
        "cluster": "test",
        "node": "0.2",
        "version": 1,
        "boot_id": "x",
        "capacity": 1000,
        "release": "?",
    },
    "/v1/control": {
        "type": "report",
        "level": 1,
        "load": 0,
        "threshold": 2000,
        "length": 1000,
        "floor": 1000,
        "capacity": 1000,
        "nodes": 1,
        "node": {"code": "0.2", "host": "n2", "load": 0.0, "state": "?", "agent": "up"},
    },
    "/v1/reserve": {**RESERVE, "command": "?"},
    "/v1/drain": {"draining": True, "by": "root@n2", "reason": "?"},
    "/v1/join": {"cluster": "test", "host": "?", "address": f"{address(2)}:7411"},
}
for path, body in BODIES.items():
    member = next(m for m in re.findall(r'"([^"]*)": "\?"', json.dumps(body)))
    wrong = [
        (code, said)
        for x in BAD
        for code, said in [
            ask("POST", path, json.loads(json.dumps(body).replace("?", json.dumps(x)[1:-1])))
        ]
        if code != 400 or f"a string in {member} with a character that is not allowed" not in said
    ]
    ok(f"{path}: refused with each such character in {member}", not wrong, wrong)
code, said = ask("POST", "/v1/control", {"type": "report", "\x1b[2J": 1})
ok(
    "and in the name of a member",
    code == 400 and "the body has a member whose name is not allowed" in said,
    (code, said),
)
code, said = ask("POST", "/v1/drain", {"draining": True, "reason": "x" * 8193})
ok(
    "and what is too long",
    code == 400 and "a string in reason that is too long" in said,
    (code, said),
)
code, said = ask("POST", "/v1/reserve", {**RESERVE, "path": f"/tmp/{ALL}"})
ok(
    "a path may have any: what is said of it does not",
    code == 200 and not raw(json.loads(said)["text"]),
    (code, said),
)

# ---- what a member answers ----

hears = []
reserves = False


def answer(body):
    hears.append(body)
    if body and "cluster" in body:
        return {
            "cluster": "test",
            "node": "0.1",
            "version": 1,
            "boot_id": "x",
            "capacity": 1000,
            "time": int(time.time() * 1000),
        }
    if body and "program" in body and reserves:
        return {"token": "x" * 32, "lease": 10000, "view": "shared"}
    return {"error": f"no {ALL}", "reason": "refused", "text": f"no {ALL}"}


def refuse(said):
    """A job."""
    if len(said) >= 8 and struct.unpack("<I", said[:4])[0] == FRAME["FRAME_JOB"]:
        return frame("FRAME_REFUSED", struct.pack("<II", 1, 0) + f"no {ALL}".encode() + b"\xff")
    return None


server = http2.Server(c.net, LIAR, address(LIAR), cert, "n1", answer, refuse)


def sent():
    """A task to n1, which may not be connected yet."""
    return c.call(0, [STUB, "@0.1", "/bin/true", "true"], errors="replace")


asked = until(lambda: [said for said in [sent()] if any(b and "program" in b for b in hears)])
ok(
    "an answer with such characters is none",
    asked and asked[0].returncode and not raw(asked[0].stderr),
    (asked, hears),
)
ok(
    "which the log says, without them",
    until(
        lambda: c.logged(
            0,
            (
                r"the answer of n1 is ignored: it has a string in \w+ with a character that is not"
                r" allowed"
            ),
        )
    )
    and not raw(c.log(0)),
    c.log(0)[-1000:],
)

reserves = True
asked = until(lambda: [said for said in [sent()] if "no " in said.stderr])
ok(
    "a job that is refused with such characters is, without them",
    asked and asked[0].returncode and not raw(asked[0].stderr),
    asked,
)

# ---- what a local user asks ----

said = c.ehctl(0, "drain", "n0", "--reason", f"x{ALL}")
ok(
    "a reason with such characters is refused",
    said.returncode == 2 and "reason" in said.stderr and not raw(said.stderr),
    said,
)
said = c.ehctl(0, "drain", "n0", "--reason", "naïve €")
ok("one with others is not", said.returncode == 0, said)
for words in (
    (STUB, f"@0.1{ALL}", "/bin/true", "true"),
    (EHRSH, f"n{ALL}", "true"),
    (EHRSH, f"-{ALL}", "n0", "true"),
):
    said = c.call(0, words, errors="replace")
    ok(
        f"{os.path.basename(words[0])} says none of its arguments as it is",
        said.returncode and said.stderr and not raw(said.stderr),
        said,
    )
said = c.ehctl(0, "exec", "n0", "--", "/bin/true")
c.call(0, [STUB, "@0.2", "/bin/true", "true"], text=False)

# ---- what is in a file that somebody else has written ----

FILES = {
    "json": '{"tasks": [{"id": "a?", "work": 1}]}',
    "dot": 'digraph { "a?" [Weight=1] }',
    "dax": '<adag><job id="a?" name="x" runtime="1"/></adag>',
}


def planned(kind, x):
    path = os.path.join(c.dir, f"of-others.{kind}")
    name = {"json": json.dumps(x)[1:-1]}.get(kind, x)
    with open(path, "w") as f:
        f.write(FILES[kind].replace("?", name))
    return c.ehctl(0, "plan", "dag", path, "--processors", "2")


for kind in FILES:
    said = planned(kind, "\u20ac")
    ok(
        f"{kind}: names of tasks may have other characters",
        said.returncode == 0 and "a\u20ac" in said.stdout,
        said,
    )
    wrong = [
        (x, said) for x in BAD for said in [planned(kind, x)] if raw(said.stdout + said.stderr)
    ]
    ok(f"{kind}: no such character of a name is printed", not wrong, wrong)

# ---- what ehctl prints ----

TASK = {
    "id": "0.0:7",
    "short": "0.0:0007",
    "command": "x",
    "uid": 0,
    "home": "0.0",
    "executor": "0.1",
    "state": "away",
    "elapsed": 1,
    "cpu": 1,
    "memory": 1,
    "session": "make.7.1",
    "reason": "sender",
    "home_host": "n0",
    "executor_host": "n1",
    "pid": 7,
}
KNOWN = {
    "tasks": {"version": 1, "tasks": [TASK]},
    "history": {
        "version": 1,
        "more": False,
        "dropped": 0,
        "tasks": [
            {
                **TASK,
                "row": 1,
                "program": "/bin/x",
                "arguments": "x",
                "started": 1700000000000,
                "ended": 1700000001000,
                "outcome": "exited",
                "status": 0,
                "wall": 1.0,
                "lost": False,
                "bytes_in": 0,
                "bytes_out": 0,
                "text": "x",
            }
        ],
    },
    "why": {
        "version": 1,
        **TASK,
        "text": "x",
        "steps": [{"at_ms": 1, "what": "x"}],
        "expected": None,
    },
    "cancel": {
        "version": 1,
        "what": "task",
        "name": "0.0:7",
        "processes": [],
        "killed": True,
        "caller": 1,
    },
    "guests": {
        "version": 1,
        "node": "0.1",
        "host": "n1",
        "draining": True,
        "drain": {"by": "x", "reason": "x", "since": "x"},
        "guests": 0,
        "away": 0,
        "oldest": None,
        "tasks": [],
        "starved": [],
    },
    "owner": {
        "version": 1,
        "node": "0.1",
        "host": "n1",
        "mode": "on",
        "active": True,
        "idle": 1,
        "guests": 0,
    },
    "revoked": {
        "version": 1,
        "number": 1,
        "revoked": [{"host": "n9", "time": "2026-01-01T00:00:00Z"}],
    },
    "revoke": {"version": 1, "number": 1, "host": "n9", "time": "2026-01-01T00:00:00Z"},
    "invite": {"version": 1, "token": "eh1-x", "seconds": 60, "address": "x", "host": "x"},
    "watch": {
        "time": "2026-01-01T00:00:00Z",
        "event": "place",
        "id": "0.0:7",
        "command": "x",
        "home": "0.0",
        "executor": "0.1",
    },
}
TRUE = {
    **{command: c.ask(0, {"command": command}) for command in ("status", "tree", "doctor")},
    **KNOWN,
}


def bad(value):
    """The same, with such characters in each string and behind the names of members that are none
    of ehctl's."""
    if isinstance(value, str):
        return value + ALL
    if isinstance(value, list):
        return [bad(x) for x in value]
    if isinstance(value, dict):
        return {**{name: bad(x) for name, x in value.items()}, f"more{ALL}": ALL}
    return value


answers = {
    "with": lambda command: bad(TRUE.get(command, {"version": 1, "node": "0.1", "host": "n1"})),
    "an error": lambda command: {
        "error": {"what": f"n1{ALL}", "why": f"not {ALL}", "usage": False}
    },
}
saying = "with"


def lie(s):
    with s:
        try:
            while True:
                number, length = struct.unpack("<II", read_exactly(s, 8))
                command = json.loads(read_exactly(s, length))["command"]
                said = json.dumps(answers[saying](command)).encode()
                s.sendall(
                    struct.pack(
                        "<II",
                        FRAME["FRAME_EVENT" if command == "watch" else "FRAME_REPLY"],
                        len(said),
                    )
                    + said
                )
                if command == "watch":
                    return
        except (EOFError, OSError):
            pass


with c.net.enter(LIAR):
    local = socket.socket(socket.AF_UNIX)
agent_socket.listen(local)


def serve():
    while True:
        threading.Thread(target=lie, args=[local.accept()[0]], daemon=True).start()


threading.Thread(target=serve, daemon=True).start()
COMMANDS = [
    ["status"],
    ["tree"],
    ["tasks"],
    ["top", "--once"],
    ["why", "0.0:7"],
    ["history"],
    ["history", "--csv"],
    ["cancel", "0.0:7"],
    ["set", "threshold=2"],
    ["drain", "n1", "--wait"],
    ["undrain", "n1"],
    ["owner"],
    ["owner", "on"],
    ["watch"],
    ["doctor"],
    ["leave"],
    ["reload"],
    ["invite"],
    ["revoke", "n9"],
    ["revoke", "--list"],
]
for saying in answers:
    printed = {}
    for words in [
        *COMMANDS,
        *[[*w, "--json"] for w in COMMANDS if not {"--csv", "--wait", "--once"} & {*w}],
    ]:
        said = c.ehctl(LIAR, *words)
        text = said.stdout.replace("\r\n", "\n") + said.stderr
        name = " ".join(words)
        if (
            not text
            and said.returncode == 0
            and words[0] not in ("set", "reload", "leave", "drain", "undrain")
        ):
            printed[name] = said
        if raw(text) or said.returncode < 0 or said.returncode > 9 or "usage:" in text:
            printed[name] = said
    ok(f"no command prints such a character of its agent's answer {saying}", not printed, printed)
ok("node 0 goes on", c.alive(0))
done()
