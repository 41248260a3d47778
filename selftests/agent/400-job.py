#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A task run by `ehstub` on another node behaves like a local one; two agents, no module."""

import os, pty, random, signal, subprocess, sys, tempfile, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import environment
from cluster import Cluster, shown_at
from commands import STUB
from ktap import done, must, ok
from proc import descriptors
from seed import new_seed
from wait import WAIT, until

# A machine that is busy with other tests may stand still for a second: nobody is lost for that.
c = Cluster(2, "heartbeat = 3000\njob-limit = 3000", apart=True)
work = tempfile.mkdtemp(prefix="ehs-job-", dir=c.dir)
os.chmod(c.dir, 0o755)
os.chmod(work, 0o777)
NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE
# Tells the node a process is on: it shares its agent's namespace.
HERE = "readlink /proc/self/ns/net"


def run(*words, timeout=WAIT, input=None, **more):
    how = {"stdin": NULL if input is None else PIPE, "stdout": PIPE, "stderr": PIPE, **more}
    p = c.stub(*words, **how)
    try:
        out, err = p.communicate(input, timeout)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        err = (err or b"") + b"(time-out)"
    return p.returncode, out, err


def sh(script, *words, **more):
    return run("/bin/sh", "-c", script, *words, **more)


def guests(node=1):
    return [t for t in c.tasks(node) if t["executor"] == f"0.{node}"]


def no_guests():
    return until(lambda: not guests())


ok("two agents", c.start_all(), c.log(0) + c.log(1))

with c.net.enter(1):
    there = os.readlink("/proc/self/ns/net")
code, out, err = sh(HERE)
ok(
    "it runs on the other node",
    (code, out, err) == (0, there.encode() + b"\n", b""),
    (code, out, err),
)
ok("arguments", (saw := run("/bin/echo", "one", "two words", "")[1]) == b"one two words \n", saw)
code, out, err = sh("echo out; echo err >&2; exit 3")
ok("stdout, stderr, status", (code, out, err) == (3, b"out\n", b"err\n"), (code, out, err))

wrong = [n for n in range(256) if sh(f"exit {n}")[0] != n]
ok("exit codes 0..255", not wrong, wrong)

ends = [n for n in range(1, 65) if n not in (17, 18, 19, 20, 21, 22, 23, 28, 32, 33)]
wrong = [(n, code) for n in ends for code in [sh(f"kill -{n} $$")[0]] if code != -n]
ok("death by each signal", not wrong, wrong)


# A signal to the stub reaches the task.
def caught(n):
    script = f"trap 'echo got; exit 9' {n}; echo up; while :; do sleep 0.01; done"
    p = c.stub("/bin/sh", "-c", script, stdin=NULL, stdout=PIPE)
    p.stdout.readline()
    p.send_signal(n)
    rest = p.communicate(timeout=WAIT)[0]
    return rest == b"got\n" and p.returncode == 9


wrong = [n for n in (1, 2, 3, 6, 10, 11, 12, 13, 14, 15, 18, 28, 34, 40, 64) if not caught(n)]
ok("signals to the stub are forwarded", not wrong, wrong)

# ---- bytes ----

data = random.Random(new_seed()).randbytes(64 << 20)
flip = (
    "import sys\nb = sys.stdin.buffer\nwhile True:\n d = b.read(65536)\n if not d: break\n"
    " sys.stdout.buffer.write(d); sys.stderr.buffer.write(bytes(d)[::-1] if 0 else d)\n"
)
began = time.monotonic()
code, out, err = run("/usr/bin/python3", "-c", flip, input=data, timeout=3 * WAIT)
print(f"# {3 * 64 / (time.monotonic() - began):.0f} MiB/s")
ok(
    "64 MiB through pipes, byte-exact",
    code == 0 and out == data and err == data,
    f"{(code, len(out), len(err))}\n{c.log(0)}",
)
name = os.path.join(work, "data")
with open(name, "wb") as f:
    f.write(data)
with open(name, "rb") as fin, open(name + ".out", "wb") as fout:
    code, _, err = run("/bin/cat", stdin=fin, stdout=fout, timeout=3 * WAIT)
ok("64 MiB through files", code == 0 and open(name + ".out", "rb").read() == data, (code, err))
with open(name + ".out", "ab") as fout:
    fout.write(b"before ")
    fout.flush()
    sh("echo -n middle", stdout=fout)
    fout.write(b" after")
ok(
    "a file's offset is shared",
    (saw := open(name + ".out", "rb").read()[len(data) :]) == b"before middle after",
    saw,
)
del data

code, out, err = sh(
    "i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done",
    stderr=subprocess.STDOUT,
)
want = "".join(f"out {i}\nerr {i}\n" for i in range(200)).encode()
ok("stdout and stderr in one pipe keep their order", out == want, out[:100])

with open(os.path.join(work, "lines"), "w") as f:
    f.write("one\ntwo\nthree\n")
script = f"while read l; do {STUB} @0.1 /bin/sh sh -c 'exit 0'; echo $l; done <{work}/lines"
got = c.call(0, ["sh", "-c", script], stderr=None, text=False).stdout
ok("what is not read of a file is left to the next reader", got == b"one\ntwo\nthree\n", got)
got = c.call(
    0,
    [
        "python3",
        "-c",
        f"""
import subprocess
with open("{work}/lines", "rb", 0) as f:
    subprocess.run(["{STUB}", "@0.1", "/usr/bin/python3", "python3", "-c",
                    "import os; os.write(1, os.read(0, 4))"], stdin=f)
    print(f.read().decode(), end="")""",
    ],
    stderr=None,
    text=False,
).stdout
ok("what is read of a file is gone", got == b"one\ntwo\nthree\n", got)

p1 = c.stub("/usr/bin/yes", stdin=NULL, stdout=PIPE)
p1.stdout.readline()
p1.stdout.close()
ok("a writer without a reader dies of SIGPIPE", p1.wait(WAIT) == -signal.SIGPIPE, p1.returncode)
p1 = c.stub("/bin/sh", "-c", "exec <&-; echo closed; exec sleep 60", stdin=PIPE, stdout=PIPE)
p1.stdout.readline()
try:
    while True:
        p1.stdin.write(b"x" * 4096)
        p1.stdin.flush()
except BrokenPipeError:
    ok("the writer to a task that closed its stdin gets EPIPE", True)
p1.kill()
p1.wait()
must("no guest is left", no_guests(), guests())

# A full stdin must not hold up a signal.
p1 = c.stub("/bin/sleep", "60", stdin=PIPE, stdout=NULL)
os.set_blocking(p1.stdin.fileno(), False)
must("it is a guest", until(guests), guests())
filled = 0
try:
    while filled < 1 << 20:
        filled += os.write(p1.stdin.fileno(), b"x" * 4096)
        time.sleep(0.0001)
except BlockingIOError:
    pass
p1.send_signal(signal.SIGTERM)
ok(
    f"a signal overtakes {filled} bytes nobody reads",
    p1.wait(WAIT) == -signal.SIGTERM,
    p1.returncode,
)

code, out, err = sh("(sleep 0.3; echo late) & echo now")
ok("children that go on are relayed", (code, out) == (0, b"now\nlate\n"), (code, out, err))
ok("and are gone then", no_guests(), guests())

# ---- what it inherits ----

show = """
import os, resource, signal, sys
for fd in 0, 1, 2:
    try:
        print("fd", fd, os.fstat(fd).st_rdev == 0x103)
    except OSError:
        print("fd", fd, "closed")
print(os.getcwd(), oct(os.umask(0)), os.getresuid(), os.getresgid(), os.getgroups(), os.nice(0))
print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
print([n for n in range(1, 65) if n not in (32, 33) and signal.getsignal(n) == signal.SIG_IGN])
print([resource.getrlimit(n) for n in range(16)])
print(sorted((k, v) for k, v in os.environb.items() if k != b"LC_CTYPE"))
print([l for l in open("/proc/self/status") if l.startswith("NoNewPrivs")])
""".strip()
with open(os.path.join(work, "show.py"), "w") as f:
    f.write(f"import sys; sys.stdout = open(sys.argv[1], 'w')\n{show}\n")
os.mkdir(os.path.join(work, "a folder"), 0o777)
os.chmod(os.path.join(work, "a folder"), 0o777)


def like_local(name, setpriv=(), before="true", redirect="</dev/null >/dev/null 2>/dev/null"):
    """Both print what they have inherited, into files."""
    script = f"cd '{work}/a folder'; {before}; exec %s {work}/show.py {work}/%s {redirect}"
    env = {"PATH": os.environ["PATH"], "EMPTY": "", b"BYTES": b"\xff\xfe", "LINES": "one\ntwo"}
    python = "/usr/bin/python3"
    with c.net.enter(0):
        for kind, how in (("local", python), ("away", f"{STUB} @0.1 {python} python3")):
            subprocess.run([*setpriv, "sh", "-c", script % (how, kind)], env=env, timeout=WAIT)
    local, away = (open(f"{work}/{kind}").read() for kind in ("local", "away"))
    owner = os.stat(f"{work}/away").st_uid
    for kind in "local", "away":
        os.unlink(f"{work}/{kind}")
    ok(name, local == away and local, f"local: {local}\naway: {away}")
    return owner


like_local("everything inherited is as at home")
like_local(
    "umask, limits, nice, ignored signals",
    before="umask 027; ulimit -n 333; ulimit -Sc 0; trap '' USR1 HUP; renice -n 3 $$ >/dev/null",
)
like_local("closed descriptors", redirect="<&- >&- 2>&-")
like_local("a closed stdin", redirect="<&-")
like_local("closed stdout and stderr", redirect=">&- 2>&-")
for user in ("2001", "--clear-groups"), ("2001", "--groups=5,6,2001"):
    owner = like_local(f"user {user}", ("setpriv", "--reuid", user[0], "--regid", "2002", user[1]))
    ok("what it writes is the user's", owner == 2001, owner)

# ---- refusals ----

code, out, err = run("/no/such/program")
ok("an unknown program: refused", code == 1 and err.startswith(b"ehctl exec: "), (code, err))
code, out, err = run("/bin/true", node="@0.3")
ok("an unknown node: refused", code == 1 and err.startswith(b"ehctl exec: "), (code, err))
code, out, err = sh(HERE, node="@0.0")
ok("this node itself: run here", code == 0 and out.strip() != there.encode(), (code, out, err))
code, out, err = sh(HERE, node="0123456789abcdef0123456789abcdef")
ok("an unknown token: run here", code == 0 and out.strip() != there.encode(), (code, out, err))
with open(f"{work}/bad", "w") as f:
    f.write("#!/no/such/interpreter\n")
os.chmod(f"{work}/bad", 0o755)
code, out, err = run(f"{work}/bad")
ok("exec itself fails there: said so", code == 127 and b"No such file" in err, (code, err))
os.mkfifo(f"{work}/fifo")
ok(
    "a named pipe keeps it at home",
    run("/bin/ls", f"{work}/bad", f"{work}/fifo", node="@auto")
    == (0, f"{work}/bad\n{work}/fifo\n".encode(), b"")
    and c.alive(0),
    c.log(0),
)
ok(
    "and at home: as an exec that found nothing",
    (saw := run(f"{work}/bad", node="x" * 8)[0]) == 127,
    saw,
)

# ---- stop and continue ----


def states(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"


def hold(**more):
    """A task that waits; the stub and its process there. In a group of its own, so not orphaned."""
    p = c.stub("/bin/sh", "-c", "echo $$; exec sleep 60", stdin=NULL, stdout=PIPE, **more)
    return p, int(p.stdout.readline())


for n in signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGSTOP:
    p, remote = hold(preexec_fn=lambda: os.setpgid(0, 0))
    p.send_signal(n)
    stopped = []
    told = until(lambda: os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WNOHANG))
    ok(
        f"{n.name}: the parent sees the stop",
        told and (told.si_code, told.si_status) == (os.CLD_STOPPED, n),
        told,
    )
    ok(f"{n.name}: the task is stopped", until(lambda: states(remote) == "T"), states(remote))
    p.send_signal(signal.SIGCONT)
    ok(
        "SIGCONT: both go on",
        until(lambda: states(remote) == "S") and until(lambda: states(p.pid) == "S"),
        (states(remote), states(p.pid)),
    )
    p.send_signal(signal.SIGTERM)
    ok("and it ends by a signal", p.wait(WAIT) == -signal.SIGTERM, p.returncode)
p, remote = hold(preexec_fn=lambda: os.setpgid(0, 0))
os.kill(remote, signal.SIGSTOP)
ok("a task that stops itself stops its stub", until(lambda: states(p.pid) == "T"))
p.send_signal(signal.SIGCONT)
ok("and goes on with it", until(lambda: states(remote) == "S"))
p.kill()
p.wait()
ok("SIGKILL of the stub ends the task", until(lambda: states(remote) == "gone"))

# ---- a terminal ----


def terminal(*words, options=()):
    """The stub as leader of a session with a terminal; its pid, the terminal's other side, what is
    shown."""
    with c.net.enter(0):
        pid, master = pty.fork()
        if not pid:
            environment.default_signals()
            # forkpty() leaves it the masters of earlier terminals, which are none of its own
            os.closerange(3, 256)
            os.execv(STUB, [STUB, *options, "@0.1", words[0], *words])
    return pid, master, shown_at(master)[1]


pid, master, see = terminal("/bin/sh", "-c", "echo up; exec cat -E")
must("it is up", see(b"up"))
os.write(master, b"a line\n")
ok("a line typed at the terminal reaches the task", see(b"a line$"))
os.write(master, b"\x1a")
os.write(master, b"another\n")
ok("^Z does not stop an orphaned group, as at home", see(b"another$"))
os.write(master, b"\x04")
ok("^D ends its input", (saw := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])) == 0, saw)
os.close(master)
pid, master, see = terminal("/bin/sh", "-c", "echo up; exec sleep 60")
must("it is up", see(b"up"))
os.write(master, b"\x03")
ok(
    "^C interrupts it",
    (saw := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])) == -signal.SIGINT,
    saw,
)
os.close(master)

# ---- faults ----

p = c.stub(
    "/bin/sh",
    "-c",
    "sleep 60 & echo $!; setsid sleep 60 & echo $!; echo $$; exec sleep 60",
    stdin=NULL,
    stdout=PIPE,
)
tree = [int(p.stdout.readline()) for _ in range(3)]
p.kill()
p.wait()
p.stdout.close()
ok("with all its children", until(lambda: all(states(t) in ("gone", "Z") for t in tree)), tree)
grouped = "without limits of their own" not in c.log(1)
print("#", "guests have cgroups" if grouped else "no cgroup-2 here")
if grouped:
    left = until(
        lambda: not [
            d
            for d in os.listdir(c.cgroup(1) + "/guest")
            if os.path.isdir(f"{c.cgroup(1)}/guest/{d}")
        ]
    )
    ok("no guest's cgroup is left", left, os.listdir(c.cgroup(1) + "/guest"))

# Before the start: the executor freezes, the stub is killed, nothing runs.
c.agents[1].send_signal(signal.SIGSTOP)
p = c.stub("/bin/sh", "-c", f"echo ran >>{work}/ran", stdin=NULL)


def has_socket(pid):
    try:
        return "socket" in descriptors(pid).values()
    except FileNotFoundError:  # it has ended
        return False


must("it has asked its agent", until(lambda: has_socket(p.pid)))
p.kill()
p.wait()
c.agents[1].send_signal(signal.SIGCONT)
ok("a frozen executor comes back", c.all_up(range(2)))
ok(
    "and a killed stub's task never started",
    sh("exit 5")[0] == 5 and not os.path.exists(f"{work}/ran"),
)


def private(pid):
    """KiB of memory that each further process like this needs: the program itself is there once."""
    rollup = open(f"/proc/{pid}/smaps_rollup").read().split("\n")
    return sum(int(l.split()[1]) for l in rollup if l.startswith("Private_Dirty"))


files = len(os.listdir(f"/proc/{c.agents[0].pid}/fd")), len(
    os.listdir(f"/proc/{c.agents[1].pid}/fd")
)
memory = c.memory(0)
many = [hold() for _ in range(50)]
grown = (c.memory(0) - memory) / 50
stub = private(many[0][0].pid)
end = private(int(open(f"/proc/{many[0][1]}/stat").read().rsplit(")", 1)[1].split()[1]))
for p, _ in many:
    p.terminate()
    p.wait()
    p.stdout.close()
ok(f"{grown:.1f} KiB of the agent for a job it routes (at most 8)", grown <= 8)
ok(f"{stub} KiB for a stub (at most 150)", stub <= 150)
ok(f"{end} KiB for its other end (at most 200)", end <= 200)
ok(
    "no descriptor is left",
    no_guests()
    and until(
        lambda: (
            len(os.listdir(f"/proc/{c.agents[0].pid}/fd")),
            len(os.listdir(f"/proc/{c.agents[1].pid}/fd")),
        )
        <= files
    ),
    files,
)

p, remote = hold(stderr=PIPE)
c.end(1, signal.SIGKILL)
out, err = p.communicate(timeout=WAIT)
ok("executor lost: the task ends as killed", p.returncode == -signal.SIGKILL, p.returncode)
ok("and says so", b"while it ran this task" in err, err)
ok(
    "what it left ends, too, without an agent",
    until(lambda: states(remote) in ("gone", "Z")),
    states(remote),
)
c.start(1)
# Up is not yet all: both ends may still replace the connection of the old agent.
ok("which is taken back", c.all_up(range(2)) and until(lambda: sh("exit 0")[0] == 0))

# ---- a second run, where the user allows it ----


class Retried:
    """A task that waits in its first run, to be lost, and reads its input in its second."""

    def __init__(self, name, first="", options=("--retry",), words=None, **more):
        self.runs = os.path.join(work, "runs-" + name.replace(" ", "-"))
        script = f"""{HERE} >>'{self.runs}'
            if [ $(wc -l <'{self.runs}') -eq 1 ]; then
                {first or ":"}; echo >>'{self.runs}.up'; exec sleep 1000
            fi
            echo again; cat; exit 7"""
        self.words = "/bin/sh", "-c", script
        if more:
            more.setdefault("stderr", PIPE)
            self.p = c.stub(*self.words, options=options, **more)
        else:
            self.pid, self.master, self.see = terminal(*self.words, options=options)

    def up(self):
        return until(lambda: os.path.exists(self.runs + ".up"))

    def where(self):
        return open(self.runs).read().split()

    def end(self, input=None):
        out, err = self.p.communicate(input, WAIT)
        return self.p.returncode, out, err


again = there, os.readlink(f"/proc/{c.agents[0].pid}/ns/net")
lines = os.path.join(work, "lines")
tasks = {
    "null": Retried("null", stdin=NULL, stdout=PIPE),
    "written": Retried("written", "echo once", stdin=NULL, stdout=PIPE),
    "file": Retried("file", "read line", stdin=open(lines, "rb"), stdout=PIPE),
    "file closed there": Retried(
        "file closed there", "read line; exec <&-", stdin=open(lines, "rb"), stdout=PIPE
    ),
    "pipe": Retried("pipe", stdin=PIPE, stdout=PIPE),
    "closed": Retried("closed", preexec_fn=lambda: os.close(0), stdout=PIPE),
    "terminal": Retried("terminal"),
    "pipe used": Retried("pipe used", "read line", stdin=PIPE, stdout=PIPE),
    "output closed": Retried("output closed", "exec >&-", stdin=NULL, stdout=PIPE),
    "terminal used": Retried("terminal used", "read line"),
    "told to end": Retried("told to end", "trap '' TERM", stdin=NULL, stdout=PIPE),
    "not allowed": Retried("not allowed", options=(), stdin=NULL, stdout=PIPE),
}
tasks["pipe used"].p.stdin.write(b"one\n")
tasks["pipe used"].p.stdin.flush()
os.write(tasks["terminal used"].master, b"one\n")
# One that waits for its reader, so that output is under way when it is lost.
flood = Retried("flood", "seq 100000", stdin=NULL, stdout=PIPE)
down = [name for name, t in tasks.items() if not t.up()]
ok("tasks to be lost have started", not down, down)
written = [0]


def rests():
    """All that is between the program and its reader is full: it has written nothing more in a
    while."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
            if words[:2] == [b"seq", b"100000"] and os.readlink(f"/proc/{pid}/ns/net") == there:
                written.append(int(open(f"/proc/{pid}/io").read().split()[3]))
        except OSError:
            pass  # it has ended
    return written[-1] > 2 * 65536 and len(written) > 20 and len(set(written[-20:])) == 1


ok("output is under way", until(rests), written[-20:])
tasks["told to end"].p.send_signal(signal.SIGTERM)
c.end(1, signal.SIGKILL)
# First of all: a lost task's stub drops what nobody has read of for five seconds.
code, out, err = flood.end()
first, _, second = out.partition(b"again\n")
whole = "".join(f"{n + 1}\n" for n in range(100000)).encode()
ok(
    "what was under way of the first run's output comes before the second's",
    code == 7 and len(first) > 65536 and whole.startswith(first) and not second,
    (code, len(first), second[:20], err),
)
for name, want in (
    ("null", b"again\n"),
    ("written", b"once\nagain\n"),
    ("file", b"again\none\ntwo\nthree\n"),
    ("file closed there", b"again\none\ntwo\nthree\n"),
    ("closed", b"again\n"),
    ("pipe", b"again\nlate\n"),
):
    code, out, err = tasks[name].end(b"late\n" if name == "pipe" else None)
    ok(
        f"--retry, {name}: a lost task is run again at home",
        (code, out, tuple(tasks[name].where())) == (7, want, again)
        and b"it is run again here" in err,
        (code, out, err, tasks[name].where()),
    )
t = tasks["terminal"]
must("--retry, unread terminal: run again", t.see(b"again"))
os.write(t.master, b"typed\n\x04")
read = t.see(b"typed\r\ntyped")
code = os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1])
ok("--retry, unread terminal: run again, and reads it", read and code == 7, (read, code))
for name, why in (
    ("pipe used", b"not run again: its standard input cannot be rewound"),
    ("output closed", b"not run again: its standard output was closed"),
    ("told to end", b"not run again: it was told to end"),
    ("not allowed", b"reported as killed\n"),
):
    code, out, err = tasks[name].end()
    ok(
        f"{name}: ends as killed and says so",
        code == -signal.SIGKILL and why in err and len(tasks[name].where()) == 1,
        (code, out, err, tasks[name].where()),
    )
t = tasks["terminal used"]
ok(
    "--retry, typed at the terminal: ends as killed",
    t.see(b"killed")
    and os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1]) == -signal.SIGKILL
    and len(t.where()) == 1,
    t.where(),
)
for t in "terminal", "terminal used":
    os.close(tasks[t].master)
c.start(1)
ok("the executor is back", c.all_up(range(2)) and until(lambda: sh("exit 0")[0] == 0))

p, remote = hold(stderr=PIPE)
c.end(0, signal.SIGKILL)
out, err = p.communicate(timeout=WAIT)
ok(
    "no agent at home for too long: the stub ends as killed",
    p.returncode == -signal.SIGKILL and b"it is reported as killed" in err,
    (p.returncode, err),
)
ok("and the task there", until(lambda: states(remote) in ("gone", "Z")))
code, out, err = sh(HERE, node="x" * 8)
ok("without an agent: run here", code == 0 and out.strip() != there.encode(), (code, out, err))
# the next one is not to be lost, however long an agent takes to start
c.settings = c.settings.replace("job-limit = 3000", "job-limit = 60000")
c.conf(1)
c.ask(1, {"command": "reload"})
c.start(0)
ok("it finds the others again", c.all_up(range(2)))

p, remote = hold()
ok(
    "an executor's agent ends, and its guests go on",
    c.end(1) == 0 and states(remote) not in ("gone", "Z"),
    states(remote),
)
p.send_signal(signal.SIGTERM)
c.start(1)
ok("what was sent meanwhile arrives", p.wait(WAIT) == -signal.SIGTERM, p.returncode)
ok("they are gone", until(lambda: states(remote) in ("gone", "Z")))
p.stdout.close()
done()
