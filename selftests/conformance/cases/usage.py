# SPDX-License-Identifier: GPL-2.0-or-later
"""What a task has used, in the parent's account: wait4() and getrusage(RUSAGE_CHILDREN)."""

import os
from scene import NULL
from suite import case

NO_MODULE = (
    "without the module nothing can put what a remote task used into the account of its stub"
)


def spend(s, ms, kib=100):
    """Its task, which has ended, and the seconds that it says it has used."""
    task = s.start(s.probe, "spend", str(ms), str(kib), stderr=NULL)
    out, _ = s.collect(task)
    s.see("end", task.wait())
    return task, int(out) / 1e6


def near(s, value, want, tasks=1):
    """Within a tenth; the end of each, which it cannot tell of, and that of a stub are in it,
    too."""
    return abs(value - want) < want * 0.1 + 0.04 * s.place.slow * tasks


def without(*fields):
    return {"native": dict.fromkeys(fields, NO_MODULE), "module": {}}


@case("processor time", known=without("in wait4()", "of all children"))
def time(s):
    task, used = spend(s, 1500)
    s.see("in wait4()", near(s, task.usage.ru_utime + task.usage.ru_stime, used))
    s.see("of all children", near(s, s.children_usage()[0], used))


@case("memory", known=without("of all children"))
def memory(s):
    spend(s, 10, 100000)
    s.see("of all children", abs(s.children_usage()[1] - 100000) < 14096)


@case("the time of several tasks adds up", known=without("sum"))
def several(s):
    used = sum(spend(s, 400)[1] for _ in range(3))
    s.see("sum", near(s, s.children_usage()[0], used, tasks=3))


@case("times(), as a shell's `time` has it", known=without("enough"))
def shell_time(s):
    used = spend(s, 500)[1]
    t = os.times()
    s.see("enough", near(s, t.children_user + t.children_system, used))
