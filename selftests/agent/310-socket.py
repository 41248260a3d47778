#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent's local socket is a file: who reaches it, who does not, and who cannot take its place,
also while agents are killed and start again."""

import fcntl, json, os, re, shutil, signal, socket, stat, struct, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import agent_socket, users
from agent_socket import EARLIER, FOLDER
from cluster import Cluster, USER
from commands import AGENT, EHCTL, STUB
from frames import closed, frame, read_frame
from ktap import done, ok, skip
from mounts import libc
from users import ONE, TWO, as_user
from wait import WAIT, until

c = Cluster(3, 'heartbeat = 1000\njob-limit = 5000\nview-own = { "/usr" }')
users.add_names(ehsched=USER)
STATUS = frame("FRAME_REQUEST", b'{"command":"status"}')
with c.net.enter(0), socket.socket(socket.AF_UNIX) as s:
    PATH = agent_socket.path(s)


def run(*words, node=0, inside="", uid=0):
    """On a node, as a user; `inside`: behind these commands of root's shell, with mounts of its
    own."""
    enter = ["unshare", "-m", "sh", "-ec", f'{inside}\nexec "$@"', "sh"] if inside else []
    become = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    return c.call(node, [*enter, *become, *words], cwd="/")


def attempt(what, uid):
    """What os says when this user does it, or "" if it succeeds."""
    pid = os.fork()
    if not pid:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            what()
        except OSError as e:
            os._exit(e.errno)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return os.strerror(code) if code else ""


def says(address, data, node=0):
    """What whoever listens there answers, to a caller of a node's network. None: the connection
    ends without."""
    with c.net.enter(node):
        s = socket.socket(socket.AF_UNIX)
    with s:
        s.settimeout(WAIT)
        s.connect(address)
        try:
            s.sendall(data)
            return read_frame(s)[1]
        except (EOFError, ConnectionError):
            return None


def bind(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path)


ok("three agents", c.start_all(), c.log(0))

# ---- the file ----

st = os.stat(PATH)
ok(
    "a socket that everybody may connect to, of the agent's user",
    stat.S_ISSOCK(st.st_mode) and stat.S_IMODE(st.st_mode) == 0o666 and st.st_uid == USER,
    (oct(st.st_mode), st.st_uid),
)
st = os.stat(PATH + ".lock")
ok(
    "its lock is for nobody else",
    stat.S_IMODE(st.st_mode) == 0o600 and st.st_uid == USER,
    (oct(st.st_mode), st.st_uid),
)
names = sorted(os.listdir(FOLDER))
ok(
    "each network namespace has one of its own, and nothing else is there",
    len(names) == 6 and all(re.fullmatch(r"agent\.\d+(\.lock)?", name) for name in names),
    names,
)
ok("users reach it", c.ask(0, {"command": "status"}, uid=ONE)["self"] == "0.0")

# ---- who does not reach it ----

HIDDEN = "mount -t tmpfs none /run"
r = run(EHCTL, "status", inside=HIDDEN)
ok(
    "ehctl does not where the directory is hidden, and says so",
    r.returncode == 1
    and not r.stdout
    and "cannot connect to the agent of this node: there is no /run/ehsched here" in r.stderr,
    r,
)
r = run(EHCTL, "status", inside=HIDDEN + "/ehsched")
ok(
    "nor where only its content is",
    r.returncode == 1
    and "cannot connect to the agent of this node: Connection refused" in r.stderr,
    r,
)
r = run(EHCTL, "metrics", "--once", inside=HIDDEN)
ok("nor do metrics", r.returncode == 1 and "there is no /run/ehsched here" in r.stderr, r)
r = run(STUB, "@0.1", "/bin/true", "true", inside=HIDDEN, uid=ONE)
ok("nor a stub that is started there", r.returncode == 1 and "agent of this node" in r.stderr, r)
r = run(STUB, "12345678", "/bin/echo", "echo", "here", inside=HIDDEN, uid=ONE)
ok("one of the module's runs its program here", (r.returncode, r.stdout) == (0, "here\n"), r)
ok(
    "another network namespace does not by its name",
    says(PATH, STATUS, node=1) is None
    and c.logged(0, "closed a local connection: it is in another network namespace"),
    c.log(0)[-500:],
)
c.end(1)
r = run(EHCTL, "status", node=1)
ok(
    "nor does its ehctl, when its own agent has ended",
    r.returncode == 1 and "Connection refused; start it with `systemctl start ehagent`" in r.stderr,
    r,
)
c.start(1)

# ---- the name of before ----

ok(
    "requests by the abstract name are refused",
    says(EARLIER, STATUS) is None
    and c.logged(0, "only tasks that have begun may come by the name of before"),
    c.log(0)[-500:],
)
for name in "FRAME_JOB", "FRAME_NAMED":
    ok(f"so is {name}", says(EARLIER, frame(name, b"x" * 100)) is None)
before = len(c.log(0))
with c.net.enter(0):
    s = socket.socket(socket.AF_UNIX)
s.settimeout(WAIT)
s.connect(EARLIER)
s.sendall(frame("FRAME_ATTACH", b"x" * 40))
ok(
    "a frame of a task that comes back is read",
    closed(s) and "by the name of before" not in c.log(0)[before:],
    c.log(0)[before:],
)
s.close()

# ---- nobody takes its place ----


def cannot_replace(when):
    tries = {
        "remove it": lambda: os.unlink(PATH),
        "rename it": lambda: os.rename(PATH, PATH + ".old"),
        "put another in its place": lambda: os.rename(os.path.join(mine, "socket"), PATH),
        "bind the next one": lambda: bind(PATH + ".new"),
        "lock it": lambda: os.open(PATH + ".lock", os.O_RDONLY),
        "change its mode": lambda: os.chmod(PATH, 0o600),
    }
    done_by = {
        name: saw
        for name, saw in ((name, attempt(what, TWO)) for name, what in tries.items())
        if saw not in ("Permission denied", "Operation not permitted")
    }
    ok(f"{when}: a stranger cannot {', '.join(tries)}", not done_by, done_by)


mine = "/run/mine"  # on the same file system
os.mkdir(mine)
bind(os.path.join(mine, "socket"))
os.chown(mine, TWO, TWO)
os.chown(os.path.join(mine, "socket"), TWO, TWO)
cannot_replace("beside an agent")
c.end(0, signal.SIGKILL)
cannot_replace("after it was killed")
r = run(EHCTL, "status")
ok(
    "nobody answers",
    r.returncode == 1
    and "cannot connect to the agent of this node: Connection refused" in r.stderr,
    r,
)

# A stranger with the abstract name keeps no agent from its work.
with c.net.enter(0):
    taken = socket.socket(socket.AF_UNIX)
os.seteuid(TWO)
taken.bind(EARLIER)
taken.listen()
os.seteuid(0)
before = len(c.log(0))
c.start(0)
ok(
    "an agent starts although somebody has the name of before",
    c.answers(0) and "another process has this name" in c.log(0)[before:],
    c.log(0)[before:],
)
taken.close()


def has_name():
    try:
        return says(EARLIER, STATUS) is None
    except ConnectionRefusedError:
        return False


ok(
    "and has it when it is free, having said so once",
    until(has_name) and c.log(0).count("another process has this name") == 1,
    c.log(0)[before:],
)

# ---- agents come and go ----

REMOVED = 0x240  # IN_MOVED_FROM, IN_DELETE
watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
libc.inotify_add_watch(watch, FOLDER.encode(), REMOVED)


def removed():
    """Names that were taken out of the directory since the watch began."""
    try:
        data = os.read(watch, 1 << 20)
    except BlockingIOError:
        return set()
    names = set()
    while data:
        length = struct.unpack_from("iIII", data)[3]
        names.add(data[16 : 16 + length].rstrip(b"\0").decode())
        data = data[16 + length :]
    return names


was = os.stat(PATH).st_ino
for sig in signal.SIGKILL, signal.SIGTERM, signal.SIGKILL:
    c.end(0, sig)
    c.start(0)
    ok(f"after {sig.name} the next one listens", c.answers(0))
gone = removed()
ok(
    "at another file, and there always was one",
    os.stat(PATH).st_ino != was and gone == {os.path.basename(PATH) + ".new"},
    gone,
)
os.close(watch)

conf = c.conf(0, peers=[0])
other = os.path.join(c.dir, "second.conf")
with open(conf) as f, open(other, "w") as out:
    out.write(f.read().replace(":7411", ":7422").replace("n0.d", "n2.d"))
c.give(other)
for uid in USER, 0:
    was = os.stat(PATH).st_ino
    r = run(AGENT, "-c", other, uid=uid)
    ok(
        "a second agent says that there is one, and ends",
        r.returncode == 1 and f"{FOLDER}: another agent runs in this network namespace" in r.stderr,
        r,
    )
    ok("the first one has its socket still", os.stat(PATH).st_ino == was and c.answers(0))

with open(PATH + ".lock") as held:
    c.end(0, signal.SIGKILL)
    fcntl.flock(held, fcntl.LOCK_EX)
    before = len(c.log(0))
    c.start(0, ready=False)
    waits = until(lambda: "local socket: in use" in c.log(0)[before:])
ok(
    "one waits for what an agent before it has left to end",
    waits and until(lambda: "ready: node" in c.log(0)[before:]),
    c.log(0)[before:],
)

# ---- views ----

if os.path.exists("/dev/fuse"):
    c.all_up(range(3))
    r = run(EHCTL, "exec", "--view", "home", "0.1", "--", EHCTL, "status", "--json", uid=ONE)
    ok(
        "a guest that sees home's files asks the agent of its executor",
        r.returncode == 0 and json.loads(r.stdout)["self"] == "0.1",
        (r, c.log(1)[-1500:]),
    )
    r = run(
        EHCTL,
        "exec",
        "--view",
        "home",
        "0.1",
        "--",
        "/bin/sh",
        "-c",
        "ls /run/ehsched/.. && ls /run/ehsched",
        uid=ONE,
    )
    ok(
        "and sees nothing else there of its executor",
        r.returncode == 0 and "ehsched" in r.stdout,
        r,
    )
else:
    skip("a guest that sees home's files", "no /dev/fuse")

# ---- agents that are started by hand ----


def by_hand(uid):
    """What the third agent says, started by this user, when it is ready or has ended."""
    before = len(c.log(2))
    with open(os.path.join(c.dir, "n2.log"), "a") as log, c.net.enter(2):
        c.agents[2] = subprocess.Popen(
            [AGENT, "-c", conf],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            **as_user(uid),
        )
    until(lambda: "ready: node" in c.log(2)[before:] or c.agents[2].poll() is not None)
    return c.log(2)[before:]


def belongs(uid):
    """What the third agent reads and writes."""
    for path in os.path.join(c.dir, "own"), os.path.join(c.dir, "n2.d"), conf:
        os.chown(path, uid, uid)
        for name in os.listdir(path) if os.path.isdir(path) else ():
            os.chown(os.path.join(path, name), uid, uid)


c.end(2)
shutil.copytree(os.path.join(c.dir, "cert"), os.path.join(c.dir, "own"))
conf = c.conf(2, cert=os.path.join(c.dir, "own"), peers=[2])
with open(conf) as f:
    text = re.sub("launcher = .*", "", f.read())
with open(conf, "w") as f:
    f.write(text)
belongs(ONE)
said = by_hand(ONE)
ok(
    "a user's own agent needs a place",
    c.end(2) == 1 and f"/run/user/{ONE}/ehsched" in said and "/run/ehsched is for root" in said,
    said,
)
os.makedirs(f"/run/user/{ONE}", 0o700)
os.chown(f"/run/user/{ONE}", ONE, ONE)
said = by_hand(ONE)
with c.net.enter(2), socket.socket(socket.AF_UNIX) as s:
    own, hosts = agent_socket.path(s, f"/run/user/{ONE}/ehsched"), agent_socket.path(s)
ok("which is the user's directory", os.path.exists(own), said)
r = run(EHCTL, "status", "--json", node=2, uid=ONE)
ok(
    "its user reaches it",
    r.returncode == 0 and json.loads(r.stdout)["self"] == c.code(2),
    (r, said),
)
for uid in TWO, 0:
    r = run(EHCTL, "status", node=2, uid=uid)
    ok(f"user {uid} does not", r.returncode == 1 and "Connection refused" in r.stderr, r)
r = run(AGENT, "-c", conf, node=2, uid=ONE)
ok(
    "a second one of the user's says that there is one",
    r.returncode == 1 and "another agent runs" in r.stderr,
    r,
)
ok("SIGTERM ends it", (saw := c.end(2)) == 0, saw)
with c.net.enter(2):
    listens = socket.socket(socket.AF_UNIX)
agent_socket.listen(listens)
r = run(AGENT, "-c", conf, node=2, uid=ONE)
ok(
    "where the host's agent listens there is none",
    r.returncode == 1 and "another agent runs" in r.stderr,
    r,
)
listens.close()

for i in 0, 1:
    c.end(i)
shutil.rmtree(FOLDER)
os.umask(0o077)
said = by_hand(0)
os.umask(0o022)
st = os.stat(FOLDER)
ok(
    "root's makes the directory, as the package does",
    (st.st_mode, st.st_uid, st.st_gid) == (0o40755, USER, USER),
    (oct(st.st_mode), st.st_uid, said),
)
ok(
    "and its socket in it",
    stat.S_IMODE(os.stat(hosts).st_mode) == 0o666
    and c.ask(2, {"command": "status"}, uid=TWO)["self"] == c.code(2),
    said,
)
ok(
    "the user's agent asks first whether it is there",
    (r := run(AGENT, "-c", conf, node=2, uid=ONE)).returncode == 1
    and "another agent runs" in r.stderr,
    r,
)
ok("SIGTERM ends it, too", (saw := c.end(2)) == 0, saw)
belongs(USER)
c.start(2, c.conf(2))
ok("one of the agent's user finds all as root has left it", c.answers(2), c.log(2)[-500:])
done()
