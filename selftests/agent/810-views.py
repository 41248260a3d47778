#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Views of home's files between two agents of this host: what a task in one sees, which rights it
cannot get, and what is left when something is killed."""

import os, shutil, signal, struct, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
import agent_socket, http2
from cluster import Cluster
from commands import AGENT
from ktap import done, must, ok, skip_all
from mounts import libc, mounted, own_mounts
from netns import address
from proc import running
from tree import BUILD
from users import add_names, as_user
from wait import WAIT, until

if os.geteuid() or not os.path.exists("/dev/fuse"):
    skip_all("needs root and /dev/fuse")
USER = 2001
CTL = os.path.join(BUILD, "bin", "ehctl")
PIPE, NULL = subprocess.PIPE, subprocess.DEVNULL

# the user exists in a mount namespace of this test's
own_mounts()
add_names(eha=USER)
work = tempfile.mkdtemp()
os.chmod(work, 0o755)
os.mkdir(f"{work}/own")
os.mkdir(f"{work}/tree")
libc.mount(b"tree", f"{work}/tree".encode(), b"tmpfs", 0, None)
os.chmod(f"{work}/tree", 0o777)
shutil.copy(shutil.which("id"), f"{work}/own/id")
os.chmod(f"{work}/own/id", 0o4755)

c = Cluster(
    2,
    f'heartbeat = 1000\njob-limit = 3000\nlink-idle = 60000\nview-own = {{ "{work}/own" }}',
    apart=False,
)  # each agent has an ehlaunch of its own, which ends with it; 830-views-survive has the other form
os.chmod(c.dir, 0o755)
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def start(words, view="home", home=0, **more):
    with c.net.enter(home):
        return subprocess.Popen(
            [CTL, "exec", "--view", view, c.code(1 - home), "--", *words],
            cwd="/",
            **as_user(USER),
            **{"stdin": NULL, "stdout": PIPE, "stderr": PIPE, **more},
        )


def run(*words, **more):
    p = start(words, **more)
    out, err = p.communicate(timeout=WAIT)
    return p.returncode, out.decode(), err.decode()


def there(script, **more):
    return run("/bin/sh", "-c", script, **more)


def processes(*names):
    """Those of these names that are below one of the agents, or were."""
    found = []
    for pid, (name, *_) in running():
        try:
            if name in names and os.readlink(f"/proc/{pid}/exe").startswith(BUILD):
                found.append(pid)
        except OSError:
            pass
    return found


def sees(pid):
    """Whether this process can read home's file."""
    try:
        return bool(open(f"/proc/{pid}/root{work}/tree/file").read())
    except OSError:
        return False


def launcher(i):
    """ehlaunch of node i's agent."""
    return next(
        (
            pid
            for pid, (name, _, parent, *_) in running()
            if name == "ehlaunch" and int(parent) == c.agents[i].pid
        ),
        0,
    )


class Reader:
    """A task in a view that reads a file of home's each time it is told to."""

    def __init__(self):
        self.p = start(
            ["/bin/sh", "-c", f"while read x; do cat {work}/tree/file; done"], stdin=PIPE
        )

    def look(self):
        try:
            self.p.stdin.write(b"x\n")
            self.p.stdin.flush()
        except BrokenPipeError:
            return "ended"
        return self.p.stdout.readline().decode().strip()

    def end(self):
        try:
            self.p.stdin.close()
        except BrokenPipeError:
            pass
        return self.p.wait(WAIT)

    def kill(self):
        self.p.kill()
        self.p.wait()


def write(text):
    with open(f"{work}/tree/file", "w") as f:
        f.write(text + "\n")


# ---- what it sees ----

write("one")
got = there(
    f"cat {work}/tree/file; echo two >{work}/tree/new; id -u; grep -c ' ehsched '"
    " /proc/self/mountinfo"
)
ok(
    "a task sees home's files over FUSE",
    got[0] == 0 and got[1].split()[:2] == ["one", str(USER)] and int(got[1].split()[2]) > 1,
    (got, c.log(1)),
)
ok(
    "and home what it has done",
    open(f"{work}/tree/new").read() == "two\n" and os.stat(f"{work}/tree/new").st_uid == USER,
)
ok("nobody but its tasks is in its namespace", until(lambda: mounted(work) == []), mounted(work))

# ---- rights ----

at_home = subprocess.run(
    [
        "setpriv",
        "--reuid",
        str(USER),
        "--regid",
        str(USER),
        "--clear-groups",
        f"{work}/own/id",
        "-u",
    ],
    stdout=PIPE,
    text=True,
    check=False,
)
ok("a set-user-ID program works on this host", at_home.stdout == "0\n", at_home.stdout)
got = there(f"{work}/own/id -u; cat /proc/self/status")
ok("in a view, this node's own one gives no rights", got[1].startswith(f"{USER}\n"), got)
ok("as nothing executed there does", "NoNewPrivs:\t1\n" in got[1], got)
got = there("cat /proc/self/mountinfo")
bad = [line for line in got[1].splitlines() if "nosuid" not in line.split()[5].split(",")]
ok("and no mount lets it", got[0] == 0 and len(got[1].splitlines()) > 3 and not bad, bad)
got = there("echo >/dev/null && cat /dev/null && echo good")
ok("devices are in /dev", got[1] == "good\n", got)
got = there(f"{work}/own/id -u; grep NoNewPrivs /proc/self/status", view="shared")
ok("with shared files all is as on this host", got[1].split() == ["0", "NoNewPrivs:", "0"], got)

# ---- what is killed ----

r = Reader()
ok("a task that goes on", r.look() == "one", c.log(1))
old = must("it has an ehlaunch", until(lambda: launcher(1)))
os.kill(old, signal.SIGKILL)
write("three")
ok("ehlaunch is killed: its view goes on", (saw := r.look()) == "three", saw)
got = there(f"cat {work}/tree/file")
ok("the next task gets a new one", got[:2] == (0, "three\n"), (got, c.log(1)[-2000:]))
ok("of another ehlaunch", (saw := launcher(1)) not in (0, old), saw)
ok("the task ends well", (saw := r.end()) == 0, saw)

# 830-views-survive.py has the rest; here each agent has an ehlaunch of its own, which ends with it.
for what, i in ("the executor's agent", 1), ("home's agent", 0):
    r = Reader()
    ok(
        "another task",
        r.look() == "three" and until(lambda: all(sees(pid) for pid in mounted(work))),
        c.log(1),
    )
    c.agents[i].send_signal(signal.SIGKILL)
    c.end(i, signal.SIGKILL)
    ok(
        f"{what} is killed: both sides of the view are left",
        all(processes(name) for name in ("ehview", "ehfiles", "ehkeep")),
    )
    c.start(i)
    ok("both are there again", c.all_up(range(2)))
    ok(
        "the task sees home's files again",
        r.look() == "three",
        (c.log(0)[-2000:], c.log(1)[-2000:]),
    )
    got = there(f"cat {work}/tree/file")
    ok("and so does the next one", got[:2] == (0, "three\n"), (got, c.log(1)[-2000:]))
    ok("the task ends well", (saw := r.end()) == 0, saw)
    ok("and nobody is in its namespace", until(lambda: mounted(work) == []), mounted(work))

# ---- a reload ----

os.mkdir(f"{work}/more")
with open(f"{work}/more/file", "w") as f:
    f.write("set-user-ID\n")
os.chmod(f"{work}/more/file", 0o644)
conf = os.path.join(c.dir, "n1.conf")
with open(conf) as f:
    text = f.read()
with open(conf, "w") as f:
    f.write(text.replace(f'"{work}/own"', f'"{work}/own", "{work}/more"'))
before = must("it has an ehlaunch", until(lambda: launcher(1)), c.log(1)[-2000:])
c.agents[1].send_signal(signal.SIGHUP)
must(
    "another ehlaunch is there",
    until(lambda: launcher(1) not in (None, before)),
    (before, c.log(1)[-2000:]),
)
got = there("cat /proc/self/mountinfo")
ok("other directories after a reload", f" {work}/more " in got[1], (got, c.log(1)[-2000:]))

# ---- an executor that asks for more ----


def served(path, again=0, token=b"f" * 32):
    """What home answers its executor, which asks for the files of the user below this path."""
    client = http2.Client(http2.connect(c.net, 1, address(0), f"{c.dir}/cert", "n1"))
    client.hello(node="0.1")
    client.stream += 2
    text = b"" if again == 1 else path.encode()
    client.s.sendall(
        http2.frame(
            http2.HEADERS, http2.END_HEADERS, client.stream, http2.headers("POST", "/v1/files")
        )
        + http2.frame(
            http2.DATA,
            0,
            client.stream,
            struct.pack("<IIII", USER, 0, again, len(text)) + token + text,
        )
    )
    while True:
        kind, flags, stream, payload = client.next()
        if kind == http2.SETTINGS and not flags & http2.ACK:
            client.s.sendall(http2.frame(http2.SETTINGS, http2.ACK, 0))
        elif stream == client.stream and kind == http2.RST_STREAM:
            return 0
        elif stream == client.stream and kind == http2.HEADERS:
            return client.status(payload)


r = Reader()
ok("a task in a view", r.look() == "three", c.log(1))
ok("home serves its executor a file system", served(f"{work}/tree") == 200, c.log(0)[-2000:])
for again, token in (0, b"short" + bytes(27)), (2, b"f" * 32):
    ok(
        "nothing to who says something else than the protocol has",
        served("/", again, token) != 200,
        c.log(0)[-2000:],
    )
# the last but one is a directory of a file system, but not all of one
for path in "/proc", "/sys", "/dev", work, f"{work}/tree/../../proc", f"{work}/tree\0x":
    ok(f"but not {path!r}", served(path) != 200, c.log(0)[-2000:])
r.kill()

# ---- an agent of the user's own, without rights, at home ----

c.end(0)
for folder, _, names in os.walk(c.dir):
    for name in ("", *names):
        os.chown(os.path.join(folder, name), USER, USER)
conf = c.conf(0)
os.makedirs(f"/run/user/{USER}", 0o700)
os.chown(f"/run/user/{USER}", USER, USER)
c.listens = lambda i, s: agent_socket.path(
    s, agent_socket.FOLDER if i else f"/run/user/{USER}/ehsched"
)
with open(os.path.join(c.dir, "n0.log"), "a") as log:
    before = c.log(0).count("ready: node")
    c.agents[0] = c.popen(0, [AGENT, "-c", conf], stdout=log, stderr=log, **as_user(USER))
ok(
    "a user's own agent",
    until(lambda: c.log(0).count("ready: node") > before) and c.all_up(range(2)),
    c.log(0)[-2000:],
)
got = there(f"cat {work}/tree/file; id -u")
ok(
    "has its user's files seen elsewhere",
    got[:2] == (0, f"three\n{USER}\n"),
    (got, c.log(0)[-1000:], c.log(1)[-1000:]),
)
got = there("true", home=1)
ok(
    "and says that it cannot show those of others",
    got[0] == 1 and "cannot mount" in got[2] and "not permitted" in got[2],
    got,
)

c.stop()
libc.umount2(f"{work}/tree".encode(), 2)
shutil.rmtree(work, ignore_errors=True)
done()
