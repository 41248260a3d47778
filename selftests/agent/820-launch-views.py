#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What ehlaunch does for views, without an agent: this program is the agent, also a hostile one.
EHS_SEED=N repeats the random packets, EHS_ROUNDS=N sends more."""

import errno, os, random, select, signal, socket, struct, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, must, ok, skip
from mounts import libc, mounted, own_mounts
from proc import stat
from seed import new_seed
from tree import BUILD
from users import add_names
from viewlaunch import (
    FOREIGN,
    Launcher,
    N,
    NAME,
    NEWS,
    OTHER,
    READY,
    REQUEST,
    USER,
    View,
    answer,
    below,
    children,
    files,
    flags,
    gone,
    head,
    inside,
    mount,
    start,
    stay,
)
from wait import WAIT, until

# ---- its users are known here, and nothing that is mounted is seen outside ----

own_mounts()
add_names(eha=USER, ehb=OTHER)
work = tempfile.mkdtemp()
os.chmod(work, 0o755)
os.mkdir(f"{work}/own")
os.mkdir(f"{work}/tree")
# a file system with set-user-ID programs inside of a directory that stays this node's
os.mkdir(f"{work}/own/below")
libc.mount(b"below", f"{work}/own/below".encode(), b"tmpfs", 0, None)
libc.mount(b"tree", f"{work}/tree".encode(), b"tmpfs", 0, None)
with open(f"{work}/tree/file", "w") as f:
    f.write("of home")

null = os.open("/dev/null", os.O_RDWR)
l = Launcher("--view-own", f"{work}/own")
ok("FUSE can be mounted here", l.ask(mount([])) == (READY, 0), l.ask(mount([])))

# ---- a view ----

v = View(l, ["/", f"{work}/tree"])
ok(
    "a view: its namespace and ehview's control",
    (v.stage, v.error, len(v.fds)) == (READY, 0, 2),
    (v.stage, v.error, v.fds),
)
ns = v.fds[0]
ok(
    "home's files are in it",
    inside(ns, lambda: open(f"{work}/tree/file").read()) == "of home",
    inside(ns, lambda: open(f"{work}/tree/file").read()),
)
ok(
    "nothing in it grants rights, also not below this node's own directories",
    inside(ns, flags) == "",
    inside(ns, flags),
)
ok(
    "ehview is the user's, and cannot be traced by the user",
    len(v.view) == 1
    and f"Uid:\t{USER}\t{USER}\t{USER}\t{USER}\n" in open(f"/proc/{v.view[0]}/status").read()
    and os.stat(f"/proc/{v.view[0]}/mem").st_uid == 0,
    open(f"/proc/{v.view[0]}/status").read(),
)
ok("no process but its tasks is in it", mounted(work) == [], mounted(work))
os.write(v.fds[1], struct.pack("II", 7, 0))
ok("ehview answers", (saw := struct.unpack("I", os.read(v.fds[1], 4))) == (7,), saw)

# ---- who may enter ----


def enter(launcher, ns, uid=USER):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        return launcher.ask(start(uid), theirs.fileno(), ns)


foreign = subprocess.Popen(["unshare", "--mount", "sleep", "infinity"])
must(
    "it has mounts of its own",
    until(
        lambda: os.stat(f"/proc/{foreign.pid}/ns/mnt").st_ino != os.stat("/proc/self/ns/mnt").st_ino
    ),
)
others = {
    "this host's own": "/proc/self/ns/mnt",
    "another one": f"/proc/{foreign.pid}/ns/mnt",
    "a network namespace": "/proc/self/ns/net",
    "no namespace": "/dev/null",
}
ours, theirs = socket.socketpair()
with ours, l.send(start(), theirs.fileno(), ns) as news:
    theirs.close()
    stage, error, end = NEWS.unpack(news.recv(64))
    ok(
        "an end in it",
        stage == READY and os.stat(f"/proc/{end}/ns/mnt").st_ino == os.fstat(ns).st_ino,
        (stage, error),
    )
    ok(
        "has no_new_privs",
        stage == READY and "NoNewPrivs:\t1\n" in open(f"/proc/{end}/status").read(),
    )
for what, path in others.items():
    fd = os.open(path, os.O_RDONLY)
    ok(f"{what} is refused", enter(l, fd) == (FOREIGN, 0), enter(l, fd))
    os.close(fd)
ok("and the view, to another user", enter(l, ns, OTHER) == (FOREIGN, 0), enter(l, ns, OTHER))
foreign.kill()
foreign.wait()

# ---- the guest that it joins: whose first end had to find out that it needs a view ----

mounts = [
    m for m in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup") if os.path.exists(f"{m}/cgroup.procs")
]
if mounts:
    root = tempfile.mkdtemp(prefix="ehs-test-", dir=mounts[0])
    lc = Launcher("--cgroup", root, "--view-own", f"{work}/own")
    vc = View(lc, ["/"])
    for first in OTHER, USER:
        ours, theirs = socket.socketpair()
        again, theirs2 = socket.socketpair()
        with ours, theirs, again, theirs2, lc.send(
            start(first, f"0.1:{first}", view=False), theirs.fileno()
        ) as news:
            stage = NEWS.unpack(news.recv(64))[0]
            ok(f"a guest of {first} begins", stage == READY, stage)
            got = lc.ask(start(USER, f"0.1:{first}"), theirs2.fileno(), vc.fds[0])
            wanted = (READY, 0) if first == USER else (N["LAUNCH_CGROUP"], errno.EEXIST)
            ok(
                (
                    f"an end of {USER} in it:"
                    f" {'it may' if first == USER else 'not in a guest of another'}"
                ),
                got == wanted,
                got,
            )
    vc.close()
    ok(
        "their cgroups are gone",
        until(lambda: not [d for d in os.scandir(f"{root}/guest") if d.is_dir()]),
    )
    lc.end()
    for part in sorted((d for d, _, _ in os.walk(root)), reverse=True):
        os.rmdir(part)
else:
    skip("the guest that an end joins", "no cgroup 2 is mounted here")

# ---- its end ----

other = View(l, ["/"])
l.process.kill()
l.process.wait()
ok(
    "ehlaunch is killed: views go on",
    inside(ns, lambda: open(f"{work}/tree/file").read()) == "of home"
    and not any(map(gone, v.view + other.view)),
)
l.socket.close()
l = Launcher("--view-own", f"{work}/own")
ok("the next one does not know them", enter(l, ns) == (FOREIGN, 0), enter(l, ns))
v.close()
ok("the agent closes a view: it has ended", v.ended())
as_user = subprocess.run(
    [
        "setpriv",
        "--reuid",
        str(USER),
        "--regid",
        str(USER),
        "--clear-groups",
        "kill",
        "-STOP",
        str(other.view[0]),
    ]
)
ok(
    "its user stops an ehview",
    as_user.returncode == 0 and until(lambda: stat(other.view[0])[1] == "T"),
    stat(other.view[0]),
)
other.close()
ok("the agent closes that view: it has ended, too", other.ended(), stat(other.view[0]))

stuck, server = socket.socketpair()
news = l.send(mount(["/"]), stuck.fileno())
stuck.close()
ok("a server that never answers: the view waits", until(lambda: below(l, "ehview")))
keeper = children(l.process.pid, "ehkeep")[0]
waiting = below(l, "ehview")[0]
news.close()
ok("and ends when the agent gives up", until(lambda: gone(keeper) and gone(waiting)), stat(keeper))
server.close()
v = View(l, ["/"])
os.kill(v.view[0], signal.SIGKILL)
ok(
    "ehview is killed: the agent sees that",
    select.select([v.news], [], [], WAIT)[0] and answer(v.news)[0] is None,
)
v.close()

# ---- servers ----


def serve(request, *more):
    ours, theirs = socket.socketpair()
    ours.settimeout(WAIT)
    news = l.send(request, theirs.fileno(), *more)
    theirs.close()
    return ours, news


s, news = serve(files("/"))
answered = answer(news)
ok("a server of home's files", answered[:2] == (READY, 0), answered)
server = below(l, "ehfiles")
ok(
    "is the user's, without other rights, and cannot be traced by the user",
    len(server) == 1
    and until(lambda: os.stat(f"/proc/{server[0]}/mem").st_uid == 0)
    and f"Uid:\t{USER}\t{USER}\t{USER}\t{USER}\n" in open(f"/proc/{server[0]}/status").read()
    and "NoNewPrivs:\t1\n" in open(f"/proc/{server[0]}/status").read(),
)
s.close()
news.close()
ok(
    "ends when its agent has gone, and has set no time for another",
    until(lambda: gone(server[0])),
    stat(server[0]),
)
for fd in answered[2]:
    os.close(fd)
for how in "says so", "has gone for the limit":
    s, news = serve(files("/", stays=stay("token", 600)))
    got = answer(news)
    server = below(l, "ehfiles")
    ok(
        "one with a time for that: its control comes with the answer",
        got[:2] == (READY, 0) and len(got[2]) == 1 and len(server) == 1,
        got,
    )
    os.kill(server[0], signal.SIGSTOP)
    s.close()
    if how == "says so":
        news.send(struct.pack("I", N["LAUNCH_OVER"]))
    news.close()
    ok(f"it ends when its agent {how}, also if it was stopped", until(lambda: gone(server[0])))
    os.close(got[2][0])
cpus = os.sched_getaffinity(0)
os.sched_setaffinity(
    l.process.pid, {min(cpus)}
)  # so that it, its keeper and the server wait for each other
early = 0
for _ in range(50):
    s, news = serve(files("/", stays=stay("token", 600)))
    s.recv(1)
    early += not select.select([news], [], [], 0)[0]
    for fd in answer(news)[2]:
        os.close(fd)
    news.send(struct.pack("I", N["LAUNCH_OVER"]))
    news.close()
    s.close()
os.sched_setaffinity(l.process.pid, cpus)
ok(
    "one that stays says nothing before its agent has its control: that agent may end at any time",
    not early,
    early,
)
for what, request in (
    ("root", files("/", 0, "root")),
    ("a name with another number", files("/", OTHER, NAME)),
    ("no user of this host", files("/", 4242, "nosuch")),
    ("an empty name", files("/", USER, "")),
    ("an option of getent", files("/", USER, "-s")),
    ("a number", files("/", USER, str(USER))),
):
    s, news = serve(request)
    got = answer(news)
    name = request[20:84].rstrip(b"\0").decode()
    wrong = (REQUEST, errno.EPROTO) if not name.isalpha() else (N["LAUNCH_ACCOUNT"], got[1])
    ok(
        f"refused: {what}",
        got[:2] == wrong and got[1] in (errno.EPERM, errno.ENOENT, errno.EPROTO),
        got,
    )
    s.close()
    news.close()
    a, b = socket.socketpair()
    uid = struct.unpack_from("I", request, 12)[0]
    got = l.ask(mount(["/"], uid, name), b.fileno())
    ok(f"and no view for {what}", got[0] == wrong[0], got)
    a.close()
    b.close()

# ---- packets that no agent sends ----

LONG = "/" + "x" * N["EHS_PATH_MAX"]
TREES = N["VIEW_TREES_MAX"]
wrong = {
    "a path that is not absolute": (mount(["/", "tmp"]), 2),
    "a path with ..": (mount(["/", "/tmp/../etc"]), 2),
    "a path that ends with ..": (mount(["/", "/tmp/.."]), 2),
    "a path that is too long": (mount(["/", LONG]), 2),
    "an empty path": (mount(["/", ""]), 2),
    "no NUL at the end": (mount(["/", "/tmp"], tail=b"/\0/tmp"), 2),
    "more behind the paths": (mount(["/"], tail=b"/\0/tmp\0"), 1),
    "fewer paths than trees": (mount(["/"], ntrees=2), 2),
    "no root": (mount(["/tmp"]), 1),
    "two roots": (mount(["/", "/"]), 2),
    "too many trees": (mount(["/"] + ["/tmp"] * TREES), 66),
    "a number of trees that overflows": (mount(["/"], ntrees=0xFFFFFFFF), 1),
    "no stream": (mount(["/"]), 0),
    "a stream too many": (mount(["/"]), 2),
    "paths without trees": (mount([], tail=b"/\0"), 0),
    "a view over 9p, as of before": (mount(["/"], zero=1), 1),
    "a limit that is too long": (mount(["/"], stays=stay(limit=1 << 31)), 1),
    "a token without its end": (mount(["/"], stays=b"x" * N["sizeof(struct)launch_stay"]), 1),
    "a name without its end": (mount(["/"], name="x" * N["LAUNCH_USER_MAX"]), 1),
    "a request that is cut off": (mount(["/"])[:40], 1),
    "only its head": (head("LAUNCH_MOUNT"), 0),
    "a server's path that is not absolute": (files("tmp"), 1),
    "a server's path with ..": (files("/../tmp"), 1),
    "a server's path that is too long": (files(LONG), 1),
    "two paths for a server": (files("/", tail=b"/\0/\0"), 1),
    "no path for a server": (files("/", tail=b""), 1),
    "no socket for a server": (files("/"), 0),
    "two sockets for ehfiles": (files("/"), 2),
    "a server for 9p, as of before": (files("/", zero=1), 2),
    "a server's name without its end": (files("/", name="x" * N["LAUNCH_USER_MAX"]), 1),
    "a request that is longer than any": (
        mount(["/"] + [LONG[:-1]] * (TREES - 1), tail=b"/\0" * 150000),
        TREES,
    ),
}
for what, (data, streams) in wrong.items():
    got = l.ask(data, *[null] * streams)
    ok(f"refused: {what}", got == (REQUEST, errno.EPROTO), got)

seed = new_seed()
rounds = int(os.environ.get("EHS_ROUNDS", 300))
rng = random.Random(seed)
for i in range(rounds):
    data = bytearray(
        rng.choice([mount(["/", "/tmp"]), files("/"), mount([]), start(), rng.randbytes(100)])
    )
    for _ in range(rng.randint(0, 4)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    data = bytes(data[: rng.randint(0, len(data))] if rng.random() < 0.3 else data)
    l.send_raw(data or b"\0", *[null] * rng.randint(0, 4))
ok(
    f"{rounds} random packets: ehlaunch serves the next one",
    l.ask(mount([])) == (READY, 0) and l.process.poll() is None,
)
keepers = children(l.process.pid, "ehkeep")
l.end()
ok(
    "and nothing is left",
    until(lambda: not [p for p in keepers if not gone(p)]) and mounted(work) == [],
    (keepers, mounted(work)),
)

# ---- a user whose tasks do not run here: rules about guests are not about what this host's own
# users send away ----

lg = Launcher("--guest-deny-user", NAME)
v = View(lg, ["/"])
ok(
    "no view for a user who is denied as a guest",
    (v.stage, v.error) == (N["LAUNCH_ACCOUNT"], errno.EPERM),
    (v.stage, v.error),
)
v.close()
for server in v.servers:
    server.wait(WAIT)
ours, theirs = socket.socketpair()
with ours, theirs, lg.send(files("/"), theirs.fileno()) as news:
    got = answer(news)
    ok("but a server of that user's files, who is at home here", got[:2] == (READY, 0), got)
v = View(lg, ["/"])
ok(
    "that has made the user known: still no view",
    v.stage == N["LAUNCH_ACCOUNT"],
    (v.stage, v.error),
)
v.close()
for server in v.servers:
    server.wait(WAIT)
lg.end()

# ---- without root ----

p = Launcher.__new__(Launcher)
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def place():
    os.dup2(theirs.fileno(), 3)
    os.closerange(4, 300)
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)


p.socket, p.process = ours, subprocess.Popen(
    [os.path.join(BUILD, "bin", "ehlaunch")], preexec_fn=place, close_fds=False
)
theirs.close()
got = p.ask(mount([]))
ok("a user's own ehlaunch: cannot mount", got[1] == errno.EPERM, got)
got = p.ask(mount(["/"]), null)
ok("and says so of a view", got[1] == errno.EPERM, got)
l = p
s, news = serve(files("/"))
ok("it serves the user's own files", (saw := answer(news)[:2]) == (READY, 0), saw)
s.close()
news.close()
s, news = serve(files("/", OTHER, "ehb"))
ok("but no other's", (saw := answer(news)[0]) == N["LAUNCH_ACCOUNT"], saw)
s.close()
news.close()
p.end()
libc.umount2(f"{work}/own/below".encode(), 2)
libc.umount2(f"{work}/tree".encode(), 2)
subprocess.run(["rm", "-rf", work])

done()
