# SPDX-License-Identifier: GPL-2.0-or-later
"""Agents that answer ehctl with the bytes that a test gives them.

The agent is a socket of this program in a network namespace and a /run of its own, so that an agent
of this machine neither hears nor answers."""

import atexit, json, os, re, shutil, socket, struct, sys, tempfile, threading

sys.path.append(os.path.join(sys.path[0], "../lib"))
import agent_socket
from netns import without_agents
from tree import BUILD, TOP, run

without_agents()

with open(f"{TOP}/lib/wire/frame.h", encoding="utf-8") as f:
    TYPES = re.findall(
        r"^\t(FRAME_\w+)", f.read().split("enum frame_type {")[1].split("};")[0], flags=re.M
    )
REQUEST, REPLY, EVENT = (
    1 + TYPES.index(t) for t in ("FRAME_REQUEST", "FRAME_REPLY", "FRAME_EVENT")
)
work = tempfile.mkdtemp()
atexit.register(shutil.rmtree, work)
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
