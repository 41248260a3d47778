#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl divide: a load on all hosts gives what it gives in one piece; a part that fails, and a node
that dies."""

import json, os, random, re, signal, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, ok
from seed import new_seed
from tree import TOP
from wait import WAIT, until

seed = new_seed()
r = random.Random(seed)
c = Cluster(4)
top = tempfile.mkdtemp(prefix="ehs-divide-", dir=c.dir)
data = os.path.join(top, "data")
LINES = 40000
with open(data, "w") as f:
    for i in range(LINES):
        f.write(f"{i} {r.choice(('red', 'green', 'blue'))} {'x' * r.randrange(30)}\n")
size = os.path.getsize(data)

PART = os.path.join(TOP, "examples/lines.py")


def start(*words):
    """ehctl divide, not waited for."""
    return c.popen(0, [EHCTL, "divide", *words], cwd="/")


def divide(*words):
    p = start(*words)
    out, err = p.communicate(timeout=4 * WAIT)
    return p.returncode, out, err


def here(script):
    return subprocess.run(
        ["sh", "-c", script], stdout=subprocess.PIPE, check=True, text=True
    ).stdout


ok("agents", c.start_all(), c.log(0))

# grep by ranges of bytes
grep = f"python3 {PART} {data} {{first}} {{next}} | grep green || true"
status, out, err = divide("--size", str(size), "--cmd", grep, "--slots", "1")
ok(
    "grep by ranges of bytes: as in one piece",
    (status, out) == (0, here(f"grep green {data}")),
    (status, len(out), err),
)
ok("predicted and real times are told", f"{size} units in" in err and "PREDICTED" in err, err)

# a checksum over parts, and JSON
ADD = "awk '{s += $1} END {print s}'"
answer = os.path.join(top, "answer")
sums = f"python3 {PART} {data} {{first}} {{next}} | {ADD}"
status, out, err = divide(
    "--size", str(size), "--cmd", sums, "--slots", "1", "--combine", f"{ADD} >{answer}", "--json"
)
told = json.loads(out) if out else {"parts": [], "workers": []}
ok(
    "sums of parts, combined: as in one piece",
    status == 0 and open(answer).read() == here(f"{ADD} {data}"),
    (status, err),
)
parts = sorted(told["parts"], key=lambda p: p["first"])
ok(
    "each unit was done once",
    parts
    and parts[0]["first"] == 0
    and sum(p["count"] for p in parts) == size
    and all(a["first"] + a["count"] == b["first"] for a, b in zip(parts, parts[1:])),
    parts,
)
ok(
    "each host was measured by a part of its own",
    {p["host"] for p in parts if p["probe"]} == {f"n{i}" for i in range(4)}
    and all(
        w["unit"] > 0 and w["startup"] > 0 and w["rate"] > 0 or w["host"] == "n0"
        for w in told["workers"]
    ),
    told,
)
ok(
    "predicted and real seconds, of all and of each part",
    told.get("predicted", 0) > 0
    and told.get("real", 0) > 0
    and all(
        p["predicted"]["finish"] > p["predicted"]["start"]
        and p["real"]["finish"] > p["real"]["start"]
        for p in parts
        if not p["probe"]
    ),
    told,
)


def units_of(told, since=0):
    """How many of the units each host has done after the first parts."""
    counts = {}
    for p in told["parts"]:
        if not p["probe"] and p["first"] >= since:
            counts[p["host"]] = counts.get(p["host"], 0) + p["count"]
    return counts


# units and their numbers
status, out, err = divide(
    "--size", "7", "--from", "1", "--cmd", "seq {first} {last}; echo {count} >&2", "--quiet"
)
ok("few units, and numbers from 1", (status, out) == (0, here("seq 7")), (status, out, err))
status, out, err = divide("--size", "1", "--cmd", "echo {first} {last} {next} {count}", "--quiet")
ok("one unit", (status, out, err) == (0, "0 0 1 1\n", ""), (status, out, err))
status, out, err = divide("--size", "1", "--cmd", "echo {first}")
ok(
    "of one unit nothing is predicted",
    status == 0 and re.match(r"1 unit in 1 part: \S+ s; predicted: -;", err),
    (status, err),
)
status, out, err = divide(
    "--size",
    "40",
    "--cmd",
    "sleep 0.{count}",
    "--slots",
    "1",
    "--hosts",
    "n0",
    "--json",
    "--combine",
    "true",
)
told = json.loads(out) if out else {}
ok(
    "one worker: it is measured, too",
    status == 0 and told["predicted"] > 0.05 and any(p["probe"] for p in told["parts"]),
    (status, told),
)
status, out, err = divide(
    "--size", str(2**53), "--cmd", "echo {first} >/dev/null", "--slots", "1", "--json"
)
told = json.loads(out) if out else {"predicted": 0, "parts": []}
last = max((p["predicted"]["finish"] for p in told["parts"] if not p["probe"]), default=0)
ok(
    "units that take next to nothing: all takes no longer than the parts",
    status == 0 and told["predicted"] < last + 5,
    (status, err, told),
)
status, out, err = divide(
    "--size", "400", "--cmd", "seq {first} {last}", "--slots", "2", "--hosts", "n0,n1"
)
head = re.match(r"(\d+) units in (\d+) parts", err)
rows = [line.split() for line in err.splitlines()[2:]]
ok(
    "a row for each host, which add up to the first line",
    head
    and [row[0] for row in rows] == ["n0", "n1"]
    and [sum(int(row[i]) for row in rows) for i in (2, 1)] == [int(n) for n in head.groups()],
    err,
)

# speeds: a host that is slower gets less; so much slower that what else this machine does is no
# matter
slow = os.path.join(top, "slow")
script = (
    "case $(ip -br addr show eth0) in *10.77.0.3/*) each=0.25;; *) each=0.01;; esac; "
    "i={first}; while [ $i -lt {next} ]; do sleep $each; i=$((i + 1)); done; seq {first} {last}"
)
status, out, err = divide(
    "--size",
    "400",
    "--cmd",
    script,
    "--slots",
    "1",
    "--probe",
    "10",
    "--json",
    "--combine",
    f"cat >{slow}",
)
told = json.loads(out) if out else {"parts": []}
share = units_of(told)
ok(
    "a slow host gets less than each of the others, and all get some",
    status == 0
    and len(share) == 4
    and share["n2"] < min(n for h, n in share.items() if h != "n2")
    and open(slow).read() == here("seq 0 399"),
    (status, err, told),
)

# units that cost more at the end of the load: not all of them are the last host's
script = (
    "i={first}; while [ $i -lt {next} ]; do if [ $i -lt 300 ]; then sleep 0.02; else sleep 0.2; fi;"
    " i=$((i + 1)); done; seq {first} {last}"
)
status, out, err = divide(
    "--size", "400", "--cmd", script, "--slots", "1", "--json", "--combine", f"cat >{slow}"
)
told = json.loads(out) if out else {"parts": []}
ok(
    "units that cost more are divided, too",
    status == 0 and len(units_of(told, 300)) > 2 and open(slow).read() == here("seq 0 399"),
    (status, err, told),
)

# a command that takes long to start: so many times as it is started, not for each unit
script = "sleep 1; i={first}; while [ $i -lt {next} ]; do sleep 0.01; i=$((i + 1)); done"
status, out, err = divide("--size", "400", "--cmd", script, "--slots", "1", "--json")
told = json.loads(out) if out else {"predicted": 0, "real": 0}
ok(
    "what a command takes to start is not taken for units",
    status == 0 and 0 < told["predicted"] < 3 * told["real"],
    (status, err, told),
)

# the first start on each host is slow, as one that loads files is: that is no start of each part
cold = os.path.join(top, "cold")
script = (
    f"mkdir {cold}.$(ip -br addr show eth0 | grep -o '10[.0-9]*') 2>/dev/null && sleep 2;"
    " i={first}; while [ $i -lt {next} ]; do sleep 0.01; i=$((i + 1)); done"
)
status, out, err = divide(
    "--size", "400", "--cmd", script, "--slots", "1", "--probe", "10", "--json"
)
told = json.loads(out) if out else {"workers": []}
ok(
    "what only the first start takes is not taken for the start of each part",
    status == 0 and len(told["workers"]) == 4 and all(w["unit"] > 0.004 for w in told["workers"]),
    (status, err, told),
)

# failures
status, out, err = divide("--size", "1000", "--cmd", "[ {last} -lt 900 ] || exit 5")
failed = re.search(r"units \d+ to (\d+) failed on n\d: exit status 5", err)
ok(
    "a part that fails",
    status == 1 and out == "" and failed and int(failed[1]) >= 900,
    (status, out, err),
)
status, out, err = divide("--size", "10", "--cmd", "echo {first}", "--combine", "exit 3")
ok(
    "results that cannot be combined",
    status == 1 and "--combine: exit status 3" in err,
    (status, err),
)
status, out, err = divide("--size", "5", "--cmd", "true")
ok(
    "a command that does not say which units",
    status == 2 and "{first}, {last}, {next} or {count}" in err,
    (status, err),
)
status, out, err = divide("--size", "5", "--cmd", "echo {first}", "--view", "nix")
ok(
    "a view that is none",
    status == 2 and "--view nix: must be shared, home or auto" in err,
    (status, err),
)
for words in (
    [],
    ["--size", "5"],
    ["--cmd", "true"],
    ["--size", "0", "--cmd", "echo {first}"],
    ["--size", "5", "--cmd", ""],
    ["--size", "5", "--cmd", "echo {first}", "x"],
):
    status, out, err = divide(*words)
    ok(f"wrong usage: {' '.join(words)}", status == 2 and out == "" and err, (status, out, err))

# a node that dies with its part under way
gate = os.path.join(top, "gate")
# the others take 20 ms for a unit: so it gets a part, however slow a busy machine makes the probes
SLOW = "sleep $(printf '%d.%02d' $(({count} * 2 / 100)) $(({count} * 2 % 100)))"
script = (
    f"case $(ip -br addr show eth0) in *10.77.0.4/*) if [ {{count}} -gt 10 ]; then touch {gate};"
    f" sleep 1000; fi;; *) {SLOW};; esac; seq {{first}} {{last}}"
)
both = os.path.join(top, "both")
p = start(
    "--size",
    "400",
    "--cmd",
    script,
    "--slots",
    "1",
    "--probe",
    "10",
    "--grace",
    "0.5",
    "--json",
    "--combine",
    f"cat >{both}",
    "--data",
    "0",
)
ok("a part of the node is under way", until(lambda: os.path.exists(gate) or p.poll() is not None))
c.end(3, signal.SIGKILL)
out, err = p.communicate(timeout=4 * WAIT)
told = json.loads(out) if out else {"parts": []}
ok(
    "a node dies: others have its units, the result is that of one piece",
    p.returncode == 0 and open(both).read() == here("seq 0 399"),
    (p.returncode, err),
)
ok(
    "and it is told",
    told.get("moved")
    and "n3" in err
    and all(q["host"] != "n3" for q in told["parts"] if not q["probe"]),
    (err, told),
)

# a node that dies with its first part under way: the others are measured without it
c.start(3)
ok("it is back", c.all_up(range(4)))
gate = os.path.join(top, "first")
script = (
    f"case $(ip -br addr show eth0) in *10.77.0.4/*) touch {gate}; sleep 1000;; esac; {SLOW}; seq"
    " {first} {last}"
)
p = start(
    "--size",
    "400",
    "--cmd",
    script,
    "--slots",
    "1",
    "--grace",
    "0.5",
    "--json",
    "--combine",
    f"cat >{both}",
)
ok(
    "a first part of the node is under way",
    until(lambda: os.path.exists(gate) or p.poll() is not None),
)
c.end(3, signal.SIGKILL)
out, err = p.communicate(timeout=4 * WAIT)
told = json.loads(out) if out else {"parts": []}
ok(
    "a node dies with its first part: others have its units, and share the rest",
    p.returncode == 0
    and open(both).read() == here("seq 0 399")
    and told.get("moved")
    and set(units_of(told)) == {"n0", "n1", "n2"},
    (p.returncode, err, told),
)
ok("it gets no other part", err.count("take units of n3") == 1, err)

done()
