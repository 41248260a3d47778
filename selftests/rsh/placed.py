# SPDX-License-Identifier: GPL-2.0-or-later
"""A stencil and a random graph under Open MPI, on hosts behind two switches with late frames
between them: as `ehctl gang` starts it by itself, and by the profile of that run."""

import itertools, json, os, random, re, signal, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../faults"))
from network import Network
from nodes import NULL, PIPE, Nodes
from seed import new_seed
from tree import BUILD, TOP
from wait import WAIT

EHCTL = os.path.join(BUILD, "bin", "ehctl")
SLOTS, HOSTS = 2, 4
RANKS = SLOTS * HOSTS
FAR = [3, 4]


def stencil(dice):
    """A grid of 2 x 4, whose ranks are numbered as it happens: in each step all first talk to one
    side, then to the other, then up and down."""
    number = dice.sample(range(RANKS), RANKS)
    cells = {(x, y): number[4 * y + x] for x in range(4) for y in range(2)}
    pairs = [((x, y), to) for x, y in cells for to in ((x + 1, y), (x, y + 1)) if to in cells]
    pairs.sort(key=lambda pair: (pair[0][0] == pair[1][0], pair[0][0] % 2))
    return [(cells[a], cells[b], 1) for a, b in pairs]


def graph(dice):
    """Each pair with probability 0.4, and up to three messages."""
    return [
        (a, b, dice.randint(1, 3)) for a in range(RANKS) for b in range(a) if dice.random() < 0.4
    ] + [(0, 1, 1)]


def path(edges, far, steps):
    """How many late messages follow each other, if these ranks are behind the far switch: both ends
    of an edge wait for each other."""
    at = [0] * RANKS
    for a, b, n in edges * steps:
        at[a] = at[b] = max(at[a], at[b]) + n * ((a in far) != (b in far))
    return max(at)


def worth(edges, steps):
    """Whether the least cost is less time, too, in whatever order the hosts come: the cost counts
    all late messages, also those that pass at the same time."""
    halves = [set(half) for half in itertools.combinations(range(RANKS), RANKS // 2)]
    cost = [sum(n for a, b, n in edges if (a in far) != (b in far)) for far in halves]
    in_order = [
        path(edges, {SLOTS * host + k for host in far for k in range(SLOTS)}, steps)
        for far in itertools.combinations(range(HOSTS), HOSTS // 2)
    ]
    return min(in_order) >= 1.5 * max(
        path(edges, far, steps) for far, c in zip(halves, cost) if c == min(cost)
    )


def drawn(make, dice, steps):
    """One whose placing is worth it."""
    while not worth(edges := make(dice), steps):
        pass
    return edges


class Placed:
    """Node 0 starts the jobs; of the others, 3 and 4 are behind the far switch."""

    def __init__(self, late):
        self.c = c = Hosts(HOSTS + 1, topology="3,1")
        self.net = Network(c)
        self.wire = self.net.apart(FAR, late)
        self.program = f"{c.work}/program"
        status, out, err = c.run(
            "mpicc.openmpi",
            "-O2",
            "-Wall",
            "-Werror",
            "-o",
            self.program,
            f"{TOP}/examples/graph.c",
            f"{TOP}/examples/profile.c",
        )
        if status:
            raise RuntimeError(err)
        with open(f"{c.work}/all", "w", encoding="utf-8") as f:
            json.dump({"model": {"kind": "table", "compute": [999, 999, 999, 1]}}, f)

    def gang(self, *words, program=(), limit=4 * WAIT):
        """The document of ehctl, the seconds of the program, and those with messages."""
        c = self.c
        p = c.spawn(
            EHCTL,
            "gang",
            "--slots",
            str(SLOTS),
            "--wait",
            str(WAIT),
            "--json",
            *words,
            "--",
            "mpirun.openmpi",
            "--mca",
            "btl",
            "tcp,self",
            "--bind-to",
            "none",
            self.program,
            *program,
            stdin=NULL,
            stdout=PIPE,
            stderr=PIPE,
            text=True,
        )
        try:
            out, err = p.communicate(timeout=limit)
        except BaseException:
            os.killpg(p.pid, signal.SIGKILL)
            raise
        said = re.search(r"graph: (\d+) ranks, ([\d.]+) seconds, ([\d.]+) with messages", err)
        if p.returncode or not said or int(said[1]) != RANKS:
            raise RuntimeError(f"ehctl gang: {p.returncode}: {out} {err[-3000:]}")
        return json.loads(out), float(said[2]), float(said[3])

    def both(self, name, edges, steps, work, size, times=1):
        """Before and after: {"cost": …, "seconds": …, "messages": …}, each [before, after]; and
        ehctl's document. If it is no faster after than before, both are run again, up to so many
        times, and the fastest counts: the machine may have had other work."""
        path = f"{self.c.work}/{name}"
        with open(path, "w", encoding="utf-8") as f:
            f.write("".join(f"{a} {b} {n}\n" for a, b, n in edges))
        program = [path, str(steps), str(work), str(size)]
        before, after = [], []
        for i in range(times):
            before.append(
                self.gang(
                    "--model", f"{self.c.work}/all", "--profile", f"{path}.comm", program=program
                )[1:]
            )
            told, *took = self.gang("--assign", f"{path}.comm", program=program)
            after.append(took)
            got = {"cost": [told["assign"]["cost_in_order"], told["assign"]["cost"]]}
            for k, what in enumerate(("seconds", "messages")):
                got[what] = [min(run[k] for run in runs) for runs in (before, after)]
            if all(y < x for x, y in got.values()):
                break
        return got, told


class Hosts(Nodes):
    """Node 0 is in no gang."""

    def conf(self, i, **more):
        return super().conf(i, settings=f"{self.settings}\ngangs = {1 if i else 0}", **more)


def dice():
    return random.Random(new_seed(sys.stderr))
