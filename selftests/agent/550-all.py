#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl run --all, exec --auto --all: what may go does, though home is idle; what stays has a
reason."""

import ctypes, os, signal, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, ok, skip
from tree import BUILD
from wait import WAIT, until

EHCTL = os.path.join(BUILD, "bin", "ehctl")
WHERE = "readlink /proc/self/ns/net"
AWAY = f"{EHCTL} exec --auto --all --"
c = Cluster(
    2, 'exclude = { "/usr/bin/sha1sum", "/bin/sha1sum" }\nheartbeat = 1000\nthreshold-floor = 20.0'
)


def room():
    """Nobody is overloaded, and by their number of tasks, not by what else this machine does."""
    for i in sorted(c.agents):
        c.ask(
            i,
            {
                "command": "set",
                "threshold": 20000,
                "length": 0,
                "load-index": "tasks",
                "time-limit": 10000,
            },
        )
    return until(
        lambda: all(
            n.get("state") in (None, "receiver", "ok") and n.get("threshold") in (None, 20.0)
            for n in c.status(0)["nodes"]
        )
    )


def run(*words, **more):
    p = c.popen(0, [EHCTL, *words], cwd="/", **more)
    out, err = p.communicate(timeout=WAIT)
    return p.returncode, out, err, p.pid


def sh(script):
    """A shell at home."""
    p = c.call(0, ["/bin/sh", "-c", script], cwd="/")
    return p.stdout.splitlines(), p.stderr.splitlines(), p.returncode


def placed():
    return sum(e["tasks"] for e in c.status(0)["placed"] if e["executor"] == "0.1")


ok("two agents", c.start_all() and room(), c.log(0) + c.log(1))
with c.net.enter(0):
    near = os.readlink("/proc/self/ns/net")
with c.net.enter(1):
    far = os.readlink("/proc/self/ns/net")

# what --auto alone does
got = run("exec", "--auto", "--", "sh", "-c", WHERE)
ok(
    "exec --auto: home is idle, it stays",
    got[:2] == (0, near + "\n") and c.why(0, got[3])["reason"] == "not-sender",
    (got, c.why(0, got[3])),
)

got = run("exec", "--auto", "--all", "--", "sh", "-c", WHERE)
ok("exec --auto --all: it leaves", got[:2] == (0, far + "\n"), got)
said = c.why(0, got[3])
ok(
    "why says so",
    said["reason"] in ("auto", "credit")
    and said["executor"] == "0.1"
    and any("--all" in step["what"] for step in said["steps"]),
    said,
)
got = run("run", "--all", "--", "sh", "-c", f"{WHERE}; exit 7")
ok(
    "run --all, without the module: the command leaves, with its status",
    got[:2] == (7, far + "\n"),
    got,
)
got = run("run", "--all", "--", "sh", "-c", f"{WHERE} | cat | sort | {{ cat; {WHERE}; }}")
ok("and all of its pipeline", got[:2] == (0, (far + "\n") * 2), got)
got = run("run", "--", "sh", "-c", WHERE)
ok("run without it: it stays", got[:2] == (0, near + "\n"), got)

# each task of pipelines at home
before = placed()
out, err, status = sh(
    f"""
for i in 1 2 3 4 5; do
    echo $i | {AWAY} sh -c '{WHERE} >&2; cat' | {AWAY} sh -c '{WHERE} >&2; sed s/$/x/' |
        {AWAY} sh -c '{WHERE} >&2; tr x y'
done"""
)
ok(
    "three tasks of five pipelines: all leave",
    err == [far] * 15 and placed() - before == 15,
    (err, placed() - before),
)
ok("and what they do is right", (out, status) == ([f"{i}y" for i in range(1, 6)], 0), (out, status))
out, err, status = sh(f"for i in 1 2 3 4 5 6 7 8; do {AWAY} sh -c '{WHERE}; exit 3' & done; wait")
ok("eight at a time", out == [far] * 8, (out, err))

if os.path.exists(c.cgroup(1)):
    before = c.status(1)["placed"]
    got = run(
        "exec",
        "--auto",
        "--all",
        "--",
        "sh",
        "-c",
        f"{AWAY} sh -c '{WHERE}'; {AWAY} sh -c '{WHERE}'",
    )
    ok(
        "a guest's own tasks stay with it",
        got[:2] == (0, (far + "\n") * 2) and c.status(1)["placed"] == before,
        (got, before),
    )
else:
    skip("a guest's own tasks stay with it", "no cgroup 2: an agent does not know its guests")

# what stays has a reason
libc = ctypes.CDLL(None, use_errno=True)
TRACEME, CONT = 0, 7


def traced(*words):
    """The output of a command of ehctl with a tracer, which lets it go on at each exec."""
    r, w = os.pipe()
    with c.net.enter(0):
        pid = os.fork()
        if not pid:
            try:
                os.dup2(w, 1)
                libc.ptrace(TRACEME, 0, None, None)
                os.execv(EHCTL, [EHCTL, *words])
            finally:
                os._exit(126)
    os.close(w)
    while True:
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            break
        sig = os.WSTOPSIG(status)
        libc.ptrace(CONT, pid, None, ctypes.c_long(0 if sig == signal.SIGTRAP else sig))
    with os.fdopen(r) as out:
        return os.waitstatus_to_exitcode(status), out.read()


got = traced("exec", "--auto", "--all", "--", "readlink", "/proc/self/ns/net")
ok("a task that is traced stays", got == (0, near + "\n"), got)
got = traced("exec", "0.1", "--", "readlink", "/proc/self/ns/net")
ok("and is refused if its user names a node", got == (1, ""), got)
got = run("exec", "--auto", "--all", "--", "sha1sum", "/dev/null")
ok(
    "an excluded program stays",
    got[0] == 0 and c.why(0, got[3])["reason"] == "excluded",
    (got, c.why(0, got[3])),
)
got = run("exec", "--auto", "--all", "--", "/nonexistent")
ok("a program that is not there", got[0] == 127, got)
c.ask(0, {"command": "drain", "node": "0.1"})
ok("the other node drains", until(lambda: c.status(0)["nodes"][1]["draining"]))
got = run("exec", "--auto", "--all", "--", "sh", "-c", WHERE)
ok(
    "it stays then",
    got[:2] == (0, near + "\n") and c.why(0, got[3])["reason"] in ("no-receiver", "draining"),
    (got, c.why(0, got[3])),
)
c.ask(0, {"command": "undrain", "node": "0.1"})
ok(
    "and leaves again",
    until(lambda: run("exec", "--auto", "--all", "--", "sh", "-c", WHERE)[1] == far + "\n"),
)
c.ask(1, {"command": "set", "threshold": 0})
ok(
    "the other node has no room",
    until(lambda: c.status(0)["nodes"][1]["threshold"] == 0),
)
# thresholds say what is overloaded
c.conf(0, settings=c.settings + '\npolicy = "eta"')
c.ask(0, {"command": "reload"})
hold = None
hold = c.popen(
    1,
    [os.path.join(BUILD, "bin", "ehstub"), "@auto", "/bin/sleep", "sleep", "1000"],
    stdout=None,
    stderr=None,
)
busy = until(lambda: c.status(0)["nodes"][1]["state"] == "sender")
got = run("exec", "--auto", "--all", "--", "sh", "-c", WHERE)
ok(
    "an overloaded node is given nothing",
    busy and got[1] == near + "\n" and c.why(0, got[3])["reason"] == "no-receiver",
    (busy, got, c.why(0, got[3])),
)
hold.kill()
hold.wait()
c.conf(0)
c.ask(0, {"command": "reload"})
ok(
    "there is room again",
    room()
    and until(lambda: run("exec", "--auto", "--all", "--", "sh", "-c", WHERE)[1] == far + "\n"),
)

# the other node does not answer
c.ask(0, {"command": "set", "time-limit": 1500})
c.agents[1].send_signal(signal.SIGSTOP)
began = time.monotonic()
got = run("exec", "--auto", "--all", "--", "sh", "-c", WHERE)
took = time.monotonic() - began
c.agents[1].send_signal(signal.SIGCONT)
ok(
    "as long as ehctl set says it is waited for",
    got[:2] == (0, near + "\n") and took >= 1.4,
    (got, took, c.why(0, got[3])),
)
ok(
    "and then it answers",
    room()
    and until(lambda: run("exec", "--auto", "--all", "--", "sh", "-c", WHERE)[1] == far + "\n"),
)

# the other node is gone
c.end(1, signal.SIGKILL)
out, err, status = sh(
    f"""
for i in 1 2 3; do
    echo $i | {AWAY} sh -c 'echo $$ >&2; {WHERE} >&2; cat' |
        {AWAY} sh -c 'echo $$ >&2; {WHERE} >&2; sed s/$/x/'
done"""
)
pids = [int(line) for line in err if line.isdigit()]
reasons = [c.why(0, pid) for pid in pids]
ok(
    "the other node is gone: all stay, and do the same",
    (out, status) == (["1x", "2x", "3x"], 0)
    and [line for line in err if not line.isdigit()] == [near] * 6,
    (out, err),
)
ok(
    "each with a reason",
    len(pids) == 6
    and all(
        r.get("executor") == "0.0"
        and r.get("reason") in ("no-receiver", "unreachable", "no-controller", "time-out")
        for r in reasons
    ),
    reasons,
)
done()
