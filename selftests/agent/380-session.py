#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions of `ehctl run`, by an agent that says what it likes: ehlaunch moves the process that has
come to the agent, and no other, and none that would be freed from what confines it."""

import atexit, ctypes, errno, os, signal, socket, struct, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from environment import own_name
from ktap import done, ok, skip, skip_all
from launcher import Launcher, eligible, session
from wait import WAIT, until

mounts = [
    m for m in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup") if os.path.exists(f"{m}/cgroup.procs")
]
if os.geteuid() or not mounts:
    skip_all("only root can move processes, and only where cgroup 2 is mounted")
users.add()
libc = ctypes.CDLL(None, use_errno=True)
root = f"{mounts[0]}/{own_name()}-session"
LATER = 1 << 62  # the agent says that everybody has come now
NAME = f"\0ehs-session-{os.getpid()}"
agent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
agent.bind(NAME)
agent.listen()
children = []


def remove(folder):
    for at, _, _ in os.walk(folder, topdown=False):
        os.rmdir(at)


@atexit.register
def end():
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    until(lambda: not any(open(f"{at}/cgroup.procs").read() for at, _, _ in os.walk(root)))
    remove(root)


def ticks():
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def fork(what):
    """Runs it in a child that then waits for its end."""
    pid = os.fork()
    if not pid:
        try:
            what()
            while True:
                signal.pause()
        finally:
            os._exit(1)
    children.append(pid)
    return pid


def end_child(pid):
    children.remove(pid)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def client(uid=0, cgroup=None, then=lambda s: None):
    """A process that comes: its number, its socket at the agent's end, and when it came."""

    def come():
        if cgroup:
            open(f"{cgroup}/cgroup.procs", "w").write("0")
        if uid:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.connect(NAME)
        then(s)
        s.send(b"x")
        while True:
            signal.pause()

    pid = fork(come)
    s = agent.accept()[0]
    s.settimeout(WAIT)
    came = ticks()
    s.recv(1)
    return pid, s, came


def where(pid):
    """In the tree of cgroup 2."""
    return [
        line[3:]
        for line in open(f"/proc/{pid}/cgroup").read().splitlines()
        if line.startswith("0::")
    ][0]


l = Launcher("--cgroup", root)
managed, guest, other = f"{root}/managed", f"{root}/guest", f"{root}/other"
os.mkdir(other)
HOME = where(os.getpid())


def ask(s, came=LATER, **more):
    global judged
    judged = l.ask(eligible(came), [s.fileno()], end=False)
    return l.ask(session(came, **more), [s.fileno()], end=False)


def moved(pid):
    return where(pid).startswith(f"/{os.path.basename(root)}/managed/") or "/managed/" in where(pid)


def sessions():
    return [d for d in os.listdir(managed) if os.path.isdir(f"{managed}/{d}")]


def refused(name, answer, stage, pid, at=None):
    ok(
        name,
        answer and answer[0] == stage and l.lives() and where(pid) == (at or HOME),
        (answer, where(pid)),
    )
    # it would be of the wrong process
    ok(f"{name}: nor is it judged", at or judged[0] == "LAUNCH_UNSEEN", judged)
    ok(f"{name}: nothing is left", until(lambda: sessions() == []), sessions())


# ---- who came ----

for uid in 0, users.TWO:
    pid, s, came = client(uid)
    answer = ask(s, came, wish="build/x")
    ok(
        f"user {uid} gets a session",
        answer[0] == "LAUNCH_READY"
        and where(pid).endswith(f"/managed/build-x.{pid}.{uid and 2 or 1}"),
        (answer, where(pid)),
    )
    end_child(pid)
    s.close()
    ok(f"user {uid}: it ends with its processes", until(lambda: sessions() == []), sessions())

# A socket that has connected itself: the kernel says who listens at its other end.
theirs = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
theirs.bind(NAME + "-root")
pid = fork(lambda: (theirs.listen(),))
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
ok("a service of root listens", until(lambda: s.connect_ex(NAME + "-root") == 0))
refused("not who listens somewhere else", ask(s), "LAUNCH_CONFINED", pid)
s.close()
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
s.bind(NAME + "-like-the-agent")
s.connect(NAME + "-root")
refused("not from a socket with a name either", ask(s), "LAUNCH_CONFINED", pid)
s.close()
end_child(pid)

pair, pid = [], os.getpid()
pair += socket.socketpair()
refused("not who has made a pair of sockets", ask(pair[0]), "LAUNCH_CONFINED", pid)
for name, s in (
    ("a socket that nobody has connected", agent),
    ("one of another family", socket.socket()),
    ("no socket", open("/dev/null")),
):
    refused(name, ask(s), "LAUNCH_CONFINED", pid)

# ---- its number ----


def leave(s):
    """The socket lives on in a child, until it is closed here; the number is free."""
    if os.fork():
        s.send(b"x")
        os._exit(0)
    s.recv(1)
    os._exit(0)


pid, s, came = client(users.TWO, then=leave)
os.waitpid(pid, 0)
children.remove(pid)
answer = ask(s, came)
ok("nobody has its number", answer[:2] == ("LAUNCH_CGROUP", 3), answer)


def clone_as(pid):
    """A child with this number; as often as it is root's, who need not be traced."""
    tid = ctypes.c_int32(pid)
    args = (ctypes.c_uint64 * 11)(0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(tid), 1, 0)
    made = libc.syscall(435, ctypes.byref(args), 88)
    if not made:
        libc.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: /proc/PID is root's
        while True:
            libc.pause()
    return made


if clone_as(pid) == pid:
    children.append(pid)
    refused("who has it since then is not moved", ask(s, came), "LAUNCH_CGROUP", pid)
    if (
        libc.syscall(
            55, s.fileno(), 1, 77, ctypes.byref(ctypes.c_int()), ctypes.byref(ctypes.c_int(4))
        )
        and ctypes.get_errno() == 92
    ):
        skip("nor when the agent lies about the time", "this kernel has no SO_PEERPIDFD")
    else:
        refused("nor when the agent lies about the time", ask(s), "LAUNCH_CGROUP", pid)
    end_child(pid)
else:
    skip("who has it since then is not moved", "cannot choose the number of a process here")
s.close()

pid, s, came = client(then=lambda s: os.setuid(users.TWO))
refused("who is another user by now", ask(s, came), "LAUNCH_CGROUP", pid)
end_child(pid)

# ---- where it comes from ----

os.mkdir(f"{guest}/0.1:1")
pid, s, came = client(users.TWO, f"{guest}/0.1:1")
refused("a guest", ask(s, came), "LAUNCH_CONFINED", pid, where(pid))
end_child(pid)
os.rmdir(f"{guest}/0.1:1")
os.makedirs(f"{other}/guest")
pid, s, came = client(users.TWO, f"{other}/guest")
ok(
    "one in a cgroup that has such a name only",
    ask(s, came)[0] == "LAUNCH_READY" and moved(pid),
    where(pid),
)
end_child(pid)


def bpf(command, *values):
    attr = ctypes.create_string_buffer(
        b"".join(struct.pack("<" + kind, v) for kind, v in values).ljust(128, b"\0")
    )
    return libc.syscall(321, command, attr, 128)


def permit(cgroup):
    """Adds a program that filters devices, and refuses none."""
    code = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xB7, 0, 0, 1, 0x95, 0, 0, 0))
    license = ctypes.create_string_buffer(b"GPL")
    program = bpf(
        5, ("I", 15), ("I", 2), ("Q", ctypes.addressof(code)), ("Q", ctypes.addressof(license))
    )
    fd = os.open(cgroup, os.O_RDONLY)
    done = program >= 0 and bpf(8, ("I", fd), ("I", program), ("I", 6), ("I", 2)) == 0
    os.close(fd)
    return done


if permit(other):
    pid, s, came = client(users.TWO, other)
    refused("one whose devices are filtered", ask(s, came), "LAUNCH_CONFINED", pid, where(pid))
    end_child(pid)
    pid, s, came = client(0, f"{other}/guest")
    refused(
        "or those of what is above it, also root", ask(s, came), "LAUNCH_CONFINED", pid, where(pid)
    )
    end_child(pid)
    permit(root)
    pid, s, came = client(users.TWO)
    ok(
        "one that is filtered less gets a session",
        ask(s, came)[0] == "LAUNCH_READY" and moved(pid),
        where(pid),
    )
    end_child(pid)
else:
    skip("one whose devices are filtered", "no BPF programs for cgroups here")

# ---- how many ----

A_USER = 512  # CGROUP_SESSIONS_A_USER
crowd = [client(users.ONE) for i in range(A_USER + 1)]
answers = [ask(s, came)[:2] for _, s, came in crowd]
ok(f"a user has {A_USER} sessions", answers[:A_USER] == [("LAUNCH_READY", 0)] * A_USER, answers)
ok(
    "and not one more",
    answers[A_USER] == ("LAUNCH_CGROUP", errno.EUSERS) and where(crowd[A_USER][0]) == HOME,
    answers[A_USER],
)
for uid in users.TWO, 0:
    pid, s, came = client(uid)
    ok(f"user {uid} gets one", ask(s, came)[0] == "LAUNCH_READY" and moved(pid), where(pid))
    end_child(pid)
l.process.kill()
l.process.wait()
l = Launcher("--cgroup", root)
pid, s, came = client(users.ONE)
ok("nor from the next ehlaunch", (saw := ask(s, came)[:2]) == ("LAUNCH_CGROUP", errno.EUSERS), saw)
end_child(crowd[0][0])
ok(
    "one that ends makes room",
    until(lambda: ask(s, came)[0] == "LAUNCH_READY") and moved(pid),
    where(pid),
)
for pid, s, _ in [*crowd[1:], (pid, s, came)]:
    end_child(pid)
    s.close()
l.stop()
done()
