#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test of agents says when something is left behind; one agent, no module."""

import json, os, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import left
from cluster import Cluster
from ktap import done, must, ok
from wait import until

NULL = subprocess.DEVNULL
c = Cluster(1, "heartbeat = 1000\njob-limit = 100")
c.bound = 0.5
c.start(0)
ok("an agent", until(lambda: c.answers(0)), c.log(0))
guests = os.path.join(c.cgroup(0), "guest")
if not os.path.isdir(guests):
    os.makedirs(guests)


def finds(name, what, sought):
    found = left.settled(what, c)
    ok(name, len(found) == 1 and sought in found[0], found)


def ended(p):
    p.kill()
    p.wait()


SLEEPS = (
    "import sys; open('/proc/self/comm', 'w').write(sys.argv[1]); print(flush=True);"
    " sys.stdin.read()"
)


def named(name):
    """A process that is called so, on the node."""
    started = subprocess.Popen(
        ["nsenter", f"--net=/run/netns/{c.net.name(0)}", sys.executable, "-c", SLEEPS, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    started.stdout.readline()
    return started


# ---- while the agent runs ----

ok("an agent that is idle has nothing", not left.strangers(c), left.strangers(c))
own = os.path.join(guests, "0.0:1")
os.mkdir(own)
finds("a cgroup that no agent lists", left.strangers, own)
os.rmdir(own)
p = named("ehstub")
finds("a stub that no agent lists", left.strangers, f"process {p.pid} (ehstub")
ended(p)

# ---- when it has ended ----

ok("it ends", c.end(0) == 0)
ok("and leaves nothing", not left.settled(left.anything, c), left.anything(c))
os.mkdir(own)
finds("a cgroup", left.anything, f"{own} (populated 0")
p = subprocess.Popen(["sh", "-c", f"echo $$ >{own}/cgroup.procs; exec sleep 1000"], stdin=NULL)
must("a process is in it", until(lambda: str(p.pid) in left.read(f"{own}/cgroup.procs")))
found = left.anything(c)
ok("so is the process in it", len(found) == 2 and f"process {p.pid} (" in found[1], found)
ended(p)
os.rmdir(own)

for words, is_left in (
    ((c.cgroup(0),), True),
    (("--cgroup", c.cgroup(0)), True),
    ((c.cgroup(0) + "0",), False),
    ((c.cgroup(0) + "/guest",), False),
):
    p = subprocess.Popen(["sh", "-c", "read x; true", *words], stdin=subprocess.PIPE)
    must(
        "its words are there",
        until(lambda p=p, w=words: w[-1] in left.read(f"/proc/{p.pid}/cmdline")),
    )
    found = left.anything(c)
    ok(
        (
            f"a process with {' '.join(words).replace(c.cgroup(0), 'CGROUP')}:"
            f" {'left' if is_left else 'not of this node'}"
        ),
        [f"process {p.pid} " in line for line in found] == [True] * is_left,
        found,
    )
    ended(p)

for name, is_left in ("ehview", True), ("ehkeep", True), ("other", False):
    p = named(name)
    found = left.anything(c)
    ok(
        f"a process {name} in the node's network namespace: {'left' if is_left else 'a task'}",
        [f"process {p.pid} ({name}" in line for line in found] == [True] * is_left,
        found,
    )
    ended(p)

note = os.path.join(os.path.dirname(c.state(0)), "stopped.json")
with open(note, "w") as f:
    json.dump({"boot": "x", "stopped": [{"pid": 1}]}, f)
finds("a note of a stopped task", left.anything, note)
os.unlink(note)

# ---- it makes a test fail ----

TEST = f"""
import os, sys
sys.path[:0] = [{sys.path[0]!r}, {os.path.join(sys.path[0], "../lib")!r}]
import left
from cluster import Cluster
from ktap import done, must, ok, within
from wait import until
c = Cluster(1, "job-limit = 100")
c.bound = 0.5
c.start(0)
os.makedirs(c.cgroup(0) + "/guest/0.0:1")
print(c.cgroup(0))
"""
for name, end, status, last in (
    (
        "at its end",
        "ok('x', True); done()",
        1,
        ["ok 1 - x", "not ok 2 - nothing is left when agents end", "1..2"],
    ),
    ("when it ends the agents", "c.stop(); ok('x', True); done()", 1, None),
    ("without results", "c.stop()", 1, None),
    (
        "when something cannot be removed",
        "c.net.remove = lambda remove=c.net.remove: [remove(), 1 / 0]; ok('x', True); done()",
        1,
        [
            "ok 1 - x",
            "not ok 2 - nothing is left when agents end",
            "not ok 3 - all is done at exit",
            "1..3",
        ],
    ),
    (
        "when that takes too long",
        "left.end = lambda c: [within(1), until(lambda: False)]; ok('x', True); done()",
        1,
        [
            "ok 1 - x",
            f"not ok 2 - the test ends within {int(os.environ.get('EHS_SLOW', 1))} s",
            "1..2",
        ],
    ),
    ("not one that was cut short", "must('x', False); done()", 1, ["not ok 1 - x", "1..1"]),
    ("not one that was interrupted", "raise SystemExit(3)", 3, []),
):
    p = subprocess.run(
        [sys.executable, "-B", "-c", TEST + end],
        stdin=NULL,
        capture_output=True,
        text=True,
        check=False,
    )
    cgroup, *lines = p.stdout.splitlines()
    results = [line.split(" #")[0] for line in lines if not line.startswith(("#", "KTAP"))]
    said = "nothing is left" in p.stdout or "left behind" in p.stderr
    ok(
        f"{name}: it fails, and all is removed",
        p.returncode == status
        and (last is None and said or results == last)
        and not os.path.exists(cgroup),
        (p.returncode, p.stdout[-2000:], p.stderr[-1000:]),
    )
done()
