#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A host that gets another address, as a laptop in another network: its agent is started again with
that address, and its tasks, here and away, and their views of home's files, go on."""

import os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "../lib"), os.path.join(HERE, "../agent")]
from cluster import Cluster
from commands import EHCTL
from ktap import done, ok
from netns import address
from wait import WAIT, until

c = Cluster(
    3,
    (
        'heartbeat = 1000\njob-limit = 60000\nload-index = "tasks"\nthreshold ='
        " 100.0\nthreshold-floor = 100.0\ntime-limit = 10000"
    ),
    apart=True,
)
NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE
where = {i: address(i) for i in range(3)}
fuse = os.path.exists("/dev/fuse")
work = tempfile.mkdtemp(dir=c.dir)


def conf(i):
    """With its present address. The first one began the cluster."""
    path = c.conf(i, join=[j for j in range(3) if j != i])
    with open(path) as f:
        text = f.read()
    text = text.replace(f'address = "{address(i)}:7411"', f'address = "{where[i]}:7411"')
    for j in range(3):
        if j != i:
            text = text.replace(f'"{address(j)}"', f'"{where[j]}"')
    with open(path, "w") as f:
        f.write(text)
    return path


def up(i):
    try:
        return {
            n["code"]
            for n in c.status(i).get("nodes", [])
            if n["agent"] == "up" and n["load"] is not None
        }
    except (OSError, EOFError):
        return set()


def all_up():
    return until(lambda: all(len(up(i)) == 3 for i in range(3)))


def reaches(i, j):
    """Whether node i knows node j; waits for it: who leads knows all sooner."""
    return until(
        lambda: not subprocess.run(
            c.words(i, EHCTL, "exec", c.code(j), "--", "/bin/true"),
            stdin=NULL,
            stdout=NULL,
            stderr=NULL,
            cwd="/",
        ).returncode
    )


class Lines:
    """A task that answers each line, and appends it to a file."""

    count = 0

    def __init__(self, home, away, *options):
        Lines.count += 1
        self.file = os.path.join(work, str(Lines.count))
        self.n = 0
        self.p = subprocess.Popen(
            c.words(
                home,
                EHCTL,
                "exec",
                *options,
                c.code(away),
                "--",
                "/bin/sh",
                "-c",
                f"while read -r a; do echo $a >>{self.file}; echo got $a; done; exit 9",
            ),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd="/",
        )
        self.good = True

    def go(self, n=3):
        """Whether each of n more lines is answered."""
        for _ in range(n):
            self.n += 1
            try:
                self.p.stdin.write(b"%d\n" % self.n)
                self.p.stdin.flush()
            except BrokenPipeError:  # end() says why
                self.good = False
                return False
            line = self.p.stdout.readline()
            self.good = self.good and line == b"got %d\n" % self.n
        return self.good

    def end(self):
        try:
            out, err = self.p.communicate(timeout=WAIT)
        except BrokenPipeError:
            out, err = self.p.stdout.read(), self.p.stderr.read()
            self.p.wait(WAIT)
        text = open(self.file).read() if os.path.exists(self.file) else ""
        return (
            self.good
            and (self.p.returncode, out, err) == (9, b"", b"")
            and text == "".join(f"{i}\n" for i in range(1, self.n + 1)),
            (self.good, self.p.returncode, out, err, text[-100:]),
        )


def moves(i, name):
    ok(
        f"{name}: they know each other",
        all(reaches(a, b) for a in range(3) for b in range(3) if a != b),
        c.log(i)[-1500:],
    )
    tasks = [Lines(i, (i + 1) % 3), Lines((i + 2) % 3, i)]
    if fuse:
        tasks += [Lines(i, (i + 2) % 3, "--view", "home"), Lines((i + 1) % 3, i, "--view", "home")]
    ok(
        f"{name}: tasks to it and from it",
        all([t.go() for t in tasks]),
        [t.end() for t in tasks if not t.good],
    )
    old, where[i] = where[i], f"10.77.0.{100 + i}"
    c.net.ip(i, "addr", "del", f"{old}/24", "dev", "eth0")
    c.net.ip(i, "addr", "add", f"{where[i]}/24", "dev", "eth0")
    c.end(i)
    c.start(i, conf(i), ready=False)
    ok(
        f"{name}: its agent has another address, and all find each other",
        all_up(),
        c.log(i)[-2000:],
    )
    for t in tasks:
        t.go()
        ok("a task goes on, and its lines are there once", *t.end())


c.start(0, c.conf(0, peers=[0]))
for i in 1, 2:
    c.start(i, conf(i))
ok("three agents", all_up(), c.log(0))
moves(1, "a node")
moves(0, "the top, which began the cluster")
ok("the next task runs", all_up() and reaches(0, 1) and Lines(0, 1).go())
done()
