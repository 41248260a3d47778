#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults that last longer than job-limit: every kind of task is told, at both ends, and nothing is
left. The seconds that it took are only shown."""

import os, pty, signal, subprocess, sys, termios, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from ktap import done, must, ok
from network import Network
from nodes import SETTINGS, Nodes
from wait import WAIT, until
from work import AUTO, EHCTL, Place

LIMIT = 4
c = Nodes(2, "1,1", SETTINGS.replace("job-limit = 20000", f"job-limit = {LIMIT * 1000}"))
ok("two agents", c.start_all(), c.log(0) + c.log(1))
network = Network(c)
place = Place(c)
PIPE, NULL = subprocess.PIPE, subprocess.DEVNULL


def start(script, *words, **more):
    return c.popen(
        0,
        [EHCTL, "exec", *words, "--", "/bin/sh", "-c", script],
        **{"uid": users.ONE, "cwd": c.work, "text": False, "start_new_session": True, **more},
    )


class Told:
    """A task that is at work when the fault comes."""

    def __init__(self, name, script, *words):
        self.name, self.took, self.ended = name, None, 0
        # it says that it is at work, and where its program is
        self.mark = place.path(f"{name}.{time.monotonic_ns()}")
        self.err = open(f"{self.mark}.err", "w+b")
        self.master = None
        how = {}
        if name == "terminal":
            self.master, slave = pty.openpty()
            self.before = termios.tcgetattr(self.master)
            how = {"stdin": slave, "stdout": slave}
        self.p = start(
            f"echo $$ >{self.mark}; {script}", *words, **{"stderr": self.err, "stdout": NULL, **how}
        )
        if self.master is not None:
            os.close(slave)
        at_work = lambda: os.path.exists(self.mark) and open(self.mark).read().endswith("\n")
        must(f"{name}: it is at work", until(at_work), self.said())
        self.program = int(open(self.mark).read())

    def gone(self):
        """Seconds from the fault until it was told, and until its program had ended."""
        now = time.monotonic()
        if self.took is None and self.p.poll() is not None:
            self.took = now - began
        if self.program and not os.path.exists(f"/proc/{self.program}"):
            self.ended, self.program = now - began, 0
        return self.took is not None and not self.program

    def said(self):
        self.err.seek(0)
        return self.err.read()


KINDS = [
    ("running", "exec sleep 1000", "n1"),
    ("writing", "yes >&2", "n1"),
    ("view", f"while :; do echo x >>{place.path('view.out')}; done", "--view", "home", "n1"),
    ("terminal", "stty raw -echo; exec sleep 1000", "n1"),
]


def wall(up):
    network.wall([(0, 1), (1, 0)], up)


def kill(*nodes):
    for i in nodes:
        c.end(i, signal.SIGKILL)


def again(*nodes):
    for i in nodes:
        c.start(i, ready=False)


STORIES = [
    (
        "nothing passes between the nodes",
        lambda: wall(True),
        lambda: wall(False),
        b"no connection to n1 in the time limit",
    ),
    (
        "home's agent is killed and does not come back",
        lambda: kill(0),
        lambda: again(0),
        b"no agent on this node in the time limit",
    ),
    (
        "the executor's agent is killed and does not come back",
        lambda: kill(1),
        lambda: again(1),
        b"no connection to n1 in the time limit",
    ),
    (
        "both agents are killed and do not come back",
        lambda: kill(0, 1),
        lambda: again(0, 1),
        b"no agent on this node in the time limit",
    ),
    (
        "both are killed, and home's comes back",
        lambda: (kill(0, 1), again(0)),
        lambda: again(1),
        b"no connection to n1 in the time limit",
    ),
]
for what, begin, end, text in STORIES:
    tasks = [Told(*kind) for kind in KINDS]
    retry = start(
        (
            f"echo run >>{place.path('retry')}; [ $(wc -l <{place.path('retry')}) = 2 ] || exec"
            " sleep 1000; echo again"
        ),
        *AUTO,
        "--retry",
        stdout=PIPE,
    )
    must(
        "--retry: it is at work",
        until(lambda: os.path.exists(place.path("retry"))),
        c.log(0)[-2000:],
    )
    begin()
    began = time.monotonic()
    named, auto = start("echo ran", "n1"), start("echo ran", *AUTO)
    out, err = auto.communicate(timeout=WAIT)
    ok(
        f"{what}: an exec that may run anywhere runs here",
        (auto.returncode, out) == (0, b"ran\n"),
        (auto.returncode, out, err),
    )
    out, err = named.communicate(timeout=2 * WAIT)
    ok(
        "one for the other node is refused, and says so",
        (named.returncode, out) == (1, b"") and err.startswith(b"ehctl"),
        (named.returncode, out, err),
    )
    print(f"# {time.monotonic() - began:.1f} s")
    until(lambda: all([t.gone() for t in tasks]), LIMIT + WAIT)
    for t in tasks:
        over = t.gone()
        ok(
            f"{t.name}: it ends as killed, and says why; its program has gone",
            over
            and t.p.returncode == -signal.SIGKILL
            and text in t.said()[-1000:]
            and b"reported as killed" in t.said()[-1000:],
            (t.p.poll(), t.said()[-400:], t.program),
        )
        print(
            f"# {t.name}: told after {t.took or 0:.1f} s, its program ended after {t.ended:.1f} s,"
            f" job-limit {LIMIT} s"
        )
        if t.master is not None:
            ok(
                "the terminal has its modes again",
                (saw := termios.tcgetattr(t.master)) == t.before,
                saw,
            )
            os.close(t.master)
        t.p.kill()
    out, err = retry.communicate(timeout=WAIT)
    ok(
        "--retry: it runs again here",
        (retry.returncode, out) == (0, b"again\n") and b"run again here" in err,
        (retry.returncode, out, err),
    )
    os.unlink(place.path("retry"))
    end()
    ok("they find each other again", c.all_up(range(2)), c.log(0)[-2000:])
    ok(
        "the next task is right",
        until(lambda: start("echo ran", "n1").communicate(timeout=WAIT)[0] == b"ran\n"),
    )
    ok("nothing is left", until(lambda: not c.left()), c.left())

# Nothing of a task that runs is ehlaunch's.
task = Told(*KINDS[0])
c.launchers[1].kill()
c.launchers[1].wait()
waits = start("echo ran", "n1")
ok(
    "ehlaunch is killed: a task goes on, an exec waits or is refused",
    task.p.poll() is None and os.path.exists(f"/proc/{task.program}"),
)
c.launch(1)
out, err = waits.communicate(timeout=2 * WAIT)
ok(
    "the exec runs once, or says that it does not",
    (waits.returncode, out) in ((0, b"ran\n"), (1, b"")) and (out or err),
    (waits.returncode, out, err),
)
ok(
    "the next one runs",
    until(lambda: start("echo ran", "n1").communicate(timeout=WAIT)[0] == b"ran\n"),
)
os.kill(task.p.pid, signal.SIGTERM)
task.p.wait(WAIT)
ok("nothing is left", until(lambda: not c.left()), c.left())
done()
