#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl doctor --pairs: what is wrong between two nodes is shown in the direction in which it is,
and in no other. Node 1 has names and users of its own, node 2 a clock of its own, node 3 is of the
previous version."""

import json, os, re, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2, users
from clock import Clock
from commands import EHCTL
from ktap import done, must, ok
from mixed import NEW, OLD, Mixed
from netns import address
from wait import WAIT, until

GROUP, CALLER, OTHER = 3001, 2001, 2003  # the caller is a member of admin-group
# one as whom nobody is asked about CALLER: what an agent has heard of a user it keeps for a minute
BEFORE = 2002


class Nodes(Mixed):
    clock = None

    def conf(self, i, **more):
        # the previous version has no admin-group
        return super().conf(
            i,
            settings=self.settings
            + (f'admin-group = "ehg{GROUP}"\n' if self.which[i] == NEW else ""),
            **more,
        )

    def environment(self, i):
        return self.clock.environment if i == 2 else {}

    def sh(self, i, *words):
        """What root does where node i's programs are."""
        return subprocess.run(
            [
                "nsenter",
                f"--net=/run/netns/{self.net.name(i)}",
                f"--mount=/proc/{self.agents[i].pid}/ns/mnt",
                *words,
            ],
            check=True,
            capture_output=True,
        )


c = Nodes([NEW, NEW, NEW, OLD], "heartbeat = 1000\n")
c.clock = Clock(c.dir, "n2")
names = (
    "127.0.0.1 localhost\n" + "".join(f"{address(i)} n{i}\n" for i in range(4)) + "fd77::1 n1\n"
)  # to which there is no way
users.put("/etc/hosts", names)
c.wrap(1, mounts=True)
must("four agents", c.start_all(), c.log(0))


def put(i, path, text):
    """Node i's own."""
    with open(f"{c.dir}/{os.path.basename(path)}.{i}", "w") as f:
        f.write(text)
    c.sh(i, "mount", "--bind", f.name, path)


def doctor(i, *words, uid=CALLER, group=GROUP):
    """As if this user had logged in."""

    def become():
        try:
            with open("/proc/self/loginuid", "w") as f:
                f.write(str(uid))
        except OSError:  # this kernel has none, or it cannot be changed
            pass
        os.setgroups([group] if group else [])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)

    return c.ehctl(i, "doctor", *words, preexec_fn=become, cwd="/", timeout=3 * WAIT)


def found(i=0, **who):
    """(from, to): what is wrong, as a set of "level name"; None: not tested."""
    r = doctor(i, "--pairs", "--json", **who)
    pairs = json.loads(r.stdout)["pairs"] if r.stdout else []
    return {
        (int(p["from_host"][1]), int(p["to_host"][1])): (
            {f"{c['level']} {c['name']}" for c in p["checks"]} if p["tested"] else None
        )
        for p in pairs
    }, r


def differs(got, want):
    return {
        pair: (got.get(pair), want.get(pair))
        for pair in {*got, *want}
        if got.get(pair) != want.get(pair)
    }


# ---- nothing is wrong ----

ALL = [(a, b) for a in range(4) for b in range(4) if a != b]
GOOD = {(a, b): None if a == 3 else {"note version"} if b == 3 else set() for a, b in ALL}
got, r = found(uid=BEFORE)
ok(
    "all are good, one is of an earlier version, and does not test others",
    got == GOOD and r.returncode == 0,
    (differs(got, GOOD), r),
)
r = doctor(1, "--pairs", uid=BEFORE)
ok(
    "it says so",
    r.returncode == 0
    and "not tested: 3 pairs from n3: its agent is of an earlier version" in r.stdout
    and r.stdout.endswith("\n12 pairs, 9 good, 3 not tested\n")
    and r.stdout.count("fix: upgrade the older one") == 1,
    r,
)
pairs = {
    (p["from"], p["to"]): p
    for p in json.loads(doctor(0, "--pairs", "--json", uid=BEFORE).stdout)["pairs"]
}
p = pairs["0.0", "0.1"]
ok(
    "what was measured",
    abs(p["skew_ms"]) < 1000
    and 0 <= p["within_ms"] < 5000
    and p["certificate_seconds"] > 86400
    and sorted(p["addresses"]) == [address(1), "fd77::1"]
    and p["protocol"] >= 3,
    p,
)

# ---- each fault ----

with open("/etc/passwd") as f:
    passwd = f.read()
users.put("/etc/hosts", f"{names}10.77.0.77 n3\n")  # first: it would take the mount away
put(
    1,
    "/etc/passwd",
    re.sub(r"^eht1:", "somebody:", passwd, flags=re.M).replace("\neht3:", "\nelse3:"),
)
put(1, "/etc/hosts", names.replace(f"{address(2)} n2", "10.77.0.99 n2"))
c.clock.set(100)
# only to the port: its own answers go
c.net.ip(2, "rule", "add", "to", address(1), "ipproto", "tcp", "dport", "7411", "unreachable")
BAD = {
    **GOOD,
    (0, 1): {"warning user"},
    (0, 2): {"warning clock"},
    (1, 2): {"warning name", "warning clock"},
    (2, 0): {"warning clock"},
    (2, 1): {"error port"},
    (2, 3): {"warning clock", "note version"},
}
for a in 0, 2:
    BAD[a, 3] = BAD[a, 3] | {"warning address"}
got, r = found()
ok(
    "each fault is shown where it is, and nowhere else",
    got == BAD,
    (differs(got, BAD), r, c.log(2)[-2000:]),
)
ok("with an error the exit status is 1", r.returncode == 1, r.returncode)
r = doctor(0, "--pairs")
for line in (
    rf"error +n2 -> n1  port: n1 \({re.escape(address(1))}:7411\): cannot be reached: ",
    (
        r"warning n1 -> n2  name: for n1 the name n2 leads to 10\.77\.0\.99, but the node is known"
        rf" by {re.escape(address(2))}:7411"
    ),
    r"warning n0 -> n1  user: user 2001 is eht1 at home, somebody on node n1",
    r"warning n0 -> n2  clock: that of n2 is (99|100)\.\d+ s ahead of that of n0",
    r"warning n2 -> n0  clock: that of n0 is (99|100)\.\d+ s behind that of n2",
    r"warning n0 -> n3  address: n3: nothing answers at 10\.77\.0\.77",
    r"note +n0 -> n3  version: n3 has an earlier ehsched",
):
    ok(line, len(re.findall(f"^{line}", r.stdout, re.M)) == 1, r.stdout)
ok(
    "a line for each, and a fix for each kind",
    r.stdout.count("fix: ") == 6 and r.stdout.endswith("\n12 pairs, 2 good, 3 not tested\n"),
    r.stdout,
)

# ---- users who have tasks ----

task = c.popen(
    0,
    [EHCTL, "exec", "n2", "--", "sh", "-c", "echo; exec sleep 1000"],
    cwd="/",
    stderr=None,
    text=False,
    **users.as_user(OTHER),
)
task.stdout.readline()


def told(i):
    """What node i's doctor says of users between nodes 0 and 1."""
    r = doctor(i, "--pairs", "--json")
    return [
        check["what"]
        for p in json.loads(r.stdout or '{"pairs":[]}')["pairs"]
        if (p["from"], p["to"]) == ("0.0", "0.1")
        for check in p["checks"]
        if check["name"] == "user"
    ]


said = told(0)
ok(
    "its own operators learn who has tasks and is another one there",
    said
    == [
        "user 2001 is eht1 at home, somebody on node n1",
        "user 2003 is eht3 at home, else3 on node n1",
    ],
    said,
)
said = told(2)
ok(
    "those of another node, how many",
    len(said) == 2
    and said[0] == "user 2001 is eht1 at home, somebody on node n1"
    and said[1].startswith("users with tasks of n0 who are others on n1, or unknown: 1 "),
    said,
)

# ---- who may ask ----

r = doctor(0, "--pairs", group=0)
ok("not everybody may ask", r.returncode == 1 and not r.stdout and "admin-group" in r.stderr, r)
r = doctor(0, "--pairs", "x")
ok("wrong usage", r.returncode == 2 and not r.stdout, r)
peer = http2.Client(http2.connect(c.net, 2, address(0), f"{c.dir}/cert", "n2"))
peer.hello(node="0.2")
for user in (
    [2001, "eht2"],
    [2002, "eht1"],
    [2003, "eht3"],
    [4000, "nobody-knows"],
    [],
    "x",
    [-1, "eht1"],
    [1 << 40, "eht1"],
):
    got = peer.request("POST", "/v1/pairs", {"nodes": ["0.1"], "user": user})
    text = got[1].decode()
    ok(
        f"a member that asks for {user} learns of nobody else",
        got[0] == 200
        and "eht1" not in text
        and "eht2" not in text
        and ("eht3" in text) == (user == [2003, "eht3"]),
        got,
    )
for body in {}, {"nodes": "0.1"}, {"nodes": [1]}, {"nodes": ["0.1"] * 65}:
    got = peer.request("POST", "/v1/pairs", body)
    ok(f"malformed: {str(body)[:40]}", got[0] == 400, got)
got = peer.request("POST", "/v1/pairs", {"nodes": ["0.0", "0.9", "x"]})
ok(
    "itself, and nodes that are none, are not tested",
    got[0] == 200 and json.loads(got[1]) == {"pairs": []},
    got,
)
got = peer.request(
    "POST",
    "/v1/users",
    {"users": [[2003, "eht3"], [2003, "eht2"], [4000, "nobody-knows"], [0, "root"]]},
)
ok(
    "users, as a placement is told",
    got[0] == 200 and [bool(t) for t in json.loads(got[1])["users"]] == [False, True, True, False],
    got,
)
for body in {}, {"users": [[1]]}, {"users": [["1", "x"]]}, {"users": [[2003, "eht3"]] * 17}:
    got = peer.request("POST", "/v1/users", body)
    ok(f"malformed users: {str(body)[:40]}", got[0] == 400, got)
got = [peer.request("POST", "/v1/pairs", {"nodes": []})[0] for _ in range(21)]
ok("a member may have a node test 20 times in a minute", got[-1] == 429, got)

# ---- a node is down ----

task.terminate()
task.communicate()
c.end(1)
DOWN = {(0, 1): {"error port"}, (2, 1): {"error port"}, (1, 0): None, (1, 2): None, (1, 3): None}
got, r = found()
ok(
    "a node that is down is reached by nobody, and tests nobody",
    all(got.get(pair) == want for pair, want in DOWN.items()),
    (got, r, c.log(0)[-2000:]),
)

other = c.certificates("other", "n1")
c.start(1, c.conf(1, cert=other))
got, r = found()
ok(
    "nor is one with the certificate of another authority",
    got.get((0, 1)) == {"error certificate"} and got.get((1, 0), "tested") is None,
    (got, r, c.log(1)[-2000:]),
)

# ---- an agent ends while it tests ----

p = c.popen(0, [EHCTL, "doctor", "--pairs"], cwd="/", text=False)


def syn_sent():
    """Whether it tries an address at which nothing answers."""
    with c.net.enter(0), open("/proc/thread-self/net/tcp") as f:
        return any(line.split()[3] == "02" for line in f.readlines()[1:])


ok("it tests", until(syn_sent))
status = c.end(0)
out, err = p.communicate(timeout=WAIT)
ok(
    "it ends in order, and who waits is told",
    status == 0 and p.returncode == 1 and (out or err),
    (status, p.returncode, out, err),
)
done()
