#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What ehctl prints of nodes, tasks and settings that an agent tells: as tables, and as JSON."""

import json, os, pwd, re, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from console import terminal
from ktap import done, ok
from replies import Agent, NODES, REPLY, REQUEST, STATUS, clean_error, ehctl, frame, show, work

with Agent(frame(REPLY, STATUS)) as a:
    r = ehctl("status")
    lines = r.stdout.decode().splitlines()
    ok(
        "status",
        r.returncode == 0
        and not r.stderr
        and len(lines) == 6
        and lines[2].split()
        == ["0.0", "n0", "sender", "3.31", "2.00", "1.00", "5", "0", "3", "0", "yes", "up"]
        and lines[5].split() == ["0.3", "höst", "unknown", *"--------", "down"],
        show(r),
    )
    ok(
        "its columns are in line",
        len({line.index(w) for line, w in zip(lines[1:], ("AGENT", "up", "up", "up", "down"))})
        == 1,
        show(r),
    )
    ok("it has asked for it", a.asked == [(REQUEST, {"command": "status"})], a.asked)
    r = ehctl("status", env={**os.environ, "LC_ALL": "C"})
    ok("names are UTF-8 in any locale", "höst" in r.stdout.decode(), show(r))
    shown = terminal(f"{work}/ehctl", "status", columns=80)
    ok(
        "80 columns will do for status",
        shown.count("\n") == 6 and max(map(len, shown.splitlines())) <= 80,
        shown,
    )
    r = ehctl("status", "--octal")
    ok(
        "status --octal",
        [line.split()[0] for line in r.stdout.decode().splitlines()[2:]] == ["00", "01", "02", "03"]
        and b"node 00 of" in r.stdout,
        show(r),
    )
    r = ehctl("status", "--json")
    ok(
        "status --json is the agent's document",
        r.returncode == 0 and json.loads(r.stdout) == STATUS and r.stdout.count(b"\n") == 1,
        show(r),
    )
    ok(
        "and its numbers are short",
        b'"load":3.31,' in r.stdout and b'"threshold":2.0,' in r.stdout,
        show(r),
    )
    r = ehctl("--json", "status")
    ok(
        "--json may come before the command",
        r.returncode == 0 and json.loads(r.stdout) == STATUS,
        show(r),
    )
    r = ehctl("tree", "--json")
    ok("tree --json is the agent's document", json.loads(r.stdout) == STATUS, show(r))
    for c in ("status", "tree", "--help"):
        with open("/dev/full", "wb") as full:
            r = ehctl(
                "status",
                *(["--json"] if c == "tree" else [c] if c == "--help" else []),
                stdout=full,
            )
        ok(
            f"output that cannot be written is an error ({c})",
            r.returncode == 1 and r.stderr.startswith(b"ehctl status: "),
            f"{r.returncode} {r.stderr}",
        )

# Two levels, of which one group has no controller; a node that is down, one that drains, and a name
# that is too long.
LONGEST = "a-host-with-quite-a-long-name.of-a-department.example.org"
BELOW = [
    {**NODES[0], "code": "0.0.0"},
    {**NODES[3], "code": "0.0.1"},
    {
        **NODES[2],
        "code": "0.1.2",
        "host": LONGEST,
        "draining": True,
        "drain": {"by": "root@n0", "reason": "disk"},
    },
]
DEEP = {
    **STATUS,
    "topology": {"n": 3, "l": 2},
    "nodes": BELOW,
    "groups": [
        {**STATUS["groups"][0], "level": 2},
        {**STATUS["groups"][0], "code": "0.0", "nodes": 1, "state": "sender"},
    ],
}


def drawn(stdout):
    """Lines of the table of tree: the first column, and the words behind it."""
    rows = [re.match(r"([^A-Za-z0-9]*)([^ ]*) *(.*)", line).groups() for line in stdout.split("\n")]
    return [(line + code, rest.split()) for line, code, rest in rows[2:-2]]


REST = [
    ["controller", "n0", "ok", "5.31", "6.00", "3.00", "3"],
    ["controller", "n0", "sender", "5.31", "6.00", "3.00", "1"],
    ["n0", "sender", "3.31", "2.00", "1.00", "-"],
    ["höst", "down", "-", "-", "-", "-"],
    ["no", "controller", "known", "-", "-", "-", "-", "-"],
    [LONGEST, "DRAINING", "0.00", "2.00", "1.00", "-"],
]
with Agent(frame(REPLY, DEEP)):
    for locale, lines in (
        ("C.UTF-8", ["0", "├─0.0", "│ ├─0.0.0", "│ └─0.0.1", "└─0.1", "  └─0.1.2"]),
        ("C", ["0", "|-0.0", "| |-0.0.0", "| `-0.0.1", "`-0.1", "  `-0.1.2"]),
    ):
        r = ehctl("tree", env={**os.environ, "LC_ALL": locale})
        text = r.stdout.decode()
        ok(
            f"tree in {locale}",
            r.returncode == 0
            and not r.stderr
            and text.startswith("epoch 4\n")
            and drawn(text) == list(zip(lines, REST)),
            show(r),
        )
        ok(
            "its columns are in line",
            len(
                {
                    line.index(word)
                    for line, word in zip(
                        text.split("\n")[1:], ("STATE", "ok", "sender", "sender", "down")
                    )
                }
            )
            == 1,
            show(r),
        )
        ok(
            "and who drains is below it",
            text.endswith(f"\n{LONGEST} drains: disk (root@n0)\n"),
            show(r),
        )
    shown = terminal(f"{work}/ehctl", "tree", columns=80)
    ok(
        "80 columns will do for tree",
        shown.count("\n") == 9
        and max(map(len, shown.splitlines()[:-1])) <= 80
        and "DRAINING" in shown
        and "2.00" in shown,
        shown,
    )

TASKS = {
    "version": 1,
    "tasks": [
        {
            "id": "0.0:7",
            "pid": 123,
            "home": "0.0",
            "executor": "0.1",
            "command": "gcc",
            "uid": 1000,
            "state": "running",
            "reason": "sender",
            "started": "2026-11-21T08:00:00Z",
        }
    ],
}
try:
    USER = pwd.getpwuid(1000).pw_name
except KeyError:
    USER = "1000"
LONG = {
    **TASKS["tasks"][0],
    "id": "0.0:4611686018427391999",
    "short": "0.0:1999",
    "home_host": "n0",
    "command": "c" * 63,
    "executor_host": "a-host-with-quite-a-long-name.example.org",
    "uid": 0,
    "state": "stopped",
    "elapsed": 3725.9,
    "cpu": 401.0,
    "memory": 1610612736,
    "session": "linux-build.4711.1",
}
with Agent(frame(REPLY, TASKS)):
    r = ehctl("tasks")
    ok(
        "tasks of an agent of before",
        r.returncode == 0
        and r.stdout.decode().splitlines()[1].split()
        == ["0.0:7", USER, "0.0", "0.1", "running", "-", "-", "-", "gcc"]
        and b"SESSION" not in r.stdout,
        show(r),
    )
    r = ehctl("tasks", "--json")
    ok(
        "tasks --json has the user besides",
        json.loads(r.stdout)["tasks"] == [{**TASKS["tasks"][0], "user": USER}],
        show(r),
    )
with Agent(frame(REPLY, {**TASKS, "tasks": [LONG]})):
    r = ehctl("tasks")
    ok(
        "tasks: nothing is cut in a pipe",
        r.stdout.decode().splitlines()[1].split()
        == [
            "0.0:1999",
            "root",
            "n0",
            LONG["executor_host"],
            "stopped",
            "1:02:05",
            "6:41",
            "1.5G",
            "linux-build",
            LONG["command"],
        ],
        show(r),
    )
    shown = terminal(f"{work}/ehctl", "tasks", columns=80)
    ok(
        "on a terminal 80 columns will do",
        shown.count("\n") == 2 and max(map(len, shown.splitlines())) <= 80,
        shown,
    )
    ok(
        "what matters is whole there",
        all(w in shown for w in ("0.0:1999", "stopped", "1:02:05", "6:41", "1.5G")),
        shown,
    )
with Agent(frame(REPLY, {"version": 1, "tasks": []})):
    r = ehctl("tasks")
    ok("no tasks: the heading alone", r.returncode == 0 and r.stdout.count(b"\n") == 1, show(r))

WHY = {
    "version": 1,
    "id": "0.0:7",
    "command": "gcc",
    "home": "0.0",
    "executor": "0.1",
    "reason": "sender",
    "text": "Because.",
    "steps": [{"at_ms": 0.5, "what": "asked 0.2"}],
}
with Agent(frame(REPLY, WHY)) as a:
    r = ehctl("why", "0.0:7")
    ok(
        "why",
        r.returncode == 0 and b"sender: Because." in r.stdout and b"0.50 ms  asked 0.2" in r.stdout,
        show(r),
    )
    ok("it has said the id", a.asked == [(REQUEST, {"command": "why", "id": "0.0:7"})], a.asked)

with Agent(frame(REPLY, {"version": 1, "guests": 2, "away": 0})) as a:
    r = ehctl("leave"), ehctl("leave", "--now", "--json")
    ok(
        "leave",
        [x.returncode for x in r] == [0, 0]
        and b"2 guests" in r[0].stdout
        and json.loads(r[1].stdout)["guests"] == 2
        and [q["now"] for _, q in a.asked] == [False, True],
        a.asked,
    )

with Agent(frame(REPLY, {"version": 1})) as a:
    r = ehctl("reload")
    ok(
        "reload says nothing",
        r.returncode == 0
        and not r.stdout
        and not r.stderr
        and a.asked == [(REQUEST, {"command": "reload"})],
        show(r),
    )
with Agent(frame(REPLY, {"error": {"what": "kept", "why": "a.conf:1: bad", "usage": False}})):
    r = ehctl("reload")
    ok("but why it was refused", clean_error(r, 1, "reload", "kept: a.conf:1: bad"), show(r))

with Agent(frame(REPLY, {"version": 1})) as a:
    r = ehctl(
        "set",
        "threshold=2.5",
        "length=0.001",
        "weight=1",
        "load-index=cpu",
        "time-limit=50",
        "dwell=0",
    )
    ok(
        "set says nothing if the agent does not",
        r.returncode == 0 and not r.stdout and not r.stderr,
        show(r),
    )
    ok(
        "tasks become thousandths",
        a.asked
        == [
            (
                REQUEST,
                {
                    "command": "set",
                    "threshold": 2500,
                    "length": 1,
                    "weight": 1000,
                    "load-index": "cpu",
                    "time-limit": 50,
                    "dwell": 0,
                },
            )
        ],
        a.asked,
    )
    a.asked.clear()
    ehctl("set", "threshold=2.0005", "length=-1.5", "weight=nan", "dwell=1e30")
    ok(
        "no number is bent",
        a.asked[0][1]
        == {"command": "set", "threshold": 2001, "length": -1500, "weight": "nan", "dwell": "1e30"},
        a.asked,
    )
    a.asked.clear()
    r = ehctl("drain", "0.1"), ehctl("undrain", "0.1", "--json")
    ok(
        "drain and undrain",
        [x.returncode for x in r] == [0, 0]
        and json.loads(r[1].stdout) == {"version": 1}
        and [q["command"] + q["node"] for _, q in a.asked] == ["drain0.1", "undrain0.1"],
        a.asked,
    )

CHANGED = {
    "version": 1,
    "settings": [
        {"name": "threshold", "before": 2.0, "value": 3.125},
        {"name": "dwell", "before": 0, "value": 0},
        {"name": "load-index", "before": "runnable", "value": "cpu"},
    ],
}
with Agent(frame(REPLY, CHANGED)):
    r = ehctl("set", "threshold=3.125", "dwell=0", "load-index=cpu")
    ok(
        "set says what it has changed",
        r.returncode == 0
        and r.stdout.decode()
        == "threshold: 2.0 -> 3.125\ndwell: 0, unchanged\nload-index: runnable -> cpu\n",
        show(r),
    )
    ok("and --json the same", json.loads(ehctl("set", "dwell=0", "--json").stdout) == CHANGED)
SETTINGS = {
    "version": 1,
    "settings": [
        {"name": "threshold", "value": 2.0, "unit": "tasks", "min": 0.0, "max": 1e6, "choices": []},
        {
            "name": "load-index",
            "value": "cpu",
            "unit": None,
            "min": None,
            "max": None,
            "choices": ["runnable", "cpu"],
        },
        {"name": "dwell", "value": 20, "unit": "ms", "min": 0, "max": 60000, "choices": []},
    ],
}
with Agent(frame(REPLY, SETTINGS)) as a:
    r = ehctl("get")
    ok(
        "get",
        r.returncode == 0
        and [line.split() for line in r.stdout.decode().splitlines()]
        == [
            ["SETTING", "VALUE", "UNIT", "MAY", "BE"],
            ["threshold", "2.0", "tasks", "0", "to", "1000000"],
            ["load-index", "cpu", "-", "runnable|cpu"],
            ["dwell", "20", "ms", "0", "to", "60000"],
        ],
        show(r),
    )
    r = ehctl("get", "dwell", "threshold")
    ok(
        "some",
        [line.split()[0] for line in r.stdout.decode().splitlines()[1:]] == ["threshold", "dwell"],
        show(r),
    )
    r = ehctl("get", "dwell", "--json")
    ok(
        "and --json",
        json.loads(r.stdout) == {"version": 1, "settings": SETTINGS["settings"][2:]},
        show(r),
    )
    a.asked.clear()
    names = re.findall(r"^  ([a-z-]+)=", ehctl("help", "set").stdout.decode(), flags=re.M)
    for word in "get", "set":
        r = ehctl(word, "colour=1" if word == "set" else "colour")
        said = re.search(r"there are (.*?)(?:;|\n|$)", r.stderr.decode())
        ok(
            f"{word}: an unknown name is told which there are, those of the help",
            r.returncode == 2 and said and sorted(said[1].split(", ")) == sorted(names),
            (show(r), names),
        )
    ok("without asking the agent", not a.asked, a.asked)

done()
