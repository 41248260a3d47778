#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of gangs from a member that lies: it speaks for no other, takes what is another's from
nobody, and keeps nothing for ever."""

import json, os, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from gangs import LEASE, LONG, Gangs
from ktap import done, ok
from netns import address
from wait import WAIT, until

LIAR = 3  # has a certificate and a place, but no agent
rest = list(range(LIAR))
c = Gangs(4, f"gang-lease = {LEASE}")
cert = os.path.join(c.dir, "cert")
for i in rest:
    c.start(i)
ok("three agents", c.all_up(rest), c.log(0)[-2000:])

# ---- who may say what ----

links = {}


def say(i, body):
    for again in True, False:
        try:
            if i not in links:
                h = http2.Client(http2.connect(c.net, LIAR, address(i), cert, f"n{LIAR}"))
                assert h.hello(node=c.code(LIAR)) == 200
                links[i] = h
            status, data = links[i].request("POST", "/v1/gang", body)
            return status, json.loads(data or b"{}")
        except (EOFError, OSError):
            links.pop(i, None)
            if not again:
                raise


request = {"type": "request", "gang": 5, "threshold": 2, "level": 1, "home": c.code(LIAR)}
ok(
    "a request in another's name is refused",
    (saw := say(0, {**request, "home": c.code(1)})[0]) == 403,
    saw,
)
ok("one to who is not the top", (saw := say(1, request)[0]) == 409, saw)
ok(
    "one that only the controller above may send",
    (saw := say(1, {**request, "level": 0})[0]) == 403,
    saw,
)
for name, value in (
    ("level", 9),
    ("level", -1),
    ("gang", 0),
    ("gang", 1 << 60),
    ("gang", "x"),
    ("threshold", -1),
    ("threshold", 1e300),
    ("threshold", None),
    ("home", "0.9"),
    ("home", "0"),
    ("type", "x"),
):
    got = say(0, {**request, name: value})
    if got[0] != 400:
        ok(f"{name} {value} is refused", False, got)
        break
else:
    ok("numbers out of bounds are refused", True)
occupy = {"type": "occupy", "gang": 5, "stamp": 1, "lease": 1000, "offer": 1}
for name, value in (
    ("stamp", 0),
    ("stamp", -1),
    ("lease", -1),
    ("lease", 1 << 40),
    ("offer", 0),
    ("offer", 1 << 60),
    ("gang", None),
):
    got = say(0, {**occupy, name: value})
    if got[0] != 400:
        ok(f"{name} {value} is refused", False, got)
        break
else:
    ok("the same of an occupation", True)
ok(
    "what was never offered cannot be occupied",
    (saw := say(0, {**occupy, "offer": 1 << 52})[0]) == 409,
    saw,
)

p = c.begun("robbed", 2)
mine = c.own(1)["gangs"][0]["id"]
for i in rest:
    say(i, {"type": "release", "gang": mine})
    say(i, {**occupy, "gang": mine, "stamp": 1 << 50})
now = c.leases(rest)
ok(
    "nobody releases or takes what is another's",
    len(now) == len(rest) and set(now.values()) == {(c.code(2), False)},
    now,
)
open(c.go, "w").close()
out, err = p.communicate(timeout=LONG)
ok("that job ends well", p.returncode == 0, err)
c.free(among=rest)

got = say(0, request)
ok(
    "the liar's own request: every host offers itself",
    got[0] == 200 and len(got[1].get("offers", [])) == len(rest),
    got,
)
number = next(o["offer"] for o in got[1]["offers"] if o["node"] == c.code(0))
taken = say(0, {**occupy, "offer": number, "stamp": 1, "lease": 1 << 31})
ok(
    "a lease is no longer than the host's bound",
    taken[0] == 200 and taken[1]["lease"] == LEASE,
    taken,
)
ok(
    "an older stamp does not renew it",
    (saw := say(0, {**occupy, "offer": number, "stamp": 1, "lease": 1000})[1].get("stamp")) == 1,
    saw,
)
turn = 100


def kept():
    """Whether it keeps n2: it has released what it was offered, and asks again at once."""
    global turn, got
    for i in rest:
        say(i, {"type": "release", "gang": turn})
    turn += 1
    got = say(0, {**request, "gang": turn})
    return any(o["node"] == c.code(2) for o in got[1].get("offers", []))


say(2, {"type": "release", "gang": 5})
ok("who releases what it was offered and asks again keeps it", kept(), got)
ok("but not for long", until(lambda: not kept(), LONG), got)
c.free("what it does not renew or take is free again", rest, LONG)
got = say(0, {**request, "gang": 6})
ok(
    "who lets offers end gets none for a while",
    got[0] == 200 and len(got[1].get("offers", [])) <= 1,
    got,
)
status, out, err = c.gang(
    2, "--model", c.all, "--wait", str(WAIT), "--least", str(len(rest) - 1), "--", "true"
)
ok("others do", status == 0, err)
ok("no report of a sanitizer", not c.reports(), c.reports())
done()
