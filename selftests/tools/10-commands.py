#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl against no agent, a well-behaved one, and ones that answer rubbish.

The agent is a socket of this program in a network namespace and a /run of its own, so that an agent
of this machine neither hears nor answers.
"""
import json
import os
import pwd
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.append(os.path.join(sys.path[0], "../lib"))
import agent_socket
from console import terminal
from ktap import done, ok, skip
from netns import without_agents
from tree import BUILD, TOP, run
from wait import WAIT

without_agents()

with open(f"{TOP}/lib/wire/frame.h", encoding="utf-8") as f:
    TYPES = re.findall(
        r"^\t(FRAME_\w+)", f.read().split("enum frame_type {")[1].split("};")[0], flags=re.M
    )
REQUEST, REPLY, EVENT = (
    1 + TYPES.index(t) for t in ("FRAME_REQUEST", "FRAME_REPLY", "FRAME_EVENT")
)
work = tempfile.mkdtemp()
for program in "ehctl", "ehctl-commands":
    shutil.copy(f"{BUILD}/bin/{program}", work)
# ehctl is the stub for exec; the program of all commands takes the one that lies beside it, which
# shows what it is given
with open(f"{work}/ehstub", "w", encoding="utf-8") as f:
    f.write("#!/bin/sh\nshift 0\nfor a; do printf '<%s>' \"$a\"; done\necho\nexit 9\n")
os.chmod(f"{work}/ehstub", 0o755)


def ehctl(*arguments, **how):
    """Calls it."""
    return run(
        f"{work}/ehctl{'-commands' if arguments[:1] == ('exec',) else ''}", *arguments, **how
    )


def frame(kind, document):
    """A frame with this document, or these bytes."""
    if not isinstance(document, bytes):
        document = json.dumps(document).encode()
    return struct.pack("<II", kind, len(document)) + document


class Agent:
    """Answers each connection with the same bytes; `asked` has the requests."""

    def __init__(self, answer, linger=False):
        self.answer, self.linger, self.asked = answer, linger, []

    def __enter__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        agent_socket.listen(self.socket)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()

    def serve(self):
        """Until the socket is shut down."""
        while True:
            try:
                c, _ = self.socket.accept()
            except OSError:
                return
            with c:
                head = c.recv(8, socket.MSG_WAITALL)
                if len(head) == 8:
                    kind, length = struct.unpack("<II", head)
                    self.asked.append((kind, json.loads(c.recv(length, socket.MSG_WAITALL))))
                try:
                    c.sendall(self.answer)
                    if self.linger:  # until ehctl closes
                        c.recv(1)
                except OSError:
                    pass


def clean_error(r, status, command, *words):
    """Exit status, nothing on stdout, `ehctl COMMAND: …` with these words on stderr."""
    text = r.stderr.decode()
    return (
        r.returncode == status
        and not r.stdout
        and text.startswith(f"ehctl {command}: ")
        and all(w in text for w in words)
    )


def show(r):
    """For failures."""
    return f"exit {r.returncode}\nstdout {r.stdout!r}\nstderr {r.stderr!r}"


COMMANDS = [
    "status",
    "tree",
    "tasks",
    "why",
    "cancel",
    "run",
    "exec",
    "set",
    "get",
    "drain",
    "undrain",
    "owner",
    "watch",
    "doctor",
    "cert",
    "init",
    "invite",
    "join",
    "revoke",
    "leave",
    "reload",
    "history",
]

# ---- usage ----

r = ehctl()
ok(
    "no command is wrong usage",
    r.returncode == 2 and not r.stdout and b"usage" in r.stderr,
    show(r),
)
r = ehctl("frobnicate")
ok(
    "nor is an unknown one",
    r.returncode == 2 and not r.stdout and b"frobnicate" in r.stderr,
    show(r),
)
for word in "help", "--help", "version":
    r = ehctl(word)
    ok(word, r.returncode == 0 and r.stdout and not r.stderr, show(r))
r = ehctl("help")
ok("help lists all commands", all(f"\n  {c} " in r.stdout.decode() for c in COMMANDS), show(r))
for wrong, right in (
    ("stauts", "status"),
    ("undran", "undrain"),
    ("task", "tasks"),
    ("hlep", "help"),
    ("stat", "status"),
):
    r = ehctl(wrong)
    ok(
        f"{wrong}: {right} is suggested",
        r.returncode == 2 and not r.stdout and f"did you mean {right}?" in r.stderr.decode(),
        show(r),
    )
    r = ehctl("help", wrong)
    ok(
        f"help {wrong}: likewise",
        r.returncode == 2 and not r.stdout and f"did you mean {right}?" in r.stderr.decode(),
        show(r),
    )
for wrong in (
    ["help", "frobnicate"],
    ["help", "status", "tasks"],
    ["help", "--json"],
    ["--json", "help"],
    ["help", "status", "--json"],
    ["--jsn", "status"],
    ["--json"],
):
    r = ehctl(*wrong)
    ok(f"{' '.join(wrong)}: wrong usage", r.returncode == 2 and not r.stdout and r.stderr, show(r))
for words, right in (
    (["status", "--octl"], "--octal"),
    (["drain", "n1", "--resaon=x"], "--reason"),
    (["set", "treshold=3"], "threshold"),
    (["run", "--retyr", "--", "true"], "--retry"),
    (["exec", "--atuo", "--", "true"], "--auto"),
    (["tree", "--jsno"], "--json"),
):
    r = ehctl(*words)
    ok(
        f"{' '.join(words)}: {right} is suggested",
        clean_error(r, 2, words[0], f"did you mean {right}?"),
        show(r),
    )
for c in COMMANDS:
    r = ehctl("help", c)
    ok(
        f"help {c} is {c} --help",
        r.returncode == 0 and r.stdout and r.stdout == ehctl(c, "--help").stdout and not r.stderr,
        show(r),
    )
for words in (["version", "--json"], ["--json", "version"], ["--json", "--version"]):
    r = ehctl(*words)
    ok(f"{' '.join(words)}", r.returncode == 0 and json.loads(r.stdout)["ehctl"], show(r))
for c in COMMANDS:
    r = ehctl(c, "--help")
    ok(
        f"{c} --help",
        r.returncode == 0 and r.stdout.startswith(f"usage: ehctl {c} ".encode()) and not r.stderr,
        show(r),
    )
HELP = [c for c in re.findall(r"(?m)^  ([a-z]+) ", ehctl("help").stdout.decode()) if c != "help"]
for words in (
    [["help"]]
    + [[c, "--help"] for c in HELP]
    + [["plan", p, "--help"] for p in ("assign", "dag", "divide", "gang")]
):
    shown = subprocess.run(
        [f"{BUILD}/bin/ehctl", *words], capture_output=True, text=True, timeout=WAIT
    )
    ok(
        f"{' '.join(words)}: 80 columns will do",
        shown.returncode == 0
        and shown.stdout.startswith("usage: ehctl ")
        and max(map(len, shown.stdout.splitlines())) <= 80,
        shown.stdout,
    )
for wrong in (
    ["status", "extra"],
    ["status", "--octal", "x"],
    ["tree", "-x"],
    ["tasks", "7"],
    ["why"],
    ["why", "a", "b"],
    ["run"],
    ["run", "--"],
    ["run", "true"],
    ["run", "-n", "--", "true"],
    ["run", "--bad", "--", "true"],
    ["run", "--json", "--", "true"],
    ["exec"],
    ["exec", "0.1"],
    ["exec", "0.1", "--"],
    ["exec", "--", "true"],
    ["exec", "no de", "--", "true"],
    ["exec", "--node", "--", "true"],
    ["exec", "auto", "--", "true"],
    ["exec", "0.1", "0.2", "--", "true"],
    ["exec", "0.1" * 60, "--", "true"],
    ["exec", "--json", "0.1", "--", "true"],
    ["set"],
    ["set", "threshold"],
    ["set", "threshold="],
    ["set", "colour=red"],
    ["get", "colour"],
    ["get", "threshold=1"],
    ["get", "--all"],
    ["set", "dwell=1", "dwell=2"],
    ["set", b"load-index=\xff"],
    ["drain"],
    ["drain", "0.1", "0.2"],
    ["undrain"],
    ["owner", "mine"],
    ["owner", "on", "off"],
    ["owner", "off", "--now"],
    ["owner", "--now"],
    ["leave", "0.1"],
    ["leave", "--now", "x"],
    ["reload", "x"],
    ["watch", "x"],
    ["doctor", "x"],
    ["doctor", "--pairs", "x"],
    ["cert"],
    ["init"],
    ["join"],
    ["invite", "x"],
    ["invite", "--for", "1y"],
    ["revoke"],
    ["revoke", "a", "b"],
    ["revoke", "a", "--list"],
    ["revoke", "--host"],
    ["history", "x"],
    ["history", "-n"],
    ["history", "--since", "soon"],
    ["history", "--csv", "--json"],
    ["history", "--fialed"],
):
    r = ehctl(*wrong)
    name = " ".join(w if isinstance(w, str) else repr(w) for w in wrong)[:40]
    ok(f"wrong usage: {name}", clean_error(r, 2, wrong[0]), show(r))

# ---- no agent ----

for c in (
    ["status"],
    ["tree", "--json"],
    ["tasks"],
    ["why", "0.0:1"],
    ["set", "dwell=5"],
    ["get"],
    ["doctor", "--pairs"],
    ["drain", "0.1"],
    ["undrain", "0.1"],
    ["owner"],
    ["leave"],
    ["reload"],
    ["watch"],
    ["invite"],
    ["revoke", "n3"],
    ["revoke", "--list"],
    ["history"],
):
    r = ehctl(*c)
    ok(f"no agent: {c[0]} says what to do", clean_error(r, 1, c[0], "agent", "systemctl"), show(r))
r = ehctl("doctor")
ok(
    "no agent: doctor looks for itself",
    r.returncode == 1 and b"error   agent" in r.stdout and b"fix: " in r.stdout,
    show(r),
)
r = ehctl("doctor", "--json")
document = json.loads(r.stdout)
ok(
    "no agent: doctor --json",
    r.returncode == 1
    and document["version"] == 1
    and all(set(c) == {"name", "ok", "level", "what", "fix", "mend"} for c in document["checks"]),
    show(r),
)
r = ehctl("run", "--", "sh", "-c", "cat; exit 7", input=b"in\0put", stdin=None)
ok(
    "no agent: run runs it here, and warns",
    r.returncode == 7 and r.stdout == b"in\0put" and r.stderr.startswith(b"ehctl run: "),
    show(r),
)
r = ehctl("run", "--", "sh", "-c", "kill -TERM $$")
ok("it dies of the same signal", r.returncode == -signal.SIGTERM, show(r))

# ---- the programs run and exec start ----

for c in (["run"], ["exec", "0.1"]):
    r = ehctl(*c, "--", "no-such-program-here")
    ok(
        f"{c[0]}: not found is 127",
        r.returncode == 127 and not r.stdout and b"no-such-program-here" in r.stderr,
        show(r),
    )
    r = ehctl(*c, "--", "/etc/passwd")
    ok(
        f"{c[0]}: not executable is 126",
        r.returncode == 126 and b"/etc/passwd" in r.stderr,
        show(r),
    )
    r = ehctl(*c, "--", "/etc")
    ok(f"{c[0]}: a directory is 126", r.returncode == 126, show(r))
    r = ehctl(*c, "--", "/etc/passwd/x")
    ok(f"{c[0]}: below a file is 126 or 127", r.returncode in (126, 127), show(r))
    r = ehctl(*c, "--", "")
    ok(f"{c[0]}: an empty name is 127", r.returncode == 127, show(r))
os.mkdir(f"{work}/one")
os.mkdir(f"{work}/two")
for folder, bits in ("one", 0o644), ("two", 0o755):
    with open(f"{work}/{folder}/prog", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho found in two: $0 $1\n")
    os.chmod(f"{work}/{folder}/prog", bits)
path = {**os.environ, "PATH": f"{work}/one:{work}/two:/nonexistent"}
r = ehctl("run", "--", "prog", "x", env=path)
ok(
    "PATH is searched past what cannot run",
    r.stdout == f"found in two: {work}/two/prog x\n".encode(),
    show(r),
)
r = ehctl("exec", "0.12", "--", "prog", "--help", "--", "a b", "", env=path)
ok(
    "exec becomes the stub",
    r.returncode == 9
    and r.stdout.decode() == f"<@0.12><{work}/two/prog><prog><--help><--><a b><>\n",
    show(r),
)
r = ehctl("exec", "--auto", "--", "prog", "--json", env=path)
ok("exec --auto", r.stdout.decode() == f"<@auto><{work}/two/prog><prog><--json>\n", show(r))
r = ehctl("exec", "0.1", "--", "prog", env={**path, "PATH": ":"}, cwd=f"{work}/two")
ok(
    "an empty entry of PATH is the current directory",
    r.stdout.decode() == "<@0.1><./prog><prog>\n",
    show(r),
)
many = ["x" * 1000] * 1000
r = ehctl("exec", "0.1", "--", "/bin/true", *many)
ok("a million bytes of arguments", r.returncode == 9 and len(r.stdout) > 1000000)
os.unlink(f"{work}/ehstub")
r = ehctl("exec", "0.1", "--", "true")
ok("no stub installed", clean_error(r, 1, "exec", "ehstub"), show(r))

# ---- a good agent ----

NODES = [
    {
        "code": f"0.{i}",
        "host": f"n{i}",
        "state": s,
        "load": l,
        "threshold": 2.0,
        "threshold_length": 1.0,
        "capacity": 2.0,
        "tasks": {"local": 5, "guest": 0, "away": 3},
        "controller_of": ["0"] if i == 0 else [],
        "module": i != 2,
        "agent": "up",
    }
    for i, s, l in ((0, "sender", 3.31), (1, "ok", 2.0), (2, "receiver", 0.0))
]
NODES.append(
    {
        "code": "0.3",
        "host": "höst",
        "state": "unknown",
        "load": None,
        "threshold": None,
        "threshold_length": None,
        "tasks": {"local": 0, "guest": 0, "away": 0},
        "module": False,
        "agent": "down",
    }
)
STATUS = {
    "version": 1,
    "self": "0.0",
    "topology": {"n": 3, "l": 1},
    "epoch": 4,
    "nodes": NODES,
    "groups": [
        {
            "code": "0",
            "level": 1,
            "controller": "0.0",
            "host": "n0",
            "load": 5.31,
            "threshold": 6.0,
            "threshold_length": 3.0,
            "state": "ok",
            "members": 3,
            "nodes": 3,
        }
    ],
}

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


def pair(a, b, *checks, why=None):
    """One of doctor --pairs."""
    return {
        "from": f"0.{a}",
        "from_host": f"n{a}",
        "to": f"0.{b}",
        "to_host": f"n{b}",
        "tested": not why,
        "why": why,
        "ok": not why and all(c["level"] == "note" for c in checks),
        "checks": list(checks),
    }


def check(level, fix):
    return {"name": "port", "ok": False, "level": level, "what": f"a {level}", "fix": fix}


PAIRS = {
    "version": 1,
    "nodes": 3,
    "left_out": 0,
    "pairs": [
        pair(0, 1),
        pair(0, 2, check("note", "wait"), check("warning", "start it")),
        pair(1, 0, why="down"),
        pair(1, 2, why="down"),
        pair(2, 0, check("warning", "start it")),
        pair(2, 1, check("note", "wait")),
    ],
}
with Agent(frame(REPLY, PAIRS)) as a:
    r = ehctl("doctor", "--pairs")
    ok(
        "doctor --pairs: the worst first, each fix once",
        r.returncode == 0
        and r.stdout.decode().splitlines()
        == [
            "warning n0 -> n2  port: a warning",
            "warning n2 -> n0  port: a warning",
            "        fix: start it",
            "note    n0 -> n2  port: a note",
            "note    n2 -> n1  port: a note",
            "        fix: wait",
            "not tested: 2 pairs from n1: down",
            "6 pairs, 2 good, 2 not tested",
        ],
        show(r),
    )
    r = ehctl("doctor", "--pairs", "--json")
    ok(
        "and --json is the agent's document",
        r.returncode == 0 and json.loads(r.stdout) == PAIRS,
        show(r),
    )
    ok("it has asked for it", a.asked[0][1] == {"command": "pairs"}, a.asked)
with Agent(
    frame(REPLY, {**PAIRS, "left_out": 7, "pairs": [pair(0, 1, check("error", "start it"))]})
):
    r = ehctl("doctor", "--pairs")
    ok(
        "an error is exit status 1, and what was left out is said",
        r.returncode == 1
        and b"not tested: 7 pairs" in r.stdout
        and r.stdout.endswith(b"\n1 pair, 0 good\n"),
        show(r),
    )
    ok("with --json, too", ehctl("doctor", "--json", "--pairs").returncode == 1)
for level, lines in ("note", 8), ("warning", 12):
    with Agent(
        frame(REPLY, {**PAIRS, "pairs": [pair(0, b, check(level, "x")) for b in range(1, 13)]})
    ):
        r = ehctl("doctor", "--pairs")
        ok(
            f"lines of one kind of {level}",
            r.stdout.decode().count(f"a {level}\n") == lines
            and (b"of 4 more pairs" in r.stdout) == (level == "note"),
            show(r),
        )


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

CHECKS = {
    "version": 1,
    "checks": [{"name": "module", "ok": True, "what": "loaded", "fix": "", "mend": ""}],
}
with Agent(frame(REPLY, CHECKS)):
    r = ehctl("doctor")
    ok("doctor: all is well", r.returncode == 0 and r.stdout.startswith(b"ok "), show(r))
CHECKS["checks"].append(
    {"name": "peers", "ok": False, "what": "n1 is down", "fix": "start it", "mend": "start it"}
)
with Agent(frame(REPLY, CHECKS)):
    r = ehctl("doctor")
    ok(
        "doctor: something is wrong",
        r.returncode == 1 and b"fix: start it" in r.stdout and not r.stderr,
        show(r),
    )
for level, status in ("note", 0), ("warning", 0), ("error", 1):
    CHECKS["checks"][1] = {
        "name": "peer 0.1",
        "host": "n1",
        "ok": False,
        "level": level,
        "what": "is down",
        "fix": "start it",
        "mend": "start it",
    }
    with Agent(frame(REPLY, CHECKS)):
        r = ehctl("doctor")
        ok(
            f"doctor: {level}",
            r.returncode == status
            and re.search(
                rf"^{level} +peer n1 +is down\n +fix: start it\n", r.stdout.decode(), re.M
            ),
            show(r),
        )

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

shutil.rmtree(work)
done()
