#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The checker of the campaign can fail: tasks that do something wrong, really, on two agents, and
each is found. EHS_SEED."""

import os, random, signal, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, must, ok
from nodes import Nodes
import work
from seed import new_seed
from wait import until

seed = new_seed()
dice = random.Random(seed)
c = Nodes(2, "1,1")
ok("two agents", c.start_all(), c.log(0) + c.log(1))
place = work.Place(c)


def play(kind, home=0, away=1):
    task = kind(place, dice, home, away)
    must(f"{task.kind}: it ends", until(task.step), task.seen(place.runs()))
    return task


def verdict(task):
    return task.verdict(place.runs())


for kind in dict.fromkeys(work.KINDS):
    task = play(kind)
    ok(f"{kind.kind}: right", verdict(task) == "right", task.seen(place.runs()))


class Story(work.Task):
    kind, script, first = "story", "", True

    def make(self, dice):
        self.where, self.auto, self.want = [f"n{self.away}"], False, b"a\n"
        self.start(
            self.away_words(
                (self.note() if self.first else "")
                + self.script.format(note=self.note(), status=self.status)
            )
        )


def found(name, want, script, first=True, why=None):
    task = play(type("Found", (Story,), {"script": script, "first": first}))
    task.why = why
    ok(f"{name}: {want}", verdict(task) == want, task.seen(place.runs()))


found("a task that does all", "right", "echo a; exit {status}")
found("one that ends well and has not run", "lost", "echo a; exit {status}", first=False)
found("one that ends with nothing said", "lost", "kill -9 $$")
found("one that ends at once, with status 0", "lost", "exit 0")
found("one that runs twice", "twice", "{note} echo a; exit {status}")
found("a byte that is another", "bytes", "echo b; exit {status}")
found("a byte too few", "bytes", "printf a; exit {status}")
found("a line twice", "bytes", "echo a; echo a; exit {status}")
found("another status", "status", "echo a; exit 0$(({status} + 1))")
found(
    "what was killed, and has printed what it should not",
    "bytes",
    "echo b; echo reported as killed >&2; kill -9 $$",
    why="guest-kill",
)
found(
    "killed, and nobody has done anything to it",
    "untold",
    "echo a; echo reported as killed >&2; kill -9 $$",
)
found("killed, with a cause", "told", "echo reported as killed >&2; kill -9 $$", why="guest-kill")
found(
    "killed with a cause, and a second run",
    "twice",
    "{note} echo reported as killed >&2; kill -9 $$",
    why="guest-kill",
)
found("refused, though it has run", "status", "echo ehctl: refused >&2; exit 1")
task = type("Found", (Story,), {"script": "exec sleep 1000"})(place, dice, 0, 1)
must("it has begun", until(lambda: place.runs()[task.id]), place.runs())
ok("one that does not end: stuck", verdict(task) == "stuck", task.seen(place.runs()))
ok(
    "and what it leaves is seen: processes at both ends, a task",
    until(
        lambda: all(
            any(word in line for line in c.left())
            for word in (
                "n0: process",
                "n1: process",
                "ehstub",
                "ehguest",
                "sleep",
                "n0: task",
                "n1: task",
            )
        )
    ),
    c.left(),
)
os.kill(task.p.pid, signal.SIGTERM)
must("it ends", until(task.step), task.seen(place.runs()))
ok("nothing is left when it has ended", until(lambda: not c.left()), c.left())

view = play(work.View)
with open(view.path, "ab") as f:
    f.write(b"line 1\n")
ok("a file in a view that is another: bytes", verdict(view) == "bytes", view.seen(place.runs()))
build = play(work.Build)
with open(f"{build.folder}/f0.o", "r+b") as f:
    f.write(b"x")
ok("an object file that is another: bytes", verdict(build) == "bytes", build.seen(place.runs()))
done()
