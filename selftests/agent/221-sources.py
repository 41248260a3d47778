#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A host that begins handshakes as fast as it can takes a small part of the agent's time; others,
and above all members, come in."""

import mmap, os, re, select, signal, socket, struct, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from client_hello import client_hello
from cluster import Cluster
from ktap import done, must, ok
from mounts import libc
from netns import address
from proc import send
from wait import until

RATE, BURST = (
    int(re.search(rf"#define SOURCES_{name} (\d+)u", open("agent/net/sources.h").read())[1])
    for name in ("RATE", "BURST")
)
PART = 0.2  # of a processor: a tenth on a machine that is not busy
PR_SET_PDEATHSIG = 1
WINDOW = 3  # seconds
# connections of the flood at any time: fewer than strangers may have, so none makes room for
# another
OPEN = 48

c = Cluster(4)
c.start(0)
c.start(1)
must("two members", c.all_up([0, 1]), c.log(0)[-1000:])


def hello():
    """A ClientHello of TLS 1.3 to which the agent answers with its certificate and a signature."""

    said = client_hello(29, os.urandom(32))
    return struct.pack(">BHH", 22, 0x301, len(said)) + said


def flood(node):
    """A process of this node that does nothing else, and a function that says how many connections
    it has made, and how many were answered."""
    counts = mmap.mmap(-1, 8)
    pid = os.fork()
    if pid:
        return pid, lambda: struct.unpack("II", counts[:])
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    def count(which):
        counts[4 * which : 4 * which + 4] = struct.pack(
            "I", struct.unpack_from("I", counts, 4 * which)[0] + 1
        )

    try:
        with c.net.enter(node):
            waits, said, ours = select.epoll(), hello(), {}
            while True:
                while len(ours) < OPEN:
                    s = socket.socket()
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    s.settimeout(5)
                    try:
                        s.connect((address(0), 7411))
                        s.sendall(said)
                    except OSError:
                        pass
                    count(0)
                    ours[s.fileno()] = s
                    waits.register(s, select.EPOLLIN)
                for fd, _ in waits.poll(1):
                    s = ours.pop(fd)
                    try:
                        if s.recv(1):
                            count(1)
                    except OSError:
                        pass
                    s.close()
    finally:
        os._exit(1)


def spent():
    """Seconds of processor time that the agent has had."""
    return int(open(f"/proc/{c.agents[0].pid}/schedstat").read().split()[0]) / 1e9


def asks(node, host):
    """How long a member takes to be served there."""
    began = time.monotonic()
    client = http2.Client(http2.connect(c.net, node, address(0), os.path.join(c.dir, "cert"), host))
    status = client.hello(node=c.code(node))
    client.s.close()
    return status == 200 and time.monotonic() - began


def window():
    """A while in which a member connects again and again: how long it took each time, the part of a
    processor that the agent took, and how long it was."""
    before, began, asked = spent(), time.monotonic(), []
    while time.monotonic() - began < WINDOW:
        asked.append(asks(2, "n2"))
        time.sleep(0.1)
    passed = time.monotonic() - began
    return asked, (spent() - before) / passed, passed


ok(
    "64 connections of members from one address, as when a node is back, do not wait",
    all(saw := [asks(2, "n2") for i in range(64)]),
    saw,
)
calm, base, _ = window()
since = time.monotonic()
pid, counted = flood(3)
ok("a host floods", until(lambda: counted()[1] >= BURST))
was = counted()
asked, part, passed = window()
now, part = counted(), part - base
print(
    f"# calm {max(calm):.4f} s at most, in the flood {sorted(asked)[len(asked) // 2]:.4f} s in the"
    f" middle, {max(asked):.4f} s at most"
)
print(
    f"# {now[0] - was[0]} connections and {now[1] - was[1]} handshakes in {passed:.1f} s; for them"
    f" the agent took {part:.1%} of a processor"
)
flooded = time.monotonic() - since
ok(
    "of many connections few are answered",
    now[1] <= BURST + RATE * flooded + 1 and now[0] - was[0] > 3 * (now[1] - was[1]),
    (was, now, passed, flooded),
)
ok("the agent spends a small part of a processor on them", part < PART, part)
ok("a member elsewhere is served each time", all(asked), asked)
ok(
    "and members see each other",
    c.up(0) == c.up(1) == {"0.0", "0.1"} and "silent for too long" not in c.log(0) + c.log(1),
    c.log(0)[-1000:],
)
c.start(2)
ok("one that starts meanwhile finds the others", c.all_up([0, 1, 2]), c.log(2)[-1000:])
ok(
    "the log says who it is",
    c.logged(0, r"closed a connection from 10\.77\.0\.4:\d+: too many come from there"),
    c.log(0)[-1000:],
)
send(pid, signal.SIGKILL)
os.waitpid(pid, 0)


def lets_in():
    """Whether the node that has flooded is let in again."""
    try:
        return asks(3, "n3")
    except (OSError, EOFError):
        return False


ok("when it is over, the host of the flood is let in", until(lets_in))
ok("the agents end", (saw := [c.end(i) for i in range(3)]) == [0, 0, 0], saw)
done()
