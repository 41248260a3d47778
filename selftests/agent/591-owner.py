#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl owner: who says that he needs a node has it for himself; who types there, too, if the site
wishes that."""

import json, os, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from commands import EHCTL
from ktap import done, ok, skip_all
from rules import Site
from wait import WAIT, until

if os.geteuid():
    skip_all("only root can start processes of others")
c = Site(2)
OWNER = 100000 + os.getpid()  # terminals of the users of other tests do not count then
MINE = f'owners = {{ "{OWNER}" }}'


def start(i, *words, uid=0):
    return c.popen(i, [EHCTL, *words], cwd="/", user=uid, group=uid, extra_groups=[])


def ehctl(i, *words, uid=0):
    p = start(i, *words, uid=uid)
    out, err = p.communicate(timeout=WAIT)
    return p.returncode, out, err, p.pid


def drains(i, wanted=True):
    return until(lambda: c.status(i)["nodes"][1]["draining"] == wanted)


def owner(uid=0):
    code, out, err, _ = ehctl(1, "owner", "--json", uid=uid)
    return json.loads(out) if not code else err


def goes(name):
    got = ehctl(0, "exec", "n1", "--", "true")
    ok(name, got[0] == 0, got)


def refused(name, text, reason):
    got = ehctl(0, "exec", "n1", "--", "true")
    why = c.ask(0, {"command": "why", "id": str(got[3])})
    ok(name, got[0] == 1 and text in got[2] and why.get("reason") == reason, (got, why))


def guest(*options):
    p = start(0, "exec", *options, "--", "sh", "-c", "readlink /proc/self/ns/net; exec sleep 1000")
    return p, p.stdout.readline().strip()


near, far = sorted(c.where, key=c.where.get)

# ---- who may ----

got = owner()
ok(
    "at first nobody needs it",
    got
    == {
        "version": 1,
        "node": "0.1",
        "host": "n1",
        "mode": "auto",
        "active": False,
        "idle": None,
        "guests": 0,
    },
    got,
)
got = ehctl(1, "owner", "on", uid=2001)
ok("not everybody may say so", got[0] == 1 and "owners" in got[2] and not owner()["active"], got)
c.rule(1, MINE)
got = ehctl(1, "owner", "on", uid=2002)
ok("nor any other user", got[0] == 1 and not owner()["active"], got)
ok("but all may look", owner(2002)["mode"] == "auto", owner(2002))

# ---- on and off ----

one, where = guest("n1")
ok("a guest", where == far, where)
got = ehctl(1, "owner", "on", uid=OWNER)
ok("its owner may", got[:2] == (0, "n1 (on): its owner uses it, no new guests; 1 is left\n"), got)
ok("all nodes see that", drains(0) and drains(1))
node = c.status(0)["nodes"][1]
ok(
    "why and who",
    node["drain"]["by"] == f"{OWNER}@n1" and node["drain"]["reason"] == "its owner uses it",
    node,
)
refused("no new guests", "node n1 is draining: its owner uses it", "owner")
got = ehctl(0, "exec", "--auto", "--all", "--", "readlink", "/proc/self/ns/net")
ok("one that is to leave stays at home", got[:2] == (0, near + "\n"), got)
ok("the guest goes on", one.poll() is None and owner()["guests"] == 1)
ehctl(1, "undrain", "n1")
ok("undrain is not for that", drains(1) and owner()["active"], owner())
ehctl(1, "drain", "n1", "--reason", "repairs")
refused("administrators have their own reason", "node n1 is draining: repairs", "draining")
got = ehctl(1, "owner", "off", uid=OWNER)
ok("off: not what administrators said", got[0] == 0 and drains(1) and not owner()["active"], got)
ehctl(1, "undrain", "n1")
ok("nobody needs it", drains(0, False) and drains(1, False))
goes("guests come again")

# ---- now ----

got = ehctl(1, "owner", "on", "--now", uid=OWNER)
out, err = one.communicate(timeout=WAIT)
ok(
    "on --now: the guest has ended, and home says so",
    one.returncode != 0 and until(lambda: owner()["guests"] == 0),
    (one.returncode, err, owner()),
)
ehctl(1, "owner", "off", uid=OWNER)
ok("guests may come", drains(0, False))
again, where = guest("--auto", "--all", "--retry")
ok("a guest that may be run again", where == far, where)
ehctl(1, "owner", "on", "--now", uid=OWNER)
ok("it runs again, at home", (saw := again.stdout.readline().strip()) == near, saw)
again.kill()
again.communicate()
ehctl(1, "owner", "auto", uid=OWNER)
ok("auto, and nobody looks", drains(0, False) and owner()["mode"] == "auto", owner())

# ---- what owners type ----

master, slave = os.openpty()
name = os.ttyname(slave)
os.chown(slave, OWNER, 5)


def typed(ago):
    """As if the last read of the terminal were so many seconds ago."""
    os.utime(name, (time.time() - ago, time.time()))


typed(5000)
c.rule(1, MINE, "owner-idle = 3000")
ok("idle for longer", owner()["idle"] >= 5000 and not owner()["active"], owner())
typed(0)
ok("a terminal is used: no new guests", drains(0) and drains(1), owner())
node = c.status(1)["nodes"][1]
ok("and who it is", node["drain"]["by"] == f"{OWNER}@n1", node)
refused("no new guests", "its owner uses it", "owner")
typed(5000)
ok("not any more", drains(0, False) and drains(1, False), owner())
os.write(master, b"x\n")
os.read(slave, 2)
ok("what is typed counts, as the kernel notes it", drains(1) and owner()["idle"] < 3000, owner())
ehctl(1, "owner", "off", uid=OWNER)
ok("off: it does not count", drains(1, False))
goes("guests come")
ehctl(1, "owner", "auto", uid=OWNER)
ok("auto: it counts at once", drains(1))
os.chown(slave, 2002, 5)
ok("a terminal of another user does not", drains(1, False), owner())
os.chown(slave, OWNER, 5)
ok("its own does", drains(1))
c.rule(1, MINE)
ok("a reload ends it", drains(1, False), owner())
c.rule(1, MINE, "owner-idle = 3000")
ok("a reload begins it", drains(1), owner())
os.close(slave)
os.close(master)
ok("the terminal has gone", drains(1, False), owner())
done()
