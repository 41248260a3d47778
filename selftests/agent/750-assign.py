#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl gang --assign: ranks that send each other much are on hosts between which messages are
fast. Two switches, with late frames between them, have two hosts each; who is behind which is found
out by probes."""

import json, os, re, signal, sys

sys.path += [os.path.join(sys.path[0], "../lib"), os.path.join(sys.path[0], "../faults")]
from gangs import LONG, Gangs
from ktap import done, ok
from network import Network
from wait import WAIT, until

LATE = 30  # ms, each way: more than a busy machine takes for a probe at best
RANKS, HOSTS = 8, 4
NODES = range(5)  # n4 only starts the jobs
far = {2, 3}
NEAR = "--hosts", "n0,n1"
c = Gangs(5, topology="3,1")
for i in NODES:
    c.start(i, c.conf(i, settings=f"{c.settings}\ngangs = {0 if i == 4 else 1}"))
ok("five agents", c.all_up(NODES), c.log(0)[-2000:])
wire = Network(c).apart(sorted(far), LATE)


def profile(name, pairs, work=0.05, ranks=RANKS, **more):
    path = os.path.join(c.top, name)
    with open(path, "w") as f:
        json.dump(
            {
                "version": 1,
                "ranks": [{"host": "x", "work": work, "seconds": 1, "mpi": 0.5}] * ranks,
                "messages": [
                    {"a": a, "b": b, "count": n, "bytes": 64 * n} for a, b, n in sorted(pairs)
                ],
                **more,
            },
            f,
        )
    return path


def assign(
    path,
    *words,
    slots=2,
    cmd=(
        "cat {rankfile}; echo {ranks}; cat {hostfile} $HYDRA_HOST_FILE $SLURM_HOSTFILE;"
        " echo $OMPI_MCA_orte_rankfile"
    ),
):
    return c.gang(
        4,
        "--assign",
        path,
        "--slots",
        str(slots),
        "--wait",
        str(WAIT),
        *words,
        "--",
        "sh",
        "-c",
        cmd,
    )


# ---- a plan ----

# two groups of four, whose members are every second rank: in the order of the hosts each message
# between neighbours of a group leaves its host
groups = [(a, b) for a in range(RANKS) for b in range(a + 2, RANKS, 2)]
path = profile("groups", [(a, b, 10) for a, b in groups] + [(0, 1, 1)])
status, out, err = assign(path, "--json")
told = json.loads(out) if out else {}
got = told.get("assign", {})
ranks = got.get("ranks", [])
ok(
    "ranks of a profile on as many hosts as they need",
    status == 0 and len(ranks) == RANKS and told["count"] == HOSTS,
    (status, out, err),
)
side = [int(host[1:]) in far for host in ranks]
ok(
    "each group is behind one switch",
    len(set(side[0::2])) == len(set(side[1::2])) == 1 and side[0] != side[1],
    got,
)
ok("no host has more ranks than slots", all(ranks.count(host) == 2 for host in ranks), ranks)
# 130 messages of a rank's 3 partners in its group, of which two may be on another host behind the
# same switch
ok(
    "the cost is said, before and after",
    0 < got["cost"] < got["cost_in_order"] / 2,
    (got["cost"], got["cost_in_order"]),
)
slow = {frozenset((link["a"], link["b"])): link["seconds"] for link in got["links"]}
between = [s for pair, s in slow.items() if len({int(h[1:]) in far for h in pair}) == 2]
within = [s for pair, s in slow.items() if len({int(h[1:]) in far for h in pair}) == 1]
ok(
    "links were measured: those between the switches are as late as frames there",
    len(between) == 4
    and len(within) == 2
    and min(between) >= LATE / 2000
    and max(within) < min(between),
    slow,
)
said = err.splitlines()
ok(
    "the rankfile has it",
    [re.search(r"rank %d=(n\d) slot=S\*$" % r, err, re.M)[1] for r in range(RANKS)] == ranks
    and str(RANKS) in said,
    (ranks, err),
)
ok(
    "Open MPI's hostfile has the slots of each host",
    sorted(line for line in said if "slots=" in line) == [f"n{i} slots=2" for i in range(4)],
    err,
)
mpich = [line.split(":") for line in said if re.fullmatch(r"n\d:\d", line)]
ok(
    "MPICH's has the ranks in their order",
    [h for h, n in mpich for _ in range(int(n))] == ranks,
    (mpich, ranks),
)
ok("and Slurm's", [line for line in said if re.fullmatch(r"n\d", line)] == ranks, err)
ok(
    "Open MPI is told of the rankfile",
    said and re.fullmatch(r"/proc/\d+/fd/\d+", said[-1]),
    said[-2:],
)
c.free("no lease is left")

# ---- text, few ranks, one host ----

status, out, err = assign(
    profile("three", [(0, 2, 5), (0, 1, 1)], ranks=3),
    *NEAR,
    cmd="echo {ranks} {count}; cat {hostfile}",
)
ok(
    "three ranks on two hosts, as text",
    status == 0
    and out.startswith("3 2\n")
    and sorted(re.findall(r"slots=(\d)", out)) == ["1", "2"]
    and re.search(
        (
            r"2 of \d free hosts: [\d.]+ s; ranks by \S+three: cost [\d.]+ s, in the order of hosts"
            r" [\d.]+ s"
        ),
        err,
    ),
    (status, out, err),
)
status, out, err = assign(profile("one", [(0, 1, 5)], ranks=2), *NEAR, cmd="cat {rankfile}")
ok(
    "all on one host",
    status == 0 and re.fullmatch(r"rank 0=(n\d) slot=S\*\nrank 1=\1 slot=S\*\n", out),
    (status, out, err),
)
status, out, err = assign(profile("still", [], work=0, ranks=4), *NEAR, "--json")
ok(
    "a job that does nothing",
    status == 0 and json.loads(out)["assign"]["cost"] == 0,
    (status, out, err),
)
c.free()

# ---- what is refused ----

for name, text, what in (
    ("json", "{", ":1: "),
    ("ranks", '{"version":1,"ranks":[],"messages":[]}', "ranks"),
    ("rank", '{"version":1,"ranks":[{"work":-1}],"messages":[]}', "$.ranks[0].work"),
    (
        "pair",
        '{"version":1,"ranks":[{"work":1},{"work":1}],'
        '"messages":[{"a":0,"b":2,"count":1,"bytes":1}]}',
        "$.messages[0].b",
    ),
    (
        "self",
        '{"version":1,"ranks":[{"work":1},{"work":1}],'
        '"messages":[{"a":1,"b":1,"count":1,"bytes":1}]}',
        "$.messages[0].a",
    ),
    (
        "twice",
        '{"version":1,"ranks":[{"work":1},{"work":1}],"messages":[%s,%s]}'
        % (('{"a":0,"b":1,"count":1,"bytes":1}',) * 2),
        "$.messages[1]",
    ),
    ("version", '{"version":2,"ranks":[{"work":1}],"messages":[]}', "$.version"),
):
    bad = os.path.join(c.top, f"bad.{name}")
    with open(bad, "w") as f:
        f.write(text)
    status, out, err = assign(bad)
    ok(
        f"a profile with a wrong {name} is refused",
        status == 2 and what in err and not out,
        (status, out, err),
    )
for words, what in (
    (("--assign", path, "--learn"), "one of"),
    (("--assign", "/none"), "/none"),
    (("--assign", path, "--most", "2", "--slots", "2"), "4 hosts"),
    (("--assign", path, "--least", "9"), "8 hosts"),
    (("--assign", path, "--min-speedup", "2"), "--min-speedup"),
):
    status, out, err = c.gang(4, *words, "--", "true")
    ok(
        f"wrong usage: {' '.join(words[2:]) or 'no such file'}",
        status == 2 and what in err,
        (status, err),
    )
status, out, err = c.gang(4, "--assign", path, *NEAR, "--slots", "2", "--wait", "0", "--", "true")
ok(
    "too few hosts for the ranks",
    status == 1 and "2 hosts are free, and the 8 ranks" in err and "need 4 with 2 slots" in err,
    (status, err),
)
status, out, err = c.gang(
    4, "--model", c.all, "--profile", os.path.join(c.top, "none"), "--wait", str(WAIT), "--", "true"
)
ok("a job that writes no profile", status == 1 and "was not written" in err, (status, err))
status, out, err = c.gang(
    4,
    "--model",
    c.all,
    "--profile",
    os.path.join(c.top, "same"),
    "--wait",
    str(WAIT),
    "--",
    "sh",
    "-c",
    f"cp {path} $EHSCHED_PROFILE; [ $EHSCHED_PROFILE = $OMPI_EHSCHED_PROFILE ]",
)
ok(
    "and one that does",
    status == 0 and open(path).read() == open(os.path.join(c.top, "same")).read(),
    (status, err),
)
c.free()

# ---- ends ----

path = profile("four", [(0, 2, 5), (1, 3, 5)], ranks=4)
p = c.begin(
    4,
    "--assign",
    path,
    *NEAR,
    "--slots",
    "2",
    "--wait",
    str(WAIT),
    "--",
    c.starter,
    c.held("killed"),
)
ok(
    "a job of two hosts",
    until(lambda: c.lines("killed") == 2 or p.poll() is not None, LONG) and p.poll() is None,
    p.poll(),
)
p.send_signal(signal.SIGHUP)
p.communicate(timeout=LONG)
ok(
    "SIGHUP ends it",
    p.returncode == 128 + signal.SIGHUP and until(lambda: not c.parts()),
    (p.returncode, c.parts()),
)
c.free()
ok("no report of a sanitizer", not c.reports(), c.reports())
wire.kill()
wire.wait()
done()
