#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk of `state` stands still, is full, or fails: what must be on it first is answered when it
is, or refused; the agent goes on with all else meanwhile."""

import errno, json, os, signal, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from authority import certify
from cluster import Cluster
from commands import EHCTL
from fuse import Disk
from ktap import done, must, ok
from wait import WAIT, until

c = Cluster(5, topology="3,1")
ehctl = c.ehctl
folder = os.path.dirname(c.state(0))
disk = Disk(folder)
must("a file system that can hold up fsync()", disk.up)


def begin(i, *words):
    """The command, which goes on."""
    return c.popen(i, [EHCTL, *words])


def end(p):
    out, err = p.communicate(timeout=2 * WAIT)
    return p.returncode, out + err


def invite(*words):
    r = ehctl(0, "invite", "--json", *words)
    return json.loads(r.stdout)["token"] if not r.returncode else r


def join_words(i, token):
    return "join", "--token", token, "--dir", c.etc(i), "--host", f"n{i}"


def kept(name):
    """What is in the file now. Not while the disk holds."""
    try:
        with open(os.path.join(folder, name)) as f:
            return f.read()
    except FileNotFoundError:
        return ""


def heard(i):
    """How many messages of others the agent has received."""
    return sum(c.status(i)["messages"]["received"].values())


def goes_on(i, others):
    """How long it took to answer, in the middle, while it heard ten messages of others and these
    saw it."""
    took, first = [], heard(i)

    def look():
        began = time.monotonic()
        now = heard(i)
        took.append(time.monotonic() - began)
        return now - first >= 10 and all("0.0" in c.up(j) for j in others)

    return until(look) and sorted(took)[len(took) // 2]


r = ehctl(0, "init", "lab", "--dir", c.etc(0), "--host", "n0", "--topology", "3,1")
must("init", not r.returncode, r)
c.start(0, c.finish(0, "heartbeat = 300\n"))
for i in 1, 2:
    r = ehctl(i, *join_words(i, invite()))
    must(f"host {i} joins", not r.returncode, r)
    c.start(i, c.finish(i))
ok("three members", c.all_up(range(3)), c.log(0)[-2000:])

# ---- it stands still ----

token = invite()
disk.hold()
p = begin(3, *join_words(3, token))
ok("a host comes with a token, and the disk stands still", until(disk.holds), c.log(0)[-1000:])
ok(
    "meanwhile the agent answers at once, and hears others",
    0 < (saw := goes_on(0, [1, 2])) < 0.3,
    saw,
)
r = ehctl(4, *join_words(4, token))
ok("the token does not work a second time", r.returncode == 1 and "was used" in r.stderr, r)
more = begin(0, "invite", "--json")
ok("nobody was answered", p.poll() is None and more.poll() is None, (p.poll(), more.poll()))
disk.release()
ok("then the host has its certificate", not (saw := end(p))[0], saw)
status, out = end(more)
ok("who invited has a token", not status and "eh1-" in out, (status, out))
ok(
    "the file has this invitation, and not the used one",
    len((saw := json.loads(kept("invites.json")))["open"]) == 1,
    saw,
)
r = ehctl(4, *join_words(4, json.loads(out)["token"]))
ok("it works", not r.returncode and not json.loads(kept("invites.json"))["open"], r)

disk.hold()
p = begin(0, "revoke", "--host", "n4")
ok("a host is revoked, and the disk stands still", until(disk.holds), c.log(0)[-1000:])
ok(
    "it is in force everywhere",
    until(lambda: all("revoked: host n4" in c.log(i) for i in range(3))),
    c.log(2)[-1000:],
)
ok("the agent goes on", 0 < (saw := goes_on(0, [1, 2])) < 0.3, saw)
ok(
    "the log says what the disk does",
    c.logged(0, r"warning: the disk of \S+ has not answered for 5 s"),
    c.log(0)[-1000:],
)
ok("it is not said before it is on disk", p.poll() is None)
disk.release()
ok("then it is", not (saw := end(p))[0] and kept("revoked.pem"), saw)
ok(
    "and the log says that the disk answers, each once",
    c.logged(0, r"answers again, after \d+ s") and c.log(0).count("has not answered for") == 1,
    c.log(0)[-1000:],
)

# ---- it is full, or fails ----

for what, how in ("full", {"write": errno.ENOSPC}), ("broken", {"fsync": errno.EIO}):
    word = os.strerror(next(iter(how.values())))
    i = 4 if "write" in how else 3
    for name in os.listdir(c.etc(i)):
        os.unlink(os.path.join(c.etc(i), name))
    token = invite("--host", f"n{i}")
    disk.fail(**how)
    r = ehctl(0, "invite")
    ok(f"the disk is {what}: no invitation", r.returncode == 1 and "cannot be kept" in r.stderr, r)
    ok(
        "and the log says why",
        c.logged(0, f"invitations cannot be kept beside .*{word}"),
        c.log(0)[-1000:],
    )
    r = ehctl(i, *join_words(i, token))
    ok("a token gets nothing", r.returncode == 1 and "cannot write to its disk" in r.stderr, r)
    r = ehctl(0, "revoke", "--host", "n7")
    ok(
        "a revocation is in force, but not said to last",
        r.returncode == 1
        and "cannot keep it on its disk" in r.stderr
        and "n7" in ehctl(0, "revoke", "--list").stdout,
        r,
    )
    ok("the agent goes on", c.alive(0) and c.all_up(range(3)), c.log(0)[-1000:])
    disk.fail()
    r = ehctl(i, *join_words(i, token))
    ok("when there is room again, the token works", not r.returncode, r)
    r = ehctl(0, "revoke", "--host", "n7")
    ok(
        "and the revocation is kept",
        not r.returncode and "n7" in ehctl(0, "revoke", "--list").stdout,
        r,
    )

# ---- a certificate that is renewed; an end ----

ok("the agent ends", (saw := c.end(0)) == 0, saw)
one = os.path.join(c.dir, "one")
certify(c.etc(0), one, "n0", time.time() + 100, cluster="lab")
for name in "n0.crt", "n0.key":
    with open(os.path.join(one, name)) as new, open(os.path.join(c.etc(0), name), "w") as out:
        out.write(new.read())
disk.hold()
c.start(0, os.path.join(c.etc(0), "agent.conf"))
ok(
    "its own certificate is to be renewed, and the disk stands still",
    until(disk.holds),
    c.log(0)[-1000:],
)
ok("the agent goes on", 0 < (saw := goes_on(0, [1, 2])) < 0.3, saw)
ok("with the one that it has", "was renewed" not in c.log(0))
disk.release()
ok(
    "then with the new one",
    c.logged(0, "the certificate of this host was renewed")
    and "PRIVATE KEY" in kept("certificate.pem"),
    c.log(0)[-1000:],
)
disk.hold()
p = begin(0, "invite")
must("an invitation waits", until(disk.holds))
c.agents[0].send_signal(signal.SIGTERM)
status, out = end(p)
ok(
    "an agent that ends does not wait for the disk: who asked gets no token",
    status == 1 and "eh1-" not in out,
    (status, out),
)
ok(
    "and the log says so",
    c.logged(0, "error: the disk of .* does not answer: what was to be written last may be lost"),
    c.log(0)[-1000:],
)
disk.release()
ok("when it answers, the agent has ended", (saw := c.agents.pop(0).wait(WAIT)) == 0, saw)
ok("the others end", (saw := [c.end(i) for i in (1, 2)]) == [0, 0], saw)
disk.end()
done()
