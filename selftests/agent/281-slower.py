#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that takes eight times as long on the other node as alone at home stays there while
home has few tasks, and goes when it has many. That is known after some runs on each, at least
three, and after a restart; a task an hour goes all the same."""

import os, re, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, ok
from wait import WAIT, until

STEPS = 100000  # of a loop of the shell: a tenth of a second or more
SLOWER = 8  # so much that it is known although other work makes runs differ
MANY = 15  # tasks at home with which it is faster there all the same
c = Cluster(
    3,
    (
        'capacity = 1\nload-index = "tasks"\nthreshold = 20\nthreshold-floor = 1\nthreshold-length'
        " = 0\ndwell = 0\nheartbeat = 1000\ntime-limit = 10000\n"
    ),
)
sitters = []


def drain(i, drains=True):
    c.ask(0, {"command": "drain" if drains else "undrain", "node": c.code(i)})
    until(lambda: node(i)["draining"] == drains)


def sit(n):
    """Tasks of home that stay until they are ended: nothing is sent to other nodes meanwhile."""
    others = [i for i in c.agents if i]
    for i in others:
        drain(i)
    for _ in range(n):
        sitters.append(
            c.popen(
                0,
                [EHCTL, "exec", "--auto", "--", "sh", "-c", "echo; read x"],
                cwd="/",
                stdin=subprocess.PIPE,
                stderr=None,
                text=False,
            )
        )
        sitters[-1].stdout.readline()
    for i in others:
        drain(i, False)
    until(lambda: node(0)["load"] == len(sitters))


def rise():
    while sitters:
        sitters.pop().communicate()


def node(i):
    return next(n for n in c.status(i)["nodes"] if n["code"] == c.code(i))


def run(*options):
    """What why says of a run of the program."""
    p = c.popen(0, [EHCTL, "run", *options, "--", program], cwd="/", stdout=None, text=False)
    err = p.communicate(timeout=WAIT)[1]
    said = c.ask(0, {"command": "why", "id": str(p.pid), "timing": True})
    assert p.returncode == 0 and "reason" in said, (p.returncode, err, said)
    until(lambda: not node(1)["load"])
    return said


def an_hour_ago():
    """Makes what is kept of hosts older."""
    path, total = os.path.join(os.path.dirname(c.state(0)), "costs"), 0xCBF29CE484222325
    with open(path) as f:
        text = re.sub(
            r"^(host \w+) (\d+)",
            lambda m: f"{m[1]} {int(m[2]) - 3600}",
            f.read()[: -len("end 0123456789abcdef\n")],
            flags=re.M,
        )
    for byte in text.encode():
        total = (total ^ byte) * 0x100000001B3 % (1 << 64)
    with open(path, "w") as f:
        f.write(f"{text}end {total:016x}\n")


def there(said):
    return said["executor"] == c.code(1)


def at_once(said):
    """Whether nothing of it was looked at, and nobody was asked."""
    return not {"look", "seek"} & {s["step"] for s in said["timing"]["steps"]}


program = os.path.join(c.dir, "slow-elsewhere")
with c.net.enter(0):
    home = os.readlink("/proc/self/ns/net")
with open(program, "w") as f:
    f.write(
        f'#!/bin/sh\nn={STEPS}\n[ "$(readlink /proc/self/ns/net)" = "{home}" ] ||'
        f" n={SLOWER * STEPS}\nwhile [ $n -gt 0 ]; do n=$((n - 1)); done\n"
    )
os.chmod(program, 0o755)
for i in range(2):
    c.start(i)
ok("two agents", c.all_up(range(2)), c.log(0))
alone = [run() for _ in range(3)]
ok(
    "alone it runs at home, which is decided at once",
    not any(map(there, alone)) and all(map(at_once, alone)),
    alone,
)
sit(1)
went = [run() for _ in range(3)]
ok("with a task at home it leaves, as nobody knows better", all(map(there, went)), went)
# other work may have made these runs differ: then there are more, here and there
for rounds in range(10):
    said = run()
    if said["reason"] == "slower":
        break
    rise()
    until(lambda: not node(0)["load"])
    for _ in range(5):
        run()
    sit(1)
print(f"# after {rounds} rounds")
ok(
    "soon it is known that it takes longer there: it stays, at once",
    said["reason"] == "slower" and not there(said) and at_once(said),
    said,
)
sit(MANY - 1)
said = run()
ok(
    f"with {MANY} tasks at home it would take longer here: it leaves",
    there(said) and said["reason"] == "credit",
    said,
)
rise()
ok("home ends and starts again", c.end(0) == 0)
c.start(0)
ok("both are up", c.all_up(range(2)), c.log(0))
sit(1)
ok("it is still known", until(lambda: run()["reason"] == "slower"), c.log(0))
rise()
ok("it ends again, and its last run there was an hour ago", c.end(0) == 0)
an_hour_ago()
c.start(0)
ok("both are up", c.all_up(range(2)), c.log(0))
sit(1)
said = run()
ok(
    "one task goes there to see",
    there(said) and any("one an hour goes" in s["what"] for s in said["steps"]),
    said,
)
ok("the next one stays", (said := run())["reason"] == "slower", said)
ok(
    "all of a session that is to leave leave all the same",
    until(lambda: there(run("--all"))),
    c.log(0),
)
rise()
ok("it ends again, and there is a third node, of which nothing is known", c.end(0) == 0)
an_hour_ago()
c.start(0)
c.start(2)
ok("all are up", c.all_up(range(3)), c.log(0))
sit(1)
drain(1)
ok("while the slow one drains it goes to the other", (said := run())["executor"] == c.code(2), said)
drain(1, False)
drain(2)
said = run()
ok(
    "then one goes to the slow one to see",
    there(said) and any("one an hour goes" in s["what"] for s in said["steps"]),
    said,
)
drain(2, False)
rise()
ok("no report of a sanitizer", not c.reports(), c.reports())
done()
