#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Many tasks of all kinds, 16 at a time, on four nodes beside two busy loops: the bytes and the
status of each are right, each runs once, and nothing is left behind.

60-volume.py [--tasks N]

make check-volume has 20,000. EHS_SEED repeats the choices; EHS_TASKS is a list of names of classes
in work.py and volume.py."""

import argparse, collections, os, random, signal, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import volume, work
from ktap import done, must, ok
from nodes import Nodes
from seed import new_seed
from wait import WAIT

parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("--tasks", type=int, default=160)
options = parser.parse_args()
AT_ONCE, NODES, BUSY, STUCK, SAY = 16, 4, 2, 2 * WAIT, 20
dice = random.Random(new_seed())
kinds = [
    getattr(volume, name, None) or getattr(work, name)
    for name in os.environ.get("EHS_TASKS", "").split()
] or work.KINDS + volume.KINDS
signal.signal(
    signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM)
)  # what was started is ended

n = Nodes(NODES, "2,1")
must("four agents", n.start_all(), n.log(0)[-2000:])
place = work.Place(n, pace=0.02)
live, doubtful, names, sums = [], [], set(), collections.Counter()
began = said = time.monotonic()


def begin():
    home = dice.randrange(NODES)
    live.append(
        dice.choice(kinds)(place, dice, home, dice.choice([i for i in range(NODES) if i != home]))
    )
    names.update(live[-1].names)


def look(task):
    """Whether it is over. What is right is forgotten but for its names: so many have more bytes
    than memory."""
    if not task.step() and time.monotonic() - task.began < STUCK:
        return False
    if not task.ended:
        print(f"# held by {task.holders()}", flush=True)
        task.kill()
    if task.verdict(place.runs()) == "right":
        sums[task.kind] += 1
        task.forget()
    else:
        doubtful.append(task)
        print(f"# {task.verdict(place.runs())}: {task.seen(place.runs())}", flush=True)
    return True


busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
try:
    begun = 0
    while begun < options.tasks or live:
        while begun < options.tasks and len(live) < AT_ONCE:
            begin()
            begun += 1
        live = [task for task in live if not look(task)]
        if time.monotonic() > said + SAY:
            said = time.monotonic()
            print(f"# {said - began:.0f} s: {begun - len(live)} tasks have ended", flush=True)
        time.sleep(0.01)
finally:
    for one in busy:
        one.kill()
        one.wait()
took = time.monotonic() - began
wrong = [
    f"{word}: {task.seen(place.runs())}"
    for task in doubtful
    if (word := task.verdict(place.runs())) != "right"
]
ok(
    f"{options.tasks} tasks are right",
    not wrong and sum(sums.values()) + len(doubtful) == options.tasks,
    f"{len(wrong)} are not\n" + "\n".join(wrong[:20]),
)
runs = place.runs()
ok(
    "each has run once",
    set(runs) == names and set(runs.values()) <= {1},
    [name for name in {*names, *runs} if runs[name] != 1][:20],
)
left = n.leftovers()
ok("nothing is left behind", not left, "\n".join(left))
print(
    "# "
    + ", ".join(f"{count} {kind}" for kind, count in sorted(sums.items()))
    + f"; {took:.0f} s, {options.tasks / took:.1f} a second"
)
done()
