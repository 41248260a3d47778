#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a caller sees of a task that is away as of one here: signals to its process group, and
errors of its exec. Two agents, no module."""

import os, signal, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, must, ok, skip
from proc import state
from tree import BUILD
from wait import WAIT, outcome, until

c = Cluster(2, "heartbeat = 3000\njob-limit = 3000", apart=True)
work = tempfile.mkdtemp(prefix="ehs-ends-", dir=c.dir)
os.chmod(c.dir, 0o755)
os.chmod(work, 0o777)
PIPE, NULL = subprocess.PIPE, subprocess.DEVNULL
AWAY = [f"{BUILD}/bin/ehctl", "exec", "0.1", "--"]
PLACES = ("here", []), ("away", AWAY)

ok("two agents", c.start_all(), c.log(0) + c.log(1))


def start(how, *words, **more):
    more = {
        "stdin": NULL,
        "stdout": PIPE,
        "stderr": NULL,
        "start_new_session": True,
        "bufsize": 0,
        **more,
    }
    with c.net.enter(0):
        return subprocess.Popen([*how, *words], cwd=work, **more)


def collect(p):
    """What it writes until the end of it, which must come."""
    try:
        return p.communicate(timeout=WAIT)[0].decode()
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.communicate()
        return "its output does not end"


def gone(pid):
    return until(lambda: state(pid) in ("gone", "Z"))


def empty(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


# ---- the process group ----

FAMILY = "sleep 1000 & echo $!; "


def family(how, script, traps=""):
    """A shell with its traps set and its child, which has its output, too. (Popen, the child's
    number)"""
    p = start(how, "sh", "-c", traps + FAMILY + script)
    return p, int(p.stdout.readline())


for where, how in PLACES:
    for sig in signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGKILL, signal.SIGRTMIN:
        p, child = family(how, "wait", "trap : INT; ")
        os.killpg(p.pid, sig)
        # a shell's command in the background ignores SIGINT
        if sig == signal.SIGINT:
            os.killpg(p.pid, signal.SIGTERM)
        out = collect(p)
        ok(
            f"{where}: {sig.name} to its group ends its child, and so its output",
            out == "" and gone(child),
            out,
        )

    p, child = family(how, "wait")
    os.kill(p.pid, signal.SIGTERM)
    p.wait(WAIT)
    ok(f"{where}: SIGTERM to it alone ends it", p.returncode == -signal.SIGTERM, p.returncode)
    ok(f"{where}: and not its child", until(lambda: state(child) == "S"), state(child))
    os.killpg(p.pid, signal.SIGTERM)
    out = collect(p)
    ok(
        f"{where}: SIGTERM to its group ends the child that it has left",
        out == "" and gone(child),
        out,
    )
    ok(f"{where}: nobody is left in its group", until(lambda: empty(p.pid)))

    p, child = family(how, "wait")
    os.killpg(p.pid, signal.SIGSTOP)
    ok(
        f"{where}: SIGSTOP to its group stops its child",
        until(lambda: state(child) == "T"),
        state(child),
    )
    os.killpg(p.pid, signal.SIGCONT)
    ok(f"{where}: SIGCONT lets it go on", until(lambda: state(child) == "S"), state(child))
    os.killpg(p.pid, signal.SIGTSTP)
    os.killpg(p.pid, signal.SIGHUP)
    os.killpg(p.pid, signal.SIGCONT)
    collect(p)
    ok(f"{where}: SIGHUP to its group ends both", gone(child))

    p = start(how, "sh", "-c", "setsid sleep 1000 & echo $!; exec sleep 1000")
    child = int(p.stdout.readline())
    must("it has left", until(lambda: os.getsid(child) == child), (os.getsid(child), child))
    os.killpg(p.pid, signal.SIGTERM)
    p.wait(WAIT)
    ok(
        f"{where}: a child that has left its group hears nothing",
        p.returncode == -signal.SIGTERM and until(lambda: state(child) == "S"),
        state(child),
    )
    os.kill(child, signal.SIGKILL)
    ok(f"{where}: its output ends with that child", (saw := collect(p)) == "", saw)

    p = start(how, "sh", "-c", "echo up")
    out = collect(p)
    ok(f"{where}: its group is empty when it has ended", empty(p.pid) and out == "up\n", out)

# A process of its own in the same group is not its child.
p = c.popen(
    0,
    [
        "sh",
        "-c",
        f"trap : TERM; {' '.join(AWAY)} sh -c '{FAMILY} wait' & wait $!; wait $!; echo $?",
    ],
    start_new_session=True,
    stderr=NULL,
)
child = int(p.stdout.readline())
os.killpg(p.pid, signal.SIGTERM)
out = p.communicate(timeout=WAIT)[0]
ok("a shell's group with a task in it", out == f"{128 + signal.SIGTERM}\n" and gone(child), out)

# Many at once, and no signal is lost or goes astray.
p, child = family(
    AWAY, "while :; do wait; done", "trap 'n=$((n+1))' USR1; trap 'echo $n; exit' USR2; "
)
for _ in range(20):
    os.kill(p.pid, signal.SIGUSR1)
ok(
    "its child has got none of the signals that are for it alone",
    until(lambda: state(child) == "S"),
    state(child),
)
os.kill(p.pid, signal.SIGUSR2)
p.wait(WAIT)
os.killpg(p.pid, signal.SIGKILL)
out = collect(p)
ok("it has got some of them", out.strip().isdigit() and int(out) > 0, out)
ok("its child ends with the group", gone(child))
ok("no task is left", until(lambda: not c.tasks(0)))

# ---- errors of the exec ----


def script(name, text, mode=0o755):
    with open(f"{work}/{name}", "w") as f:
        f.write(text)
    os.chmod(f"{work}/{name}", mode)
    return f"./{name}"


def run(how, *words, **more):
    """(status, output, errors)"""
    return outcome(start(how, *words, stderr=PIPE, **more))


def shell(text):
    """What bash says of it, without its own name in front."""
    status, out, err = run(["bash", "-c"], text)
    return status, out, err.split("line 1: ")[-1].removeprefix("bash: ")


with c.net.enter(1):
    there = os.readlink("/proc/self/ns/net")
AUTO = [f"{BUILD}/bin/ehctl", "exec", "--auto", "--"]

text = script("text", f"echo $0 $*; readlink /proc/self/ns/net\n")
got = run(AWAY, text, "a b")
ok("a script without #! is run by sh, there", got == (0, f"./text a b\n{there}\n", ""), got)
got = run(AUTO, text, "a")
ok(
    "--auto: a script without #! is run by sh",
    got[0] == 0 and "text a\n" in got[1] and got[2] == "",
    got,
)

for name, content, mode in (
    ("missing", "#!/no/such/interpreter -x\n", 0o755),
    ("forbidden", "#!/etc/passwd\n", 0o755),
    ("plain", "#!/bin/sh\n", 0o644),
):
    path = script(name, content, mode)
    here = shell(path)
    if name == "missing":
        # newer versions of bash say only that a file is required
        here = (
            127,
            "",
            "./missing: /no/such/interpreter: bad interpreter: No such file or directory\n",
        )
    away = run(AWAY, path)
    auto = run(AUTO, path)
    for how, got in ("exec 0.1", away), ("exec --auto", auto):
        ok(f"{how}: {name}: status {here[0]}", got[0] == here[0], got)
        ok(
            f"{how}: {name}: what a shell says",
            got[1] == "" and got[2].replace("0.1: ", "").endswith(here[2].lstrip("./")),
            (got, here),
        )
got = run(AWAY, "./nothing")
ok("no such program: 127", got[0] == 127 and "./nothing: " in got[2], got)

# Four descriptors: root's stub takes what it needs, others are told that it cannot.
few = [*AWAY, "sh", "-c", "ulimit -n; echo on"]
if run(["sh", "-c", "ulimit -n 4 && ulimit -n 16"])[0]:
    skip("ulimit -n 4, root", "root has no right here to raise it again")
else:
    got = run(["sh", "-c", 'ulimit -n 4; exec "$@"', "sh"], *few)
    ok("ulimit -n 4, root: it is that of the task", got == (0, "4\non\n", ""), got)
user = ["setpriv", "--reuid", "2001", "--regid", "2001", "--clear-groups"]
got = run(["sh", "-c", 'ulimit -Sn 4; exec "$@"', "sh", *user], *few)
ok("a soft limit of 4, a user", got == (0, "4\non\n", ""), got)
got = run(["sh", "-c", 'ulimit -n 4; exec "$@"', "sh", *user], *few)
ok("a hard limit of 4, a user: it says why", got[0] == 1 and "ulimit -n" in got[2], got)
got = run(
    ["sh", "-c", 'ulimit -n 4; exec "$@"', "sh", *user], *AUTO, "sh", "-c", "ulimit -n; echo on"
)
ok("a hard limit of 4, a user, --auto", got == (0, "4\non\n", ""), got)

for i in range(2):
    ok(f"agent {i} is well", c.alive(i), c.log(i))
done()
