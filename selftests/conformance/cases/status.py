# SPDX-License-Identifier: GPL-2.0-or-later
"""How a task ends, as its parent sees it."""

import os, resource
from scene import limit_core
from suite import MODULE, case, program, sh

for n in 0, 1, 2, 7, 42, 77, 124, 126, 127, 128, 129, 143, 200, 255:
    sh(f"exit {n}", f"exit {n}")

for n in range(1, 65):
    # 32 and 33 are glibc's own
    if n not in (19, 20, 21, 22, 32, 33):
        program(f"signal {n} by its own hand", "probe", "die", str(n))

sh("a shell that dies of what its child died of", "sh -c 'kill -9 $$'; exit $?")
sh("exit while children run", "sleep 0.2 & exit 5", stdout="null", stderr="null")
program("a program that fails in the loader", "/bin/true", env={"LD_PRELOAD": "/no/such.so"})
program("abort()", "/usr/bin/python3", "-c", "import os; os.abort()", before=limit_core)
sh("an error of the shell itself", "set -u; echo $nothing_of_that_name")
sh("a command that is not there", "no-such-command-anywhere")
sh("a directory as a command", "/usr/bin")


@case(
    "a core dump is reported",
    known={"core": "a core of the stub would be of no use, so none is written at home"},
    where=MODULE,
)
def core(s):
    def limits():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    task = s.start("/bin/sh", "-c", "kill -QUIT $$", before=limits)
    s.collect(task)
    task.wait()
    s.see("core", task.reports)
    # where it goes is the site's own
    for name in os.listdir(s.dir):
        os.unlink(s.file(name))
