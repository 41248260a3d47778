#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory on the executor: what is learned of a program is reserved there, what does not fit is
refused and says why, and so is all while tasks wait for memory. The executor's memory is what files
of this test say; what programs take is real."""

import os, select, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, ok
from wait import WAIT, until

MIB = 1 << 20
BASE = (
    'load-index = "tasks"\nthreshold-floor = 20\nthreshold = 20\nthreshold-length = 0\ndwell ='
    " 0\nheartbeat = 1000\ntime-limit = 10000\nlease = 20000\n"
)
PROGRAM = "import sys; x = bytearray(int(sys.argv[1]) << 20); print(flush=True); sys.stdin.read()"
PYTHON = os.path.realpath(sys.executable)
TAKES = [
    PYTHON,
    "-I",
    "-S",
    "-c",
    PROGRAM,
    "100",
]  # MiB: known by its first arguments, so all runs of it are one
c = Cluster(3, BASE)
files = os.path.join(c.dir, "memory")
os.makedirs(os.path.join(files, "pressure"))


def has(mib, waits="0.00"):
    """What the executor's memory is from now on."""
    for name, text in (
        "meminfo",
        f"MemTotal: 9999999 kB\nMemFree: 1 kB\nMemAvailable: {mib << 10} kB\n",
    ), (
        "pressure/memory",
        (
            f"some avg10={waits} avg60=0.00 avg300=0.00 total=1\nfull avg10=99.00 avg60=0 avg300=0"
            " total=1\n"
        ),
    ):
        with open(os.path.join(files, name + ".new"), "w") as f:
            f.write(text)
        os.rename(os.path.join(files, name + ".new"), os.path.join(files, name))


def settings(more=""):
    return f'{BASE}memory = "{files}"\nheadroom = 64\n{more}'


def begin(*words, home=0, how=("exec", "0.1", "--")):
    return c.popen(home, [EHCTL, *how, *words], cwd="/", stdin=subprocess.PIPE)


def runs(p):
    """It has its memory."""
    return bool(select.select([p.stdout], [], [], WAIT)[0]) and p.stdout.readline() == "\n"


def end(p):
    return p.communicate(timeout=WAIT)


def refused(name, p, *texts, home=0):
    out, err = end(p)
    said = c.why(home, p)
    ok(
        name,
        p.returncode == 1
        and not out
        and all(t in err for t in texts)
        and said["reason"] == "no-headroom"
        and any(texts[0] in s["what"] for s in said["steps"]),
        (p.returncode, out, err, said),
    )


has(4000)
c.start(0, c.conf(0, settings=BASE + "learn = true\n"))
c.start(1, c.conf(1, settings=settings()))
c.start(2, c.conf(2, settings=BASE + "learn = true\n"))
assert c.all_up(range(3)), c.log(1)

# ---- what is not known ----

first = begin(*TAKES)
ok("what is not known goes", runs(first), c.log(1)[-3000:])
end(first)
said = c.why(0, first)
ok("and nothing was expected of it", not any("MiB" in s["what"] for s in said["steps"]), said)

# ---- what is known ----

has(64 + 350)
second = begin(*TAKES)
ok(
    "the second run is expected to take what the first had",
    runs(second)
    and any("expected to take up to 1" in s["what"] for s in c.why(0, second)["steps"]),
    c.why(0, second),
)
# its memory is in the file as well, from now on
has(64 + 250)
third = begin(*TAKES)
ok("what fits beside it goes", runs(third), c.why(0, third))
fourth = begin(*TAKES)
ok("what it has taken does not count twice", runs(fourth), c.why(0, fourth))
has(64 + 50)
refused("one more does not fit", begin(*TAKES), "node n1: 1", "expected, 114 left", "64 kept")
small = begin("true")
ok("a task of which nothing is known does", end(small) and small.returncode == 0, c.why(0, small))
automatic = begin(*TAKES, how=("exec", "--auto", "--all", "--"))
c.ask(2, {"command": "drain", "node": "0.2", "draining": True})
ok(
    "chosen by the hierarchy, it runs where it fits",
    runs(automatic) and c.why(0, automatic)["executor"] != "0.1",
    c.why(0, automatic),
)
end(automatic)
for p in second, third, fourth:
    end(p)
ok(
    "the other node drains",
    until(lambda: any(n["code"] == "0.2" and n["draining"] for n in c.status(0)["nodes"])),
)
automatic = begin(*TAKES, how=("exec", "--auto", "--all", "--"))
ok(
    "where none has room it runs at home, and why says so",
    runs(automatic)
    and c.why(0, automatic)["executor"] == "0.0"
    and c.why(0, automatic)["reason"] == "no-headroom",
    c.why(0, automatic),
)
end(automatic)
text = c.ehctl(0, "why", str(automatic.pid)).stdout
ok(
    "ehctl why shows it",
    "no-headroom: " in text
    and "n1 refuses: no-headroom" in text
    and "MiB expected, 114 left" in text,
    text,
)
c.ask(2, {"command": "undrain", "node": "0.2"})

# ---- memory that is promised ----

# Stopped before it takes anything: what it is expected to take is kept for it.
has(64 + 150)
asleep = ["sh", "-c", f"echo; read x; exec {PYTHON} -I -S -c 'x = bytearray(100 << 20)'"]
p = begin(*asleep)
ok("one that takes its memory later", runs(p))
p.stdin.write("\n")
out, err = end(p)
ok("it has taken it", p.returncode == 0, (out, err))
p = begin(*asleep)
ok("the next run of it has not yet", runs(p))
refused("what it is expected to take is kept for it", begin(*TAKES), "node n1: 1", "for its tasks")
has(64 + 50)
refused("and not given to a small one", begin("true"), "MiB expected, 114 left, less 1")
end(p)
has(64 + 150)
p = begin(*TAKES)
ok("when it has ended there is room", runs(p), c.why(0, p))
end(p)

# ---- limits of the node ----

has(4000, "20.01")
p = begin("true")
out, err = end(p)
ok(
    "all are refused while tasks wait for memory",
    p.returncode == 1
    and "node n1: tasks wait for memory in 20% of the time (memory-pressure)" in err,
    (p.returncode, err),
)
has(4000, "20.00")
ok("up to the limit they are not", until(lambda: not begin("true").wait(WAIT)), c.log(1)[-2000:])
has(4000, "99.00")
c.conf(1, settings=settings("memory-pressure = 0\n"))
c.ask(1, {"command": "reload"})
p = begin("true")
ok("nor with memory-pressure = 0", end(p) and p.returncode == 0, c.why(0, p))
has(63)
refused(
    "less than is to be kept", begin("true"), "node n1 has 63 MiB of memory left and keeps 64 free"
)
has(4000)
c.conf(1, settings=settings("guest-memory = 90\n"))
c.ask(1, {"command": "reload"})
refused("more than a guest may have", begin(*TAKES), "node n1: 1", "guest-memory is 90")

# ---- what a home says ----

c.conf(1, settings=settings())
c.ask(1, {"command": "reload"})
os.unlink(os.path.join(files, "pressure", "memory"))
p = begin("true")
ok("a kernel without pressure information", end(p) and p.returncode == 0, c.why(0, p))
os.unlink(os.path.join(files, "meminfo"))
ok("what is kept of it outlives home's agent", (saw := c.end(0)) == 0, saw)
c.start(0, c.conf(0, settings=BASE + "learn = true\n"))
assert c.all_up(range(3)), c.log(0)
has(64 + 50)
refused("it is still known", begin(*TAKES), "node n1: 1", "left")
ok("no report of a sanitizer", not c.reports(), c.reports())
done()
