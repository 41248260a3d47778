#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Who a task is for the kernel goes with it: audit's login user id. One with no_new_privs stays,
unless the site lets it go. The home agent knows both of the stub's process and believes nothing
that the stub says; an executor that cannot set the login user id does not start it."""

import ctypes, os, signal, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import player
from cluster import Cluster
from commands import STUB
from ktap import done, ok, skip_all
import proc
from wait import until

UNSET = 4294967295
JOB_NO_NEW_PRIVS = 64
PIPE, NULL = subprocess.PIPE, subprocess.DEVNULL
libc = ctypes.CDLL(None, use_errno=True)


def log_in(uid):
    with open("/proc/self/loginuid", "w") as f:
        f.write(str(uid))


def no_new_privs():
    libc.prctl(38, 1, 0, 0, 0)


def may_log_in():
    """Whether a process here may have the login user id that it wants, also if it has one."""
    pid = os.fork()
    if not pid:
        try:
            log_in(1233)
            log_in(1234)
            os._exit(0)
        except OSError:
            os._exit(1)
    return not os.waitpid(pid, 0)[1]


if not may_log_in():
    skip_all("this kernel has no audit, or does not let root set a login user id")

# thresholds make a node a sender here, which sends the same short program again and again
c = Cluster(2, 'policy = "eta"\nlearn = false\ntime-limit = 10000\ndwell = 0')
ok("two agents", c.start_all(), c.log(0) + c.log(1))
SHOW = (
    "cat /proc/self/loginuid; echo; grep NoNewPrivs /proc/self/status; readlink /proc/self/ns/net;"
    " echo $$"
)


def shown(out):
    login, nnp, where = out.decode().split("\n")[:3]
    return int(login), int(nnp.split()[1]), where


def run(node="@0.1", before=None):
    p = c.call(0, [STUB, node, "/bin/sh", "sh", "-c", SHOW], preexec_fn=before, text=False)
    return p.returncode, p.stdout, p.stderr


with c.net.enter(0):
    here = os.readlink("/proc/self/ns/net")
with c.net.enter(1):
    there = os.readlink("/proc/self/ns/net")
agents_own = int(open(f"/proc/{c.agents[1].pid}/loginuid").read())

code, out, err = run(before=lambda: log_in(1234))
ok(
    "the login user id is that of home",
    code == 0 and shown(out) == (1234, 0, there),
    (code, out, err),
)
code, out, err = run(before=lambda: log_in(UNSET))
ok(
    "where nobody has logged in it is left alone",
    code == 0 and shown(out) == (agents_own, 0, there),
    (code, out, err),
)
code, out, err = run(before=no_new_privs)
ok(
    "one with no_new_privs stays",
    code == 1 and not out and b"(no-new-privs)" in err,
    (code, out, err),
)


code, out, err = run(before=lambda: (os.setgroups(range(3000, 4500)), log_in(1234)))
ok("who is in 1500 groups goes", code == 0 and shown(out) == (1234, 0, there), (code, out, err))
code, out, err = run(before=lambda: (os.setgroups(range(3000, 4500)), no_new_privs(), log_in(1234)))
ok(
    "but not with no_new_privs",
    code == 1 and not out and b"(no-new-privs)" in err,
    (code, out, err),
)


def lie(login, nnp, say_login, say_nnp):
    """What a task shows, whose stub is played by a process with these attributes that says
    others."""
    got = player.lie(
        c,
        lambda: (log_in(login), nnp and no_new_privs()),
        b"sh",
        b"-c",
        SHOW.encode(),
        login=say_login,
        flags=7 | (JOB_NO_NEW_PRIVS if say_nnp else 0),
    )
    return shown(got) if got else got


got = lie(1234, False, 4321, True)
ok("what the stub says of itself does not count", got == (1234, 0, there), got)
got = lie(1234, True, UNSET, False)
ok("nor what it keeps to itself: it stays", got == b"", got)

# An executor that has a login user id itself, and no right to change it.
c.end(1)
c.wrap(1, "echo 55 >/proc/self/loginuid", by="setpriv --bounding-set -audit_control", root=True)
c.launch(1)
c.start(1)
ok("the executor is back", c.all_up(range(2)), c.log(1))
code, out, err = run(before=lambda: log_in(55))
ok(
    "who has logged in here, too, may come",
    code == 0 and shown(out) == (55, 0, there),
    (code, out, err),
)
code, out, err = run(before=lambda: log_in(1234))
ok(
    "it does not start under another's name",
    code == 1 and not out and b"cannot set its login user id" in err,
    (code, out, err),
)
ok(
    "the executor's log says so",
    c.logged(1, "does not start here: cannot set its login user id.*Operation not permitted"),
    c.log(1),
)

# Placed by the hierarchy, it runs at home then: node 0 is made a sender by a task that stays.
for i in range(2):
    c.ask(i, {"command": "set", "threshold": 500, "length": 0, "load-index": "tasks"})
stays = c.popen(0, [STUB, "@auto", "/bin/sleep", "sleep", "1000"], stdout=None, stderr=None)


def states():
    return {n["code"]: n["state"] for n in c.status(0)["nodes"]}


ok(
    "one node is a sender, the other takes tasks",
    until(lambda: states() == {"0.0": "sender", "0.1": "receiver"}),
    states(),
)
code, out, err = run("@auto", before=lambda: log_in(1234))
ok("it runs at home", code == 0 and shown(out) == (1234, 0, here), (code, out, err))
why = c.ask(0, {"command": "why", "id": out.decode().split()[-1]})
steps = [s["what"] for s in why.get("steps", [])]
ok(
    "ehctl why says why",
    "n1 refuses: start-failed" in steps and any("cannot set its login user id" in s for s in steps),
    why,
)
stays.kill()
stays.wait()

# The executor's rules, which its agent gives to ehlaunch, also when they change.


def options():
    """Of node 1's ehlaunch."""
    return proc.words(c.launchers[1].pid).split()[1:]


def user(uid):
    def become():
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)

    return become


for i in range(2):
    c.ask(i, {"command": "set", "threshold": 4000})
code, out, err = run(before=user(2001))
ok("an ordinary user may come", code == 0 and shown(out)[2] == there, (code, out, err))
code, out, err = run(before=user(1))
ok("a user of the system may not", code == 1 and b"uid-min" in err, (code, out, err))
c.conf(1, settings='uid-min = 2002\nallow-users = { "daemon" }')
before = options()
c.agents[1].send_signal(signal.SIGHUP)
ok(
    "a reload gives ehlaunch the new rules",
    until(lambda: "--uid-min 2002" in (w := " ".join(options())) and "--allow-user daemon" in w),
    (before, options()),
)
code, out, err = run(before=user(1))
ok("now the user of the system may", code == 0 and shown(out)[2] == there, (code, out, err))
code, out, err = run(before=user(2001))
ok("and the other one may not", code == 1 and b"uid-min" in err, (code, out, err))
code, out, err = run(before=user(2009))
ok("nor who has no name", code == 1 and b"unknown" in err, (code, out, err))
done()
