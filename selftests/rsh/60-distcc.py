#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""DISTCC_SSH."""

import glob, os, re, signal, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from nodes import PIPE, RSH, USER, Nodes
from wait import WAIT, until

FILES = 6
c = Nodes(3)
for i in range(FILES):
    with open(f"{c.work}/f{i}.c", "w") as f:
        f.write(
            f'#include <stdio.h>\nint f{i}(int a)\n{{\n\tprintf("%d\\n", a + {i});\n\treturn a *'
            f" {i};\n}}\n"
        )
with open(f"{c.work}/bad.c", "w") as f:
    f.write("int f(int a)\n{\n\treturn b;\n}\n")
# preprocessed already, and it takes as long as it is let: the compiler over there is the one that
# works on it
with open(f"{c.work}/long.c", "w") as f:
    f.write(
        "#define A(x) x x x x x x x x x x\n"
        + "".join(f"#define {b}(x) {a}({a}(x))\n" for a, b in ("AB", "BC"))
        + "int f(int a)\n{\n\tC(a = a * a + 1; if (a & 7) a ^= a >> 3;)\n\tC(while (a > 9) a -="
        " 2;)\n\treturn a;\n}\n"
    )
objects = [f"f{i}.o" for i in range(FILES)]
with open(f"{c.work}/Makefile", "w") as f:
    f.write(f"all: {' '.join(objects)}\n%.o: %.c\n\t$(CC) -O1 -c -o $@ $<\n")
# what cannot be done there is not done here
DISTCC = [
    "env",
    f"DISTCC_SSH={RSH}",
    "DISTCC_HOSTS=@n1/2 @n2/2",
    "DISTCC_FALLBACK=0",
    f"DISTCC_DIR={c.work}/distcc",
    f"DISTCC_LOG={c.work}/log",
    "DISTCC_VERBOSE=1",
]
status, out, err = c.run("make", "CC=gcc", "all")
ok("compiled here", status == 0, (status, out, err))


def contents():
    """Of the objects that are there."""
    return {
        name: open(f"{c.work}/{name}", "rb").read()
        for name in objects
        if os.path.exists(f"{c.work}/{name}")
    }


want = contents()
ok("all of it", len(want) == FILES, sorted(want))
for name in want:
    os.unlink(f"{c.work}/{name}")
os.mkdir(f"{c.work}/distcc")
os.chmod(f"{c.work}/distcc", 0o777)
status, out, err = c.run(*DISTCC, "make", "-j4", "CC=distcc gcc", "all")
log = open(f"{c.work}/log").read()
hosts = re.findall(r"compile f\d\.c on (\S+) completed ok", log)
ok(
    "compiled on the nodes, by make -j",
    status == 0
    and len(hosts) == FILES
    and {h.strip("@").split("/")[0] for h in hosts} == {"n1", "n2"},
    (status, out, err, hosts, log),
)
ok("the same, byte for byte", (saw := contents()) == want, saw)
status, out, err = c.run(*DISTCC, "distcc", "gcc", "-c", "bad.c")
ok(
    "an error of the compiler: its status and message",
    status == 1 and "bad.c:3" in err,
    (status, out, err),
)
status, out, err = c.run(*DISTCC, "DISTCC_HOSTS=@n9", "distcc", "gcc", "-c", "f0.c")
ok(
    "a node that is not there fails",
    status != 0 and "ehrsh: n9: no such node" in err,
    (status, out, err),
)
c.nothing_left()
# the error of before is not held against the node
p = c.spawn(
    *DISTCC,
    "DISTCC_BACKOFF_PERIOD=0",
    "DISTCC_HOSTS=@n1",
    "distcc",
    "gcc",
    "-O2",
    "-c",
    "long.c",
    stdout=PIPE,
    stderr=PIPE,
)
until(lambda: p.poll() is not None or c.has(1, "cc1 "))
if ok(
    "a long one is at work over there",
    p.poll() is None,
    "\n".join(open(f"{c.work}/log").read().splitlines()[-20:]),
):
    os.killpg(p.pid, signal.SIGINT)
p.communicate(timeout=WAIT)
c.nothing_left("^C ends it there")
# what distcc and gcc leave there when they are killed
for path in glob.glob("/tmp/distcc*") + glob.glob("/tmp/cc*.s"):
    if os.stat(path).st_uid == USER:
        os.unlink(path)
done()
