#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Eight nodes, half of this version and half of the previous one: tasks go between each pair. Then,
under two builds and with tasks that run on every node all the time, one node after the other
becomes this version, and then all the previous one. Nothing is lost, nothing runs twice, no byte is
wrong. EHS_SEED=N repeats a run, EHS_NODES=N takes fewer."""

import collections, hashlib, os, random, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "../lib"), os.path.join(HERE, "../agent")]
from ktap import done, ok, skip_all
from mixed import NEW, NULL, OLD, Echo, Mixed
from seed import new_seed
from wait import WAIT, until

if not shutil.which("gcc") or not shutil.which("make"):
    skip_all("needs gcc and make")
seed = new_seed()
N = int(os.environ.get("EHS_NODES", 8))
dice = random.Random(seed)
c = Mixed(
    [NEW if i % 2 else OLD for i in range(N)], "heartbeat = 3000\njob-limit = 60000", topology="3,1"
)
work = tempfile.mkdtemp(dir=c.dir)
FILES = 24


def logs():
    return "\n".join(f"n{i} ({c.which[i]}): {c.log(i)[-800:]}" for i in range(N))


def settle():
    """All are up, nobody is overloaded by what else this machine does, and each hears of the
    others."""
    if not c.all_up(range(N)):
        return False
    for i in range(N):
        c.ask(
            i,
            {
                "command": "set",
                "threshold": 100000,
                "length": 0,
                "load-index": "tasks",
                "time-limit": 20000,
            },
        )
    return True


ok(f"{N} agents, half of them of the previous version", c.start_all() and settle(), logs())

# ---- each pair ----


def pair(i, j):
    """A pipeline of a shell on j with i's input: what differs from what it is to be, or ""."""
    data = random.Random(f"{seed}.{i}.{j}").randbytes(40000 + 1000 * i + j)
    script = "tee /dev/stderr | sha256sum; readlink /proc/self/ns/net; exit 3"
    with c.net.enter(j):
        there = os.readlink("/proc/self/ns/net")
    got = c.run(i, "exec", c.code(j), "--", "/bin/sh", "-c", script, input=data)
    good = got == (3, f"{hashlib.sha256(data).hexdigest()}  -\n{there}\n".encode(), data)
    return (
        ""
        if good
        else (
            f"{i} ({c.which[i]}) to {j} ({c.which[j]}): {got[0]} {got[1]} {got[2][:200]} of"
            f" {len(got[2])}"
        )
    )


def pairs(name):
    bad = [text for i in range(N) for j in range(N) if i != j for text in [pair(i, j)] if text]
    ok(name, not bad, "\n".join(bad) + "\n" + logs())


pairs(f"a task between each two of them, {N * (N - 1)} in all")

# ---- two builds, from a node of each version ----

compiler = os.path.join(work, "compiler")
with open(compiler, "w") as f:  # it says that it has run, and where
    f.write('#!/bin/sh\necho "$OUT $(readlink /proc/self/ns/net)" >>"$LOG"\nexec gcc "$@"\n')
os.chmod(compiler, 0o755)


def source(n):
    numbers = random.Random(f"{seed}.c.{n}")
    lines = [
        f"static const unsigned t{k}[] = {{"
        f" {', '.join(str(numbers.getrandbits(32)) for _ in range(40))} }};"
        for k in range(4)
    ]
    return (
        "\n".join(lines)
        + f"""
unsigned f{n}(unsigned x)
{{
	for (unsigned i = 0; i < 40; i++)
		x = (x ^ t0[i]) * (t1[i] | 1) + (t2[i] >> (t3[i] & 7));
	return x;
}}
"""
    )


def tree(name):
    folder = os.path.join(work, name)
    os.mkdir(folder)
    for n in range(FILES):
        with open(f"{folder}/f{n}.c", "w") as f:
            f.write(source(n))
    with open(f"{folder}/main.c", "w") as f:
        f.write(
            "#include <stdio.h>\n"
            + "".join(f"unsigned f{n}(unsigned);\n" for n in range(FILES))
            + "int main(void)\n{\n\tunsigned x = 1;\n"
            + "".join(f"\tx = f{n}(x);\n" for n in range(FILES))
            + '\tprintf("%u\\n", x);\n\treturn 0;\n}\n'
        )
    with open(f"{folder}/Makefile", "w") as f:
        objects = " ".join(f"f{n}.o" for n in range(FILES)) + " main.o"
        f.write(
            f"prog: {objects}\n\t$(PLACE) gcc -o $@ {objects}\n%.o: %.c\n\tOUT=$@ $(PLACE)"
            f" {compiler} -O1 -c -o $@ $<\nsum: prog\n\t$(PLACE) ./prog | $(PLACE) sha256sum >$@\n"
        )
    return folder


def products(folder):
    """The digest of each file that the build has made."""
    made = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".o") or name in ("prog", "sum"):
            with open(f"{folder}/{name}", "rb") as f:
                made[name] = hashlib.sha256(f.read()).hexdigest()
    return made


here = tree("here")
subprocess.run(
    ["make", "-s", "-j2", "-C", here, "PLACE=", "sum"],
    check=True,
    env={**os.environ, "LOG": f"{here}/log"},
    stdin=NULL,
)
right = products(here)
ok("the build, here", len(right) == FILES + 3, right)


class Builds:
    """Builds from one node, one after the other, until told to stop."""

    def __init__(self, i):
        self.i, self.count, self.bad, self.places, self.stopping = (
            i,
            0,
            [],
            collections.Counter(),
            False,
        )
        self.begin()

    def begin(self):
        self.folder = tree(f"build.{self.i}.{self.count}")
        self.log = open(f"{self.folder}/out", "w+b")
        self.p = c.popen(
            self.i,
            [
                "make",
                "-s",
                "-j3",
                "-C",
                self.folder,
                f"PLACE={c.program(self.i, 'ehctl')} run --all --",
                "sum",
            ],
            env={**os.environ, "LOG": f"{self.folder}/log"},
            stdout=self.log,
            stderr=self.log,
        )

    def look(self):
        """Begins the next one when one has ended. False: none runs any more."""
        if self.p.poll() is None:
            return True
        ran = [line.split() for line in open(f"{self.folder}/log").read().splitlines()]
        self.places.update(place for _, place in ran)
        count = collections.Counter(name for name, _ in ran)
        want = {name: 1 for name in right if name.endswith(".o")}
        made = products(self.folder)
        if self.p.returncode or made != right or count != want:
            self.log.seek(0)
            wrong = {name for name in {*made, *right} if made.get(name) != right.get(name)}
            twice = {name: n for name, n in count.items() if n != 1}
            self.bad.append(
                f"build {self.count} of n{self.i}: status {self.p.returncode}, wrong {wrong}, not"
                f" once {twice}, missing {set(want) - set(count)}:"
                f" {self.log.read()[-1500:].decode(errors='replace')}"
            )
        self.log.close()
        self.count += 1
        if self.stopping:
            return False
        shutil.rmtree(self.folder)
        self.begin()
        return True

    def end(self):
        self.stopping = True
        if not until(lambda: not self.look(), 5 * WAIT):
            self.bad.append(f"build {self.count} of n{self.i} does not end")
        self.p.kill()


builds = [Builds(i) for i in range(2)]
echoes = [Echo(c, i, (i + 1 + i % (N - 1)) % N, dice, work) for i in range(N)]
echoes = [e for e in echoes if e.where[0] != e.where[1]]


def step(name, more=""):
    for e in echoes:
        e.step(dice.randrange(1, 20000))
    for b in builds:
        b.look()
    bad = [e.wrong for e in echoes if e.wrong] + [text for b in builds for text in b.bad]
    if not ok(name, not bad and not more, "\n".join(bad) + f"\n{more}\n" + logs()):
        for e in echoes:
            e.wrong = ""
        for b in builds:
            b.bad = []


step(f"{len(echoes)} tasks run, and two builds")
for way in NEW, OLD:
    order = list(range(N))
    dice.shuffle(order)
    for i in order:
        if c.which[i] == way:
            continue
        status = c.change(i, way)
        step(
            f"n{i} has become the {'new' if way == NEW else 'previous'} version",
            status and f"the agent ended with {status}",
        )
    ok(f"all are of the {'new' if way == NEW else 'previous'} version, and up", settle(), logs())
    step("tasks and builds go on")
    if way == NEW:  # half of them, for the pairs that are left
        for i in dice.sample(range(N), N // 2):
            c.change(i, OLD)
        ok("half of them go back", settle(), logs())
        step("tasks and builds go on")
        pairs("a task between each two of them, again")
        for i in range(N):
            if c.which[i] == OLD:
                c.change(i, NEW)
                step(f"n{i} is of the new version again")
for b in builds:
    b.end()
for e in echoes:
    e.finish()
print(
    "#",
    ", ".join(
        f"{b.count} builds from n{b.i} on {len(b.places)} nodes ({sum(b.places.values())} tasks)"
        for b in builds
    ),
)
ok(
    "each task ended as it should, having run once",
    not any(e.wrong for e in echoes),
    [e.wrong for e in echoes if e.wrong],
)
ok(
    "each build has made the same files, with each compiler run once",
    not any(b.bad for b in builds) and all(b.count > 1 for b in builds),
    "\n".join(text for b in builds for text in b.bad),
)
ok("on several nodes", all(len(b.places) > 2 for b in builds), [b.places for b in builds])
done()
