#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A process of a view is killed: the view's tasks are killed before they see an error of their
files, though neither agent nor ehlaunch does anything at the time."""

import os, signal, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from cluster import Cluster
from commands import EHCTL
from ktap import done, ok, skip_all
from mounts import mounted
from proc import parent, running
from wait import WAIT, until

if os.geteuid() or not os.path.exists("/dev/fuse"):
    skip_all("needs root and /dev/fuse")
c = Cluster(2, 'heartbeat = 1000\njob-limit = 30000\nview-own = { "/usr" }', apart=True)
if not os.path.exists(os.path.dirname(c.cgroup(1)) + "/cgroup.procs"):
    skip_all("needs cgroup 2: without it nobody knows the tasks of a view")
work = os.path.join(c.dir, "work")
os.mkdir(work)
os.chown(work, users.ONE, users.ONE)
ok("two agents", c.start_all(), c.log(0) + c.log(1))
space = os.stat(f"/run/netns/{c.net.name(1)}").st_ino
SCRIPT = f"echo $$ >{work}/pid; while :; do cat {work}/file >/dev/null 2>&1 || echo error; done"


def there(name):
    """Processes of this name on the executor."""
    found = []
    for pid, (its, *_) in running():
        try:
            if its == name and os.stat(f"/proc/{pid}/ns/net").st_ino == space:
                found.append(pid)
        except OSError:
            pass
    return sorted(found)


def keeper():
    """That of ehview."""
    return parent(there("ehview")[0])


for name, which in ("ehview", lambda: there("ehview")[0]), ("its ehkeep", keeper):
    with open(f"{work}/file", "w") as f:
        f.write("a line\n")
    p = c.popen(
        0,
        [EHCTL, "exec", "--view", "home", "n1", "--", "/bin/sh", "-c", SCRIPT],
        uid=users.ONE,
        cwd=work,
        text=False,
    )
    ok(
        "a task in a view",
        until(lambda: os.path.exists(f"{work}/pid") and open(f"{work}/pid").read().endswith("\n")),
        c.log(1)[-2000:],
    )
    program = int(open(f"{work}/pid").read())
    os.unlink(f"{work}/pid")
    still = [c.agents[1].pid, c.launchers[1].pid]
    for pid in still:
        os.kill(pid, signal.SIGSTOP)
    os.kill(which(), signal.SIGKILL)
    ok(
        f"{name} is killed: so is the task",
        until(lambda: not os.path.exists(f"/proc/{program}"), 20),
    )
    for pid in still:
        os.kill(pid, signal.SIGCONT)
    out, err = p.communicate(timeout=WAIT)
    ok(
        "and is reported as killed",
        p.returncode == -signal.SIGKILL and b"reported as killed" in err,
        (p.returncode, err),
    )
    ok("it has seen no error", out == b"", out[:100])
    ok(
        "nothing of the view is left",
        until(lambda: not there("ehview") and not there("ehkeep") and not mounted(work)),
        (there("ehview"), there("ehkeep"), mounted(work)),
    )
done()
