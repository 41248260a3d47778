#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The executor's agent is killed, and the end of a task there is gone with it: because it had not
read its job, or because it was killed, too. Home does not wait until job-limit for an end that
cannot come back."""

import json, os, re, signal, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import left
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok
from wait import WAIT, outcome, until

SOON = 0.5  # seconds; home is told that an end is there within 20 ms

c = Cluster(2, "heartbeat = 20000\njob-limit = 600000\nlease = 60000")
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def start(script):
    """A task on node 1. Its end begins again when the view of home's files is there, and nothing is
    asked or compared then."""
    return c.popen(
        0,
        [EHCTL, "exec", "--view", "home", c.code(1), "--", "/bin/sh", "-c", script],
        start_new_session=True,
        stdin=subprocess.PIPE,
        text=False,
    )


def linked(p):
    """Whether home has been told that the end is there."""
    r = c.ehctl(0, "why", "--timing", str(p.pid), "--json")
    return r.returncode == 0 and "linked" in [
        s["step"] for s in json.loads(r.stdout)["timing"]["steps"]
    ]


def traced():
    try:
        return open(f"{c.dir}/calls").read()
    except FileNotFoundError:
        return ""


def ends():
    return [pid for pid, name in left.processes(c).items() if name == "ehguest"]


# Whatever the launcher starts takes long to read.
tracer = subprocess.Popen(
    [
        "strace",
        "-f",
        "-qq",
        "-o",
        f"{c.dir}/calls",
        "-e",
        "trace=sendto,recvfrom",
        "-e",
        "inject=recvfrom:delay_enter=20s",
        "-p",
        str(c.launchers[1].pid),
    ]
)
must(
    "the launcher is traced",
    until(
        lambda: re.search(r"TracerPid:\s+[1-9]", open(f"/proc/{c.launchers[1].pid}/status").read())
    ),
)
p = start("echo done")
must(
    "an end says that it is there",
    until(
        lambda: any(re.search(rf"^{pid} +sendto\(\d+, .* = 12$", traced(), re.M) for pid in ends())
    ),
    (traced(), c.log(1)),
)
ok("home is not told before it has read its job", not until(lambda: linked(p), SOON))
c.end(1, signal.SIGKILL)
tracer.terminate()
tracer.wait(WAIT)
status, out, err = outcome(p)
ok(
    "home knows at once that nothing has run",
    status == 1 and "the connection to the node was lost" in err,
    (status, out, err),
)
ok("and its end is gone", until(lambda: not ends()), left.processes(c))

c.start(1)
must("two agents again", c.all_up([0, 1]), c.log(1))
p = start("echo begun; read line")
must("a task has begun", p.stdout.readline() == b"begun\n", c.log(1))
end = must("its end", ends())[0]
c.agents[1].send_signal(signal.SIGSTOP)
os.kill(end, signal.SIGKILL)
c.end(1, signal.SIGKILL)
must("nothing of it is left", until(lambda: not left.folders(c, 1)), left.folders(c, 1))
c.start(1)
_, _, err = outcome(p)
ok(
    "an end that was killed with its agent: home knows when that is there again",
    "it is reported as killed" in err,
    err,
)
done()
