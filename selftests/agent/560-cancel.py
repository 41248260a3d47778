#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl cancel: tasks end at home and away; whose, and what is said otherwise."""

import json, os, signal, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, must, ok, skip
from tree import BUILD
from wait import WAIT, until

EHCTL = os.path.join(BUILD, "bin", "ehctl")
# What else this machine does makes nobody a sender.
c = Cluster(2, 'heartbeat = 1000\nload-index = "tasks"\nthreshold-floor = 20.0\n')
ok("two agents", c.start_all(), c.log(0))


def user(uid):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if uid else []


def cancel(i, *words, uid=0):
    r = c.call(i, [*user(uid), EHCTL, "cancel", *words])
    return r.returncode, r.stdout, r.stderr


def start(*words, uid=0, first=":", script="exec sleep 1000"):
    """A task, and its program's process id, said when `first` is done."""
    p = c.popen(
        0,
        [*user(uid), EHCTL, *words, "--", "sh", "-c", f"{first}; echo $$; {script}"],
        cwd="/",
        stderr=None,
        text=False,
    )
    return p, int(p.stdout.readline())


def gone(pid):
    return until(lambda: not os.path.exists(f"/proc/{pid}"))


def quiet(got):
    return got == (0, "", "")


def over():
    must(
        "no node knows it any more",
        until(lambda: not c.tasks(0) and not c.tasks(1)),
        (c.tasks(0), c.tasks(1)),
    )


task, program = start("exec", "n1")
got = cancel(0, c.tasks(0)[0]["short"])
ok(
    "at home, by the short id",
    quiet(got) and task.wait(WAIT) == -signal.SIGTERM and gone(program),
    (got, task.returncode),
)
over()
task, program = start("exec", "n1")
got = cancel(1, c.tasks(1)[0]["id"])
ok(
    "where it runs",
    quiet(got) and task.wait(WAIT) == -signal.SIGTERM and gone(program),
    (got, task.returncode),
)
over()

task, program = start("exec", "n1", first="trap '' TERM", script="while :; do sleep 1000; done")
got = cancel(0, "--now", "--json", c.tasks(0)[0]["id"])
ok(
    "--now",
    got[0] == 0
    and json.loads(got[1])["cancelled"][0]["killed"]
    and task.wait(WAIT) == -signal.SIGKILL
    and gone(program),
    (got, task.returncode),
)
over()
task, program = start("exec", "n1", first="trap '' TERM", script="while :; do sleep 1000; done")
got = cancel(0, c.tasks(0)[0]["id"])
ok(
    "one that ignores SIGTERM is killed",
    quiet(got) and task.wait(WAIT) == -signal.SIGKILL and gone(program),
    (got, task.returncode),
)
over()
task, program = start("exec", "n1")
task.send_signal(signal.SIGSTOP)
ok("it is stopped", until(lambda: c.tasks(0)[0]["state"] == "stopped"), c.tasks(0))
got = cancel(0, c.tasks(0)[0]["id"])
ok(
    "one that is stopped ends",
    quiet(got) and task.wait(WAIT) == -signal.SIGTERM and gone(program),
    (got, task.returncode),
)
over()
# also before the stub could tell its agent that the program runs
early = []
for _ in range(8):
    task = c.popen(
        0, [EHCTL, "exec", "n1", "--", "sleep", "1000"], cwd="/", stdout=None, stderr=None
    )
    end = time.monotonic() + WAIT
    while not c.tasks(1) and time.monotonic() < end:
        pass  # a pause would be too long
    task.send_signal(signal.SIGSTOP)
    if not until(lambda: [t["state"] for t in c.tasks(0)] == ["stopped"], 20):
        early.append(c.tasks(0))
    cancel(0, c.tasks(0)[0]["id"])
    task.wait(WAIT)
    over()
ok("eight that are stopped as soon as they are there", not early, early)
task, program = start("exec", "--auto")
got = cancel(0, c.tasks(0)[0]["id"])
ok("one that stayed", quiet(got) and task.wait(WAIT) == -signal.SIGTERM, (got, task.returncode))

task, program = start("exec", "n1", uid=2001)
id = c.tasks(0)[0]["id"]
for i in 0, 1:
    got = cancel(i, id, uid=2002)
    ok(
        f"another user's, at n{i}",
        got[0] == 1 and not got[1] and "belongs to another user" in got[2] and task.poll() is None,
        got,
    )
got = cancel(0, id, uid=2001)
ok(
    "one's own",
    quiet(got) and task.wait(WAIT) == -signal.SIGTERM and gone(program),
    (got, task.returncode),
)
over()
got = cancel(0, id, uid=2001)
ok("one that has ended", got[0] == 1 and "has ended already" in got[2], got)
got = cancel(0, id, uid=2002)
ok("of another user that has ended", got[0] == 1 and "belongs to another user" in got[2], got)

first, program = start("run", "-n", "build", "--all", uid=2001)
got = cancel(0, "build", uid=2002)
ok(
    "another user's session",
    got[0] == 1 and "belongs to another user" in got[2] and first.poll() is None,
    got,
)
second, other = start("run", "-n", "build", "--all", uid=2001)
names = [f"build.{p.pid}.0" for p in (first, second)]
got = cancel(0, "build", uid=2001)
ok(
    "two sessions of that name",
    got[0] == 2 and all(n in got[2] for n in names) and first.poll() is None,
    got,
)
got = cancel(0, names[0], uid=2001)
ok(
    "one of them in full",
    quiet(got) and first.wait(WAIT) == -signal.SIGTERM and gone(program) and second.poll() is None,
    got,
)
got = cancel(0, "build")
ok("root ends the other", quiet(got) and second.wait(WAIT) == -signal.SIGTERM and gone(other), got)

# A user has some sessions, one process has one.
SESSIONS = 256  # SESSIONS_A_USER
for k in range(4 * SESSIONS):
    c.ask(0, {"command": "run", "name": f"again{k}"}, uid=2001)
crowd, told = [], os.pipe()
for k in range(SESSIONS + 1):
    child = os.fork()
    if not child:
        try:
            named = c.ask(0, {"command": "run", "name": f"crowd{k}"}, uid=2001)["session"]
            os.write(told[1], b"+" if named else b"-")
            while True:
                signal.pause()
        finally:
            os._exit(1)
    crowd.append(child)
heard = b""
while len(heard) < len(crowd):
    heard += os.read(told[0], 1)
ok(
    "a user has as many sessions as one may have", heard.count(b"+") == SESSIONS - 1, heard
)  # this process has one
late, program = start("run", "-n", "late", "--all", uid=2002)
got = cancel(0, "late", uid=2002)
ok("another user has his", quiet(got) and late.wait(WAIT) == -signal.SIGTERM and gone(program), got)
for child in crowd:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)

# a session of the module is a cgroup, here one that no ehlaunch has made
managed = os.path.join(c.cgroup(0), "managed")
if os.path.isdir(managed):
    session = os.path.join(managed, "kernel.7.1")
    os.mkdir(session)
    shells = [
        subprocess.Popen(
            ["sh", "-c", f"echo $$ >{session}/cgroup.procs; {trap} echo; sleep 1000 & wait"],
            stdout=subprocess.PIPE,
        )
        for trap in ("", "", "trap '' TERM;")
    ]
    for p in shells:
        p.stdout.readline()
    members = lambda: open(os.path.join(session, "cgroup.procs")).read().split()
    ok("six processes of a session", until(lambda: len(members()) == 6), members())
    got = cancel(0, "kernel", "--now", uid=2001)
    ok(
        "are not another user's to end",
        got[0] == 1 and "belongs to another user" in got[2] and len(members()) == 6,
        got,
    )
    got = cancel(0, "kernel")
    ok(
        "all of them end, by SIGKILL what ignores SIGTERM",
        quiet(got)
        and [p.wait(WAIT) for p in shells] == [-signal.SIGTERM] * 2 + [-signal.SIGKILL]
        and until(lambda: not members()),
        (got, members()),
    )
    os.rmdir(session)
else:
    skip("a session that is a cgroup", "there is no cgroup 2 here")

for words, status, text in (
    (["0.0:1"], 1, "0.0:1: no such task on this node"),
    (["0.9:7"], 1, "no such task"),
    (["nothing"], 1, "nothing: no such session"),
    ([], 2, "usage: ehctl cancel"),
    (["--bad", "x"], 2, "usage: ehctl cancel"),
):
    got = cancel(0, *words)
    ok(f"cancel {' '.join(words)}", got[0] == status and not got[1] and text in got[2], got)
task, program = start("exec", "n1")
got = cancel(0, "nothing", c.tasks(0)[0]["id"])
ok(
    "one of two: the other ends, and the status tells",
    got[0] == 1 and task.wait(WAIT) == -signal.SIGTERM and gone(program),
    got,
)
done()
