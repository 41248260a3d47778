#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks in a view of home's files outlive agents that end, are killed, or stand still: what they
read, write and lock at home goes on, once. EHS_SEED=N repeats a run."""

import errno, fcntl, hashlib, os, random, shutil, signal, subprocess, sys, tempfile, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, must, ok, skip_all
from mounts import libc, mounted, own_mounts
from proc import running
from seed import new_seed
from tree import BUILD
from users import add_names, as_user
from wait import WAIT, until

if os.geteuid() or not os.path.exists("/dev/fuse"):
    skip_all("needs root and /dev/fuse")
USER = 2001
CTL = os.path.join(BUILD, "bin", "ehctl")
PIPE, NULL = subprocess.PIPE, subprocess.DEVNULL
seed = new_seed()
dice = random.Random(seed)

# the user exists in a mount namespace of this test's
own_mounts()
add_names(eha=USER)
work = tempfile.mkdtemp()
os.chmod(work, 0o755)
os.mkdir(f"{work}/tree")
libc.mount(b"tree", f"{work}/tree".encode(), b"tmpfs", 0, None)
os.chmod(f"{work}/tree", 0o777)
tree = f"{work}/tree"

SETTINGS = 'heartbeat = 1000\nview-own = {{ "/usr" }}\njob-limit = {}'
c = Cluster(2, SETTINGS.format(30000), apart=True)
os.chmod(c.dir, 0o755)
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def start(words, **more):
    with c.net.enter(0):
        return subprocess.Popen(
            [CTL, "exec", "--view", "home", "0.1", "--", *words],
            cwd="/",
            **as_user(USER),
            **{"stdin": NULL, "stdout": PIPE, "stderr": PIPE, **more},
        )


def connected():
    return c.log(1).count("are connected again")


def processes(*names):
    """Those of these names that this test's launchers have started: only they see its mounts."""
    found = []
    mine = os.readlink("/proc/self/ns/mnt")
    for pid, (name, *_) in running():
        try:
            if name in names and os.readlink(f"/proc/{pid}/ns/mnt") == mine:
                found.append(pid)
        except OSError:
            pass
    return found


def nothing_left():
    return not processes("ehview", "ehfiles", "ehkeep") and not mounted(work)


# It copies a large file, appends a line for each piece, keeps a lock and a file without a name, and
# looks at each piece of what it has written once more. For each piece it also makes, renames and
# removes a file, each of which fails if it is done twice, and writes a byte through mapped memory.
SIZE, PIECE = 24 << 20, 96 << 10
COPY = f"""
import fcntl, hashlib, mmap, os, sys
tree, name = sys.argv[1:3]
lock = open(f"{{tree}}/{{name}}.lock", "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
other = open(f"{{tree}}/{{name}}.flock", "w")
fcntl.flock(other, fcntl.LOCK_EX)
gone = open(f"{{tree}}/{{name}}.gone", "w+b", buffering=0)
gone.write(b"without a name")
os.unlink(f"{{tree}}/{{name}}.gone")
with open(f"{{tree}}/{{name}}.map", "w+b") as f:
    os.ftruncate(f.fileno(), 8192)
    mapped = mmap.mmap(f.fileno(), 8192)
log = os.open(f"{{tree}}/{{name}}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
print(os.readlink("/proc/self/ns/mnt"), flush=True)
digest, n = hashlib.sha256(), 0
source = open(f"{{tree}}/large", "rb", buffering=0)
with source, open(f"{{tree}}/{{name}}", "w+b", buffering=0) as copy:
    while piece := source.read({PIECE}):
        while piece:
            done = os.pwrite(copy.fileno(), piece, copy.tell())
            assert os.pread(copy.fileno(), done, copy.tell()) == piece[:done]
            digest.update(piece[:done])
            copy.seek(done, 1)
            piece = piece[done:]
        n += 1
        os.write(log, b"%d\\n" % n)
        os.close(os.open(f"{{tree}}/{{name}}.made", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.rename(f"{{tree}}/{{name}}.made", f"{{tree}}/{{name}}.renamed")
        os.unlink(f"{{tree}}/{{name}}.renamed")
        mapped[n] = n % 251
        mapped.flush()
        print(n, flush=True)
        sys.stdin.readline()
os.lseek(gone.fileno(), 0, 0)
assert gone.read() == b"without a name"
print(digest.hexdigest(), flush=True)
"""
large = dice.randbytes(SIZE)
with open(f"{tree}/large", "wb") as f:
    f.write(large)
with open(f"{tree}/copy.py", "w") as f:
    f.write(COPY)
pieces = -(-SIZE // PIECE)
names = iter(range(1000))


def locked(path, how):
    """Whether another process holds this lock at home."""
    with open(path, "r+") as f:
        try:
            how(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except OSError as e:
            return e.errno in (errno.EAGAIN, errno.EACCES)


class Copy:
    def __init__(self):
        self.name = f"copy{next(names)}"
        self.path = f"{tree}/{self.name}"
        self.p = start(["/usr/bin/python3", f"{tree}/copy.py", tree, self.name], stdin=PIPE)
        self.space = self.p.stdout.readline().decode().strip()
        self.n = 0

    def go(self, n):
        """Lets it do `n` pieces more, without waiting for them. Pieces that are done count when
        they are read."""
        try:
            self.p.stdin.write(b"\n" * n)
            self.p.stdin.flush()
        except BrokenPipeError:  # right() says why
            pass

    def seen(self, n):
        while self.n < n:
            line = self.p.stdout.readline()
            if not line:
                return False
            self.n = int(line)
        return True

    def locks(self):
        return locked(f"{self.path}.lock", fcntl.lockf), locked(f"{self.path}.flock", fcntl.flock)

    def right(self):
        self.go(pieces)
        try:
            out, err = self.p.communicate(timeout=5 * WAIT)
        except BrokenPipeError:
            out, err = self.p.stdout.read(), self.p.stderr.read()
            self.p.wait(WAIT)
        lines = out.decode().split()
        if not os.path.exists(self.path):
            return False, (self.p.returncode, err, c.log(0)[-3000:], c.log(1)[-3000:])
        with open(self.path, "rb") as f:
            same = f.read() == large
        want = "".join(f"{i}\n" for i in range(1, pieces + 1))
        with open(f"{self.path}.log") as f:
            log = f.read()
        with open(f"{self.path}.map", "rb") as f:
            mapped = f.read(pieces + 1)[1:] == bytes(i % 251 for i in range(1, pieces + 1))
        good = (
            self.p.returncode == 0
            and same
            and log == want
            and mapped
            and lines[-1:] == [hashlib.sha256(large).hexdigest()]
        )
        free = not locked(f"{self.path}.lock", fcntl.lockf) and not locked(
            f"{self.path}.flock", fcntl.flock
        )
        os.unlink(self.path)
        return good and free, (
            self.p.returncode,
            same,
            log == want,
            mapped,
            free,
            lines[-2:],
            err,
            c.log(0)[-1500:],
            c.log(1)[-1500:],
        )


def there(*words):
    p = start(words)
    out, err = p.communicate(timeout=WAIT)
    return p.returncode, out.decode().strip(), err.decode()


task = Copy()
held = task.locks()
ok("a task in a view, without faults", *task.right())
ok("its locks are those of home", all(held), held)

for name, nodes in (("home's agent", [0]), ("the executor's", [1]), ("both", [0, 1])):
    for sig in signal.SIGKILL, signal.SIGTERM:
        task = Copy()
        task.go(dice.randrange(20, 60))
        task.seen(5)
        held, before = task.locks(), connected()
        c.again(dice.sample(nodes, len(nodes)), sig)
        ok(
            f"{name} ended by {sig.name}: the view is connected again",
            until(lambda: connected() > before),
            c.log(1)[-2000:],
        )
        task.seen(20)
        task.go(40)
        task.seen(30)
        before = connected()
        c.again(dice.sample(nodes, len(nodes)), sig)
        must("the view is connected again", until(lambda: connected() > before), c.log(1)[-2000:])
        held += task.locks()
        ok(f"{name} ended twice by {sig.name}: its locks are held", all(held), held)
        got = there("/usr/bin/readlink", "/proc/self/ns/mnt")
        ok(
            "another task enters the same view",
            got[:2] == (0, task.space),
            (got, task.space, c.log(1)[-2000:]),
        )
        ok("and all is read, written and logged once", *task.right())
        ok("and they find each other", c.all_up(range(2)))

# Names, of which the view keeps what home has told: what changes at home meanwhile is seen.
p = start(
    [
        "/bin/sh",
        "-c",
        (
            f"ls {tree}/dir; echo up; read x; ls {tree}/dir; cat {tree}/dir/file; echo there"
            f" >{tree}/dir/it"
        ),
    ],
    stdin=PIPE,
)
os.mkdir(f"{tree}/dir")
os.chmod(f"{tree}/dir", 0o777)
p.stdout.readline()
for i in 0, 1:
    c.agents[i].send_signal(signal.SIGKILL)
    c.end(i, signal.SIGKILL)
with open(f"{tree}/dir/file", "w") as f:
    f.write("written meanwhile\n")
for i in 0, 1:
    c.start(i)
must("both are up", c.all_up(range(2)), c.log(1)[-2000:])
out, err = p.communicate(b"\n", timeout=WAIT)
ok(
    "what home has made meanwhile is seen",
    b"file\nwritten meanwhile\n" in out and p.returncode == 0,
    (out, err),
)
ok(
    "and at home what the task has done at last",
    (saw := open(f"{tree}/dir/it").read()) == "there\n",
    saw,
)

# A link that is cut for a while.
task = Copy()
task.go(30)
task.seen(5)
c.agents[1].send_signal(signal.SIGSTOP)
ok(
    "the executor's agent stands still: the link is cut",
    until(lambda: any(t["state"] == "reconnecting" for t in c.tasks(0))),
)
c.agents[1].send_signal(signal.SIGCONT)
ok("and all is read, written and logged once", *task.right())

# ehlaunch holds nothing.
task = Copy()
task.go(30)
task.seen(5)
for node in 0, 1:
    c.launch(node)
got = there("/bin/cat", f"{tree}/dir/it")
ok(
    "ehlaunch is killed on both: the next task sees home's files",
    got[:2] == (0, "there"),
    (got, c.log(1)[-2000:]),
)
c.again(dice.sample([0, 1], 2), signal.SIGKILL)
must("both are up", c.all_up(range(2)), c.log(1)[-2000:])
got = there("/bin/cat", f"{tree}/dir/it")
ok("and then both agents, too", got[:2] == (0, "there"), (got, c.log(1)[-2000:]))
ok("the first task's files go on", *task.right())

# Time over: neither side is left, and the user is told.
for i in 0, 1:
    c.end(i)
ok(
    "both agents end, without a task: nothing is left",
    until(nothing_left, 2 * WAIT),
    (processes("ehview", "ehfiles", "ehkeep"), mounted(work)),
)
c.settings = SETTINGS.format(2000)
ok("agents with a short job-limit", c.start_all(), c.log(0)[-1000:] + c.log(1)[-1000:])
for name, nodes in (("the executor's agent", [1]), ("home's", [0]), ("both", [0, 1])):
    task = Copy()
    task.go(30)
    task.seen(5)
    for i in nodes:
        c.end(i, signal.SIGKILL)
    out, err = task.p.communicate(timeout=WAIT)
    ok(
        f"{name} killed for longer than that: the task is reported as killed",
        task.p.returncode == -signal.SIGKILL and b"reported as killed" in err,
        (task.p.returncode, err, c.log(0)[-3000:], c.log(1)[-3000:]),
    )
    ok(
        "and nothing is left of the view on either side",
        until(nothing_left),
        (processes("ehview", "ehfiles", "ehkeep"), mounted(work)),
    )
    for i in nodes:
        c.start(i)
    must("both are up", c.all_up(range(2)), c.log(1)[-2000:])
    ok("nor of its locks", not any(task.locks()), task.locks())
task = Copy()
space = task.space
ok("the next task mounts it again", *task.right())

# Another limit is for what is mounted, too.
SHORT = 2


def limit(ms):
    c.settings = SETTINGS.format(ms)
    for i in 0, 1:
        c.conf(i)
        ok(
            f"n{i} has another limit: {ms} ms",
            "error" not in (saw := c.ask(i, {"command": "reload"})),
            saw,
        )


limit(30000)
task = Copy()
ok("in the same view", task.space == space, (task.space, space))
task.go(30)
task.seen(5)
for i in 0, 1:
    c.end(i, signal.SIGKILL)
time.sleep(2 * SHORT)  # the old limit is over: nobody may have ended it by then
for i in 0, 1:
    c.start(i)
must("both are up", c.all_up(range(2)), c.log(1)[-2000:])
ok("both agents killed for longer than the old one: the task goes on", *task.right())

# The user stops ehview, and its agent ends: the keeper is not the user's.
limit(1000 * SHORT)
task = Copy()
view = processes("ehview")
for pid in view:
    os.kill(pid, signal.SIGSTOP)
c.end(1, signal.SIGKILL)
ok(
    "an ehview that was stopped ends when time is over",
    view and until(lambda: not processes("ehview")),
    processes("ehview"),
)
task.p.communicate(timeout=WAIT)
c.start(1)

for i in range(2):
    c.end(i)
ok(
    "nothing is left",
    until(nothing_left, 2 * WAIT),
    (processes("ehview", "ehfiles", "ehkeep"), mounted(work)),
)
libc.umount2(tree.encode(), 2)
shutil.rmtree(work, ignore_errors=True)
done()
