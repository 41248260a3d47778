#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Host names: where a node is named, and where one is shown. Codes are accepted, too."""

import json, os, re, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, ok
from netns import address
from wait import until

HOSTS = "alpha", "beta.one.test", "beta.two.test"
c = Cluster(3, "heartbeat = 1000\n")
ehctl = c.ehctl
cert = c.certificates("named", *HOSTS)
for i in range(3):
    path = c.conf(i, cert=cert, host=HOSTS[i])
    with open(path) as f:
        text = re.sub(r'host = "n(\d)"', lambda m: f'host = "{HOSTS[int(m[1])]}"', f.read())
    with open(path, "w") as f:
        f.write(text)
    c.start(i, path)
ok("three agents of other names", c.all_up(range(3)), c.log(0))


def refused(r, status, *words):
    return r.returncode == status and not r.stdout and all(w in r.stderr for w in words)


def ns(i):
    with c.net.enter(i):
        return os.readlink("/proc/self/ns/net")


where = "readlink", "/proc/self/ns/net"
for name, node in (
    ("beta.one.test", 1),
    ("0.1", 1),
    ("BETA.two.test", 2),
    ("beta.two", 2),
    (address(1), 1),
    ("alpha", 0),
):
    r = ehctl(0, "exec", name, "--", *where)
    ok(f"exec {name}", (r.returncode, r.stdout) == (0, ns(node) + "\n"), r)
r = ehctl(0, "exec", "beta", "--", *where)
ok(
    "exec: two hosts of that name",
    refused(r, 1, "ehctl exec: beta: ", "beta.one.test (0.1)", "beta.two.test (0.2)"),
    r,
)
r = ehctl(1, "exec", "aplha", "--", *where)
ok("exec: the nearest name", refused(r, 1, "ehctl exec: aplha: ", "did you mean alpha?"), r)
r = ehctl(1, "exec", "nowhere", "--", *where)
ok("exec: none is near", refused(r, 1, "nowhere: no such node", "ehctl status"), r)

for word in "drain", "undrain":
    r = ehctl(0, word, "beta.two")
    ok(
        f"{word}: a name",
        r.returncode == 0
        and until(lambda: c.status(0)["nodes"][2]["draining"] == (word == "drain")),
        r,
    )
r = ehctl(0, "drain", "beta")
ok("drain: two hosts of that name", refused(r, 2, "ehctl drain: beta: ", "beta.one.test (0.1)"), r)
r = ehctl(0, "drain", "alpah")
ok("drain: the nearest name", refused(r, 2, "did you mean alpha?"), r)
r = ehctl(0, "drain", "0.3")
ok("drain: a code that no node has", refused(r, 2, "0.3: no such node"), r)

with c.net.enter(0):
    watch = subprocess.Popen([EHCTL, "watch"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    seen = subprocess.Popen(
        [EHCTL, "watch", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
# both are heard by the agent once they have shown something
for p in watch, seen:
    os.set_blocking(p.stdout.fileno(), False)
lines = {watch: "", seen: ""}
lengths = [250000]


def shown(p, what):
    def look():
        lines[p] += (p.stdout.read() or b"").decode()
        return what in lines[p]

    return until(look)


def both():
    lengths[0] += 1  # an event
    c.ask(0, {"command": "set", "length": lengths[0]})
    for p in lines:
        lines[p] += (p.stdout.read() or b"").decode()
    return all(lines.values())


ok("watch", until(both), lines)
task = c.popen(
    0,
    [EHCTL, "exec", "beta.one.test", "--", "sh", "-c", "echo; exec sleep 1000"],
    stderr=None,
    text=False,
)
task.stdout.readline()
ok(
    "watch shows hosts",
    shown(watch, "home alpha, executor beta.one.test") and "home_host" not in lines[watch],
    lines[watch],
)
ok(
    "watch --json has both",
    shown(seen, '"executor":"0.1"')
    and '"executor_host":"beta.one.test"' in lines[seen]
    and '"host":"alpha"' in lines[seen],
    lines[seen],
)
for p in watch, seen:
    p.terminate()
    p.communicate()
for i in 0, 1:
    r = ehctl(i, "tasks")
    ok(
        f"tasks at {HOSTS[i]} shows hosts",
        re.search(r"\balpha\s+beta\.one\.test\b", r.stdout) and "0.1" not in r.stdout.split(),
        r,
    )
    found = json.loads(ehctl(i, "tasks", "--json").stdout)["tasks"]
    ok(
        "and --json both",
        [(t["home"], t["home_host"], t["executor"], t["executor_host"]) for t in found]
        == [("0.0", "alpha", "0.1", "beta.one.test")],
        found,
    )
r = ehctl(0, "why", str(task.pid))
ok(
    "why shows hosts",
    "home alpha, executor beta.one.test" in r.stdout
    and "reserved on beta.one.test" in r.stdout
    and "started on beta.one.test" in r.stdout
    and not re.search(r" 0\.1\b", r.stdout),
    r,
)
said = json.loads(ehctl(0, "why", str(task.pid), "--json").stdout)
ok("and --json both", (said["executor"], said["executor_host"]) == ("0.1", "beta.one.test"), said)
task.terminate()
task.communicate()

r = ehctl(1, "status")
ok(
    "status",
    "node 0.1 of EH(2,1), host beta.one.test" in r.stdout
    and re.search(r"^0\.0 +alpha ", r.stdout, re.M),
    r,
)
r = ehctl(1, "tree")
ok("tree", "controller alpha" in r.stdout and re.search(r"0\.2 +beta\.two\.test ", r.stdout), r)
ehctl(0, "drain", "0.2")
r = ehctl(0, "exec", "0.2", "--", *where)
ok(
    "a refusal of another node names it by its host",
    refused(r, 1, "node beta.two.test is draining"),
    r,
)
done()
