# SPDX-License-Identifier: GPL-2.0-or-later
"""What a task has used, in the parent's account: wait4() and getrusage(RUSAGE_CHILDREN)."""

import os
from scene import NULL
from suite import case

NO_MODULE = "without the module nothing can put what a remote task used into the account of its stub"


def used(name, ms, kib, fields, known):
    @case(name, known=known)
    def play(s):
        task = s.start(s.probe, "spend", str(ms), str(kib), stdout=NULL, stderr=NULL)
        s.see("end", task.wait())
        time, memory = s.children_usage()
        own = task.usage.ru_utime + task.usage.ru_stime
        # the start of a process is in it, too
        near = lambda value, want: abs(value - want) < want * 0.1 + 0.05 * s.place.slow
        if "time" in fields:
            s.see("time in wait4() within a tenth", near(own, ms / 1000))
            s.see("time of all children within a tenth", near(time, ms / 1000))
        if "memory" in fields:
            s.see("memory within a tenth", abs(memory - kib) < kib * 0.1 + 4096)


TIME = {"native": {"time in wait4() within a tenth": NO_MODULE, "time of all children within a tenth": NO_MODULE}, "module": {}}
used("processor time", 1000, 100, ("time",), TIME)
used("memory", 10, 100000, ("memory",), {"native": {"memory within a tenth": NO_MODULE}, "module": {}})


@case("the time of several tasks adds up", known={"native": {"sum": NO_MODULE}, "module": {}})
def several(s):
    for _ in range(3):
        s.start(s.probe, "spend", "300", "100", stdout=NULL, stderr=NULL).wait()
    s.see("sum", abs(s.children_usage()[0] - 0.9) < 0.09 + 0.1 * s.place.slow)


@case("`time` of a shell", known={"native": {"enough": NO_MODULE}, "module": {}})
def shell_time(s):
    # times() of a shell: the same account
    before = os.times().children_user
    s.start(s.probe, "spend", "500", "100", stdout=NULL, stderr=NULL).wait()
    s.see("enough", os.times().children_user - before > 0.3)
