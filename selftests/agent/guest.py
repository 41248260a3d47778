# SPDX-License-Identifier: GPL-2.0-or-later
"""The nodes of a virtual cluster in one guest (selftests/vm/cluster --netns N) with the face of
cluster.Cluster, so that one story is told with the module and without. Agents were started by the
virtual cluster and are ended by it."""

import os, signal, subprocess
from cluster import Cluster
from commands import SAID
from ktap import must
from netns import Net, sh
from wait import until


class GuestNet(Net):
    def __init__(self):
        pass

    def name(self, i):
        return f"n{i}"

    def port(self, i):
        return f"v{i}"

    def switch(self, *words):
        return sh("nsenter", "--net=/proc/1/ns/net", "ip", *words)


class Agent:
    def __init__(self, i):
        self.file = f"/run/ehsched/node{i}/pid"
        self.pid = int(open(self.file).read())

    def alive(self):
        try:
            return open(f"/proc/{self.pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False


class Guest(Cluster):
    managed = True

    def __init__(self, topology):
        self.n = int(os.environ["EHS_NODES"])
        self.topology = topology
        self.net = GuestNet()
        self.agents = {i: Agent(i) for i in range(self.n)}

    def start(self, i, conf=None, ready=True):
        subprocess.run(["agent-start", str(i)], check=True)
        self.agents[i] = Agent(i)

    def end(self, i, sig=signal.SIGTERM):
        agent = self.agents.pop(i)
        os.kill(agent.pid, sig)
        must(f"agent {i} ends", until(lambda: not agent.alive()))

    def log(self, i):
        return open(
            os.path.join(os.environ["EHS_SHARE"], ".agent", f"n{i}.log"), errors="replace"
        ).read()

    def words(self, i, *words):
        return ["on", str(i), *words]

    def popen(self, i, words, **how):
        return subprocess.Popen(
            self.words(i, *words), **{"stdin": subprocess.DEVNULL, **SAID, **how}
        )
