#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""admin-group: its members may drain, set and cancel, and see all tasks, without being root. Nobody
else may."""

import json, os, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, ok, skip_all
from tree import BUILD
from wait import WAIT, until

if os.geteuid():
    skip_all("only root can start processes of others")
EHCTL = os.path.join(BUILD, "bin", "ehctl")
GROUP = 3001
RULE = f'admin-group = "ehg{GROUP}"'
BASE = "heartbeat = 1000\n"
c = Cluster(2, BASE + RULE)
ADMIN, USER = 2002, 2003  # the first has the group as one of its process


def start(i, *words, uid=0, groups=(), gid=None):
    return c.popen(
        i,
        [EHCTL, *words],
        cwd="/",
        user=uid,
        group=uid if gid is None else gid,
        extra_groups=list(groups),
    )


def ehctl(i, *words, **who):
    p = start(i, *words, **who)
    out, err = p.communicate(timeout=WAIT)
    return p.returncode, out, err


def admin(i, *words):
    return ehctl(i, *words, uid=ADMIN, groups=(5, GROUP))


def user(i, *words):
    return ehctl(i, *words, uid=USER, groups=(5,))


def task(*options):
    p = start(
        0,
        "exec",
        *options,
        "--",
        "sh",
        "-c",
        "readlink /proc/self/ns/net; exec sleep 1000",
        uid=2001,
    )
    return p, p.stdout.readline().strip()


def tasks(i, who):
    return [t["id"] for t in json.loads(who(i, "tasks", "--json")[1])["tasks"]]


def none(i):
    return until(lambda: not c.tasks(i))


ok("two agents", c.start_all(), c.log(0))
with c.net.enter(0):
    near = os.readlink("/proc/self/ns/net")
with c.net.enter(1):
    far = os.readlink("/proc/self/ns/net")

# ---- what it may ----

orders = (["set", "threshold=7"], ["drain", "n0", "--wait"], ["undrain", "n0"], ["owner", "off"])
for words in orders:
    got = user(0, *words)
    ok(
        f"{words[0]}: not everybody",
        got[0] == 1 and ("admin-group" in got[2] or "owners" in got[2]),
        got,
    )
for words in orders:
    got = admin(0, *words)
    ok(f"{words[0]}: a member", got[0] == 0, got)
got = ehctl(0, "set", "threshold=8", uid=ADMIN, gid=GROUP)
ok("who has it as the first group", got[0] == 0, got)
node = c.status(0)["nodes"][0]
ok("and it is so", node["threshold"] == 8.0 and not node["draining"], node)
for words in ["leave"], ["reload"], ["invite"], ["revoke", "n1"]:
    got = admin(0, *words)
    ok(
        f"{words[0]} stays root's",
        got[0] == 1 and "permitted for root only" in got[2] and "admin-group" not in got[2],
        got,
    )
ok(
    "the node has not left",
    c.alive(0) and not c.status(0)["nodes"][0]["draining"],
)

# ---- tasks of others ----

first, where = task("n1")
ok("a task of somebody else", where == far, where)
for i in 0, 1:
    ok(f"n{i}: it is shown to members", len(tasks(i, admin)) == 1, tasks(i, admin))
    ok(f"n{i}: and to nobody else", not tasks(i, user), tasks(i, user))
id = tasks(0, admin)[0]
for i in 0, 1:
    got = user(i, "cancel", id)
    ok(
        f"n{i}: others cannot end it",
        got[0] == 1 and "belongs to another user" in got[2] and first.poll() is None,
        got,
    )
got = admin(0, "cancel", "--json", id)
ok(
    "members can, at home",
    got[0] == 0 and json.loads(got[1])["cancelled"] == [{"what": "task", "id": id, "killed": True}],
    got,
)
first.communicate(timeout=WAIT)
ok("it has ended at both ends", first.returncode != 0 and none(0) and none(1), first.returncode)
second, where = task("n1")
got = admin(1, "cancel", tasks(1, admin)[0])
second.communicate(timeout=WAIT)
ok(
    "and where it runs",
    got[0] == 0 and second.returncode != 0 and none(0) and none(1),
    (got, second.returncode),
)
for i in 0, 1:  # whatever else this machine does
    c.ask(i, {"command": "set", "threshold": 20000, "load-index": "tasks", "time-limit": 10000})
third, where = task("--auto")
ok("one that has stayed", where == near and len(tasks(0, admin)) == 1, where)
got = admin(0, "cancel", tasks(0, admin)[0])
ok(
    "is its user's and root's to end",
    got[0] == 1 and "only its user and root" in got[2] and third.poll() is None,
    got,
)
third.terminate()
third.communicate()
session = start(0, "run", "-n", "build", "--", "sleep", "1000", uid=2001)
ok("a session", until(lambda: ehctl(0, "cancel", "build", uid=USER)[2].count("another user")))
got = admin(0, "cancel", "build")
ok("likewise", got[0] == 1 and "belongs to another user" in got[2] and session.poll() is None, got)
session.terminate()
session.communicate()

# ---- without the rule ----

for rule, name in ("", "no group"), (
    'admin-group = "ehs-no-such-group"',
    "a group that does not exist",
):
    c.conf(0, settings=BASE + rule)
    answer = c.ask(0, {"command": "reload"})
    ok(name, answer == {"version": 1}, answer)
    got = admin(0, "set", "threshold=9")
    ok(f"{name}: root only", got[0] == 1 and "permitted for root only" in got[2], got)
done()
