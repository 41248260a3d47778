#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl gang on 64 nodes: REQUEST through two levels of controllers, and parts that start others by
ehrsh as the daemons of MPI do."""

import json, os, signal, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, ok, within
from wait import WAIT, until

N, HOME = 64, 37
LONG = 2 * WAIT
within()
# 64 agents on few processors: nobody is lost because the machine stands still for a second
c = Cluster(N, 'heartbeat = 5000\nlog = "info"', topology="3,2")
top = tempfile.mkdtemp(prefix="ehs-gang-", dir=c.dir)
go, marks = os.path.join(top, "go"), os.path.join(top, "marks")
os.mkdir(marks)
model = os.path.join(top, "model")
with open(model, "w") as f:
    json.dump({"model": {"kind": "table", "compute": [1] * N}}, f)
# on its host: the first two of the others start half of the rest each
TREE = os.path.join(top, "tree")
with open(TREE, "w") as f:
    f.write(
        f"""#!/bin/bash
trap 'kill $pids 2>/dev/null; wait; exit 1' TERM INT
rsh=$1; me=$2; shift 2
touch {marks}/$me
half=$(( $# / 2 ))
for part in "${{*:1:half}}" "${{*:half+1}}"; do
	set -- $part
	[ $# = 0 ] || {{ "$rsh" -n "$1" "{TREE}" "$rsh" "$@" & pids="$pids $!"; }}
done
while [ ! -e {go} ]; do sleep 0.3; done
wait
"""
    )
os.chmod(TREE, 0o755)


def start(home, *words):
    return c.popen(home, [EHCTL, "gang", "--model", model, "--wait", str(LONG), *words], cwd="/")


def nodes():
    """What the cluster says of itself."""
    return {n["host"]: n for n in c.status(HOME)["nodes"]}


def owners():
    return [g["home"] for n in nodes().values() for g in n.get("gangs") or []]


def reached():
    return len(os.listdir(marks))


def parts():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += [pid] if TREE.encode() in open(f"/proc/{pid}/cmdline", "rb").read() else []
        except OSError:
            pass
    return found


waited = set(range(N))


def ready():
    """Whether all agents are."""
    waited.difference_update([i for i in waited if "ready: node" in c.log(i)])
    return not waited


for i in range(N):  # beside each other: one after the other they took minutes on a busy machine
    c.start(i, ready=False)
ok("64 agents", until(ready, 2 * LONG), "\n".join(c.log(i)[-300:] for i in sorted(waited)[:3]))
ok(
    "64 nodes",
    until(
        lambda: sum(n["agent"] == "up" and n["load"] is not None for n in nodes().values()) == N,
        LONG,
    ),
    len(nodes()),
)
tree = ["sh", "-c", f'exec {TREE} "$EHSCHED_RSH" $(echo {{hosts}} | tr , " ")']

p = start(HOME, "--least", str(N), "--json", "--", *tree)
all_up = until(lambda: reached() == N or p.poll() is not None, LONG) and p.poll() is None
ok(
    "a part on each of 64 hosts, most of them started by other parts",
    all_up,
    (reached(), p.communicate() if p.poll() is not None else ""),
)
ok("all belong to the gang", until(lambda: owners() == [c.code(HOME)] * N, LONG), owners())
open(go, "w").close()
out, err = p.communicate(timeout=LONG)
told = json.loads(out) if out else {}
ok(
    "it ends well",
    p.returncode == 0 and told.get("count") == N and len({o["host"] for o in told["offered"]}) == N,
    (p.returncode, err),
)
ok("no lease is left", until(lambda: not owners(), LONG), owners())

os.unlink(go)
for name in os.listdir(marks):
    os.unlink(os.path.join(marks, name))
both = [start(home, "--least", "32", "--most", "32", "--json", "--", *tree) for home in (HOME, 5)]
ok(
    "two gangs of 32",
    until(lambda: reached() == N or any(p.poll() is not None for p in both), LONG)
    and all(p.poll() is None for p in both),
    (reached(), [p.communicate() for p in both if p.poll() is not None]),
)
ok(
    "each host belongs to one of them",
    until(lambda: sorted(owners()) == sorted([c.code(HOME)] * 32 + [c.code(5)] * 32), LONG),
    owners(),
)
both[0].send_signal(signal.SIGKILL)
both[0].communicate()
ok(
    "one is killed: its hosts are free, the other's are not",
    until(lambda: owners() == [c.code(5)] * 32, LONG),
    owners(),
)
open(go, "w").close()
out, err = both[1].communicate(timeout=LONG)
ok("the other ends well", both[1].returncode == 0, err)
ok(
    "no lease is left, and nothing of the parts",
    until(lambda: not owners() and not parts(), LONG),
    (owners(), parts()),
)
ok("no report of a sanitizer", not c.reports(), c.reports())
done()
