#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A user sends as many jobs as he can, as long as they may be and as many as there may be, to a
node that does not answer: the agent's memory has a bound, and tasks of others are sent."""

import os, select, signal, socket, struct, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import agent_socket
from cluster import Cluster
from commands import STUB
from frames import frame
from ktap import done, ok
from users import ONE, TWO, as_user
from wait import until

EACH = 8  # of a process: AWAY_A_PROCESS
OPEN = 256  # PLACEMENT_OPEN_MAX
BOUND = 32 << 10  # KiB: CTL_BYTES_A_USER
SLACK = 40 << 10  # KiB: buffers that grow by doubling, and those of one that comes

c = Cluster(3, "heartbeat = 20000")
os.chmod(c.dir, 0o755)
ok("three agents", c.start_all(), c.log(0))


def job(words):
    head = (
        struct.pack("<10I", 3, 7, 0o22, 0, 0, 0, 0, len(words), 0, 0xFFFFFFFF)
        + b"\xff" * 256
        + bytes(16 + 19 * 8)
    )
    return frame("FRAME_JOB", head + b"@0.1\0/bin/true\0/\0" + b"".join(words))


def send(data):
    """In a process of the user: its jobs, of which some are refused; until it is ended."""
    os.setgroups([])
    os.setresgid(ONE, ONE, ONE)
    os.setresuid(ONE, ONE, ONE)
    held = []
    for _ in range(10 * EACH):
        s = socket.socket(socket.AF_UNIX)
        try:
            agent_socket.connect(s)
            s.sendall(data)
            held.append(s)
        except OSError:
            s.close()
            time.sleep(0.02)
        if len(held) == EACH:
            break
    os.write(told[1], b"x")
    signal.pause()


def crowd(n, data):
    """So many processes of the user, when they have sent their jobs."""
    global most
    children, ready = [], b""
    for i in range(n):
        child = os.fork()
        if not child:
            try:
                with c.net.enter(0):
                    send(data)
            finally:
                os._exit(1)
        children.append(child)
    while len(ready) < n:
        most = max(most, c.memory(0) - before)
        if select.select([told[0]], [], [], 0.02)[0]:
            ready += os.read(told[0], 100)
    return children


def end(children):
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def other_goes():
    p = c.call(
        0, [STUB, "@0.2", "/bin/echo", "echo", "there"], stderr=None, text=False, **as_user(TWO)
    )
    return (p.returncode, p.stdout) == (0, b"there\n")


p = c.call(0, [STUB, "@0.1", "/bin/true", "true"], stdout=None, stderr=None, **as_user(ONE))
ok("a task of the user goes away", p.returncode == 0)
c.agents[1].send_signal(signal.SIGSTOP)
before, most, told = c.memory(0), 0, os.pipe()
word = b"x" * 100000 + b"\0"
children = crowd(10, job([word] * ((8 << 20) // len(word) - 1)))
ok(f"the agent has grown by {most} KiB", most < BOUND + SLACK, f"bound: {BOUND} and {SLACK} KiB")
ok("another user's task goes away meanwhile", other_goes())
end(children)
ok("his jobs are forgotten", until(lambda: len(os.listdir(f"/proc/{c.agents[0].pid}/fd")) < 60))
children = crowd(OPEN // EACH + 1, job([b"true\0"]))
ok(f"{OPEN} short ones: another user's goes away, too", other_goes(), c.log(0)[-1000:])
end(children)
c.agents[1].send_signal(signal.SIGCONT)


def again():
    return (
        c.call(
            0,
            [STUB, "@0.1", "/bin/true", "true"],
            stdout=None,
            stderr=subprocess.DEVNULL,
            **as_user(ONE),
        ).returncode
        == 0
    )


ok("his tasks go away again", until(again), c.log(0)[-1000:])
ok("the agents end", (saw := [c.end(i) for i in range(3)]) == [0] * 3, saw)
done()
