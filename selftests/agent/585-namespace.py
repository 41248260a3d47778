#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests with a pid namespace each (guest-pid-namespace), and without: what they see and reach, how
they end, and that agents are restarted under both."""

import os, signal, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, must, ok, skip_all
from tree import BUILD
from users import as_user
from wait import WAIT, until

if os.geteuid():
    skip_all("only root can make namespaces")
PIPE, NULL = subprocess.PIPE, subprocess.DEVNULL
BASE = "heartbeat = 1000\nthreshold-floor = 20.0\ntime-limit = 10000\nlink-idle = 60000\n"


class Hosts(Cluster):
    """Node 1 has the option, node 0 has not."""

    def conf(self, i, **more):
        return super().conf(
            i, **{"settings": BASE + f"guest-pid-namespace = {'true' if i else 'false'}\n", **more}
        )


c = Hosts(2)
os.chmod(c.dir, 0o755)
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def begin(*words, node="n1", view=None, **more):
    return c.popen(
        1 - int(node[1]),
        [
            os.path.join(BUILD, "bin", "ehctl"),
            "exec",
            *(["--view", view] if view else []),
            node,
            "--",
            *words,
        ],
        cwd="/",
        **as_user(2001),
        **more,
    )


def run(*words, **more):
    out, err = (p := begin(*words, **more)).communicate(timeout=WAIT)
    return p.returncode, out, err


def namespace(pid):
    return os.readlink(f"/proc/{pid}/ns/pid")


def guests(node=1):
    return [t for t in c.tasks(node) if t["reason"] == "guest"]


LOOK = (
    "echo $$ $PPID; readlink /proc/self/ns/pid; ls /proc | grep -c '^[0-9]'; kill -0 %d; echo $?"
    % os.getpid()
)


def look(node, **more):
    got = run("sh", "-c", LOOK, node=node, **more)
    lines = got[1].split("\n")
    return (
        (got, *map(int, lines[0].split()), lines[1], int(lines[2]), got[2])
        if len(lines) == 5
        else (got, 0, 0, "", 0, "")
    )


got, pid, parent, space, count, err = look("n0")
ok(
    "without: its processes are the host's",
    parent > 1 and space == namespace("self") and "not permitted" in err.lower(),
    got,
)
for view in [None] + ["home"] * os.path.exists("/dev/fuse"):
    got, pid, parent, space, count, err = look("n1", view=view)
    where = f", view {view}" if view else ""
    ok(f"with{where}: ehguest is its first process", parent == 1 and pid > 1, got)
    ok(f"with{where}: a namespace of its own", space and space != namespace("self"), got)
    ok(
        f"with{where}: it sees no process of the host, and reaches none",
        0 < count < 6 and "no such process" in err.lower(),
        got,
    )
got = run("sh", "-c", "unshare -Ur umount /proc; ls /proc | grep -c '^[0-9]'")
ok("what is below its /proc stays there", got[1].strip().isdigit() and int(got[1]) < 6, got)
ok(
    "nothing is mounted for the host",
    sum(" /proc " in line for line in open("/proc/mounts"))
    == sum(" /proc " in line for line in open(f"/proc/{c.agents[1].pid}/mounts")),
    open("/proc/mounts").read(),
)

# ---- signals, statuses, orphans ----

got = run("sh", "-c", "exit 7")
ok("its status", got[0] == 7, got)
for sig in signal.SIGTERM, signal.SIGINT, signal.SIGKILL:
    p = begin("sh", "-c", "echo up; read x", stdin=PIPE)
    p.stdout.readline()
    p.send_signal(sig)
    ok(f"{sig.name} ends it", p.wait(WAIT) in (-sig, 128 + sig), p.returncode)
got = run("sh", "-c", "trap 'echo caught; exit 3' USR1; kill -USR1 $$; exit 4")
ok("a handler of its own", got[:2] == (3, "caught\n"), got)
got = run(
    "sh",
    "-c",
    "child=$(sleep 0.1 >&- & echo $!)\nwhile [ -e /proc/$child ]; do sleep 0.05; done; echo $?",
)
ok("orphans are reaped", got[1] == "0\n", got)

# ---- agents come and go ----

p = begin("sh", "-c", "echo up; read x; echo $x; exit 5", stdin=PIPE)
ok(
    "a guest",
    p.stdout.readline() == "up\n" and until(lambda: guests() and guests()[0]["state"] == "running"),
    guests(),
)
shown = guests()[0]["pid"]
ok(
    "the agent shows a process of the host: its ehguest",
    namespace(shown) == namespace("self") or open(f"/proc/{shown}/comm").read() == "ehguest\n",
    shown,
)
line = next(x for x in open(f"/proc/{shown}/status") if x.startswith("NSpid:")).split()
ok("which is the first there", line[1:] == [str(shown), "1"], line)
for sig in signal.SIGTERM, signal.SIGKILL:
    c.again([1], sig)
    ok(
        f"its agent, ended by {sig.name}, and ehlaunch: the next one has it",
        c.all_up(range(2)) and until(lambda: [g["pid"] for g in guests()] == [shown]),
        (guests(), c.log(1)[-2000:]),
    )
out, err = p.communicate("on\n", timeout=WAIT)
ok("it goes on", (p.returncode, out) == (5, "on\n"), (p.returncode, out, err))
p = begin("sh", "-c", "setsid sleep 1000 & echo up; read x", stdin=PIPE)
p.stdout.readline()
must("it runs", until(lambda: [g["state"] for g in guests()] == ["running"]), guests())
inside = guests()[0]["pid"]


def sleeps():
    """The process that is left, as the host sees it."""
    for d in filter(str.isdigit, os.listdir("/proc")):
        try:
            if (
                open(f"/proc/{d}/cmdline", errors="replace").read() == "sleep\0001000\0"
                and namespace(d) == space
            ):
                return int(d)
        except OSError:
            pass  # it has ended meanwhile
    return None


space = os.readlink(f"/proc/{inside}/ns/pid")
sleeper = until(sleeps)
ok("a process of another session", sleeper, guests())
os.kill(inside, signal.SIGKILL)
ok(
    "when ehguest is killed, so is all in its namespace",
    until(lambda: not os.path.exists(f"/proc/{sleeper}")),
    sleeper,
)
ok("and home hears of it", p.wait(WAIT) != 0, p.returncode)
done()
