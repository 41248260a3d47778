#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts join by the address of a member, keep their codes over restarts, and leave. Only node 0,
the seed, is configured."""

import json, os, signal, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster
from commands import AGENT, STUB
from ktap import done, ok
from netns import address
from signed import signed
from tree import BUILD
from wait import until

c = Cluster(6)
cert = os.path.join(c.dir, "cert")
other = c.certificates("other", "n5")


def status(i):
    """{} while there is no agent."""
    try:
        return c.status(i)
    except OSError:
        return {}


def why(i):
    """What node i says while it has no place."""
    return status(i).get("error", {}).get("why", "")


def self_of(i):
    """Node i's code, once it has one."""
    return status(i).get("self", "")


def hosts(i):
    """Who has which code, as node i sees it."""
    return {n["host"]: n["code"] for n in status(i).get("nodes", [])}


def agree(*nodes):
    """Whether these nodes, and only they, are the members, for each of them; waits for it."""
    return until(
        lambda: all(hosts(i) == {f"n{j}": self_of(j) for j in nodes} for i in nodes)
        and all(c.up(i) == {self_of(j) for j in nodes} for i in nodes)
    )


def seed():
    c.start(0, c.conf(0, peers=[0]))


def start(i, *join, **more):
    c.start(i, c.conf(i, join=join, **more), ready=False)


def ended(i):
    """The exit status of an agent that ends by itself."""
    agent = c.agents.pop(i)
    try:
        return agent.wait(15)
    except subprocess.TimeoutExpired:
        agent.kill()
        agent.wait()
        return "did not end"


def client(host, node):
    return http2.Client(http2.connect(c.net, node, address(0), cert, host))


def question(host, node, **more):
    return {"cluster": "test", "host": host, "address": f"{address(node)}:7411", **more}


# ---- any order of start ----

start(1, 0)
start(2, 0)
ok(
    "without the seed a joining host waits, and says why",
    until(lambda: "Connection refused" in why(1)),
    c.log(1),
)
doctor = c.ask(1, {"command": "doctor"})["checks"][0]
ok(
    "doctor, too",
    doctor["name"] == "agent"
    and not doctor["ok"]
    and address(0) in doctor["what"]
    and doctor["fix"],
    doctor,
)
with c.net.enter(1):
    text = subprocess.run(
        [os.path.join(BUILD, "bin", "ehctl"), "status"], capture_output=True, text=True
    )
    stub = subprocess.run(
        [STUB, "@0.0", "/bin/true", "true"], stdin=subprocess.DEVNULL, capture_output=True
    )
ok(
    "ehctl status: exit 1, and why",
    text.returncode == 1 and "not joined the cluster yet" in text.stderr,
    text,
)
ok(
    "a job is not taken",
    stub.returncode != 0 and until(lambda: "Connection refused" in why(1)),
    stub,
)
seed()
ok(
    "the seed comes: all three are members, and know each other",
    agree(0, 1, 2),
    [hosts(i) for i in range(3)],
)
ok("with the lowest free codes", sorted(hosts(0).values()) == ["0.0", "0.1", "0.2"], hosts(0))
codes = hosts(0)
with open(c.state(1)) as f:
    kept = json.load(f)
ok(
    "each keeps its place in a file",
    kept["cluster"] == "test"
    and kept["host"] == "n1"
    and os.stat(c.state(1)).st_mode & 0o777 == 0o600,
    kept,
)

# ---- restarts ----

ok(
    "a member that ends stays in the roster",
    c.end(1) == 0 and until(lambda: hosts(0)["n1"] not in c.up(0)),
)
start(1, 0)
ok("after a restart it has its code", agree(0, 1, 2) and hosts(0) == codes, hosts(0))
c.end(1, signal.SIGKILL)
start(1, 0)
ok("after kill -9, too", agree(0, 1, 2) and hosts(0) == codes, hosts(0))
c.end(0)
c.end(2)
start(2, 0)
ok(
    "also while the seed is down",
    until(lambda: self_of(2) == codes["n2"])
    and until(lambda: c.up(2) == {codes["n1"], codes["n2"]}),
    c.log(2),
)
c.end(1)
c.end(2)
start(1, 0)
ok("also when nobody else is up", until(lambda: self_of(1) == codes["n1"]), c.log(1))
ok("which is said", "using the code this host had before" in c.log(1), c.log(1))
start(2, 0)
seed()
ok(
    "all are back: nothing has changed",
    agree(0, 1, 2) and hosts(0) == codes,
    [hosts(i) for i in range(3)],
)
c.end(0)
os.unlink(c.state(0))
seed()
ok(
    "a seed that has lost its file hears from the others",
    agree(0, 1, 2) and hosts(0) == codes,
    [hosts(i) for i in range(3)] + [c.log(0)],
)
for i in 1, 0:
    c.end(i)
moved = c.conf(1, join=[0])
with open(moved) as f:
    text = f.read()
with open(moved, "w") as f:
    f.write(text.replace(f"{address(1)}:7411", f"{address(1)}:7412"))
c.end(2)
c.start(1, moved, ready=False)
ok("a member listens elsewhere, while nobody is up", until(lambda: self_of(1) == codes["n1"]))
start(2, 0)
seed()
ok(
    "when they are back they hear of it",
    agree(0, 1, 2)
    and all(
        until(lambda: f"{address(1)}:7412" in json.dumps(c.ask(i, {"command": "doctor"})))
        for i in (0, 2)
    ),
    [hosts(i) for i in range(3)],
)
c.end(1)
start(1, 0)
ok("and of its return", agree(0, 1, 2), c.log(0))
os.unlink(c.state(2))
c.end(2)
start(2, 0)
ok("so does a member", agree(0, 1, 2) and hosts(0) == codes, hosts(2))

# ---- who gets what ----

start(3, 1)
ok("any member may be asked", agree(0, 1, 2, 3) and hosts(0)["n3"] == "0.3", c.log(3))
start(4, 0, 1)
ok("no code is free: it waits and says so", until(lambda: "the cluster is full" in why(4)), why(4))
job = c.popen(
    0, [STUB, "@" + codes["n2"], "/bin/cat", "cat"], stdin=subprocess.PIPE, stderr=None, text=False
)
job.stdin.write(b"x")
job.stdin.flush()
job.stdout.read(1)
reply = c.ask(2, {"command": "leave"}, uid=2001)
ok("only root may have a node leave", "root only" in reply.get("error", {}).get("why", ""), reply)
reply = c.ask(2, {"command": "leave"})
ok("leave with a guest", reply == {"version": 1, "guests": 1, "away": 0}, reply)
ok(
    "first it is drained",
    until(lambda: next(n for n in status(0)["nodes"] if n["host"] == "n2").get("draining")),
    status(0),
)
stays = c.call(2, [os.path.join(BUILD, "bin", "ehctl"), "exec", "n0", "--", "true"])
ok(
    "it sends no task away any more",
    stays.returncode == 1 and "it is draining: it leaves the cluster" in stays.stderr,
    stays,
)
ok("the guest ends in peace", job.communicate(b"y")[0] == b"y" and job.returncode == 0)
ok("then the agent ends with status 0", ended(2) == 0, c.log(2))
ok("its file is gone", not os.path.exists(c.state(2)))
ok("its code is the next one's", agree(0, 1, 3, 4) and hosts(0)["n4"] == codes["n2"], hosts(0))

left = c.call(4, [os.path.join(BUILD, "bin", "ehctl"), "leave", "--now"])
ok("ehctl leave --now", left.returncode == 0 and ended(4) == 0 and agree(0, 1, 3), left)
start(2, 0)
ok(
    "who comes back gets the code it had",
    agree(0, 1, 2, 3) and hosts(0)["n2"] == codes["n2"],
    hosts(0),
)

c.ask(0, {"command": "leave"})
ok("the top controller leaves", ended(0) == 0 and agree(1, 2, 3), [hosts(i) for i in (1, 2, 3)])
ok("0.1 follows", (saw := status(2)["controller"]) == "0.1", saw)
seed_conf = c.conf(0, peers=[0])
with open(seed_conf, "a") as f:
    f.write(f'join = "{address(3)}"\n')
c.start(0, seed_conf, ready=False)
ok("it joins again, and gets its code", agree(0, 1, 2, 3) and hosts(1)["n0"] == "0.0", hosts(1))
ok("and its role", until(lambda: status(3)["controller"] == "0.0"))

# ---- who gets nothing ----

c.certificates("cert", "n6", "n7")
start(5, 0, cert=other)
ok(
    "another authority: both sides refuse",
    until(lambda: "certificate refused" in why(5)) and c.logged(0, r"refused 10\.77\.0\.6:\d+ "),
    why(5),
)
ok("and no member", "n5" not in hosts(0), hosts(0))
c.end(5)
start(5, 0, cluster="elsewhere")
ok("another cluster: refused", until(lambda: "the cluster name differs" in why(5)), why(5))
c.end(5)

h = client("n6", 5)
ok(
    "a host of the authority may see the roster",
    (saw := h.request("GET", "/v1/roster")[0]) == 200,
    saw,
)
for method, path in (
    ("GET", "/v1/nodes"),
    ("POST", "/v1/report"),
    ("POST", "/v1/leave"),
    ("POST", "/v1/roster"),
    ("POST", "/v1/job"),
):
    code = h.request(method, path, None if method == "GET" else {})[0]
    ok(f"but not {method} {path}", code == 403, code)
ok("nor say that it is a node", (saw := h.hello(node="0.1")) == 403, saw)
ok(
    "nor speak for another host",
    (saw := h.request("POST", "/v1/join", question("n1", 5))[0]) == 403,
    saw,
)
ok(
    "nor as a member that passes it on",
    (saw := h.request("POST", "/v1/join", question("n1", 5, hops=1))[0]) == 403,
    saw,
)
for bad in (
    {},
    {"cluster": "test"},
    question("n6", 5, hops=-1),
    question("n6", 5, hops=99),
    {**question("n6", 5), "address": "here"},
    question("n6", 5, code="0.9"),
    question("n6", 5, code="0"),
    question("x" * 65, 5),
):
    code = h.request("POST", "/v1/join", bad)[0]
    ok(f"join with {bad}: 400", code == 400, code)
with c.net.enter(2):
    c.ask(2, {"command": "leave"})
ok("a code is free", ended(2) == 0 and until(lambda: len(hosts(0)) == 3))
code, body = h.request("POST", "/v1/join", question("n6", 5, code=hosts(0)["n1"]))
got = json.loads(body)
ok(
    "a wish for another's code: the free one is given",
    code == 200 and got["code"] == codes["n2"],
    body,
)
ok("the other keeps it", hosts(0)["n1"] == codes["n1"], hosts(0))
ok("and cannot be taken by a hello", (saw := h.hello(node=codes["n1"])) == 403, saw)
h = client("n6", 5)
ok(
    "nor does it have its own before it has signed for it",
    h.hello(node=got["code"]) == 403 and "n6" not in hosts(0),
)
entry = signed(cert, got["entry"])
h = client("n6", 5)
ok(
    "then it is let in",
    h.hello(node=got["code"], entry=entry) == 200 and hosts(0).get("n6") == got["code"],
    hosts(0),
)
forged = {**got, "roster": [{"code": "0.1", "host": "n6", "address": "1.2.3.4:5", "version": -1}]}
ok("a malformed roster: 400", (saw := h.request("POST", "/v1/roster", forged)[0]) == 400, saw)
ok(
    "a member removes no other",
    (saw := h.request("POST", "/v1/leave", {"cluster": "test", "host": "n1"})[0]) == 403,
    saw,
)
going = {k: v for k, v in got["entry"].items() if k not in ("by", "grant")}
going.update(version=going["version"] + 1, left=True)
last = signed(cert, going)
unsigned = (
    {},
    {"entry": entry},
    {"entry": {**signed(cert, {**going, "left": False}), "left": True}},
    {"entry": signed(cert, going, by="n7")},
)
h = client("n6", 5)
ok(
    "not even itself, without its signature",
    h.hello(node=got["code"]) == 200
    and [
        h.request("POST", "/v1/leave", {"cluster": "test", "host": "n6", **more})[0]
        for more in unsigned
    ]
    == [400] * 4
    and hosts(0).get("n6") == got["code"],
)
ok(
    "but with it",
    h.request("POST", "/v1/leave", {"cluster": "test", "host": "n6", "entry": last})[0] == 200
    and until(lambda: len(hosts(0)) == 3),
    hosts(0),
)
ok("then it is a stranger again", (saw := h.request("GET", "/v1/nodes")[0]) == 403, saw)
h = client("n7", 5)
code, body = h.request("POST", "/v1/join", question("n7", 5, code=codes["n2"]))
ok(
    "a wish for a free code is granted",
    code == 200 and json.loads(body)["code"] == codes["n2"],
    body,
)
code, body2 = client("n6", 5).request("POST", "/v1/join", question("n6", 5, code=codes["n2"]))
ok("and held for that host", code == 409 and b"full" in body2, body2)
entry = signed(cert, json.loads(body)["entry"])
ok(
    "with its signature it is a member",
    client("n7", 5).hello(node=codes["n2"], entry=entry) == 200
    and hosts(0).get("n7") == codes["n2"],
    hosts(0),
)
ok("all go on", all(c.alive(i) for i in (0, 1, 3)))
wrong = subprocess.run([AGENT, "--join", "name", "-c", seed_conf], capture_output=True, text=True)
ok("--join with a name: exit 2", wrong.returncode == 2 and "--join: name" in wrong.stderr, wrong)
done()
