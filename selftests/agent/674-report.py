#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ehctl run --report`: what it prints, and that the command is as without it."""

import os, re, signal, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, ok
from tree import BUILD
from wait import WAIT

EHCTL = os.path.join(BUILD, "bin", "ehctl")
c = Cluster(2, "heartbeat = 1000\ncapacity = 1000\nthreshold = 1000\nthreshold-floor = 1000\n")
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def start(*words, **more):
    return c.popen(0, [EHCTL, "run", "--report", *words], stdin=subprocess.PIPE, **more)


def run(*words, **more):
    p = start(*words, **more)
    out, err = p.communicate("in\n", timeout=WAIT)
    return p.returncode, out, err


code, out, err = run(
    "-n",
    "my build",
    "--all",
    "--",
    "sh",
    "-c",
    "read x; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; echo $x; exit 3",
)
ok("input, output and status are the command's", (code, out) == (3, "in\n"), (code, out, err))
ok(
    "one task, elsewhere",
    re.search(
        (
            r"^ehsched: my build: ended after \d+:\d\d; of 1 task that was to be placed 1 ran"
            r" elsewhere \(n1 1\)$"
        ),
        err,
        flags=re.M,
    ),
    err,
)
used = re.search(r"CPU here (\d+):(\d\d), elsewhere (\d+):(\d\d)$", err, flags=re.M)
ok("the time that it used", used and "stayed" not in err, err)
session = re.search(r"`ehctl history --session (my-build\.\d+\.0)` lists them", err)
ok("the session", session, err)
listed = c.ehctl(0, "history", "--csv", "--session", session[1] if session else "-").stdout
ok(
    "of which history has the task",
    listed.count("\n") == 2 and re.search(",n1,(auto|credit),ended,", listed),
    listed,
)
code, out, err = run("--", "sh", "-c", "cat; kill -KILL $$")
ok("a signal is handed on", (code, out) == (-signal.SIGKILL, "in\n"), (code, out, err))
ok(
    "one that stays, and why",
    "of 1 task that was to be placed 0 ran elsewhere\n" in err
    and "stayed: not-sender 1\n" in err
    and "ehsched: sh: " in err,
    err,
)
code, out, err = run("--jobserver", "--", "sh", "-c", f"{EHCTL} exec n1 -- true")
ok(
    "tasks of ehctl exec are of no session, and it says so",
    code == 0 and "of 0 tasks" in err and "of no session" in err and "--session" not in err,
    (code, err),
)
p = start("--", "sh", "-c", "trap 'echo got it; exit 7' TERM; echo ready; while :; do read x; done")
p.stdout.readline()
p.send_signal(signal.SIGTERM)
out, err = p.communicate(timeout=WAIT)
ok(
    "SIGTERM gets to the command",
    (p.returncode, out) == (7, "got it\n") and "stayed: not-sender 1" in err,
    (p.returncode, out, err),
)
code, out, err = run("--", "no-such-program-here")
ok("a command that is not there", code == 127 and "command not found" in err, (code, err))
c.end(0)
code, out, err = run("--", "sh", "-c", "cat; exit 4")
ok(
    "without an agent it runs, and there is no report",
    (code, out) == (4, "in\n") and "no report" in err,
    (code, out, err),
)
done()
