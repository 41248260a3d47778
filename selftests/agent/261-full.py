#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""An agent, and an ehlaunch, that have no descriptor left for those that wait: they rest, say so
once, and go on when there is one."""

import os, re, select, socket, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import AGENT, LAUNCH
from frames import frame, read_frame
from ktap import done, must, ok
from netns import address
from wait import until

SECONDS = 3  # of waiting
MOST = 0.5  # of processor time for it; without a rest it is as long as the wait
FILES = 64  # of an agent
REQUEST = frame("FRAME_REQUEST", b'{"command":"status"}')

c = Cluster(2, apart=True)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def few(i, name, program, files):
    """Node i's program starts with this limit of descriptors."""
    path = os.path.join(c.dir, f"{name}.few")
    with open(path, "w") as f:
        f.write(f'#!/bin/sh\nexec prlimit --nofile={files}:{files} {program} "$@"\n')
    os.chmod(path, 0o755)
    c.wrapped[i, name] = path


def rests(what, pid):
    def used():
        its = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(its[11]) + int(its[12])) / os.sysconf("SC_CLK_TCK")

    before = used()
    time.sleep(SECONDS)
    ok(f"{what}: it rests", (took := used() - before) < MOST, took)


def spoken(s):
    """Whether it was accepted: then it is answered, or closed."""
    return bool(select.select([s], [], [], 0)[0])


# ---- ehlaunch ----


def known():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(30)
    s.connect(c.launcher(0))
    return s


c.launch(0)
first = known()
must("ehlaunch takes a connection", until(lambda: spoken(first)))
few(0, "ehlaunch", LAUNCH, descriptors(c.launchers[0].pid) + 1)  # that is for two connections
first.close()
c.launch(0)
crowd = [known() for _ in range(4)]
must("with few descriptors, the first two", until(lambda: all(map(spoken, crowd[:2]))))
rests("ehlaunch", c.launchers[0].pid)
ok("the others wait", not any(map(spoken, crowd[2:])))
for s in crowd[:2]:
    s.close()
ok("then they are taken, too", until(lambda: all(map(spoken, crowd[2:]))))
for s in crowd[2:]:
    s.close()
del c.wrapped[0, "ehlaunch"]
c.launch(0)

# ---- an agent ----

few(0, "ehagent", AGENT, FILES)
ok("two agents", c.start_all(), c.log(0) + c.log(1))
agent = c.agents[0].pid
SAYS = r"%s: cannot accept a connection: Too many open files"


def local():
    s = c.connect(0)
    s.sendall(REQUEST)
    return s


def remote():
    with c.net.enter(1):
        s = socket.socket()
    s.settimeout(30)
    s.connect((address(0), 7411))
    s.sendall(b"no TLS\r\n\r\n")
    return s


held = [c.connect(0) for _ in range(2 * FILES)]
must("local socket: it says so", c.logged(0, SAYS % "local socket"))
waits = [local(), remote(), remote()]
must("port: it says so", c.logged(0, SAYS % r"[0-9.]+:7411"))
rests("agent", agent)
ok("those that came wait", not any(map(spoken, waits)))
for name in "local socket", r"[0-9.]+:7411":
    ok(
        f"{name[-4:]}: it has said so once",
        len(re.findall(SAYS % name, c.log(0))) == 1,
        c.log(0)[-2000:],
    )
for s in held:
    s.close()
ok("then they are served", until(lambda: all(map(spoken, waits))), c.log(0)[-2000:])
ok("and answered", "nodes" in read_frame(waits[0])[1])
for s in waits:
    s.close()
ok("the agents see each other again", c.all_up(range(2)))
ok("the agents end", c.end(0) == 0 and c.end(1) == 0)
done()
