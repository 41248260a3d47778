# SPDX-License-Identifier: GPL-2.0-or-later
"""Nodes of a Cluster (selftests/agent/cluster.py) that have a share of one processor each."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wait import until

OLD = os.path.isdir("/sys/fs/cgroup/cpu")  # cgroup 1 has the limit


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def tree_of(pid):
    yield pid
    for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
        yield from tree_of(int(child))


class Shares:
    def __init__(self, cluster, share, period_us=20000):
        """Limits each node's programs, its agent and its ehlaunch, which run already. What a node
        does not get in a period, because this machine has other work, it never gets: that is seldom
        in a long one."""
        self.cluster = cluster
        self.period_us = period_us
        self.made = []
        self.counted = []  # files with the processor time that was used
        self.groups = [self.limit(i) for i in range(cluster.n)]
        for i in range(cluster.n):
            self.set(i, share)
            # guests are ehlaunch's
            for parent in (cluster.agents, cluster.launchers):
                for pid in list(tree_of(parent[i].pid)) if i in parent else ():
                    self.enter(i, pid)

    def limit(self, i):
        """The cgroups for node i's programs, which have its share together."""
        name = f"{self.cluster.net.prefix}{i}-share"
        if OLD:
            path, count = (
                f"/sys/fs/cgroup/{controller}/{name}" for controller in ("cpu", "cpuacct")
            )
            groups = [self.make(path)]
            if not os.path.exists(count):  # elsewhere these are one
                groups.append(self.make(count))
            write(f"{path}/cpu.cfs_period_us", str(self.period_us))
            write(f"{path}/cpu.shares", "8192")  # so that it gets its share beside others' work
            self.counted.append(f"{count}/cpuacct.usage")
            return groups
        # guests are in cgroups below the agent's
        path = self.cluster.cgroup(i)
        write(f"{os.path.dirname(path)}/cgroup.subtree_control", "+cpu")
        write(f"{path}/cpu.weight", "1000")
        self.counted.append(f"{path}/cpu.stat")
        return [self.make(f"{path}/programs")]

    def make(self, path):
        os.mkdir(path)
        self.made.append(path)
        return path

    def set(self, i, share):
        """The share of node i's programs."""
        if OLD:
            write(f"{self.groups[i][0]}/cpu.cfs_quota_us", str(int(self.period_us * share)))
        else:
            write(
                f"{self.cluster.cgroup(i)}/cpu.max",
                f"{int(self.period_us * share)} {self.period_us}",
            )

    def enter(self, i, pid):
        for path in self.groups[i]:
            write(f"{path}/cgroup.procs", str(pid))

    def used(self):
        """Processor seconds of each node so far."""

        def read(path):
            text = open(path).read().split()
            return int(text[0]) / 1e9 if OLD else int(text[text.index("usage_usec") + 1]) / 1e6

        return [read(path) for path in self.counted]

    def pids(self, i):
        return [
            int(pid)
            for path in self.groups[i]
            for pid in open(f"{path}/cgroup.procs").read().split()
        ]

    def within(self, i, *words):
        """The command that runs these words on node i, in its share."""
        enter = "".join(f"echo $$ > {path}/cgroup.procs && " for path in self.groups[i])
        return ["sh", "-c", f'{enter}exec "$@"', "sh", *self.cluster.words(i, *words)]

    def end(self):
        for path in self.made:
            until(lambda: not open(f"{path}/cgroup.procs").read())
            os.rmdir(path)
        if not OLD:
            for i in range(self.cluster.n):
                os.rmdir(self.cluster.cgroup(i))
