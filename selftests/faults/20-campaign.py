#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of all kinds while tasks of all kinds run on eight nodes: nothing is lost in silence, runs
twice, has wrong bytes, hangs or is left behind.

20-campaign.py [--faults N] [--turns N] [--still N] [--minutes N]

make check-faults does more than the few of make check. --turns: all agents, each with its ehlaunch,
are restarted in turn, so often; what execs wait meanwhile is shown. --still: all agents stand still
for three heartbeats, so often. EHS_FAULT_MINUTES=N: as many faults as begin in N minutes, as
--minutes says else. EHS_SEED repeats the choices; EHS_KINDS is a list of names of classes in
faults.py, EHS_TASKS of classes in work.py."""

import argparse, os, signal, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import faults, users, work
from campaign import Campaign
from ktap import done, ok
from nodes import HEARTBEAT
from seed import new_seed

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
minutes = float(os.environ.get("EHS_FAULT_MINUTES", 0))
parser.add_argument("--faults", type=int, default=100000 if minutes else 2 * len(faults.KINDS))
parser.add_argument("--turns", type=int, default=0)
parser.add_argument("--still", type=int, default=0)
parser.add_argument(
    "--minutes", type=float, default=minutes or float("inf"), help="no fault begins later"
)
options = parser.parse_args()
seed = new_seed()
kinds = [getattr(faults, name) for name in os.environ.get("EHS_KINDS", "").split()]
work.KINDS = [getattr(work, name) for name in os.environ.get("EHS_TASKS", "").split()] or work.KINDS
print(f"# {options.faults} faults", flush=True)
signal.signal(
    signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM)
)  # what was started is ended

c = Campaign(seed, kinds, say=lambda text: print(text, flush=True))
n = c.nodes
all_nodes = range(n.n)


def well(i=None):
    """Whether all see each other, or this one all."""
    codes = {n.code(j) for j in all_nodes}
    return all(n.sees(j) == codes for j in (all_nodes if i is None else [i]))


def uptime():
    return float(open("/proc/uptime").read().split()[0])


class Exec:
    """One that may run anywhere; its program tells when it began."""

    def __init__(self, i):
        self.began = uptime()
        self.p = subprocess.Popen(
            [
                "nsenter",
                f"--net=/run/netns/{n.net.name(i)}",
                "-S",
                str(users.ONE),
                "-G",
                str(users.ONE),
                work.EHCTL,
                "exec",
                *work.AUTO,
                "--",
                "/bin/sh",
                "-c",
                "read -r up rest </proc/uptime; echo $up",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=n.work,
        )

    def waited(self):
        """Seconds. None: it did not run; that is a problem."""
        try:
            out, err = self.p.communicate(timeout=faults.BOUND)
        except subprocess.TimeoutExpired:
            self.p.kill()
            out, err = self.p.communicate()
        if self.p.returncode or not out:
            c.problems.append(
                f"an exec that may run anywhere did not: {self.p.returncode} {out} {err[-300:]}"
            )
            return None
        return max(0, float(out) - self.began)


def in_turn(turns):
    """Restarts each agent and ehlaunch so often, as the service manager does, while tasks run.
    Seconds until the last was well."""
    took = []
    for turn in range(turns):
        for i in all_nodes:
            execs = [Exec(i)]
            status = n.end(i)
            if status:
                c.problems.append(f"turn {turn}: n{i}: its agent ended with {status}")
            execs.append(Exec(i))
            n.launchers[i].terminate()
            n.launchers[i].wait()
            n.launch(i)
            n.start(i, ready=False)
            execs.append(Exec(i))
            began = time.monotonic()
            c.loop(lambda: not well(i) and time.monotonic() < began + faults.BOUND)
            took.append(time.monotonic() - began)
            if not well(i):
                c.problems.append(f"turn {turn}: n{i} does not see the others: {n.log(i)[-1500:]}")
            waited.extend(w for w in map(Exec.waited, execs) if w is not None)
    return took


def stand_still(times):
    for _ in range(times):
        for agent in n.agents.values():
            agent.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        c.loop(lambda: time.monotonic() < began + 3 * HEARTBEAT)
        for agent in n.agents.values():
            agent.send_signal(signal.SIGCONT)
        began = time.monotonic()
        c.loop(lambda: not well() and time.monotonic() < began + faults.BOUND)
        if not well():
            c.problems.append("agents that stood still do not find each other")
        yield time.monotonic() - began


def show(name, took):
    if took:
        took = sorted(took)
        print(
            (
                f"# {name}: {len(took)} times, after p50 {took[len(took) // 2]:.1f} s, p99"
                f" {took[int(len(took) * 0.99)]:.1f} s, longest {took[-1]:.1f} s"
            ),
            flush=True,
        )


waited = []  # execs, until their programs began
calm = [
    w for w in (Exec(i % n.n).waited() for i in range(3 * min(options.turns, 5))) if w is not None
]
show("an agent and its ehlaunch restarted in turn: well", in_turn(options.turns))
show("an exec without that: its program began", calm)
show("an exec meanwhile: its program began", waited)
show("all agents stopped for three heartbeats: well", list(stand_still(options.still)))
c.run(options.faults, options.minutes * 60)
c.finish()
for line in c.table():
    print("#", line)
print("#", c.sums(), flush=True)
for word, name in (
    ("lost", "no task is lost in silence"),
    ("twice", "none runs twice"),
    ("bytes", "no byte is wrong"),
    ("status", "no status is another"),
    ("untold", "none is killed without a cause"),
    ("stuck", "none hangs"),
):
    wrong = [text for w, text in c.wrong if w == word]
    ok(name, not wrong, "\n".join(wrong[:20]))
ok("most tasks are right", c.words["right"] > len(c.tasks) / 2, c.sums())
ok(
    "agents and launchers go on, and each fault is over in time",
    not c.problems,
    "\n".join(c.problems),
)
left = n.leftovers()
ok("nothing is left behind", not left, "\n".join(left))
print(f"# {time.monotonic() - c.began:.0f} s")
done()
