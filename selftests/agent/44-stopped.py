#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long home and executor wait for tasks that are, or were, stopped: a day, or job-limit."""

import json, os, signal, subprocess, sys
sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster, STUB
from ktap import done, must, ok
from proc import state
from wait import WAIT, until

c = Cluster(2, "heartbeat = 1000\njob-limit = 10000", apart=True)
NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE
file = os.path.join(os.path.dirname(c.state(0)), "stopped.json")
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def start():
    """A task that does nothing, and its process there."""
    with c.net.enter(0):
        p = subprocess.Popen([STUB, "@0.1", "/bin/sh", "sh", "-c", "echo $$; exec sleep 1000"], stdin=NULL, stdout=PIPE)
    return p, int(p.stdout.readline())


def freeze():
    p, there = start()
    p.send_signal(signal.SIGSTOP)
    must("its task is stopped, too", until(lambda: state(there) == "T"), state(there))
    return p, there


def end(p):
    p.kill()
    p.wait(WAIT)


def states(node=1):
    try:
        return sorted(t["state"] for t in c.ask(node, {"command": "tasks"})["tasks"])
    except (OSError, EOFError):
        return None


def kept():
    with open(file) as f:
        return json.load(f)["stopped"]


# A stub is stopped while the executor's agent is replaced: the next one knows that, and hears when it goes on.
p, there = freeze()
must("the executor knows", until(lambda: states() == ["stopped"]), states())
c.again([1], signal.SIGKILL)
must("its next agent, too", until(lambda: states() == ["stopped"]), states())
p.send_signal(signal.SIGCONT)
ok("and that it goes on", until(lambda: states() == ["running"]), states())
end(p)
done()
