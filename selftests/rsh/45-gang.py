#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl gang with MPICH and Open MPI: the programs of examples/, on hosts that it chooses, without
a word about hosts or ssh."""

import json, os, re, signal, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from launchers import SOON, TIMES
from nodes import PIPE, Nodes
from tree import BUILD, TOP
from wait import WAIT, until

EHCTL = os.path.join(BUILD, "bin", "ehctl")
c = Nodes(5, topology="3,1")
for kind in "mpich", "openmpi":
    for name in "wave", "matmul":
        status, out, err = c.run(
            f"mpicc.{kind}",
            "-O2",
            "-Wall",
            "-Werror",
            "-o",
            f"{c.work}/{name}.{kind}",
            f"{TOP}/examples/{name}.c",
            "-lm",
        )
        ok(f"{name} for {kind}", status == 0, err)
RUN = {"mpich": "mpiexec.mpich", "openmpi": "mpirun.openmpi"}


def gang(kind, *words, least=4, model="table", program=()):
    return c.run(
        EHCTL,
        "gang",
        "--model",
        f"{c.work}/{model}",
        "--least",
        str(least),
        "--most",
        str(least),
        "--wait",
        str(WAIT),
        "--json",
        *words,
        "--",
        RUN[kind],
        *program,
    )


def leases():
    """Who occupies the nodes, as they say themselves."""
    found = {}
    for i in c.agents:
        own = next(n for n in c.status(i)["nodes"] if n["code"] == c.code(i))
        found.update({i: g["home"] for g in own["gangs"]})
    return found


def free(name):
    ok(f"{name}: no lease is left", until(lambda: not leases()), leases())


with open(f"{c.work}/table", "w") as f:
    json.dump({"model": {"kind": "table", "compute": [5, 4, 3, 2, 1]}}, f)
sums = set()
for kind in RUN:
    status, out, err = gang(
        kind, program=[f"{c.work}/wave.{kind}", "--model", "20000", "100"], least=2
    )
    lines = [line for line in err.splitlines() if line.startswith("{")]
    told = json.loads(lines[0])["model"] if lines else {}
    ok(
        f"{kind}: wave measures its model",
        status == 0 and told.get("kind") == "wave" and told["alpha"] > 0 and told["t_add"] > 0,
        (status, out, err),
    )
    with open(f"{c.work}/wave.json", "w") as f:
        f.write(lines[0] if lines else "{}")
    for n in 1, 3, 5:
        status, out, err = gang(
            kind, model="wave.json", program=[f"{c.work}/wave.{kind}", "20000", "100"], least=n
        )
        doc = json.loads(out) if out else {}
        said = re.search(r"wave: (\d+) ranks, [\d.]+ seconds, sum (\S+)", err)
        ok(
            f"{kind}: wave on {n} hosts",
            status == 0
            and said
            and int(said[1]) == n
            and doc.get("count") == n
            and doc["predicted"] > 0,
            (status, out, err),
        )
        sums.add(said and said[2])
    status, out, err = gang(kind, program=[f"{c.work}/matmul.{kind}", "240"])
    ok(
        f"{kind}: matmul on 4 hosts",
        status == 0 and "matmul: 4 ranks" in err and " sum 55296000.000000" in err,
        (status, out, err),
    )
    c.nothing_left(f"{kind}: nothing is left")
    free(kind)
ok("the string is the same, whatever the number of hosts", len(sums) == 1, sums)


def ended(kind, name, how):
    """A long one on four hosts; how(p) ends ehctl. Its status, and the seconds until the last rank
    was gone."""
    ranks = f"^{c.work}/wave.{kind} "
    p = c.spawn(
        EHCTL,
        "gang",
        "--model",
        f"{c.work}/table",
        "--least",
        "4",
        "--most",
        "4",
        "--wait",
        str(WAIT),
        "--",
        RUN[kind],
        f"{c.work}/wave.{kind}",
        "20000",
        "100000000",
        stdout=PIPE,
        stderr=PIPE,
        text=True,
    )
    ran = until(
        lambda: sum(bool(c.has(i, ranks)) for i in range(c.n)) == 4 or p.poll() is not None,
        2 * WAIT,
    )
    ok(
        f"{kind}: a long one on four hosts",
        ran and p.poll() is None and len(leases()) == 4,
        (leases(), c.shown()),
    )
    began = time.monotonic()
    how(p)
    ok(
        f"{kind}: {name}: each rank ends",
        until(lambda: not any(c.has(i, ranks) for i in range(c.n))),
        c.shown(),
    )
    took = time.monotonic() - began
    print(f"# {kind}: {name}: gone after {took:.2f} s")
    p.communicate(timeout=2 * WAIT)
    c.nothing_left(f"{kind}: {name}: nothing is left")
    free(f"{kind}: {name}")
    return p.returncode, took


def interrupt(p):
    os.killpg(p.pid, signal.SIGINT)


for kind in RUN:
    status, _ = ended(kind, "ehctl is killed", lambda p: p.kill())
    ok(f"{kind}: killed", status == -signal.SIGKILL, status)
    took = []
    while not took or min(took) > SOON and len(took) < TIMES:
        status, seconds = ended(kind, "^C", interrupt)
        took.append(seconds)
        ok(f"{kind}: interrupted", status == 128 + signal.SIGINT, status)
    ok(f"{kind}: ^C reaches the last rank within {SOON} s", min(took) <= SOON, took)
done()
