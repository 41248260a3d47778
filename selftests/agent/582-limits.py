#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""guests-per-user: what an executor takes of one user, of all homes together. guests-per-node: of
one home, of all users."""

import os, signal, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from commands import EHCTL
from ktap import done, ok, skip_all
from rules import BASE, Site
from wait import WAIT, until

if os.geteuid():
    skip_all("only root can start processes of others")
c = Site(3)


def begin(home, uid, *script):
    """A task of this user on n2."""
    return c.popen(
        home,
        [EHCTL, "exec", "n2", "--", *(script or ("sh", "-c", "echo; exec sleep 1000"))],
        cwd="/",
        user=uid,
        group=uid,
        extra_groups=[],
    )


def holds(home, uid):
    """One that has started there."""
    p = begin(home, uid)
    p.stdout.readline()
    return p


def refused(name, home, uid):
    p = begin(home, uid, "true")
    out, err = p.communicate(timeout=WAIT)
    ok(name, p.returncode == 1 and "accepts at most 2" in err, (p.returncode, out, err))


def goes(name, home, uid):
    p = begin(home, uid, "true")
    out, err = p.communicate(timeout=WAIT)
    ok(name, p.returncode == 0, (p.returncode, out, err))


def end(p):
    p.terminate()
    p.communicate()


c.rule(2, "guests-per-user = 2")
first, second = holds(0, 2001), holds(1, 2001)
refused("a third one is refused, at one home", 0, 2001)
refused("a third one is refused, at the other home", 1, 2001)
goes("another user", 0, 2002)
end(first)
ok("one has ended: there is room for one", until(lambda: begin(1, 2001, "true").wait(WAIT) == 0))
again = holds(0, 2001)
refused("a third one is refused, again", 1, 2001)
c.end(2, signal.SIGKILL)
c.start(2, c.conf(2, settings=BASE + "guests-per-user = 2"), ready=False)
ok("the executor is back", c.all_up(range(3)), c.log(2))
ok(
    "and knows its guests",
    until(lambda: c.ask(2, {"command": "guests", "node": "n2"}).get("guests") == 2),
    c.ask(2, {"command": "guests", "node": "n2"}),
)
refused("a third one is refused, by another agent", 0, 2001)
end(second)
end(again)
many = [begin(n % 2, 2001) for n in range(12)]
ok(
    "many at once: two are left",
    until(lambda: sum(p.poll() is None for p in many) == 2),
    [p.poll() for p in many],
)
left = [p for p in many if p.poll() is None]
ok("and have started", all(p.stdout.readline() == "\n" for p in left))
for p in many:
    end(p)
c.rule(2, "guests-per-node = 2")
first, second = holds(0, 2001), holds(0, 2002)
refused("of one home: a third one is refused", 0, 2003)
goes("another home has its places", 1, 2001)
c.end(2, signal.SIGKILL)
c.start(2, c.conf(2, settings=BASE + "guests-per-node = 2"), ready=False)
ok("the executor is back again", c.all_up(range(3)), c.log(2))
ok(
    "and knows them",
    until(lambda: c.ask(2, {"command": "guests", "node": "n2"}).get("guests") == 2),
)
refused("of one home: a third one is refused, by another agent", 0, 2003)
end(first)
end(second)
many = [begin(0, 2001 + n % 3) for n in range(9)]
ok(
    "many of one home at once: two are left",
    until(lambda: sum(p.poll() is None for p in many) == 2),
    [p.poll() for p in many],
)
goes("and another one still has its places", 1, 2001)
for p in many:
    end(p)
c.rule(2)
three = [holds(0, 2001) for n in range(3)]
ok("without a rule there is none", all(p.poll() is None for p in three))
for p in three:
    end(p)
done()
