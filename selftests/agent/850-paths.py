#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths that users name. A file system that does not answer holds up who uses it, and nobody else:
the agents answer, and other users' tasks go away, while program, directory, input and arguments of
a task are in it. No device and no FIFO is opened, and nobody learns of a path that he may not
see."""

import ctypes, os, stat, struct, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import STUB
from fuse import Silent
from ktap import done, ok, skip_all
from users import as_user
from wait import WAIT, until

PIPE, NULL = subprocess.PIPE, subprocess.DEVNULL
MINE, OTHER, THIRD = 2001, 2002, 2003
IN_OPEN = 0x20
WHERE = "readlink /proc/self/ns/net"
libc = ctypes.CDLL(None, use_errno=True)

if not os.path.exists("/dev/fuse"):
    skip_all("the kernel has no FUSE")
# thresholds make a node a sender here, which sends the same short program again and again
c = Cluster(
    2,
    (
        'policy = "eta"\nlearn = false\ntime-limit = 10000\ndwell = 0\nheartbeat = 1000\njob-limit'
        " = 20000\ndigest-limit = 64"
    ),
)
os.chmod(c.dir, 0o755)
work = os.path.join(c.dir, "work")
for name in "home", "there", "mixed", "secret":
    os.makedirs(os.path.join(work, name))
home, there, mixed, secret = (
    os.path.join(work, name) for name in ("home", "there", "mixed", "secret")
)

# The second agent has mounts of its own, so that a file system there need not be at home.
c.wrap(1, "", mounts=True)
ok("two agents", c.start_all(), c.log(0) + c.log(1))


started = []


def start(*words, uid=MINE, node="@0.1", view="shared", **more):
    with c.net.enter(0):
        p = subprocess.Popen(
            [STUB, "--view", view, node, words[0], *words],
            stdout=PIPE,
            stderr=PIPE,
            **as_user(uid),
            **{"stdin": NULL, "cwd": "/", **more},
        )
    started.append(p)
    return p


def run(*words, **more):
    p = start(*words, **more)
    out, err = p.communicate(timeout=WAIT)
    return p.returncode, out, err


def others_go_on(what):
    """While `what` is held up."""
    ok(f"{what}: the agents answer", c.answers(0) and c.answers(1))
    for uid in OTHER, THIRD:
        got = run("/bin/sh", "-c", WHERE, uid=uid)
        ok(f"{what}: a task of user {uid} goes away", got[:2] == (0, far), got)


with c.net.enter(0):
    near = os.readlink("/proc/self/ns/net").encode() + b"\n"
with c.net.enter(1):
    far = os.readlink("/proc/self/ns/net").encode() + b"\n"
ok("a user's task goes away", (saw := run("/bin/sh", "-c", WHERE)[:2]) == (0, far), saw)

# Placed by the hierarchy: node 0 is made a sender by a task that stays.
for i in range(2):
    c.ask(i, {"command": "set", "threshold": 500, "length": 0, "load-index": "tasks"})
stays = c.popen(0, [STUB, "@auto", "/bin/sleep", "sleep", "1000"], stdout=None, stderr=None)


def states():
    return {n["code"]: n["state"] for n in c.status(0)["nodes"]}


def settled():
    """Also after the hierarchy has moved the thresholds."""
    for i in range(2):
        c.ask(i, {"command": "set", "threshold": 500, "length": 0, "load-index": "tasks"})
    return until(lambda: states() == {"0.0": "sender", "0.1": "receiver"}) or print(
        "#", c.status(0), flush=True
    )


ok("one node is a sender, the other takes tasks", settled(), states())


# ---- what is not a program ----


class Opened:
    """Whether anybody opens what is in a directory."""

    def __init__(self, path):
        self.fd = libc.inotify_init1(os.O_NONBLOCK)
        self.ok = libc.inotify_add_watch(self.fd, path.encode(), IN_OPEN) >= 0

    def names(self):
        try:
            data = os.read(self.fd, 65536)
        except BlockingIOError:
            return []
        names = []
        while data:
            size = struct.unpack_from("<I", data, 12)[0]
            names.append(data[16 : 16 + size].rstrip(b"\0").decode())
            data = data[16 + size :]
        return names


odd = os.path.join(work, "odd")
os.mkdir(odd)
os.mkfifo(f"{odd}/fifo")
os.mknod(f"{odd}/device", stat.S_IFCHR | 0o777, os.makedev(1, 3))
os.mkdir(f"{odd}/folder")
with open(f"{odd}/large", "wb") as f:
    f.truncate(14 << 40)
with open(f"{odd}/program", "wb") as f:
    f.write(b"#!/bin/sh\n" + WHERE.encode() + b"\n")
for name in "fifo", "device", "large", "program":
    os.chmod(f"{odd}/{name}", 0o777)
seen = Opened(odd)
ok(
    "what is opened is seen",
    seen.ok and not open(f"{odd}/program").close() and seen.names() == ["program"],
)
for name in "fifo", "device", "folder", "large":
    code, out, err = run(f"{odd}/{name}")
    ok(
        f"a {name} is no program to send away",
        code == 1 and b"files-differ" in err,
        (code, out, err),
    )
ok(
    "and none of them is opened",
    "fifo" not in (names := seen.names()) and "device" not in names and "large" not in names,
    names,
)
os.chmod(f"{odd}/program", 0o711)
with open(f"{odd}/only", "wb") as f:
    f.write(open("/bin/true", "rb").read())
os.chmod(f"{odd}/only", 0o711)
ok(
    "a program that its user may only execute goes away",
    run(f"{odd}/only")[0] == 0,
    run(f"{odd}/only"),
)

# ---- what a user may not see ----

for name in "program", "data":
    with open(f"{secret}/{name}", "w") as f:
        f.write("#!/bin/sh\n")
    os.chmod(f"{secret}/{name}", 0o755)
os.mkfifo(f"{secret}/fifo")
os.chmod(secret, 0o700)
said = {name: run(f"{secret}/{name}")[2] for name in ("program", "fifo", "none")}
ok("a program that he may not see is as one that is not there", len(set(said.values())) == 1, said)
subprocess.run(
    ["nsenter", f"--mount=/proc/{c.agents[1].pid}/ns/mnt", "mount", "-t", "tmpfs", "none", secret],
    check=True,
)
went = {
    name: settled() and run("/bin/sh", "-c", WHERE, "sh", f"{secret}/{name}", node="@auto")[:2]
    for name in ("data", "fifo", "none")
}
ok("an argument, too", all(got == (0, far) for got in went.values()), went)
os.chmod(secret, 0o755)
got = run("/bin/sh", "-c", WHERE, "sh", f"{secret}/data", node="@auto")
ok("one that he sees, and that is not there, keeps the task at home", got[:2] == (0, near), got)

# ---- files that the same agent shows ----

got = run("/bin/sh", "-c", f"exec {STUB} --view home @0.0 ./only only", uid=0, view="home", cwd=odd)
ok(
    "a guest that sees home's files sends none of them on",
    got[0] == 1 and b"(namespace)" in got[2] and c.answers(1),
    (got, c.log(1)[-2000:]),
)
settled()
got = run(
    "/bin/sh", "-c", f"{WHERE}; cat $1", "sh", f"{secret}/data", uid=0, view="auto", node="@auto"
)
ok(
    "with view auto an argument that differs is home's, and there is one end left",
    got == (0, far + b"#!/bin/sh\n", b"") and until(lambda: not c.tasks(1)),
    (got, c.log(1)[-2000:]),
)

# ---- silence at home, and there ----

for name in home, mixed:
    for part in "prog", "data":
        with open(os.path.join(name, part), "w") as f:
            f.write("#!/bin/sh\n")
        os.chmod(os.path.join(name, part), 0o755)

fs = Silent(home)
ok("a file system", fs.up and os.path.exists(f"{home}/prog"))
open(f"{home}/data").close()
held = open(f"{home}/data", "rb")
folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
# It waits in the directory before nobody answers there.
sitting = c.popen(
    0,
    ["/bin/sh", "-c", 'read line; exec "$@"', "sh", STUB, "@0.1", "/bin/true", "true"],
    cwd=home,
    stdin=PIPE,
    stdout=NULL,
    stderr=NULL,
    text=False,
    **as_user(MINE),
)
ok("it is silent", fs.silence())
hung = [start(f"{home}/prog")]
ok("a program is asked for", fs.asked())
others_go_on("a program")
sitting.stdin.write(b"go\n")
sitting.stdin.close()
hung.append(start("/bin/cat", stdin=held))
settled()
hung.append(start("/bin/true", f"{home}/data", node="@auto"))
ok("a directory, input or argument is asked for", fs.asked() and fs.asked())
others_go_on("program, directory, input and argument")
many = [start(f"{home}/prog") for i in range(8)]
said = [p.communicate(timeout=WAIT)[1] for p in many]
ok(
    "many of one user are not held up for ever",
    [p.returncode for p in many] == [1] * len(many),
    [p.returncode for p in many],
)
ok("and told why", all(b"does not answer" in err for err in said), said)
others_go_on("many of them")
fs.end()
ok(
    "it ends, and what waited goes on",
    all(until(lambda: p.poll() is not None) for p in hung + [sitting]),
    [p.poll() for p in hung],
)
os.close(folder)

for what in "program", "argument", "directory":
    fs = Silent(mixed, c.agents[1].pid)
    ok(f"{what}: a file system there", fs.up and fs.silence())
    if what == "program":
        p = start(f"{mixed}/prog")
    elif what == "argument":
        settled()
        p = start("/bin/sh", "-c", WHERE, "sh", f"{mixed}/data", node="@auto")
    else:
        p = start("/bin/true", cwd=mixed)
    # What the kernel remembers of a directory is enough.
    if what != "directory":
        ok(f"{what}: it is asked", fs.asked())
    others_go_on(f"{what} there")
    out, err = p.communicate(timeout=WAIT)
    ok(
        f"{what}: it does not go there",
        (p.returncode, out) == (0, near) if what == "argument" else p.returncode == 1,
        (p.returncode, out, err),
    )
    if what != "directory":
        fs.end()
        subprocess.run(
            ["nsenter", f"--mount=/proc/{c.agents[1].pid}/ns/mnt", "umount", "-l", mixed],
            check=True,
        )
        ok(f"{what}: then it works again", until(lambda: run("/bin/true")[0] == 0))

p = start("/bin/true", cwd=mixed)
ok("an agent with a file system that is silent ends", c.end(1) == 0, c.log(1)[-2000:])
c.start(1)
ok("and another one begins", c.all_up(range(2)))
p.communicate(timeout=WAIT)
fs.end()
stays.kill()
stays.wait()
ok("the agents end", c.end(0) == 0 and c.end(1) == 0, c.log(0)[-2000:] + c.log(1)[-2000:])
ok(
    "no report of a sanitizer",
    "Sanitizer" not in c.log(0) + c.log(1) and "runtime error" not in c.log(0) + c.log(1),
)
done()
