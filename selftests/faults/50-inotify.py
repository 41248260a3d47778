#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A host whose root has no inotify instance left, as busy ones have: guests are in cgroups all the
same, and outlive the executor's agent. All instances are taken for a while, so this runs alone."""

import ctypes, os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "../lib"), os.path.join(HERE, "../agent")]
from cluster import Cluster
from commands import EHCTL
from ktap import done, ok
from wait import WAIT

c = Cluster(2, "heartbeat = 1000\njob-limit = 30000", apart=True)
libc = ctypes.CDLL(None)
PIPE = subprocess.PIPE


def take_all():
    taken = []
    while (fd := libc.inotify_init1(os.O_CLOEXEC)) >= 0:
        taken.append(fd)
    return taken


taken = take_all()
ok("no inotify instance is left", taken)
started = c.start_all()
for fd in taken:
    os.close(fd)
ok("two agents", started, c.log(0) + c.log(1))
p = subprocess.Popen(
    c.words(0, EHCTL, "exec", "0.1", "--", "sh", "-c", "echo begun; read a; echo $a"),
    stdin=PIPE,
    stdout=PIPE,
    stderr=PIPE,
    text=True,
)
ok("a task runs there", (saw := p.stdout.readline()) == "begun\n", saw)
c.end(1)
c.start(1)
ok("its agent is started again", c.all_up(range(2)), c.log(1))
try:
    out, err = p.communicate("on\n", timeout=WAIT)
except subprocess.TimeoutExpired:
    p.kill()
    out, err = p.communicate()
ok("the task goes on", (out, err, p.returncode) == ("on\n", "", 0), (out, err, p.returncode))
done()
