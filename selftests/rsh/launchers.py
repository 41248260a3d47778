# SPDX-License-Identifier: GPL-2.0-or-later
"""What is asked of each MPI: ranks on all nodes, their output, how they end."""

import os, re, signal, sys, tempfile, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import ok
from nodes import PIPE, Nodes
from tree import TOP
from wait import WAIT, until

SOON = 0.2  # seconds from ^C to the end of the last rank
TIMES = 5  # the best counts: the machine may have had other work


class Story:
    def __init__(self, kind, n, **more):
        self.c = c = Nodes(n, **more)
        self.program = f"{c.work}/mpi"
        status, out, err = c.run(f"mpicc.{kind}", "-o", self.program, f"{TOP}/selftests/rsh/mpi.c")
        ok("a program for it", status == 0, err)

    def ranks(self, out):
        return sorted(
            (int(rank), int(size), host, int(total))
            for rank, size, host, total in re.findall(
                r"^rank (\d+) of (\d+) on (\S+): (\d+)$", out, flags=re.M
            )
        )

    def works(self, name, launch, hosts):
        """One rank for each of the hosts, in any order."""
        status, out, err = self.c.run(*launch, self.program)
        n = len(hosts)
        want = [(rank, n, n * (n - 1) // 2) for rank in range(n)]
        got = self.ranks(out)
        ok(
            name,
            status == 0
            and [(rank, size, total) for rank, size, _, total in got] == want
            and sorted(host for _, _, host, _ in got) == sorted(hosts),
            (status, out, err),
        )
        self.c.nothing_left("and nothing of it is left")

    def waits(self, launch, n):
        """It, when all n ranks wait; with the directory of their marks."""
        marks = tempfile.mkdtemp(dir=self.c.work)
        os.chmod(marks, 0o777)
        p = self.c.spawn(*launch, self.program, marks, stdout=PIPE, stderr=PIPE, text=True)
        up = until(lambda: p.poll() is not None or len(os.listdir(marks)) == n)
        if not up or p.poll() is not None:
            shown = self.c.shown()
            if p.poll() is None:
                os.killpg(p.pid, signal.SIGKILL)
            ok("all ranks wait", False, (p.communicate(), shown))
        else:
            ok("all ranks wait", True)
        return p

    def ends(self, name, launch, n, how, look=lambda: None):
        """However it ends, nothing of it is left. Returns the seconds until the last rank was
        gone."""
        p = self.waits(launch, n)
        look()
        began = time.monotonic()
        how(p)
        left, took = set(range(self.c.n)), {}

        def all_gone():
            for i in [i for i in left if not self.c.has(i, re.escape(self.program) + " ")]:
                left.remove(i)
                took[i] = time.monotonic() - began
            return not left

        ok(f"{name} ends each rank", until(all_gone), self.c.shown())
        print(f"# {name}: gone after", ", ".join(f"{took[i]:.2f} s (n{i})" for i in sorted(took)))
        self.c.nothing_left(f"{name}: nothing of it is left")
        p.communicate(timeout=WAIT)
        return max(took.values(), default=0)

    def interrupts(self, launch, n, look=lambda: None):
        """^C reaches the last rank soon."""
        took = []
        while not took or min(took) > SOON and len(took) < TIMES:
            took.append(self.ends("^C", launch, n, lambda p: os.killpg(p.pid, signal.SIGINT), look))
        ok(f"^C reaches the last rank within {SOON} s", min(took) <= SOON, took)
