#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl watch and history, with an agent that tells what the test wants."""

import json, os, re, socket, struct, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from console import terminal
from ktap import done, ok
from replies import Agent, EVENT, REPLY, clean_error, ehctl, frame, show, work
from tree import TOP, run
from wait import WAIT


class Hangs(Agent):
    """Accepts nobody, so that each question waits, until `answers` or more have come: then these
    are answered, in turn."""

    def __init__(self, answers=0, answer=b""):
        super().__init__(answer)
        self.answers = answers

    def serve(self):
        """The first comes last: whoever asks it waits for that of the second."""
        came = [self.socket.accept()[0] for _ in range(self.answers)]
        for c in reversed(came):
            head = c.recv(8, socket.MSG_WAITALL)
            self.asked.append(
                (
                    struct.unpack("<II", head)[0],
                    json.loads(c.recv(struct.unpack("<II", head)[1], socket.MSG_WAITALL)),
                )
            )
            c.sendall(self.answer)
            c.close()


QUESTIONS = {
    "status": (),
    "tree": (),
    "tasks": (),
    "history": ("--all",),
    "why": ("0.1:7",),
    "get": (),
    "drain": ("n1",),
    "reload": (),
}
with Hangs():
    started = {
        c: subprocess.Popen(
            [f"{work}/ehctl", c, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for c, more in QUESTIONS.items()
    }
    doctor = subprocess.Popen(
        [f"{work}/ehctl", "doctor"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    for c, p in started.items():
        out, err = p.communicate(timeout=WAIT)
        ok(
            f"{c} does not wait for an agent that hangs",
            p.returncode == 1
            and not out
            and err
            == f"ehctl {c}: the agent does not answer: see `systemctl status ehagent`\n".encode(),
            (p.returncode, out, err),
        )
    out, err = doctor.communicate(timeout=WAIT)
    ok(
        "nor does doctor, which says so",
        doctor.returncode == 1
        and re.search(rb"^error +agent +the agent runs, but does not answer\n +fix: ", out)
        and not err,
        (out, err),
    )
with Hangs(
    2, frame(REPLY, {"version": 1, "tasks": [], "refused": [], "silent": [], "more": False})
) as agent:
    r = ehctl("tasks", "--all", "--json")
    ok(
        "an agent that answers others is waited for",
        r.returncode == 0
        and json.loads(r.stdout)["tasks"] == []
        and [a[1]["command"] for a in agent.asked] == ["get", "tasks"],
        (show(r), agent.asked),
    )

EVENTS = [
    {"time": "T1", "event": "state", "node": "0.1", "load": 0.5},
    {"time": "T2", "event": "place"},
]
with Agent(b"".join(frame(EVENT, e) for e in EVENTS)):
    r = ehctl("watch", "--json")
    ok(
        "watch --json: an event a line",
        [json.loads(line) for line in r.stdout.splitlines()] == EVENTS,
        show(r),
    )
    ok("and the end of the agent is an error", r.returncode == 1 and b"ended" in r.stderr, show(r))
    r = run("sh", "-c", f"exec {work}/ehctl watch >&-")
    ok(
        "watch with a closed output writes to no other descriptor",
        clean_error(r, 1, "watch", "Bad file descriptor"),
        show(r),
    )
    r = ehctl("watch")
    ok(
        "watch",
        r.stdout.decode().splitlines()[0].split() == ["T1", "state", "node", "0.1,", "load", "0.5"],
        show(r),
    )
with Agent(frame(EVENT, {"time": "2026-11-30T22:23:51.242Z", "event": "stop", "node": "0.1"})):
    r = ehctl("watch", env={**os.environ, "TZ": "XXX-5:30"})
    ok(
        "watch: local time",
        r.stdout.split() == [b"2026-12-01", b"03:53:51.242", b"stop", b"node", b"0.1"],
        show(r),
    )
    r = ehctl("watch", "--json", env={**os.environ, "TZ": "XXX-5:30"})
    ok("but not in JSON", b"2026-11-30T22:23:51.242Z" in r.stdout, show(r))


class Turns(Agent):
    """Answers each connection with the next of these, and then none."""

    answer = property(
        lambda self: self.answers.pop(0) if self.answers else b"",
        lambda self, answers: setattr(self, "answers", answers),
    )


def look(silent, refused=(), events=()):
    return frame(
        REPLY,
        {
            "version": 1,
            "events": events,
            "silent": [{"node": n, "host": n} for n in silent],
            "refused": [{"node": n, "host": n, "refused": "no"} for n in refused],
            "more": False,
        },
    )


with Turns(
    [
        look(["n1"]),
        look(["n2"]),
        look(["n2"], ["n3"]),
        look(["n2"], ["n3"]),
        look([]),
        look([], ["n3"]),
    ]
):
    r = ehctl("watch", "--all")
    ok(
        "watch --all: nodes that are missing, each time there are others",
        re.findall(rb"watch: (?:no answer from )?(n\d)", r.stderr)
        == [b"n1", b"n2", b"n2", b"n3", b"n3"],
        show(r),
    )
ONE, TWO = (
    {"self": f"0.{n}", "number": n, "time": f"T{n}", "event": "reload", "at": -n} for n in (1, 2)
)
with Turns(
    [
        look([], events=[ONE]),
        look(["n1"]),
        look(["n1", "n2"], events=[TWO]),
        look(["n2"], events=[ONE]),
        look([], events=[TWO, ONE]),
    ]
):
    r = ehctl("watch", "--all", "--json")
    ok(
        "watch --all: events of a node that did not answer between are told once",
        [json.loads(line)["time"] for line in r.stdout.splitlines()] == ["T1", "T2"],
        show(r),
    )
r = ehctl("watch", "--event", "nonsense")
ok("watch: no such event", clean_error(r, 2, "watch", "--event nonsense"), show(r))
told = set()
for folder, _, files in os.walk(f"{TOP}/agent"):
    for name in files:
        with open(f"{folder}/{name}", encoding="utf-8") as f:
            told |= set(re.findall(r'\bevent_tell\([^,"]+, "([^"]+)"', f.read()))
ok(
    "it names those that there are",
    told and told == set(r.stderr.decode().splitlines()[0].split("must be one of ")[1].split()),
    (told, show(r)),
)
for more in (), ("--all",):
    r = ehctl("watch", "--user", "nosuch", *more)
    ok(
        f"watch{' of all nodes' if more else ''}: no such user",
        clean_error(r, 1 if more else 2, "watch", *() if more else ("no such user",)),
        show(r),
    )
LONG = {
    "id": "0.0:4611687814484141",
    "user": "root",
    "uid": 0,
    "home": "0.0",
    "executor": "0.1",
    "executor_host": "a-node-with-a-name",
    "reason": "files-differ",
    "state": "ended",
    "started": "2020-11-23T10:00:00Z",
    "elapsed": 3661.0,
    "exit": None,
    "signal": 15,
    "cpu_user": 100.0,
    "cpu_system": 20.0,
    "memory": 123456789,
    "session": "a-session-with-a-long-name.123.0",
    "command": "a-command-with-a-long-name",
}
with Agent(frame(REPLY, {"version": 1, "tasks": [LONG], "more": False})):
    shown = terminal(f"{work}/ehctl", "history", columns=80)
    ok(
        "history: how it ended is not cut",
        " SIGTERM " in shown and "a-command-with" not in shown,
        shown,
    )
    ok("nor is it wider than the terminal", max(map(len, shown.splitlines())) <= 80, shown)
    ok(
        "what is cut has a mark",
        shown.count("…") >= 2 and all(len(line) <= 80 for line in shown.splitlines()),
        shown,
    )
    shown = terminal(f"{work}/ehctl", "history", columns=80, locale="C")
    ok(
        "of ASCII, where that is all there is",
        shown.isascii()
        and shown.count("~") >= 2
        and all(len(line) <= 80 for line in shown.splitlines()),
        shown,
    )
    shown = terminal(f"{work}/ehctl", "history", columns=300)
    ok(
        "nothing is, where there is room",
        "a-command-with-a-long-name" in shown and "…" not in shown,
        shown,
    )
FIVE = [
    LONG | {"id": f"0.0.1:{n}", "user": "root", "executor_host": "n1", "command": "sh"}
    for n in (461168781440042, 461168781450042)
]
for columns in 80, 75:
    with Agent(frame(REPLY, {"version": 1, "tasks": FIVE, "more": False})):
        shown = terminal(f"{work}/ehctl", "history", columns=columns)
        ok(
            f"history in {columns} columns: short words below long headings",
            max(map(len, shown.splitlines())) <= columns and " SIGTERM " in shown and "n1" in shown,
            shown,
        )
WIDE = LONG | {"command": "ä" * 30 + "漢字" * 30}
with Agent(frame(REPLY, {"version": 1, "tasks": [WIDE], "more": False})):
    shown = terminal(f"{work}/ehctl", "history", columns=110)
    ok(
        "by columns, not bytes",
        shown.rstrip().endswith("…")
        and max(sum(1 + (c in "漢字") for c in line) for line in shown.splitlines()) in (109, 110),
        shown,
    )
GROUP = {
    "key": "x" * 40 + ".12345.0",
    "started": "2020-11-23T10:00:00Z",
    "elapsed": 3661.0,
    "tasks": 10,
    "away": 3,
    "cpu_away": 3.0,
    "lost": 0,
    "exit": 1,
}
with Agent(frame(REPLY, {"version": 1, "groups": [GROUP], "more": False})):
    shown = terminal(f"{work}/ehctl", "history", "--by", "session", columns=80)
    ok(
        "history --by session: a long name is cut",
        all(len(line) <= 80 for line in shown.splitlines()) and "x" * 20 in shown,
        shown,
    )
with Agent(
    frame(
        REPLY,
        {
            "version": 1,
            "groups": [
                GROUP | {"started": "2026-11-30T10:00:00.110Z", "last": "2026-11-30T10:00:00.116Z"}
            ],
            "more": False,
        },
    )
):
    r = ehctl("history", "--by", "session", "--json")
    ok("its seconds have milliseconds, and no more", b'"elapsed":0.006,' in r.stdout, show(r))
with Agent(
    frame(
        REPLY, {"version": 1, "tasks": [], "more": False, "nodes": [{"code": "0.1", "host": "n1"}]}
    )
):
    for node, known in ("n1", True), ("0.1", True), ("n", False):
        r = ehctl("history", "--node", node)
        ok(
            f"history of {node}",
            r.returncode == 0
            and (not r.stderr if known else b"--node n: the agent knows no such" in r.stderr),
            show(r),
        )
        r = ehctl("watch", "--node", node)
        ok(
            f"watch of {node}",
            (b"--node n: the agent knows no such" in r.stderr) == (not known),
            show(r),
        )
with Agent(b"".join(frame(EVENT, e) for e in EVENTS) * 5000, linger=True):
    r = run("sh", "-c", f"{work}/ehctl watch | head -n 1")
    ok("watch ends with its reader", r.returncode == 0 and r.stdout.count(b"\n") == 1, show(r))

done()
