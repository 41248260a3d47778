#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Home and an executor that wants more of its files than tasks there need: after they have ended,
or as often as it likes."""

import os, struct, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok, skip_all
from mounts import libc, own_mounts
from netns import address
from proc import running
from users import add_names, as_user
from wait import WAIT, until

if os.geteuid() or not os.path.exists("/dev/fuse"):
    skip_all("needs root and /dev/fuse")
USER, NULL, PIPE = 2001, subprocess.DEVNULL, subprocess.PIPE

# the user exists in a mount namespace of this test's
own_mounts()
add_names(eha=USER)
work = tempfile.mkdtemp()
libc.mount(b"tree", work.encode(), b"tmpfs", 0, None)
os.chmod(work, 0o777)
with open(f"{work}/data", "w") as f:
    f.write("three")

# long enough for a host that is busy: nothing here waits for its end
c = Cluster(
    2, f"heartbeat = 1000\njob-limit = {WAIT}000\nlink-idle = {WAIT}000\npeer-streams = 100"
)
os.chmod(c.dir, 0o755)
must("two agents", c.start_all(), c.log(0) + c.log(1))


class Executor:
    """A connection with the certificate of node 1."""

    def __init__(self):
        self.client = http2.Client(http2.connect(c.net, 1, address(0), f"{c.dir}/cert", "n1"))
        self.client.hello(node="0.1")

    def asks(self, token, again=0):
        """Whether home serves it the file system: its server says something first."""
        self.client.stream += 2
        path = b"" if again else work.encode()
        head = struct.pack("<IIII", USER, 0, again, len(path)) + token.encode().ljust(32, b"x")
        self.client.s.sendall(
            http2.frame(
                http2.HEADERS,
                http2.END_HEADERS,
                self.client.stream,
                http2.headers("POST", "/v1/files"),
            )
            + http2.frame(http2.DATA, 0, self.client.stream, head + path)
        )
        while True:
            kind, flags, stream, payload = self.client.next()
            if kind == http2.SETTINGS and not flags & http2.ACK:
                self.client.s.sendall(http2.frame(http2.SETTINGS, http2.ACK, 0))
            elif stream == self.client.stream and kind == http2.DATA and payload:
                return True
            elif stream == self.client.stream and (
                kind == http2.RST_STREAM or flags & http2.END_STREAM and kind != http2.SETTINGS
            ):
                return False

    def resets(self):
        """The last one: its connection has broken, for home."""
        self.client.s.sendall(
            http2.frame(http2.RST_STREAM, 0, self.client.stream, struct.pack(">I", 8))
        )


def task():
    """One that reads a file in a view of home for each line it gets."""
    p = c.popen(
        0,
        [
            EHCTL,
            "exec",
            "--view",
            "home",
            "0.1",
            "--",
            "/bin/sh",
            "-c",
            f"while read l; do cat {work}/data; echo; done",
        ],
        cwd="/",
        stdin=PIPE,
        stderr=None,
        **as_user(USER),
    )
    return p


def looks(p):
    p.stdin.write("\n")
    p.stdin.flush()
    return p.stdout.readline().strip()


def servers():
    """Those of this file system."""
    count = 0
    for pid, (name, *_) in running():
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                count += name == "ehfiles" and work in f.read()
        except OSError:
            pass
    return count


p = task()
ok("a task in a view", looks(p) == "three", c.log(1)[-2000:])
before = servers()
e = Executor()
got = []
for i in range(150):
    got.append(e.asks(f"{i}-"))
    e.resets()
ok("an executor may ask again", got[0] and got[-1], got)
ok(
    "and has no more servers than it needs",
    until(lambda: servers() <= before + 128),
    (before, servers()),
)
ok("and keeps that of its task", looks(p) == "three", c.log(1)[-2000:])
ok("it goes on with one while its task runs", e.asks("149-", again=1), c.log(0)[-2000:])
e.resets()
p.stdin.close()
ok("the task ends", p.wait(WAIT) == 0)
ok("home knows", until(lambda: not c.tasks(0)))
ok("then nothing goes on for it", not e.asks("149-", again=1), c.log(0)[-2000:])
ok("nor begins", not e.asks("new-"), c.log(0)[-2000:])
p = task()
ok("the next task has its view", looks(p) == "three", c.log(0)[-2000:] + c.log(1)[-2000:])
p.stdin.close()
ok("and ends", p.wait(WAIT) == 0)
c.stop()
libc.umount2(work.encode(), 2)
os.rmdir(work)
done()
