#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether program and directory are the same on both nodes, as the two ends see them: by a digest
that the agents know, or by ehlook."""

import json, os, socket, struct, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from confinement import become
from frames import frame
from ktap import done, must, ok
from player import job
from users import ONE, as_user
from wait import WAIT

LOOKS = {"look", "look-there"}

c = Cluster(2, "heartbeat = 3000\ntime-limit = 10000")
os.chmod(c.dir, 0o755)
here, there = (os.path.join(c.dir, name) for name in ("here", "there"))
home, far = (os.path.join(c.dir, name) for name in ("home", "far"))


def write(path, word):
    """A program; all are of one size."""
    with open(path, "w") as f:
        f.write(f"#!/bin/sh\necho {word}\n")
    os.chmod(path, 0o755)


write(here, "one")
write(there, "one")
os.mkdir(home)
os.mkdir(far)
# what node 1 has at the path of the first file, and of the first directory, are the others
c.wrap(1, f"mount --bind {there} {here}; mount --bind {far} {home}", mounts=True)
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def run(*words, options=("n1",), cwd="/", **how):
    """(what it says, what is said of it, which of the two asked ehlook)"""
    p = c.popen(0, [EHCTL, "exec", *options, "--", *words], cwd=cwd, **how)
    out, err = p.communicate(timeout=2 * WAIT)
    timing = json.loads(c.ehctl(0, "why", "--timing", str(p.pid), "--json").stdout)["timing"]
    return out, err, {step["step"] for step in timing["steps"]} & LOOKS


saw = run(here)
ok("a program that nobody knows: both ask ehlook", saw == ("one\n", "", LOOKS), saw)
saw = run(here)
ok("both know it", saw == ("one\n", "", set()), saw)
write(there, "two")
saw = run(here)
ok(
    "it changes on the executor: it does not go",
    saw[0] == ""
    and f"{here} is missing or not the same on node n1" in saw[1]
    and "look" not in saw[2],
    saw,
)
write(here, "two")
saw = run(here)
ok(
    "and at home: it goes, and nobody takes it for the one before",
    saw[:2] == ("two\n", "") and "look" in saw[2],
    saw,
)
saw = run("./here", cwd=c.dir)
ok("by a path that is relative", saw == ("two\n", "", set()), saw)
write(here, "six")
os.utime(here, ns=(os.stat(there).st_mtime_ns,) * 2)
saw = run(here)
ok("another one of the same size and time", saw[0] == "" and "not the same" in saw[1], saw)
write(here, "two")
saw = run(here, cwd=home)
ok(
    "a directory that is another one there",
    saw[0] == "" and f"the directory {home} is missing or not the same on node n1" in saw[1],
    saw,
)
os.unlink(there)
os.mkdir(os.path.join(c.dir, "gone"))
saw = run("/bin/true", cwd=os.path.join(c.dir, "gone"))
ok("a directory that is the same", saw[:2] == ("", ""), saw)

# ---- what others may not read ----


def claim(uid, program):
    """A client of this user that claims to see this program, and sends a job of /bin/true: which of
    the two asked ehlook."""
    p, f = os.stat(program), os.stat("/")
    seen = struct.pack(
        "<I5Q2Q3I",
        0,
        p.st_dev,
        p.st_ino,
        p.st_size,
        p.st_mtime_ns,
        p.st_ctime_ns,
        f.st_dev,
        f.st_ino,
        f.st_mode,
        f.st_uid,
        f.st_gid,
    )
    pid = os.fork()
    if not pid:
        os.chdir("/")
        with c.net.enter(0):
            become(uid)
            s = socket.socket(socket.AF_UNIX)
            s.connect(c.listens(0, s))
            s.sendall(frame("FRAME_SEEN", seen) + job(b"true", path=b"/bin/true"))
            s.recv(1)
            os._exit(0)
    os.waitpid(pid, 0)
    r = c.ehctl(0, "why", "--timing", str(pid), "--json")
    must("it is known", r.returncode == 0, r)
    return {step["step"] for step in json.loads(r.stdout)["timing"]["steps"]} & LOOKS


private = os.path.join(c.dir, "private")
write(private, "pin")
os.chmod(private, 0o700)
for n in range(2):
    saw = run(private)
ok("a program that its user may read", saw == ("pin\n", "", set()), saw)
ok("root may claim it", "look" not in claim(0, private))
ok("another user may not: his rights decide", "look" in claim(ONE, private))
saw = run("/bin/true", **as_user(ONE))
ok("one that he may read", saw[:2] == ("", ""), saw)
ok("he may claim, when he has used it", "look" not in claim(ONE, "/bin/true"))

# ---- where a rule is about programs, a stub is not believed ----

c.stop()
c = Cluster(2, 'heartbeat = 3000\ntime-limit = 10000\nexclude = { "/nowhere" }')
ok("with a rule", c.start_all(), c.log(0) + c.log(1))
for n in range(2):
    saw = run("/bin/true")
    ok("home asks ehlook", saw[:2] == ("", "") and "look" in saw[2], saw)
done()
