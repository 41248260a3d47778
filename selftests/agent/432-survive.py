#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks away outlive agents that end, are killed, or stand still, on either node, and on both at
once."""

import glob, json, os, pty, random, re, select, signal, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import environment
from cluster import Cluster, shown_at
from commands import STUB
from ktap import done, must, ok
from proc import state
from seed import new_seed
from wait import WAIT, until

seed = new_seed()
dice = random.Random(seed)
c = Cluster(2, "heartbeat = 1000\njob-limit = 30000", apart=True)
NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE
os.chmod(c.dir, 0o755)


def tasks(node=0):
    try:
        return {t["pid"]: t for t in c.tasks(node)}
    except (OSError, EOFError):  # its agent is not here yet
        return {}


ok("two agents", c.start_all(), c.log(0) + c.log(1))

# The source and what is made of it. It writes and reads all the time while agents come and go.
LONG = (
    "import sys\nn = 0\nfor line in sys.stdin.buffer:\n n += 1\n sys.stdout.buffer.write(b'%d ' % n"
    " + line)\n sys.stdout.buffer.flush()\nsys.exit(n % 200)\n"
)


class Busy:
    """A task that copies lines, with its source and its sink."""

    def __init__(self):
        self.lines = dice.randrange(20000, 40000)
        self.source = subprocess.Popen(["seq", str(self.lines)], stdout=PIPE)
        self.p = c.stub("/usr/bin/python3", "-c", LONG, stdin=self.source.stdout, stdout=PIPE)
        self.source.stdout.close()
        os.set_blocking(self.p.stdout.fileno(), False)
        self.out = b""

    def some(self, most=1 << 16):
        if select.select([self.p.stdout], [], [], 0.01)[0]:
            self.out += os.read(self.p.stdout.fileno(), most) or b""
        return self.out

    def end(self):
        os.set_blocking(self.p.stdout.fileno(), True)
        self.out += self.p.stdout.read()
        self.source.wait(WAIT)
        return self.p.wait(WAIT)

    def right(self):
        code = self.end()
        want = b"".join(b"%d %d\n" % (n, n) for n in range(1, self.lines + 1))
        at = next(
            (i for i, (a, b) in enumerate(zip(self.out, want)) if a != b),
            min(len(self.out), len(want)),
        )
        return (
            code == self.lines % 200 and self.out == want,
            (
                f"status {code}, {len(self.out)} of {len(want)} bytes, first wrong one {at}:"
                f" {self.out[at:at + 40]!r}"
            ),
        )


for name, nodes in (("home's agent", [0]), ("the executor's", [1]), ("both", [0, 1])):
    for sig in signal.SIGTERM, signal.SIGKILL:
        task = Busy()
        must("it writes", until(lambda: task.some(4096)))
        c.again(dice.sample(nodes, len(nodes)), sig)
        must("it goes on writing", until(lambda: len(task.some(4096)) > 20000), len(task.out))
        c.again(dice.sample(nodes, len(nodes)), sig)
        ok(f"{name} ended twice by {sig.name}: every line once", *task.right())
        ok("and they find each other", c.all_up(range(2)))

# ehlaunch holds nothing: another one serves the same agents, and a task that the first one has
# started goes on.
task = Busy()
must("it writes", until(lambda: task.some(4096)))
for node in 0, 1:
    c.launch(node)
ok("ehlaunch is killed on both: every line once", *task.right())
task = Busy()
ok("another one starts the next task", *task.right())

# Those that do nothing at the time: waiting, stopped, at a terminal.
waits = c.stub(
    "/bin/sh", "-c", "echo $$; read line; echo got $line; exit 3", stdin=PIPE, stdout=PIPE
)
waits_there = int(waits.stdout.readline())
stopped = c.stub(
    "/bin/sh",
    "-c",
    "echo $$; kill -STOP $$; echo on; exit 4",
    stdin=NULL,
    stdout=PIPE,
    preexec_fn=lambda: os.setpgid(0, 0),
)
stopped_there = int(stopped.stdout.readline())
must("it is stopped", until(lambda: state(stopped.pid) == "T"), state(stopped.pid))
with c.net.enter(0):
    typed, master = pty.fork()
    if not typed:
        environment.default_signals()
        os.execv(
            STUB,
            [
                STUB,
                "@0.1",
                "/bin/sh",
                "sh",
                "-c",
                "stty -echo; echo up; read a; echo a=$a; read b; echo b=$b; exit 5",
            ],
        )
shown, see = shown_at(master)
must("it is up", see(b"up"), bytes(shown))
files = open(os.path.join(c.dir, "lines"), "w+b")
files.write(b"1\n2\n3\n")
files.seek(0)
begun = c.stub(
    "/usr/bin/python3",
    "-c",
    "import os, time; os.write(1, os.read(0, 2)); time.sleep(1000)",
    stdin=files,
    stdout=PIPE,
)
first = os.read(begun.stdout.fileno(), 10)
before = {p.pid for p in (waits, stopped, begun)} | {typed}
ok("they are listed", until(lambda: before <= set(tasks())), tasks())
ids = {pid: t["id"] for pid, t in tasks().items()}
c.again(dice.sample([0, 1], 2), signal.SIGKILL)
ok(
    "where they run, the next agent lists the same tasks",
    until(lambda: {t["id"] for t in tasks(1).values()} == set(ids.values())),
    (tasks(1), ids),
)
# A stopped stub comes when it goes on.
still = ids.pop(stopped.pid)
ok(
    "home's agent, too",
    until(lambda: {pid: t["id"] for pid, t in tasks().items()} == ids),
    (tasks(), ids),
)
ok("as running", until(lambda: {t["state"] for t in tasks().values()} == {"running"}), tasks())
waits.stdin.write(b"a line\n")
waits.stdin.flush()
out = waits.communicate(timeout=WAIT)[0]
ok(
    "one that waits for input gets it",
    (waits.returncode, out) == (3, b"got a line\n"),
    (waits.returncode, out),
)
ok(
    "a stopped one is still stopped",
    (state(stopped.pid), state(stopped_there)) == ("T", "T"),
    (state(stopped.pid), state(stopped_there)),
)
stopped.send_signal(signal.SIGCONT)
out = stopped.communicate(timeout=WAIT)[0]
ok(f"and goes on ({still})", (stopped.returncode, out) == (4, b"on\n"), (stopped.returncode, out))
os.write(master, b"one\n")
must("one at a terminal gets what is typed", see(b"a=one"), bytes(shown))
c.again([0], signal.SIGTERM)
os.write(master, b"two\n")
ok("also after that", see(b"b=two"), bytes(shown))
ok(
    "one at a terminal gets what is typed",
    os.waitstatus_to_exitcode(os.waitpid(typed, 0)[1]) == 5 and b"b=two" in shown,
    bytes(shown),
)
os.close(master)
begun.terminate()
begun.wait(WAIT)
rest = os.read(files.fileno(), 100)
ok(
    "a file is read as far as the task has read it",
    (first, rest) == (b"1\n", b"2\n3\n"),
    (first, rest),
)

# A stub that is stopped while its agent is replaced, and goes on without a signal that it could
# pass on.
frozen = c.stub(
    "/bin/sh",
    "-c",
    "echo $$; exec sleep 1000",
    stdin=NULL,
    stdout=PIPE,
    preexec_fn=lambda: signal.signal(signal.SIGCONT, signal.SIG_IGN),
)
frozen_there = int(frozen.stdout.readline())
frozen.send_signal(signal.SIGSTOP)
ok(
    "a stub is stopped: its task, too",
    until(lambda: state(frozen_there) == "T"),
    state(frozen_there),
)
c.again([0], signal.SIGKILL)
frozen.send_signal(signal.SIGCONT)
ok(
    "it goes on with another agent: its task, too",
    until(lambda: state(frozen_there) == "S"),
    state(frozen_there),
)
frozen.terminate()
frozen.wait(WAIT)


def freeze():
    """A task whose stub is stopped, and the process there."""
    p = c.stub("/bin/sh", "-c", "echo $$; exec sleep 1000", stdin=NULL, stdout=PIPE)
    there = int(p.stdout.readline())
    p.send_signal(signal.SIGSTOP)
    must("its task is stopped, too", until(lambda: state(there) == "T"), state(there))
    return p, there


# The executor waits for a stopped one for a day: the file has it before that is told. Here it is
# written to a pipe first (for this task, or for one that has just ended), which nobody reads for a
# while.
file = os.path.join(os.path.dirname(c.state(0)), "stopped.json")
listed = lambda: json.load(open(file))["stopped"]
must("no save of it is due", until(lambda: listed() == []), listed())
os.mkfifo(file + ".pipe")
os.chmod(file + ".pipe", 0o666)
os.rename(
    file + ".pipe", file + ".new"
)  # at once, with its mode: the agent removes what it cannot open
early = c.stub("/bin/sh", "-c", "echo; exec sleep 1000", stdin=NULL, stdout=PIPE)
early.stdout.readline()
early.send_signal(signal.SIGSTOP)
writes = lambda: " ".join(
    open(path).read() for path in glob.glob(f"/proc/{c.agents[0].pid}/task/*/wchan")
)
must("the agent writes the file", until(lambda: re.search("partner|fifo", writes())), writes())
time.sleep(0.2)  # as on a slow disk
with open(file + ".new") as pipe:
    pipe.read()
late, late_there = freeze()
ok(
    "a stopped one is in the file before its task is stopped",
    str(late.pid) in open(file).read(),
    (late.pid, open(file).read()),
)
for p in early, late:
    p.kill()
    p.wait()

# It is killed while no agent is here; another one stays stopped.
for which, agents in ("home's agent", [0]), ("both agents", [0, 1]):
    (stays, stays_there), (ends, ends_there) = freeze(), freeze()
    for i in agents:
        c.end(i, signal.SIGKILL)
    ends.kill()
    ends.wait(WAIT)
    for i in agents:
        c.start(i)
    ok(
        f"a stopped stub is killed while {which} are not here: its task ends",
        until(lambda: state(ends_there) == "gone"),
        state(ends_there),
    )
    ok(
        "the task of a stub that is still stopped does not",
        (state(stays.pid), state(stays_there)) == ("T", "T"),
        (state(stays.pid), state(stays_there)),
    )
    stays.send_signal(signal.SIGCONT)
    ok("and goes on", until(lambda: state(stays_there) == "S"), state(stays_there))
    stays.terminate()
    stays.wait(WAIT)

# What home says while the network says nothing is said again.
ends, ends_there = freeze()
c.net.switch("link", "set", c.net.port(1), "down")
ends.kill()
ends.wait(WAIT)
down = until(lambda: c.up(0) == {c.code(0)})
c.net.switch("link", "set", c.net.port(1), "up")
ok(
    "one that is killed while a link is cut: its task ends",
    until(lambda: state(ends_there) == "gone") and down,
    state(ends_there),
)

# What cannot be read costs nothing but what was in it.
c.end(0)
kept = glob.glob(os.path.join(c.dir, "**", "stopped.json"), recursive=True)
ok(
    "the file of stopped tasks is its user's alone",
    [os.stat(f).st_mode & 0o777 for f in kept] == [0o600],
    kept,
)
for text in ("", "{", '{"boot":"x","stopped":[1,{"token":1}]}', '{"boot":1}'):
    with open(kept[0], "w") as f:
        f.write(text)
    c.start(0)
    ok(f"an agent starts with {text!r} there", c.all_up(range(2)), c.log(0))
    c.end(0)
c.start(0)
must("both are up", c.all_up(range(2)), c.log(0)[-2000:])

# A stop and a SIGCONT that cross: home's agent holds up both.
crossed = c.stub(
    "/bin/sh",
    "-c",
    "echo $$; exec sleep 1000",
    stdin=NULL,
    stdout=PIPE,
    preexec_fn=lambda: os.setpgid(0, 0),
)
crossed_there = int(crossed.stdout.readline())
c.agents[0].send_signal(signal.SIGSTOP)
must("the agent is stopped", until(lambda: state(c.agents[0].pid) == "T"), state(c.agents[0].pid))
os.kill(crossed_there, signal.SIGSTOP)
must("the task is stopped", until(lambda: state(crossed_there) == "T"), state(crossed_there))
crossed.send_signal(signal.SIGCONT)
pending = lambda: open(f"/proc/{crossed.pid}/status").read().split("ShdPnd:")[1].split()[0]
must("the stub has taken the signal", until(lambda: not int(pending(), 16)), pending())
c.agents[0].send_signal(signal.SIGCONT)
ok("it goes on", until(lambda: state(crossed_there) == "S", 20), state(crossed_there))
crossed.terminate()
try:
    crossed.wait(20)
except subprocess.TimeoutExpired:
    pass
ok(
    "and its stub, too",
    crossed.returncode == -signal.SIGTERM,
    (crossed.returncode, state(crossed.pid)),
)
crossed.kill()

# An end that stands still while the other one sends: all windows wait for it in the socket and in
# its agent.
with open(os.path.join(c.dir, "errors"), "w+b") as errors:
    p = c.stub(
        "/bin/sh",
        "-c",
        "echo up; head -c 4000000 /dev/zero >&2 & head -c 4000000 /dev/zero; wait",
        stdin=NULL,
        stdout=PIPE,
        stderr=errors,
    )
    begin = os.read(p.stdout.fileno(), 3)
    p.send_signal(signal.SIGSTOP)
    stands = lambda: state(p.pid) == "T" and "stopped" in [t["state"] for t in tasks(1).values()]
    must("it stands still", until(stands), (state(p.pid), tasks(1)))
    p.send_signal(signal.SIGCONT)
    out = begin + p.communicate(timeout=WAIT)[0]
    got = p.returncode, len(out), os.fstat(errors.fileno()).st_size
ok("a stub that stood still gets the rest", got == (0, 4000003, 4000000), got)

# A link that is cut for a while: the executor's agent stands still for longer than the heartbeats.
task = Busy()
must("it writes", until(lambda: task.some(4096)))
c.agents[1].send_signal(signal.SIGSTOP)
cut = until(lambda: any(t["state"] == "reconnecting" for t in tasks().values()))
ok("tasks: reconnecting", cut, tasks())
c.agents[1].send_signal(signal.SIGCONT)
ok("a cut link: every line once", *task.right())

# An end that is killed ends the other one.
p = c.stub("/bin/sh", "-c", "echo $$; exec sleep 1000", stdin=NULL, stdout=PIPE, stderr=PIPE)
there = int(p.stdout.readline())
end = int(open(f"/proc/{there}/stat").read().rsplit(")", 1)[1].split()[1])
os.kill(end, signal.SIGKILL)
out, err = p.communicate(timeout=WAIT)
ok(
    "ehguest is killed: the task is lost, and the stub says so",
    p.returncode == -signal.SIGKILL and b"reported as killed" in err,
    (p.returncode, err),
)
ok("and its program has gone", until(lambda: state(there) in ("gone", "Z")), state(there))
p = c.stub("/bin/sh", "-c", "echo $$; exec sleep 1000", stdin=NULL, stdout=PIPE)
there = int(p.stdout.readline())
c.end(0, signal.SIGKILL)
p.kill()
p.wait()
c.start(0)
ok(
    "a stub that was killed without an agent: the executor's end notices",
    c.all_up(range(2)) and until(lambda: state(there) in ("gone", "Z"), 2 * WAIT),
    state(there),
)
ok("no task is left", until(lambda: not tasks() and not tasks(1)), (tasks(), tasks(1)))
done()
