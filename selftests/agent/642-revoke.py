#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl revoke: a host is out of the cluster at once, on all members, and knows it; nobody brings
an older list back."""

import concurrent.futures, json, os, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster
from ktap import done, ok
from netns import address
from wait import until

c = Cluster(4, topology="1,2")
ehctl = c.ehctl


def admit(i):
    r = ehctl(0, "invite", "--json", "--host", f"n{i}")
    r = ehctl(
        i, "join", "--token", json.loads(r.stdout)["token"], "--dir", c.etc(i), "--host", f"n{i}"
    )
    if r.returncode:
        raise RuntimeError(r)
    return c.finish(i)


def again(i):
    """Starts an agent that has run before."""
    c.start(i, os.path.join(c.etc(i), "agent.conf"))

    def member():
        try:
            return "nodes" in c.status(i)
        except OSError:
            return False

    if not until(member):
        raise RuntimeError(c.log(i)[-1500:])


def kept(i):
    path = os.path.join(os.path.dirname(c.state(i)), "revoked.pem")
    return open(path).read() if os.path.exists(path) else None


def number(i):
    return c.ask(i, {"command": "revoked"})["number"]


def hosts(i):
    """The hosts that node i knows as members."""
    return {n["host"] for n in c.status(i)["nodes"]}


def client(i, to):
    """A connection of node i's certificate to node `to`."""

    def greeted():
        one = http2.Client(http2.connect(c.net, i, address(to), c.etc(i), f"n{i}"))
        return one if one.hello(cluster="lab", node=c.code(i)) == 200 else None

    one = until(greeted)
    if not one:
        raise RuntimeError(c.log(to)[-1000:])
    return one


def is_ended(one):
    """Whether the agent has closed it. A connection that is silent is closed, too, so this sends a
    PING."""
    one.s.settimeout(0.1)
    try:
        one.s.sendall(http2.frame(http2.PING, 0, 0, bytes(8)))
        return not one.s.recv(65536)
    except TimeoutError:
        return False
    except OSError:
        return True


def ended(*ones):
    """Whether the agents close all of them."""
    return until(lambda: all([is_ended(one) for one in ones]))


def refused(what, r, status, word):
    ok(
        f"{what}: refused",
        r.returncode == status
        and r.stderr.startswith("ehctl revoke: ")
        and word in r.stderr
        and not r.stdout,
        r,
    )


r = ehctl(0, "init", "lab", "--dir", c.etc(0), "--host", "n0", "--topology", "1,2")
c.start(0, c.finish(0, "heartbeat = 300\n"))
for i in 1, 2, 3:
    c.start(i, admit(i))
ok("four members", c.all_up(range(4)), c.log(3)[-2000:])
ok(
    "nothing was revoked",
    ehctl(1, "revoke", "--list").stdout == "nothing was revoked\n" and kept(1) is None,
)

# ---- who may revoke whom ----

refused("on another host", ehctl(1, "revoke", "n3"), 1, "run `ehctl revoke` on n0")
refused("a node that is not there", ehctl(0, "revoke", "n33"), 1, "did you mean n3?")
refused("the host of the authority", ehctl(0, "revoke", "n0"), 1, "is this host")
refused("a name that is none", ehctl(0, "revoke", "--host", "a b"), 1, "not a name")
for words in (), ("n1", "n2"), ("n1", "--list"), ("--host",), ("--all",):
    r = ehctl(0, "revoke", *words)
    ok(f"revoke {' '.join(words)}: wrong usage", r.returncode == 2, r)
answer = c.ask(0, {"command": "revoke", "what": "n3"}, uid=65534)
ok(
    "only the administrator revokes",
    answer.get("error", {}).get("why") == "permitted for root only",
    answer,
)
ok("all are still members", c.all_up(range(4)))

# ---- a host ----

own = json.loads(ehctl(0, "cert", "list", "--json", c.etc(0)).stdout)["certificates"]
mine = next(one["fingerprint"] for one in own if one["host"] == "n0")
refused(
    "the certificate of the host of the authority",
    ehctl(0, "revoke", mine),
    1,
    "the certificate of this host",
)
clients = [client(3, i) for i in (0, 1, 2)]
with concurrent.futures.ThreadPoolExecutor() as beside:
    all_ended = beside.submit(ended, *clients)
    r = ehctl(0, "revoke", "n3")
ok("revoke", r.returncode == 0 and r.stdout.startswith("n3 was revoked"), r)
ok("its live connections end, also those to others than the authority's host", all_ended.result())
for i in range(3):
    ok(
        f"n{i} ended them because of that",
        c.logged(i, r"ended the connection with n3: it was revoked"),
        c.log(i)[-1500:],
    )
ok(
    "it is in no roster",
    until(lambda: all(hosts(i) == {"n0", "n1", "n2"} for i in range(3))),
    [hosts(i) for i in range(3)],
)
ok("the others stay", c.all_up(range(3)))
ok(
    "its new connections are refused",
    c.logged(0, r"refused 10\.77\.0\.4:\d+ \(CN n3\): certificate refused: it was revoked"),
    c.log(0)[-1500:],
)
for i in 1, 2:
    try:
        client(3, i)
        let = True
    except (OSError, EOFError):
        let = False
    ok(f"n{i} lets it in no more", not let)
ok(
    "all have the same list",
    number(0) > 0 and len({number(i) for i in range(3)}) == 1,
    [number(i) for i in range(3)],
)
r = ehctl(2, "revoke", "--list")
ok(
    "--list shows it on each",
    r.returncode == 0 and r.stdout.splitlines()[1].split()[:2] == ["host", "n3"],
    r,
)
ok(
    "it is a list that other programs read",
    subprocess.run(
        ["openssl", "crl", "-noout", "-CAfile", c.etc(1) + "/ca.crt"],
        input=kept(1),
        capture_output=True,
        text=True,
    ).stderr.strip()
    == "verify OK",
    kept(1),
)

# ---- the host itself ----

ok(
    "it says so in its log",
    c.logged(3, r"error: this host, n3, was revoked, says n\d"),
    c.log(3)[-1500:],
)
r = ehctl(3, "status")
ok("and in status", r.returncode == 0 and r.stdout.startswith("This host was REVOKED, says n"), r)
r = ehctl(3, "doctor")
ok(
    "and in doctor, as an error",
    r.returncode == 1 and "REVOKED, says n" in r.stdout and "ehctl invite --host" in r.stdout,
    r,
)
ok("its agent goes on", (saw := c.agents[3].poll()) is None, saw)
c.end(3)
c.start(3, os.path.join(c.etc(3), "agent.conf"))
ok(
    "and says it again after a restart",
    until(lambda: len(c.log(3).split("was revoked, says n")) > 2),
    c.log(3)[-1500:],
)

# ---- an older list, a false one ----

old, first = kept(0), number(0)
c.end(2)
r = ehctl(0, "revoke", "--host", "far", "--json")
said = json.loads(r.stdout)
ok(
    "a host that is no member",
    r.returncode == 0 and said["host"] == "far" and said["number"] > first,
    r,
)
ok(
    "the number grows, and the earlier entry stays",
    until(lambda: number(1) == said["number"])
    and {e["host"] for e in c.ask(1, {"command": "revoked"})["revoked"]} == {"n3", "far"},
    c.ask(1, {"command": "revoked"}),
)
rude = client(2, 1)
status, body = rude.request("POST", "/v1/revoked", {"list": old})
ok(
    "an older list changes nothing",
    status == 200 and json.loads(body)["number"] == said["number"] == number(1),
    (status, body),
)
for what, text in (
    ("no list", ""),
    ("half a list", kept(1)[: len(old) // 2]),
    ("a certificate", open(c.etc(1) + "/ca.crt").read()),
    ("a changed one", kept(1)[:200] + ("A" if kept(1)[200] != "A" else "B") + kept(1)[201:]),
    ("a number", 7),
    ("100 KiB", "x" * 102400),
):
    status, body = client(2, 1).request("POST", "/v1/revoked", {"list": text})
    ok(f"{what} is refused", status == 400 and number(1) == said["number"], (status, body))
ok(
    "and the log says who sent it",
    c.logged(1, r"0\.1\.0 \(n2\) sent an unusable revocation list: "),
    c.log(1)[-1500:],
)
c.end(0)
c.end(1)
again(1)
ok(
    "it is kept over a restart of a host that reaches no other",
    number(1) == said["number"],
    c.log(1)[-1500:],
)
again(0)
again(2)
ok(
    "who was away gets it when he comes back",
    until(lambda: number(2) == said["number"]),
    c.log(2)[-1500:],
)
ok("and all three are members", c.all_up(range(3)))

# ---- in again ----

c.end(3)
os.unlink(os.path.join(c.etc(3), "agent.conf"))
for name in os.listdir(c.etc(3)):
    os.rename(os.path.join(c.etc(3), name), os.path.join(c.dir, "old-" + name))
c.start(3, admit(3))
ok("with a new certificate the host is a member again", c.all_up(range(4)), c.log(3)[-2000:])
ok("and does not call itself revoked", "REVOKED" not in (saw := ehctl(3, "status").stdout), saw)

# ---- a certificate ----

certificate = json.loads(ehctl(2, "cert", "list", "--json", c.etc(2)).stdout)["certificates"]
print2 = next(one["fingerprint"] for one in certificate if one["host"] == "n2")
r = ehctl(0, "revoke", ":".join(print2[i : i + 2] for i in range(0, 64, 2)).upper())
ok("a fingerprint", r.returncode == 0 and r.stdout.startswith("That certificate was revoked"), r)
ok(
    "that connection ends",
    until(lambda: c.up(0) == {c.code(i) for i in (0, 1, 3)}),
    c.log(0)[-1500:],
)
ok("and its host knows why", c.logged(2, r"this host, n2, was revoked, says "), c.log(2)[-1500:])
ok("the agents end", all(c.end(i) == 0 for i in range(4)))
done()
