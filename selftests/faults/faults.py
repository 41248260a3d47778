# SPDX-License-Identifier: GPL-2.0-or-later
"""The faults. Each is chosen by the dice, begins, is held for a while, ends, and is over when its
nodes see all others again and have no task that waits for a connection. All but the choice is done
by a thread of its own."""

import os, resource, signal, subprocess, time
from nodes import HEARTBEAT, JOB_LIMIT, USER
from proc import send
from wait import WAIT, until

SHORT = 0.1, 1.0  # seconds
LONG = 3.2 * HEARTBEAT, 6 * HEARTBEAT  # longer than what makes a peer down
RESTART = 0.1, 1.5  # until the service manager has started it again
BOUND = JOB_LIMIT + WAIT  # seconds: a fault that is not over then is a defect


class Fault:
    """`ends`: names of processes of which a victim has one. `victims`: nodes that no other fault
    takes until it is over."""

    hold = SHORT
    ends = ()

    def __init__(self, campaign, dice, victims):
        self.c, self.n, self.victims = campaign, campaign.nodes, victims
        self.i = victims[0]
        self.began = time.monotonic()
        self.seconds = dice.uniform(*self.hold)
        self.seed = dice.randrange(1 << 30)
        self.share = dice.random()
        self.problem, self.took, self.none, self.over = None, None, False, False

    def __str__(self):
        return f"{self.name} {','.join(f'n{i}' for i in self.victims)} {self.seconds:.1f} s"

    @classmethod
    def choose(cls, dice, free, nodes):
        """Its victims of these nodes; None: there are too few."""
        if cls.ends:
            free = sorted(
                {
                    node
                    for node, name in nodes.processes().values()
                    if name in cls.ends and node in free
                }
            )
        return [dice.choice(free)] if free else None

    def run(self):
        try:
            self.begin()
            time.sleep(self.seconds)
            self.end()
            healed = time.monotonic()
            if not until(self.recovered, BOUND):
                self.problem = f"not over after {BOUND:.0f} s: {self.state()}"
            self.took = time.monotonic() - healed
        except Exception as error:  # the campaign says it
            self.problem = repr(error)
        self.over = True

    def begin(self):
        pass

    def end(self):
        pass

    def healthy(self):
        """Nodes that no other fault has at present."""
        others = {i for f in self.c.active() if f is not self for i in f.victims}
        return [i for i in range(self.n.n) if i not in others]

    def recovered(self):
        healthy = self.healthy()
        codes = {self.n.code(i) for i in healthy}
        for i in self.victims:
            if not codes <= self.n.sees(i):
                return False
            tasks = self.n.tell(i, "tasks")
            if tasks is None or any(
                t["state"] == "reconnecting" and {t["home"], t["executor"]} <= codes
                for t in tasks["tasks"]
            ):
                return False
        return True

    def state(self):
        return [
            (
                sorted(self.n.sees(i)),
                [
                    t
                    for t in (self.n.tell(i, "tasks") or {"tasks": []})["tasks"]
                    if t["state"] == "reconnecting"
                ],
            )
            for i in self.victims
        ] + [self.n.log(i)[-1500:] for i in self.victims]

    def pick(self, good=lambda pid: True):
        """One of the ends on the victim."""
        found = sorted(
            pid
            for pid, (node, name) in self.n.processes().items()
            if node == self.i and name in self.ends and good(pid)
        )
        self.none = not found
        return found[int(self.share * len(found))] if found else None


# ---- agents ----


class AgentKill(Fault):
    name, hold, sig = "agent: kill -9", RESTART, signal.SIGKILL

    def begin(self):
        for i in self.victims:
            self.n.agents[i].send_signal(self.sig)
        for i in self.victims:
            self.n.agents[i].wait(WAIT)

    def end(self):
        for i in self.victims:
            self.n.start(i, ready=False)


class AgentTerm(AgentKill):
    name, sig = "agent: restart", signal.SIGTERM


class TwoAgents(AgentKill):
    name = "two agents: kill -9"

    @classmethod
    def choose(cls, dice, free, nodes):
        return dice.sample(free, 2) if len(free) > 1 else None


class AgentStop(Fault):
    name = "agent: stopped, short"

    def begin(self):
        self.n.agents[self.i].send_signal(signal.SIGSTOP)

    def end(self):
        self.n.agents[self.i].send_signal(signal.SIGCONT)


class AgentStopLong(AgentStop):
    name, hold = "agent: stopped, heartbeats", LONG


class NoDescriptors(Fault):
    name, hold = "agent: no descriptors", (0.5, 3)

    def limit(self, descriptors):
        """By the agent's user: a limit of another user's process needs CAP_SYS_RESOURCE."""
        subprocess.run(
            [
                "setpriv",
                "--reuid",
                str(USER),
                "--regid",
                str(USER),
                "--clear-groups",
                "prlimit",
                "--pid",
                str(self.n.agents[self.i].pid),
                f"--nofile={descriptors}:",
            ],
            check=True,
        )

    def begin(self):
        self.before = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.limit(self.n.descriptors(self.i))

    def end(self):
        self.limit(self.before)


class NoMemory(NoDescriptors):
    """Nothing more than it has at that moment; what it starts meanwhile has no more, either."""

    name = "agent: no memory"

    def limit(self, size):
        subprocess.run(
            [
                "setpriv",
                "--reuid",
                str(USER),
                "--regid",
                str(USER),
                "--clear-groups",
                "prlimit",
                "--pid",
                str(self.n.agents[self.i].pid),
                f"--as={size}:",
            ],
            check=True,
        )

    def begin(self):
        self.limit(
            int(open(f"/proc/{self.n.agents[self.i].pid}/statm").read().split()[0])
            * resource.getpagesize()
        )

    def end(self):
        self.limit("unlimited")


class FullDisk(AgentTerm):
    """The agent ends and begins while its state cannot be written."""

    name = "agent: disk full, restart"

    def begin(self):
        self.file = os.path.join(os.path.dirname(self.n.state(self.i)), "full")
        try:
            with open(self.file, "wb", buffering=0) as f:
                while f.write(bytes(4096)):
                    pass
        except OSError:
            pass
        super().begin()

    def recovered(self):
        if not super().recovered():
            return False
        if os.path.exists(self.file):
            os.unlink(self.file)
        return True


# ---- ehlaunch ----


class LaunchKill(Fault):
    name, hold = "ehlaunch: kill -9", RESTART

    def begin(self):
        self.n.launchers[self.i].kill()
        self.n.launchers[self.i].wait()

    def end(self):
        self.n.launch(self.i)

    def recovered(self):
        return self.n.launches(self.i) and super().recovered()


class LaunchStop(Fault):
    name, hold = "ehlaunch: stopped", (0.1, LONG[1])

    def begin(self):
        self.n.launchers[self.i].send_signal(signal.SIGSTOP)

    def end(self):
        self.n.launchers[self.i].send_signal(signal.SIGCONT)


class LaunchNoDescriptors(NoDescriptors):
    name = "ehlaunch: no descriptors"

    def limit(self, descriptors):
        pid = self.n.launchers[self.i].pid
        resource.prlimit(
            pid,
            resource.RLIMIT_NOFILE,
            (descriptors, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]),
        )

    def begin(self):
        self.before = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.limit(len(os.listdir(f"/proc/{self.n.launchers[self.i].pid}/fd")))


class LookKill(Fault):
    """What looks at programs and directories for the agent; it is asked again, or the exec is not
    placed."""

    name, hold, ends = "ehlook: kill -9", (0, 0), ("ehlook",)

    def begin(self):
        pid = self.pick()
        if pid:
            send(pid, signal.SIGKILL)


# ---- ends of jobs and views ----


class EndKill(Fault):
    """The task is told: why it ended is noted before it is killed."""

    hold = 0, 0

    def begin(self):
        pid = self.pick(self.c.task_of)
        self.task = self.c.task_of(pid) if pid else None
        self.none = not self.task
        if self.task:
            self.task.why = self.why
            send(pid, signal.SIGKILL)

    def recovered(self):
        return not self.task or self.task.ended


class StubKill(EndKill):
    name, ends, why = "ehstub: kill -9", ("ehstub",), "stub-kill"


class GuestKill(EndKill):
    name, ends, why = "ehguest: kill -9", ("ehguest",), "guest-kill"


class EndStop(Fault):
    hold = 0.1, LONG[1]

    def begin(self):
        self.pid = self.pick()
        if self.pid:
            send(self.pid, signal.SIGSTOP)

    def end(self):
        if self.pid:
            send(self.pid, signal.SIGCONT)


class StubStop(EndStop):
    name, ends = "ehstub: stopped", ("ehstub",)


class GuestStop(EndStop):
    name, ends = "ehguest: stopped", ("ehguest",)


class ViewKill(Fault):
    """Tasks in a view end with it."""

    name, hold, ends = "view: kill -9", (0, 0), ("ehview", "ehfiles", "ehkeep")

    def begin(self):
        pid = self.pick()
        if pid:
            self.c.note_views(self.i)
            send(pid, signal.SIGKILL)


class ViewStop(EndStop):
    name, ends = "view: stopped", ("ehview", "ehfiles", "ehkeep")


# ---- a node ----


class Suspend(Fault):
    """A node stands still, as a virtual machine that is paused, or a laptop that sleeps: nothing of
    it runs, and what is sent to it is lost."""

    name, hold = "node: suspended", LONG

    def begin(self):
        pairs = [p for j in range(self.n.n) if j != self.i for p in ((self.i, j), (j, self.i))]
        self.c.network.wall(pairs, True)
        self.stopped = []
        while pids := [
            pid
            for pid, (node, _) in self.n.processes().items()
            if node == self.i and pid not in self.stopped
        ]:
            self.stopped += [pid for pid in pids if send(pid, signal.SIGSTOP)]
        self.pairs = pairs

    def end(self):
        # the agent last: else it would take stubs for stopped
        for pid in sorted(self.stopped, key=lambda pid: pid == self.n.agents[self.i].pid):
            send(pid, signal.SIGCONT)
        self.c.network.wall(self.pairs, False)


# ---- the network ----


class Reset(Fault):
    name, hold = "links: reset", (0, 0)

    def begin(self):
        self.c.network.reset(self.i)


class Wall(Fault):
    """Pairs of nodes between which nothing passes, one way or both."""

    hold = 0.5, LONG[1]

    def begin(self):
        self.c.network.wall(self.pairs(), True)

    def end(self):
        self.c.network.wall(self.pairs(), False)


class Partition(Wall):
    name = "partition: one node"

    def pairs(self):
        return [p for j in range(self.n.n) if j != self.i for p in ((self.i, j), (j, self.i))]


class OneWay(Wall):
    name = "partition: one way"

    def pairs(self):
        others = [j for j in range(self.n.n) if j != self.i]
        return [(self.i, j) for j in others] if self.seed % 2 else [(j, self.i) for j in others]


class Split(Wall):
    """The cluster falls in two; no other fault is there meanwhile."""

    name, hold = "partition: two halves", LONG

    @classmethod
    def choose(cls, dice, free, nodes):
        return dice.sample(free, 8) if len(free) >= 8 else None

    def pairs(self):
        return [p for a in self.victims[:4] for b in self.victims[4:] for p in ((a, b), (b, a))]


class Loss(Fault):
    name, hold = "network: loss", (1, 5)

    def begin(self):
        self.c.network.lose(self.i, 0.05 + self.share * 0.3)

    def end(self):
        self.c.network.lose(self.i, 0)


class Narrow(Fault):
    name, hold = "network: narrow", (1, 5)

    def begin(self):
        self.c.network.narrow(self.i, int(200 + 800 * self.share))

    def end(self):
        self.c.network.narrow(self.i, 0)


class Delay(Fault):
    name, hold = "network: delay, reordering", (1, 5)

    def begin(self):
        self.wire = self.c.network.delay(self.i, self.seed, 10 + 90 * self.share, 100)

    def end(self):
        self.c.network.undelay(self.i, self.wire)


# ---- clocks ----


class Clock(Fault):
    """The time of day is wrong, by up to an hour, or so much that each certificate is over, or not
    valid yet."""

    name, hold = "clock: jumps", (0.5, LONG[1])

    def begin(self):
        most = (3600, 3600, 20 * 365 * 86400)[self.seed % 3]
        self.n.clocks[self.i].set((2 * self.share - 1) * most)

    def end(self):
        self.n.clocks[self.i].set(0)


KINDS = [
    AgentKill,
    AgentTerm,
    TwoAgents,
    AgentStop,
    AgentStopLong,
    NoDescriptors,
    NoMemory,
    FullDisk,
    LaunchKill,
    LaunchStop,
    LaunchNoDescriptors,
    LookKill,
    StubKill,
    GuestKill,
    StubStop,
    GuestStop,
    ViewKill,
    ViewStop,
    Suspend,
    Reset,
    Partition,
    OneWay,
    Split,
    Loss,
    Narrow,
    Delay,
    Clock,
]
