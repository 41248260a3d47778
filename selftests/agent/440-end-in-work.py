#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""An agent that is told to end in the middle of its work ends in order: its tasks run, read, write,
are stopped, or are on their way. It exits with 0, and no sanitizer reports anything, where it was
built with them (make SAN=1, make check-sanitize)."""

import json, os, signal, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, ok
from wait import WAIT, until

NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE


def stub(*words, **more):
    """In a group of its own: the kernel does not stop one whose parents are of another session."""
    return c.stub(*words, process_group=0, **more)


def state(p):
    return open(f"/proc/{p.pid}/stat").read().rsplit(")", 1)[1].split()[0]


def away():
    try:
        return {t["pid"]: t for t in c.tasks(0)}
    except OSError:  # its agent is not here yet
        return {}


def why(p):
    """What was done to find a place."""
    r = c.ehctl(0, "why", "--timing", str(p.pid), "--json")
    return json.loads(r.stdout)["timing"]["steps"] if r.returncode == 0 else []


def sent(p):
    return "sent" in [step["step"] for step in why(p)]


class Work:
    """Tasks of each kind, in the middle of what they do."""

    def __init__(self):
        self.running = stub("/bin/sleep", "100000", stdin=NULL)
        self.reading = stub("/bin/cat", stdin=PIPE, stdout=PIPE)
        self.reading.stdin.write(b"first\n")
        self.reading.stdin.flush()
        self.writing = stub(
            "/bin/sh", "-c", "echo begun; exec cat /dev/zero", stdin=NULL, stdout=PIPE
        )
        self.stopped = stub(
            "/bin/sh", "-c", "echo begun; exec sleep 100000", stdin=NULL, stdout=PIPE
        )
        self.all = [self.running, self.reading, self.writing, self.stopped]
        begun = [p.stdout.readline() for p in self.all[1:]]
        there = until(lambda: all(away().get(p.pid, {}).get("executor") == "0.1" for p in self.all))
        self.stopped.send_signal(signal.SIGTSTP)
        halted = until(lambda: state(self.stopped) == "T")
        # Nobody reads what is written: credit is used up and buffers are full. A host that stands
        # still takes no connection.
        c.agents[2].send_signal(signal.SIGSTOP)
        self.connecting = [
            stub("/bin/true", node="@0.2", stdin=NULL, stdout=PIPE, stderr=PIPE) for _ in range(3)
        ]
        waiting = until(lambda: all(os.path.exists(f"/proc/{p.pid}") for p in self.connecting))
        self.seen = begun, there, halted, waiting
        self.right = begun == [b"first\n", b"begun\n", b"begun\n"] and there and halted and waiting

    def end(self):
        for p in self.all + self.connecting:
            p.send_signal(signal.SIGCONT)
            p.kill()
            p.wait(WAIT)
        c.agents[2].send_signal(signal.SIGCONT)


# As installed; and as root, where leaks are looked for, too.
for apart, parts in (True, [("home", [0]), ("the executor", [1])]), (False, [("both", [0, 1])]):
    c = Cluster(3, "heartbeat = 1000\njob-limit = 30000", apart=apart)
    os.chmod(c.dir, 0o755)
    ok("three agents", c.start_all(), c.log(0) + c.log(1))
    for what, nodes in parts:
        work = Work()
        ok(
            f"{what}: tasks run, read, write, are stopped, and one is on its way",
            work.right,
            work.seen,
        )
        for i in nodes:
            c.agents[i].send_signal(signal.SIGTERM)
        # one signal each: a second one ends a process that is about to exit
        codes = [c.agents.pop(i).wait(WAIT) for i in nodes]
        ok(
            f"{what}: ends with 0",
            codes == [0] * len(nodes),
            f"{codes}\n" + c.log(0)[-2000:] + c.log(1)[-2000:],
        )
        ok(f"{what}: no report of a sanitizer", not c.reports(), c.reports())
        for i in nodes:
            c.start(i)
        c.agents[2].send_signal(signal.SIGCONT)
        work.stopped.send_signal(signal.SIGCONT)  # its stub was stopped, too
        ok(
            f"{what}: the next agents have the tasks",
            until(lambda: all(away().get(p.pid, {}).get("executor") == "0.1" for p in work.all)),
            (c.log(0) + c.log(1))[-3000:],
        )
        work.reading.stdin.write(b"second\n")
        work.reading.stdin.close()
        ok(
            f"{what}: a task that reads goes on",
            work.reading.stdout.read() == b"second\n" and work.reading.wait(WAIT) == 0,
        )
        work.end()
        ok(
            f"{what}: nothing is left",
            until(lambda: c.all_up(range(3)) and not away()) and not c.reports(),
            c.reports(),
        )
    # A node that was asked for a place, and has not answered. Only a controller that hears most of
    # its group chooses one: what begins too late waits for that.
    ok(
        "home is the controller",
        until(lambda: c.status(0)["controller"] == "0.0"),
        c.log(0)[-2000:],
    )
    asked = []
    for i in 1, 2:
        c.agents[i].send_signal(signal.SIGSTOP)
    with c.net.enter(0):
        for _ in range(4):
            asked.append(
                subprocess.Popen([EHCTL, "exec", "--auto", "--all", "--", "/bin/true"], stdin=NULL)
            )
    ok("a node is asked", until(lambda: any(sent(p) for p in asked)), [why(p) for p in asked])
    code = c.end(0)
    ok(
        "an agent that has asked a node ends with 0",
        code == 0 and not c.reports(),
        (code, c.log(0)[-2000:], c.reports()),
    )
    ok(
        "what it has asked for runs here",
        [p.wait(WAIT) for p in asked] == [0] * len(asked),
        [p.returncode for p in asked],
    )
    for i in 1, 2:
        c.agents[i].send_signal(signal.SIGCONT)
    c.start(0)
    codes = [c.end(i) for i in range(3)]
    ok("all end with 0", codes == [0, 0, 0], codes)
    ok("no report of a sanitizer", not c.reports(), c.reports())
    c.stop()
done()
