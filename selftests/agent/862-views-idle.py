#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Home closes its files for a node that has no task which needs them, also of an earlier agent; not
if a stopped one may."""

import os, signal, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok, skip_all
from proc import state
from wait import WAIT, until

if os.geteuid() or not os.path.exists("/dev/fuse"):
    skip_all("needs root and /dev/fuse")
# Nodes do not lose one another on a busy machine: then files are closed for that.
COMMON = 'heartbeat = 10000\njob-limit = 10000\nview-own = { "/usr" }\nlink-idle = '


class Idle(Cluster):
    """Executors keep views; home looks often."""

    def conf(self, i, **more):
        return super().conf(i, settings=COMMON + ("600000" if i else "1000"), **more)


c = Idle(3, apart=True)
work = os.path.join(c.dir, "work")
os.mkdir(work)
os.chown(work, users.ONE, users.ONE)
with open(f"{work}/file", "w") as f:
    f.write("a line\n")
ok("three agents", c.start_all(), c.log(0) + c.log(1))


SCRIPT = "echo $$; read go; cat file"


def start(node, user=users.ONE):
    p = c.popen(
        0,
        [EHCTL, "exec", "--view", "home", f"n{node}", "--", "/bin/sh", "-c", SCRIPT],
        uid=user,
        cwd=work,
        stdin=subprocess.PIPE,
        stderr=None,
        text=False,
    )
    return p, int(p.stdout.readline())


(stays, stays_there), (ends, _) = start(1), start(2)
stays.send_signal(signal.SIGSTOP)
must("a task is stopped", until(lambda: state(stays_there) == "T"), state(stays_there))
c.end(0, signal.SIGKILL)
ends.kill()
ends.wait(WAIT)
c.start(0)
ok(
    "files for a node without tasks are closed",
    c.logged(0, "node 0.2 kept the files of user .* closed"),
    c.log(0)[-3000:],
)
# Those of 0.1 are looked at twice before others, which are opened now, are closed: these need two
# looks without a task, as often.
more, _ = start(2, users.TWO)
more.kill()
more.wait(WAIT)
must(
    "others are closed later",
    c.logged(0, f"node 0.2 kept the files of user {users.TWO}.* closed"),
    c.log(0)[-3000:],
)
ok("those for a task that is stopped are not", "node 0.1 kept" not in c.log(0), c.log(0)[-3000:])
stays.send_signal(signal.SIGCONT)
out, _ = stays.communicate(b"go\n", timeout=WAIT)
ok("it goes on", (stays.returncode, out) == (0, b"a line\n"), (stays.returncode, out))
done()
