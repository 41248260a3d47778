#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Users and nodes that lie about jobs: they get nothing of others, and nothing of them stays."""

import os, random, select, signal, socket, struct, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster
from frames import FRAME, closed, frame, read_exactly
from ktap import done, must, ok
from netns import address
from proc import state
from wait import WAIT, until

# So that a test of a gone job does not take a minute; the nodes are not lost on a busy machine.
c = Cluster(2, "heartbeat = 1000\njob-limit = 20000\nlink-idle = 1000\nguests = 20")
os.chmod(c.dir, 0o755)
NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE
USER = 2001


def tasks(node):
    try:
        return c.tasks(node)
    except (OSError, EOFError):
        return []


def parent(pid):
    return int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])


def attach(executor, task, other, token=None, stopped=0, pid=1, command="x"):
    """FRAME_ATTACH as an end would say it."""
    token = token or f"{random.getrandbits(128):032x}"
    texts = (token, task, other, command)
    return frame(
        "FRAME_ATTACH",
        struct.pack("<BBIIQ", executor, stopped, pid, 0, 1)
        + b"".join(os.fsencode(t) + b"\0" for t in texts),
    )


def crowd(node, n, make):
    """Connections of a user that each say they belong to a job."""
    made = []
    for i in range(n):
        s = c.connect(node, uid=USER)
        try:
            s.sendall(make(i))
        except OSError:
            pass
        made.append(s)
    return made


def over(s):
    """Whether the agent has hung up; what it said before is read."""
    while select.select([s], [], [], 0)[0]:
        try:
            if not s.recv(65536):
                return True
        except ConnectionResetError:
            return True
    return False


def again(*nodes):
    """Kills these agents at once, and starts others."""
    for i in nodes:
        c.agents[i].send_signal(signal.SIGKILL)
    for i in nodes:
        c.end(i, signal.SIGKILL)
        c.start(i)
    must(
        "they answer",
        until(lambda: all(c.answers(i) for i in nodes)),
        [c.log(i)[-1500:] for i in nodes],
    )


def idle(i, j):
    """Whether node i has closed its link to node j, which it keeps while there is any stream."""
    link = next(
        d for d in c.ask(i, {"command": "doctor"})["checks"] if d["name"] == f"peer {c.code(j)}"
    )
    return "no connection was needed" in link["what"]


def run(*words):
    p = c.stub(*words, stdin=NULL, stdout=PIPE, stderr=PIPE)
    out, err = p.communicate(timeout=WAIT)
    return p.returncode, out, err


ok("two agents", c.start_all(), c.log(0) + c.log(1))

# ---- a user of the executor ----

made = crowd(1, 60, lambda i: attach(1, f"0.0:{1000 + i}", "0.0", stopped=1))
ok(
    "ends of jobs that never were: turned away",
    until(lambda: all(over(s) for s in made), 10),
    [over(s) for s in made].count(False),
)
ok("and leave no task", tasks(1) == [], tasks(1)[:3])
ok("and take nobody's place", (saw := run("/bin/echo", "there")[:2]) == (0, b"there\n"), saw)
for s in made:
    s.close()

p = c.stub("/bin/sh", "-c", "echo $$; read line; echo got $line; exit 3", stdin=PIPE, stdout=PIPE)
there = int(p.stdout.readline())
end = parent(there)
task = next(t["id"] for t in tasks(1))
os.kill(end, signal.SIGSTOP)
again(1)
made = crowd(1, 3, lambda i: attach(1, task, "0.0"))
for s in made:
    s.close()
made = crowd(1, 1, lambda i: attach(1, task, "0.0"))
ok(
    "somebody else claims a job before its own end comes: turned away",
    until(lambda: over(made[0]), 10),
)
made[0].close()
os.kill(end, signal.SIGCONT)
try:
    p.stdin.write(b"a line\n")
    p.stdin.flush()
except BrokenPipeError:
    pass
out = p.communicate(timeout=WAIT)[0]
ok(
    "and its own end goes on",
    (p.returncode, out) == (3, b"got a line\n"),
    (p.returncode, out, c.log(1)[-2000:]),
)

p = c.stub("/bin/sh", "-c", "echo $$; exec sleep 1000", stdin=NULL, stdout=PIPE)
there = int(p.stdout.readline())
end = parent(there)
os.kill(end, signal.SIGSTOP)
p.kill()
p.wait()
ok(
    "a user stops the end of his task, whose stub is killed: both end",
    until(lambda: state(there) in ("gone", "Z")),
    (state(there), state(end), c.log(1)[-1000:]),
)
ok(
    "and the task has no place any more",
    until(lambda: tasks(1) == []) and until(lambda: idle(0, 1)),
    tasks(1),
)
os.kill(end, signal.SIGCONT) if state(end) == "T" else None

# ---- a user at home ----

for name, task in (
    ("another node's", "0.1:5"),
    ("no number", "0.0:x"),
    ("two lines", "0.0:1\nfake"),
    ("nothing", ""),
):
    with c.connect(0, uid=USER) as s:
        s.sendall(attach(0, task, "0.1"))
        ok(f"a job whose ID is {name}: turned away", closed(s))
    ok("and not in the log", "\nfake" not in (saw := c.log(0)), saw)
made = crowd(0, 100, lambda i: attach(0, f"0.0:{2000 + i}", "0.1"))
ok(
    "one process has a few jobs at most",
    until(lambda: sum(not over(s) for s in made) <= 8, 10),
    sum(not over(s) for s in made),
)
for s in made:
    s.close()
ok("and none is left", until(lambda: tasks(0) == []), tasks(0)[:3])

log = len(c.log(0))
with c.connect(0, uid=USER) as s:
    # NOTE_STAYS with the reason of a node that cannot be reached
    s.sendall(
        attach(0, "0.0:3000", "0.1") + frame("FRAME_NOTE", struct.pack("<BII", 7, 0, 3) + b"x\0")
    )
    told = [struct.unpack("<II", read_exactly(s, 8))[0] for _ in range(2)]  # nothing is in them
ok(
    "a note about a job that never was: told that it is gone, and the agent is alive",
    told == [FRAME["FRAME_DETACHED"], FRAME["FRAME_GONE"]] and c.alive(0),
    (told, c.log(0)[log:]),
)
with c.connect(0, uid=USER) as s:
    s.sendall(attach(0, "0.0:3001", "0.1") + struct.pack("<II", FRAME["FRAME_REPLY"], 16 << 20))
    ok("a huge frame of an end is refused when it is announced", closed(s))

# NOTE_ENDED, which is answered each time
note = frame("FRAME_NOTE", struct.pack("<BI", 4, 0) + bytes(64)) * 1000
with c.connect(0, uid=USER) as s:
    s.sendall(attach(0, "0.0:3002", "0.1"))
    try:
        for i in range(500):
            s.sendall(note)
        cut_off = False
    except (BrokenPipeError, ConnectionResetError):
        cut_off = True
ok("an end that does not read its answers is cut off", cut_off and c.alive(0))

# ---- what stays ----

# It is over with job-limit: until then one who has lost his connection may come back.
ok(
    "no stream is left of jobs that never were",
    until(lambda: idle(0, 1)),
    (c.log(0)[-1500:], c.log(1)[-1500:]),
)

p = c.stub("/usr/bin/yes", stdin=NULL, stdout=PIPE)
p.stdout.readline()
must("it runs", until(lambda: [t["state"] for t in tasks(1)] == ["running"]), tasks(1))
there = tasks(1)[0]["pid"]
p.send_signal(signal.SIGSTOP)


def wrote():
    return int(open(f"/proc/{there}/io").read().split("wchar: ")[1].split()[0])


before = [-1, 0]


def still():
    """Twice the same, and some time between: it is held up."""
    before[:] = before[1], wrote()
    select.select([], [], [], 0.3)
    return before[0] == before[1]


must("it is held up", until(still), before)
p.kill()
p.wait()
ok(
    "a stub is killed that had not read: its task ends",
    until(lambda: state(there) == "gone"),
    state(there),
)
ok("and no stream is left", until(lambda: idle(0, 1)), (c.log(0)[-1500:], c.log(1)[-1500:]))

p = c.stub("/bin/sh", "-c", "echo $$; exec sleep 1000", stdin=NULL, stdout=PIPE)
there = int(p.stdout.readline())
end = parent(there)
os.kill(end, signal.SIGSTOP)
again(0, 1)
ok(
    "a stub has come back to a new agent",
    until(lambda: any(t["pid"] == p.pid for t in tasks(0))),
    tasks(0),
)
ok("both are up", c.all_up(range(2)), c.log(0)[-1500:])
ok("and home asks for it", until(lambda: not idle(0, 1)), c.log(0)[-1500:])
p.kill()
p.wait()
must("home has none left", until(lambda: tasks(0) == []), tasks(0))
os.kill(end, signal.SIGCONT)
ok(
    "it was killed before the other end had come: the task ends",
    until(lambda: state(there) in ("gone", "Z"), 15),
    state(there),
)
ok("and no stream is left of it", until(lambda: idle(0, 1)), (c.log(0)[-1500:], c.log(1)[-1500:]))

# ---- a hostile member ----


def speak(path, body, n=1):
    """A stream of n1 to n0 that never ends; the client, and what the agent did: a status, 0 for a
    reset, None for neither."""
    client = http2.Client(http2.connect(c.net, 1, address(0), f"{c.dir}/cert", "n1"))
    client.hello()
    client.s.settimeout(5)
    try:
        return client, client.request("POST", path, body, end=False)
    except (TimeoutError, socket.timeout, EOFError):
        return client, None


# Many at once, and their executor's ends killed.
many = [
    c.stub("/bin/sh", "-c", "echo $$; exec sleep 1000", stdin=NULL, stdout=PIPE, stderr=NULL)
    for i in range(19)
]
there = [int(p.stdout.readline() or 0) for p in many]
for pid in there:
    os.kill(parent(pid), signal.SIGKILL)
ok(
    "executor's ends are killed: each task is lost",
    [p.wait(WAIT) for p in many] == [-signal.SIGKILL] * len(many),
)
for p in many:
    p.stdout.close()
ok(
    "and nothing of them stays",
    until(lambda: idle(0, 1) and tasks(0) == tasks(1) == []),
    (tasks(0), tasks(1)),
)
ok("nor of their programs", all(until(lambda: state(pid) in ("gone", "Z")) for pid in there))

header = lambda name, n: struct.pack("<II", FRAME[name], n)
for path, name, size in (
    ("/v1/resume", "FRAME_REPLY", 16 << 20),
    ("/v1/resume", "FRAME_JOB", 8 << 20),
    ("/v1/job", "FRAME_EVENT", 16 << 20),
):
    client, got = speak(path, header(name, size) + bytes(1000))
    ok(
        f"{path}: a {name} is refused when it is announced",
        got is not None and got[0] in (0, 200, 409, 503),
        got,
    )
    client.s.close()
client, got = speak("/v1/job", header("FRAME_JOB", 8 << 20) + bytes(1000))
ok("a job without a reservation: no memory is spent on it", got is not None and got[0] >= 400, got)
client.s.close()

# A new agent does not know which guests run; it sees which have a cgroup.
again(0)
other, got = speak("/v1/resume", attach(0, "0.2:77", "0.0"))
client, gone = speak("/v1/resume", attach(0, "0.1:77", "0.0"))
ok(
    "of its own task a node is told at once that it is gone",
    gone == (200, frame("FRAME_GONE", b"")),
    gone,
)
ok("of another node's task it is told nothing", got is None, got)
other.s.close()
client.s.close()

ok("the agents end", c.end(0) == 0 and c.end(1) == 0)
done()
