#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Twelve tasks that take a quarter of an executor's memory each come at once. Their home has
learned what they take: no more of them go anywhere than fit, all are done, and no task of the
executors' owners is killed. Each executor is in a cgroup with 320 MiB, whose kernel really kills;
with more on it than fits it would. selftests/vm/memory-storm does the same with 4 GiB."""

import os, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from commands import EHCTL
from ktap import done, ok, skip_all
from small import Small, enter, says, words
from wait import WAIT

if os.geteuid():
    skip_all("only root can make cgroups")
LINKS, TAKES, EXECUTORS = 12, 70, (1, 2)
BASE = (
    'load-index = "tasks"\nthreshold-floor = 20\nthreshold = 20\ndwell = 0\nheartbeat ='
    " 1000\ntime-limit = 10000\nlearn = true\n"
)
c = Small(3, BASE, EXECUTORS, 320)
if not all(c.small.values()):
    skip_all("no memory controller can be used on this machine")


def begin(*how):
    return c.popen(0, [EHCTL, "exec", *how, "--", *words(TAKES)], cwd="/", stdin=subprocess.PIPE)


def kills():
    """Of both cgroups, which the kernel counts."""
    count = 0
    for path in c.small.values():
        for name in "memory.oom_control", "memory.events":
            if os.path.exists(os.path.join(path, name)):
                fields = dict(line.split() for line in open(os.path.join(path, name)))
                count += int(fields["oom_kill"])
    return count


for i in EXECUTORS:
    c.start(
        i,
        c.conf(
            i,
            settings=(
                f'{BASE}memory = "{c.small[i]}"\nheadroom = 16\nmemory-pressure ='
                " 0\nguest-oom-score = 500\n"
            ),
        ),
    )
c.start(0)
ok("three agents, two with little memory", c.all_up(range(3)), c.log(1))
owners = [
    subprocess.Popen(
        enter(c.small[i], *words(60)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    for i in EXECUTORS
]
ok("a task of its owner on each", all(map(says, owners)))
first = begin("n1")
ok("the first link is learned from", says(first))
first.communicate("\n", timeout=WAIT)
links = [begin("--auto", "--all") for _ in range(LINKS)]
ok("twelve at once have their memory", all(map(says, links)), [c.log(i)[-1500:] for i in EXECUTORS])
ran = [c.why(0, p) for p in links]
on = [sum(r["executor"] == f"0.{i}" for r in ran) for i in range(3)]
# 320 less 16 and what owner, agent and ehlaunch have: three fit, and never four; one may be taken
# for more than it takes
ok("on each executor as many as fit", 1 <= on[1] <= 3 and 1 <= on[2] <= 3, (on, ran))
ok(
    "the others are at home because of that",
    all(r["reason"] == "no-headroom" for r in ran if r["executor"] == "0.0"),
    [r for r in ran if r["executor"] == "0.0"][:2],
)
for p in links:
    p.stdin.close()
ok(
    "all links are done",
    [p.wait(WAIT) for p in links] == [0] * LINKS,
    [p.returncode for p in links],
)
ok("the owners' tasks go on", all(p.poll() is None for p in owners))
ok("the kernel has killed nobody", kills() == 0, kills())
print("# links at home, on n1, on n2:", *on)
for p in owners:
    p.stdin.close()
    p.wait(WAIT)
ok("no report of a sanitizer", not c.reports(), c.reports())
done()
