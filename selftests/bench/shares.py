# SPDX-License-Identifier: GPL-2.0-or-later
"""Nodes of a Cluster (selftests/agent/cluster.py) that have a share of one processor each."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wait import until

OLD = os.path.isdir("/sys/fs/cgroup/cpu")     # cgroup 1 has the limit


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def tree_of(pid):
    yield pid
    for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
        yield from tree_of(int(child))


class Shares:
    def __init__(self, cluster, share):
        """Limits each node's programs and its agent, which runs already."""
        self.cluster = cluster
        self.share = share
        self.groups = [self.limit(i) for i in range(cluster.n)]
        for i, group in enumerate(self.groups):
            for pid in list(tree_of(cluster.agents[i].pid)):
                write(f"{group}/cgroup.procs", str(pid))

    def limit(self, i):
        """The cgroup of a group for node i's programs, which has its share."""
        path = f"/sys/fs/cgroup{'/cpu' if OLD else ''}/{self.cluster.net.prefix}{i}-share"
        os.mkdir(path)
        if OLD:
            write(f"{path}/cpu.cfs_period_us", "20000")
            write(f"{path}/cpu.cfs_quota_us", str(int(20000 * self.share)))
            write(f"{path}/cpu.shares", "8192")     # so that it gets its share beside others' work
        else:
            write(f"{path}/cpu.max", f"{int(20000 * self.share)} 20000")
            write(f"{path}/cpu.weight", "1000")
        return path

    def within(self, i, *words):
        """The command that runs these words on node i, in its share."""
        return ["sh", "-c", f'echo $$ > {self.groups[i]}/cgroup.procs && exec "$@"', "sh", *self.cluster.words(i, *words)]

    def end(self):
        for path in self.groups:
            until(lambda: not open(f"{path}/cgroup.procs").read())
            os.rmdir(path)
