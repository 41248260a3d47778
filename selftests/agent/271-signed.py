#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the roster says of a host is signed by that host. n3 is a member with a certificate, and
spreads what others have not said, what they said once, and that it has their codes."""

import json, os, re, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster
from ktap import done, ok
from netns import address
from signed import granted, signed
from wait import until

TOPOLOGY = "3,1"
LIAR = 3
c = Cluster(5, topology=TOPOLOGY)
cert = c.certificates("cert", "n9")
other = c.certificates("other", "n1")  # another authority
c.start(0, c.conf(0, peers=[0]))
for node in 1, 2:
    c.start(node, c.conf(node, join=[0]))


def sign(entry, **how):
    return signed(how.pop("folder", cert), entry, topology=TOPOLOGY, **how)


def hosts(i):
    """Who has which code, as node i sees it; {} while it has none itself."""
    try:
        return {n["host"]: n["code"] for n in c.status(i).get("nodes", [])}
    except OSError:
        return {}


# ---- n3 is a member as others are ----

ok(
    "three members",
    until(lambda: all(hosts(i) == {"n0": "0.0", "n1": "0.1", "n2": "0.2"} for i in range(3))),
    c.log(0),
)
h = http2.Client(http2.connect(c.net, LIAR, address(0), cert, "n3"))
code, body = h.request(
    "POST", "/v1/join", {"cluster": "test", "host": "n3", "address": f"{address(LIAR)}:7411"}
)
mine = sign(json.loads(body)["entry"])
ok(
    "it is given a code, by the top controller",
    code == 200 and mine["code"] == "0.3" and mine["by"] == "n0",
    body,
)


def hello(i, node, entry):
    """The status of a hello on a new connection: an agent closes one that is silent while this
    signs."""
    return http2.Client(http2.connect(c.net, LIAR, address(i), cert, "n3")).hello(
        node=node, entry=entry
    )


ok(
    "and is a member when it has signed",
    hello(0, "0.3", mine) == 200
    and until(lambda: all(hosts(i).get("n3") == "0.3" for i in range(3))),
    hosts(0),
)
to = {}


def greeted(i):
    """A connection to node i, whose agent may just be starting: then None."""
    try:
        one = http2.Client(http2.connect(c.net, LIAR, address(i), cert, "n3"))
        return one if one.hello(node=hosts(i).get("n3", "0.3")) == 200 else None
    except (EOFError, OSError):
        return None


def ask(i, method, path, message=None):
    """Status and answer. The agent closes a connection that is silent while this waits for
    something else."""
    for again in True, False:
        try:
            if i not in to:
                to[i] = until(lambda: greeted(i))
            status, answer = to[i].request(method, path, message)
            return status, json.loads(answer)
        except (EOFError, OSError):
            to.pop(i, None)
            if not again:
                raise


def roster(i):
    return ask(i, "GET", "/v1/roster")[1]


def entries(i):
    return {e["code"]: e for e in roster(i)["roster"]}


def spread(i, *said, hello=None):
    """The liar sends these entries to node i, in the roster that it has got; newer than all, as its
    version says."""
    now = roster(i)
    changed = {e["code"]: e for e in now["roster"]}
    changed.update({e["code"]: e for e in said})
    version = max([now["version"] >> 20] + [e["version"] for e in said]) + 1
    return ask(
        i, "POST", "/v1/roster", {**now, "version": version << 20, "roster": list(changed.values())}
    )


def next_version():
    return max(roster(i)["version"] >> 20 for i in range(3)) + 1


def bare(entry, **more):
    return {**{name: entry[name] for name in ("code", "host", "address", "version")}, **more}


def facts(i):
    return {code: (e["host"], e["address"], e.get("left", False)) for code, e in entries(i).items()}


ok(
    "all have the same",
    until(lambda: facts(0) == facts(1) == facts(2) and len(facts(0)) == 4),
    [facts(i) for i in range(3)],
)
for code, e in entries(0).items():
    ok(
        f"the entry of {e['host']} is signed by it",
        e["sign"] and e["cert"] and (code == "0.0" or e["by"] == "n0"),
        e,
    )

# ---- what is true is taken ----

mine = sign(bare(mine, version=next_version(), address=f"{address(LIAR)}:7500"))
ok(
    "a member says itself where it is now",
    spread(1, mine)[0] == 200
    and until(lambda: all(facts(i)["0.3"][1] == f"{address(LIAR)}:7500" for i in range(3))),
    [facts(i) for i in range(3)],
)
true = facts(0)

# ---- false entries ----


def refused(what, *said):
    """Whether no node believes it."""
    for i in range(3):
        status, _ = spread(i, *said)
        if status != 200 or facts(i) != true or not c.alive(i):
            ok(what, False, (i, status, facts(i), true))
            return
    ok(what, [hosts(i) for i in range(3)] == [hosts(0)] * 3, [hosts(i) for i in range(3)])


victim = entries(0)["0.1"]
lies = {
    "another address for a member": {"address": f"{address(LIAR)}:7411"},
    "that a member has left": {"left": True},
    "another code for a member": {"code": "0.6"},
}
for what, change in lies.items():
    lie = bare(victim, version=next_version(), **change)
    refused(f"{what}: without a signature", lie)
    refused(f"{what}: with the liar's signature and certificate", sign(lie, by="n3"))
    refused(
        f"{what}: with the liar's signature and the member's certificate",
        {**sign(lie, by="n3"), "cert": victim["cert"]},
    )
    refused(
        f"{what}: with what the member signed for another entry",
        {
            **lie,
            "sign": victim["sign"],
            "cert": victim["cert"],
            "by": victim["by"],
            "grant": victim["grant"],
        },
    )
    refused(f"{what}: with a certificate of another authority", sign(lie, folder=other))
    refused(
        f"{what}: signed by it for another cluster",
        signed(cert, lie, topology=TOPOLOGY, cluster="elsewhere"),
    )
    refused(f"{what}: with malformed signatures", {**lie, "sign": "%%%", "cert": "AAAA"})
refused(
    "a host that never joined",
    sign(bare(victim, code="0.7", host="n9", version=next_version()), by="n3"),
)
refused("the same as if it were configured", bare(victim, code="0.7", host="n9", version=0))

# ---- the code of another ----

claim = bare(mine, code="0.1", version=next_version())
refused("it says that a member's code is its own", sign(claim))
refused("given by itself", granted(cert, sign(claim), "n3", topology=TOPOLOGY))
refused("given by a host that is no member", granted(cert, sign(claim), "n9", topology=TOPOLOGY))
refused(
    "given by the top controller, with another's signature",
    {**granted(cert, sign(claim), "n3", topology=TOPOLOGY), "by": "n0"},
)
refused(
    "with what the top controller signed for its own code",
    {**sign(claim), **{name: json.loads(body)["entry"][name] for name in ("by", "grant")}},
)
refused(
    "with what the top controller signed for that member",
    {**sign(claim), **{name: victim[name] for name in ("by", "grant")}},
)
refused("and that it has left it", sign(bare(claim, version=next_version(), left=True)))
refused("also with version 0", sign(bare(claim, version=0)))
claim = sign(claim)
again = sign(bare(victim, version=next_version()))
for i in range(3):
    ok(f"a hello with that to n{i}", hello(i, "0.1", claim) == 403 and facts(i) == true, facts(i))
    ok(
        "and one with the entry of another, who signed it",
        hello(i, "0.1", again) == 403 and facts(i) == true,
        facts(i),
    )

# ---- what was true once ----

ok(
    "n2 leaves",
    c.ask(2, {"command": "leave"})["guests"] == 0
    and c.agents.pop(2).wait(15) == 0
    and until(lambda: "n2" not in hosts(0) and "n2" not in hosts(1)),
    c.log(2),
)
gone = entries(0)["0.2"]
ok("with its own signature", gone["left"] and gone["sign"], gone)
to.pop(2, None)
c.start(2, c.conf(2, join=[0]), ready=False)
ok(
    "and comes back",
    until(
        lambda: all(
            hosts(i) == {"n0": "0.0", "n1": "0.1", "n2": "0.2", "n3": "0.3"} for i in range(3)
        )
    ),
    [hosts(i) for i in range(3)],
)
c.end(1)
to.pop(1, None)
moved = c.conf(1, join=[0])
with open(moved) as f:
    text = f.read()
with open(moved, "w") as f:
    f.write(text.replace(f"{address(1)}:7411", f"{address(1)}:7412"))
c.start(1, moved, ready=False)
ok(
    "n1 listens elsewhere",
    until(lambda: all(facts(i).get("0.1", ("",) * 3)[1] == f"{address(1)}:7412" for i in (0, 2))),
    [facts(i) for i in (0, 2)],
)
c.end(1)
to.pop(1, None)
c.start(1, c.conf(1, join=[0]), ready=False)
ok(
    "and where it did before",
    until(
        lambda: all(facts(i).get("0.1", ("",) * 3)[1] == f"{address(1)}:7411" for i in (0, 2))
        and hosts(1) == hosts(0)
    )
    and until(lambda: facts(1) == facts(0)),
    [facts(i) for i in (0, 2)],
)
true = facts(0)
refused("what a member said when it left", gone)
refused("where it was before", victim)
refused(
    "the same with a higher version",
    {**gone, "version": next_version()},
    {**victim, "version": next_version()},
)
ok(
    "the members are up, with their codes",
    until(lambda: {"0.0", "0.1", "0.2"} <= c.up(0)) and facts(0) == true,
)

# ---- what is told of it, and kept ----

for i in range(3):
    checks = {x["name"]: x for x in c.ask(i, {"command": "doctor"})["checks"]}
    told = checks.get("roster of 0.3", {})
    ok(
        f"doctor on n{i} warns of it, with a count",
        told.get("level") == "warning"
        and re.search(r"n3 .*has sent \d+ invalid entries of the roster", told["what"]),
        checks,
    )
    ok(
        "and of nobody else",
        [name for name in checks if name.startswith("roster of")] == ["roster of 0.3"],
        checks,
    )
for i in range(3):
    lines = [
        line
        for line in c.log(i).splitlines()
        if "0.3 (n3) sent an invalid entry of the roster" in line
    ]
    ok(
        f"n{i} says once who sent that, for each start",
        1 <= len(lines) <= c.log(i).count("ready: node"),
        c.log(i),
    )
c.end(2)
to.pop(2, None)
with open(c.state(2)) as f:
    kept = json.load(f)
for e in kept["roster"]:
    if e["host"] == "n1":
        e["address"] = f"{address(LIAR)}:7411"
with open(c.state(2), "w") as f:
    json.dump(kept, f)
c.start(2, c.conf(2, join=[0]), ready=False)
ok(
    "what was changed in the file of a member is not believed",
    c.logged(
        2,
        (
            r"state: 1 entries of the roster are invalid, the first is n1 as 0\.1: the signature"
            r" was not made by its host"
        ),
    ),
    c.log(2),
)
ok(
    "others tell it how it is",
    until(lambda: facts(2) == true) and until(lambda: {"0.0", "0.1", "0.2"} <= c.up(2)),
    c.log(2),
)

# ---- draining ----


def draining(i):
    return c.ask(i, {"command": "guests", "node": c.code(i)})["draining"]


for i in range(3):
    ok(
        f"a member does not drain n{i}",
        ask(i, "POST", "/v1/drain", {"draining": True, "by": "root@n0"})[0] == 403
        and not draining(i),
    )
ok(
    "the top controller does",
    "error" not in c.ask(0, {"command": "drain", "node": "0.1"}) and draining(1),
)
ok(
    "and a member does not take it back",
    ask(1, "POST", "/v1/drain", {"draining": False})[0] == 403 and draining(1),
)
reply = c.ask(2, {"command": "undrain", "node": "0.1"})
ok(
    "which its administrator is told, with both hosts where it works",
    "run the command on n1 or on n0" in json.dumps(reply.get("error", "")) and draining(1),
    reply,
)
ok(
    "the host itself does",
    "error" not in c.ask(1, {"command": "undrain", "node": "0.1"}) and not draining(1),
)

# ---- codes that nobody has ----

version = next_version()
free = {f"0.{k}" for k in range(4, 8)}
spread(
    0, *[sign(bare(mine, code=code, version=version + k)) for k, code in enumerate(sorted(free))]
)
ok(
    "a member may sign for all codes that nobody has, and then has one of them",
    until(lambda: all(hosts(i).get("n3") == "0.7" for i in range(3))),
    [hosts(i) for i in range(3)],
)
c.start(4, c.conf(4, join=[0]), ready=False)
ok(
    "a host that joins is given one that it has not, and all hear of it",
    until(
        lambda: hosts(4).get("n4") in free - {"0.7"} | {"0.3"}
        and all(hosts(i) == hosts(4) for i in range(3))
    ),
    [hosts(i) for i in (0, 1, 2, 4)],
)
ok("all go on", all(c.alive(i) for i in range(3)))
done()
