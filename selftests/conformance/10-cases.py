#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""10-cases.py [--long | --every N] [--list] [PATTERN…]: cases whose name or theme contains a
PATTERN (default: all), locally and transferred.

Natively, with agents in network namespaces, or in the virtual cluster with the module:
    selftests/vm/cluster --nodes 3 -- selftests/conformance/10-cases.py
--long: those of full length, too (`make check-conformance`). --every N: all cases that are not the
same with and without the module, and every Nth of the others: what emulated guests have time for in
`make check`."""

import argparse, importlib, os, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, failed, ok, skip
from places import here
import suite

THEMES = (
    "status",
    "streams",
    "descriptors",
    "pipelines",
    "arguments",
    "inherited",
    "files",
    "signals",
    "exec",
    "life",
    "usage",
    "programs",
)

# What this was started with is not for the tasks.
for fd in map(int, os.listdir("/proc/self/fd")):
    if fd > 2:
        try:
            os.set_inheritable(fd, False)
        except OSError:
            pass  # that of listdir() itself

for theme in THEMES:
    importlib.import_module("cases." + theme)

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--long", action="store_true")
parser.add_argument("--list", action="store_true")
parser.add_argument("--every", type=int, default=1, metavar="N")
parser.add_argument("words", nargs="*", metavar="PATTERN")
options = parser.parse_args()
words = options.words
chosen = [c for i, c in enumerate(suite.ALL) if c.is_of_place() or i % options.every == 0]
chosen = [c for c in chosen if not words or any(w in c.name or w == c.theme for w in words)]
if options.list:
    for c in chosen:
        print(f"{c.theme}: {c.name}", *(f"[{f}: {why}]" for f, why in c.known.items()))
    sys.exit(0)
if not chosen:
    print(f"10-cases.py: no case is named like {' '.join(words)}", file=sys.stderr)
    sys.exit(2)

missing = {}
for c in chosen:
    if c.needs and not os.environ.get("EHS_SHARE"):
        got = subprocess.run(
            [os.path.join(os.path.dirname(os.path.abspath(__file__)), "source"), c.needs],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if got.returncode:
            missing[c] = got.stderr.strip().replace("\n", " ")

place = here()
began = time.monotonic()
theme = None
for c in chosen:
    if c.where not in (suite.EVERYWHERE, place.kind) or (
        c.long in (True, place.kind) and not options.long
    ):
        continue
    if c.theme != theme:
        theme = c.theme
        print(f"# {theme} ({time.monotonic() - began:.0f} s)", flush=True)
    if c in missing:
        skip(f"{c.theme}: {c.name}", missing[c])
        continue
    wrong = suite.check(c, place)
    known = suite.known_of(c, place)
    name = f"{c.theme}: {c.name}" + (f" (not the same: {', '.join(known)})" if known else "")
    ok(name.replace("#", "hash"), not wrong, "\n".join(wrong))
if failed():
    print("\n".join("# " + line for line in place.log().splitlines()[-20:]))
place.end()
done()
