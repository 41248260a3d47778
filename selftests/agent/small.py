# SPDX-License-Identifier: GPL-2.0-or-later
"""Agents that have little memory: each in a cgroup of the memory controller, with what it starts,
whose kernel really kills. And a program that takes memory."""

import os, select, sys
from cluster import Cluster
from wait import WAIT, until

MOUNTS = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")
# Takes its first argument in MiB, says so, and takes its second one more when it is told to.
PROGRAM = (
    "import sys; x = bytearray(int(sys.argv[1]) << 20); print(flush=True); sys.stdin.readline();"
    "y = [bytearray(1 << 20) for n in range(int(sys.argv[2]))]; print(flush=True); sys.stdin.read()"
)


def words(first, more=0, mark=""):
    """`mark`: another program."""
    return [
        os.path.realpath(sys.executable),
        "-I",
        "-S",
        "-c",
        PROGRAM + mark,
        str(first),
        str(more),
    ]


def says(p):
    """It has its memory; waits for it."""
    return bool(select.select([p.stdout], [], [], WAIT)[0]) and p.stdout.readline() == "\n"


def make(name, mib):
    """A directory of the memory controller, of cgroup 1 or 2, with this limit; None: this machine
    has none."""
    for mount, limit in MOUNTS:
        path = os.path.join(mount, name)
        try:
            if limit == "memory.max":
                with open(os.path.join(mount, "cgroup.subtree_control"), "w") as f:
                    f.write("+memory")
            os.mkdir(path)
        except OSError:
            continue
        if os.path.exists(os.path.join(path, limit)):
            with open(os.path.join(path, limit), "w") as f:
                f.write(str(mib << 20))
            return path
        os.rmdir(path)
    return None


def enter(path, *command):
    """The command that runs this one in that cgroup."""
    return ["sh", "-c", f'echo $$ >{path}/cgroup.procs; exec "$@"', "sh", *command]


class Small(Cluster):
    """Its nodes in `small` are in cgroups."""

    def __init__(self, n, settings, small, mib):
        super().__init__(n, settings)
        self.small = {i: make(f"{self.net.prefix}{i}-memory", mib) for i in small}

    def start(self, i, conf=None, ready=True):
        if i not in self.small:
            return super().start(i, conf, ready)
        own = open("/proc/self/cgroup").read()
        self.move(self.small[i])
        try:
            return super().start(i, conf, ready)
        finally:  # this process is where it was
            for line in own.splitlines():
                number, controllers, path = line.split(":", 2)
                mount = (
                    MOUNTS[0][0]
                    if controllers == "memory"
                    else MOUNTS[1][0]
                    if not controllers
                    else None
                )
                if mount and os.path.exists(os.path.join(mount + path, "cgroup.procs")):
                    self.move(mount + path)

    def move(self, folder):
        with open(os.path.join(folder, "cgroup.procs"), "w") as f:
            f.write(str(os.getpid()))

    def clear(self):
        super().clear()
        for path in filter(None, self.small.values()):
            until(lambda path=path: not open(os.path.join(path, "cgroup.procs")).read())
            os.rmdir(path)
        self.small = {}
