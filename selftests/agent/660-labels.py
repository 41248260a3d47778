#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""An executor of the version before does not look at labels: home does, and what needs one does not
run there."""

import os, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from mixed import NEW, OLD, Mixed

c = Mixed([NEW, OLD], "heartbeat = 1000\nheadroom = 0\n")
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def run(*words):
    p = c.call(0, [c.program(0, "ehctl"), "exec", "n1", "--", *words], cwd="/")
    return p.returncode, p.stdout, p.stderr


got = run("echo", "away")
ok("what needs none runs there", got[:2] == (0, "away\n"), got)
c.conf(0, settings='heartbeat = 1000\nheadroom = 0\nnever-on = { "gpu:/" }')
answer = c.ask(0, {"command": "reload"})
ok("a rule about labels", answer == {"version": 1}, answer)
got = run("echo", "away")
ok(
    "what must not have one does not",
    got[0] == 1 and not got[1] and "does not know labels" in got[2],
    got,
)
done()
