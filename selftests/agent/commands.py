# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests do on nodes: commands, and questions to agents."""

import json, os, socket, struct, subprocess, sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import agent_socket, users
from frames import frame, read_frame
from tree import BUILD
from wait import WAIT

EHCTL = os.path.join(BUILD, "bin", "ehctl")
AGENT = os.path.join(BUILD, "bin", "ehagent")
STUB = os.path.join(BUILD, "bin", "ehstub")
LAUNCH = os.path.join(BUILD, "bin", "ehlaunch")
SAID = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


class Commands:
    """On the nodes of `net`."""

    net = None

    def words(self, i, *words):
        """The command that runs these words on node i."""
        # not `ip netns exec`: it gives them mounts of their own, and such a task stays
        return ["nsenter", f"--net=/run/netns/{self.net.name(i)}", *words]

    def popen(self, i, words, **how):
        """A process on node i, without input; what it says is text, to be read by the test.
        `uid`: as this user, with its own group only, or with `gid`."""
        how = {"stdin": subprocess.DEVNULL, **SAID, **how}
        uid = how.pop("uid", 0)
        gid = how.pop("gid", uid)
        if uid:
            how = {"cwd": "/", **users.as_user(uid), "group": gid, **how}
        with self.net.enter(i):
            return subprocess.Popen(words, **how)

    def call(self, i, words, input=None, timeout=2 * WAIT, check=False, **how):
        """Its outcome, as that of subprocess.run()."""
        if input is not None:
            how["stdin"] = subprocess.PIPE
        with self.popen(i, words, **how) as p:
            try:
                out, err = p.communicate(input, timeout)
            except subprocess.TimeoutExpired:
                p.kill()
                raise
        if check and p.returncode:
            raise subprocess.CalledProcessError(p.returncode, words, out, err)
        return subprocess.CompletedProcess(words, p.returncode, out, err)

    def stub(self, *words, home=0, node="@0.1", program=None, options=(), **how):
        """The stub of a task for this node; descriptors are as for subprocess.Popen()."""
        with self.net.enter(home):
            return subprocess.Popen([STUB, *options, node, program or words[0], *words], **how)

    def ehctl(self, i, *words, **how):
        """The outcome of ehctl on node i."""
        return self.call(i, [EHCTL, *words], **how)

    def connect(self, i, uid=0):
        """A connection to node i's agent, as another user if wished."""
        with self.net.enter(i):
            s = socket.socket(socket.AF_UNIX)
        # connect() waits while the queue is full, as an ehctl does: settimeout() before it would
        # have it fail at once
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", WAIT, 0))
        if uid:
            os.seteuid(uid)
        try:
            s.connect(self.listens(i, s))
        finally:
            if uid:
                os.seteuid(0)
        s.settimeout(WAIT)
        return s

    def listens(self, i, s):
        """Where node i's agent does, of whose network namespace this socket is."""
        return agent_socket.path(s)

    def ask(self, i, request, uid=0):
        with self.connect(i, uid) as s:
            s.sendall(frame("FRAME_REQUEST", json.dumps(request).encode()))
            return read_frame(s)[1]

    def status(self, i):
        return self.ask(i, {"command": "status"})

    def tasks(self, i, uid=0):
        return self.ask(i, {"command": "tasks"}, uid)["tasks"]

    def why(self, i, task, uid=0):
        """Of an ID, a PID, or a process that the test has started."""
        return self.ask(i, {"command": "why", "id": str(getattr(task, "pid", task))}, uid)
