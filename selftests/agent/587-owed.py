#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A build that has more jobs than slots loses one with each job that ends, also while other
processes keep all processors busy. The agent is this test, so that it knows what the keeper of the
tokens has heard."""

import json, os, re, shutil, socket, subprocess, sys, tempfile, threading

sys.path.append(os.path.join(sys.path[0], "../lib"))
import agent_socket
from build import Build
from commands import Commands
from frames import frame, read_frame
from ktap import done, must, ok, skip_all
from netns import Net, own_run
from wait import until

MANY, FEW, LOOPS = 12, 4, 2 * len(os.sched_getaffinity(0))
make = subprocess.run(["make", "--version"], stdout=subprocess.PIPE, text=True).stdout
KNOWS_FIFO = tuple(map(int, re.search(r"GNU Make (\d+)\.(\d+)", make).groups())) >= (4, 4)
if os.geteuid():
    skip_all("only root can make network namespaces")
own_run({"ehsched": 0})
net = Net(1)
work = tempfile.mkdtemp(prefix="ehs-jobs-")


class Agent(threading.Thread):
    """Grants `slots`. `used` is what the keeper said last; `asked` counts its questions."""

    def __init__(self):
        super().__init__(daemon=True)
        with net.enter(0):
            self.socket = socket.socket(socket.AF_UNIX)
        agent_socket.listen(self.socket)
        self.slots, self.used, self.asked = MANY, 0, 0
        self.start()

    def run(self):
        while True:
            s = self.socket.accept()[0]
            try:
                request = read_frame(s)[1]
                reply = {"managed": False}
                if request["command"] == "slots":
                    self.used, self.asked = request["used"], self.asked + 1
                    reply = {"slots": self.slots, "again": 50}
                s.sendall(frame("FRAME_REPLY", json.dumps(reply).encode()))
            except (EOFError, OSError):  # its last question waits for no answer
                pass
            s.close()

    def grant(self, slots):
        """Returns when the keeper knows: it has asked again after an answer."""
        self.slots = slots
        asked = self.asked
        return until(lambda: self.asked > asked + 2)


here = Commands()
here.net = net
agent = Agent()
busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(LOOPS)]


def pipes(name, words):
    agent.slots = MANY
    b = Build(here, work, 0, 30, words=words, stay=True, style="pipe")
    ok(f"{name} has as many jobs as slots", b.reaches(MANY), b.running())
    goes_down(b, name)
    agent.grant(MANY)
    ok(f"{name}: more slots, more jobs", b.reaches(MANY), b.running())
    goes_down(b, f"{name}, again")
    got = b.ends()
    ok(f"{name} ends, and no token is missing", got == (0, "", "") and b.whole(), got)


def goes_down(b, name):
    """Lets jobs go one after the other. Each is to be missed in what the keeper says, and no other
    may start."""
    had, running = len(b.started()), b.running()
    ok(f"{name}: the keeper knows of fewer slots", agent.grant(FEW), agent.asked)
    for left in range(running - 1, FEW - 1, -1):
        b.let_go()
        if (
            not until(lambda: agent.used == left or len(b.started()) > had)
            or len(b.started()) > had
        ):
            break
    ok(
        f"{name}: no job that ends has a follower until there are as few as slots",
        len(b.started()) == had and b.running() == FEW,
        (had, len(b.started()), b.running(), agent.used),
    )
    b.let_go()
    ok(
        f"{name}: then each has one",
        until(lambda: len(b.started()) == had + 1) and b.running() == FEW,
        (had, len(b.started())),
    )


def fifo():
    """A make that is faster takes a token back, but not often."""
    agent.slots = MANY
    b = Build(here, work, 0, 200, stay=True, style="fifo")
    ok("a FIFO: as many jobs as slots", b.reaches(MANY), b.running())
    agent.grant(FEW)
    for _ in range(10 * MANY):
        had, running = len(b.started()), b.running()
        if running == FEW:
            break
        b.let_go()
        must(
            "a FIFO: a job has ended",
            until(lambda: agent.used == running - 1 or len(b.started()) > had),
            agent.used,
        )
    ok(
        "a FIFO: some job ends more, and there are as few",
        b.running() == FEW,
        (len(b.started()), b.running(), agent.used),
    )
    got = b.ends()
    ok("a FIFO: it ends, and no token is missing", got == (0, "", "") and b.whole(), got)


try:
    pipes("a make", ("make", "-j"))
    pipes(
        "a make below another one",
        (
            "sh",
            "-c",
            "printf 'all:\\n\\t@+$(MAKE) -f Makefile\\n' >$2/top; exec make -f top \"$@\"",
            "sh",
        ),
    )
    if KNOWS_FIFO:
        fifo()
finally:
    for p in busy:
        p.kill()
        p.wait()
shutil.rmtree(work)
done()
