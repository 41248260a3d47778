#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""An agent ends again before all that the one before it has left came back: a view stays as long as
a guest may come that is in it, and no longer."""

import os, signal, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok, skip_all
from mounts import mounted
from proc import running, send
from wait import WAIT, until

if os.geteuid() or not os.path.exists("/dev/fuse"):
    skip_all("needs root and /dev/fuse")
SETTINGS = 'heartbeat = 1000\njob-limit = {}\nlink-idle = {}\nview-own = {{ "/usr" }}'
c = Cluster(2, SETTINGS.format(120000, 60000), apart=True)
if not os.path.exists(os.path.dirname(c.cgroup(1)) + "/cgroup.procs"):
    skip_all("needs cgroup 2: without it nobody knows the tasks of a view")
work = os.path.join(c.dir, "work")
os.mkdir(work)
os.chown(work, users.ONE, users.ONE)
with open(f"{work}/file", "w") as f:
    f.write("a line\n")
ok("two agents", c.start_all(), c.log(0) + c.log(1))
spaces = [os.stat(f"/run/netns/{c.net.name(i)}").st_ino for i in range(2)]


def there(name, node=1):
    """Processes of this name on a node."""
    found = []
    for pid, (its, *_) in running():
        try:
            if its == name and os.stat(f"/proc/{pid}/ns/net").st_ino == spaces[node]:
                found.append(pid)
        except OSError:
            pass
    return sorted(found)


def send_all(pids, sig):
    for pid in pids:
        send(pid, sig)


def nothing_left():
    return not any(
        there(name, i) for name in ("ehview", "ehfiles", "ehkeep") for i in range(2)
    ) and not mounted(work)


class Task:
    """It reads home's file, waits for a line, and reads it again."""

    def __init__(self, view="home"):
        script = "cat file; read x; cat file; exit 7"
        self.p = c.popen(
            0,
            [EHCTL, "exec", "--view", view, "n1", "--", "/bin/sh", "-c", script],
            uid=users.ONE,
            cwd=work,
            stdin=subprocess.PIPE,
            text=False,
        )
        self.first = self.p.stdout.readline()

    def right(self):
        try:
            out, err = self.p.communicate(b"\n", timeout=WAIT)
        except subprocess.TimeoutExpired:
            self.p.kill()
            out, err = self.p.communicate()
        return self.p.returncode == 7 and self.first + out == b"a line\n" * 2, (
            self.p.returncode,
            self.first,
            out,
            err,
            c.log(1)[-3000:],
        )


def adopted():
    return c.log(1).count("are mounted from before")


def again():
    """Ends the executor's agent in order, and starts the next one, which finds the view."""
    before = adopted()
    c.end(1)
    c.start(1)
    return until(lambda: adopted() > before)


for times in 2, 4:
    task = Task()
    guests = there("ehguest")
    view = there("ehview")
    send_all(guests, signal.SIGSTOP)
    found = [again() for _ in range(times)]
    ok(
        (
            f"the executor's agent ends {times} times, and its guest does not come back yet: each"
            " next one finds the view"
        ),
        all(found),
        (found, c.log(1)[-2000:]),
    )
    send_all(guests, signal.SIGCONT)
    ok("and the task goes on", *task.right())
    ok(
        "in its view",
        there("ehview") and set(there("ehview")) <= set(view),
        (view, there("ehview")),
    )
    must("both are up", c.all_up(range(2)), c.log(1)[-2000:])

# One guest of a view comes back at once, the other does not, and the first ends.
task, late = Task(), Task()
both = there("ehguest")
ok("two tasks", len(both) == 2, both)
send_all(both[1:], signal.SIGSTOP)
found = [again() for _ in range(2)]
send_all(both[1:], signal.SIGCONT)
ok(
    "one comes back late: both go on",
    all(found) and all([task.right()[0], late.right()[0]]),
    (found, c.log(1)[-2000:]),
)
must("both are up", c.all_up(range(2)), c.log(1)[-2000:])

# Nobody needs it: the next end of the agent is its end, though an earlier agent has made it.
ok("all tasks have ended", there("ehview") and until(lambda: not there("ehguest")))
c.end(1)
ok(
    "a view without a guest ends with its agent",
    until(lambda: not there("ehview") and not there("ehkeep")),
    (there("ehview"), there("ehkeep")),
)

# A short link-idle is of views that nobody needs.
c.settings = SETTINGS.format(30000, 100)
c.end(0)
c.start_all()
task = Task()
guests = there("ehguest")
send_all(guests, signal.SIGSTOP)
found = again() and c.all_up(range(2))
ok("another task meanwhile, without a view", *Task("shared").right())
send_all(guests, signal.SIGCONT)
ok("a guest finds its view after link-idle", *task.right())

ok("and then the view is no longer needed", until(lambda: not there("ehview")))
# Home's side of a view that ended without a connection waits for job-limit.
c.end(1)
ok(
    "nothing is left",
    until(nothing_left),
    [(name, there(name, i)) for name in ("ehview", "ehfiles", "ehkeep") for i in range(2)],
)
c.end(0)
done()
