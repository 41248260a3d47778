#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks of all kinds while agents are killed, ended, stopped and started at random: each task runs
once, with all of its bytes, or is lost and says so; and nothing is left. EHS_SEED repeats a storm,
EHS_ROUNDS makes it longer."""

import os, random, select, signal, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import STUB
from ktap import done, ok
from proc import state
from seed import new_seed
from wait import WAIT, until

seed = new_seed()
rounds = int(os.environ.get("EHS_ROUNDS", 1))
dice = random.Random(seed)
c = Cluster(2, "heartbeat = 1000\njob-limit = 30000\nlink-idle = 2000\nguests = 1000")
NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE
os.chmod(c.dir, 0o755)
AT_ONCE = 12


class Task:
    """A task, what it must print, and how it must end. `ran`: each run of it appends a line
    there."""

    count = 0

    def __init__(self):
        Task.count += 1
        self.ran = os.path.join(c.dir, f"ran{Task.count}")
        self.kind = dice.choice(
            ["sleep", "out", "lines", "file", "children", "signal", "kill", "stop", "freeze"]
        )
        self.status = dice.randrange(100)
        self.input, self.due, self.source, self.began = NULL, None, None, time.monotonic()
        n = dice.randrange(1000, 20000)
        ms = dice.randrange(200, 1500) / 1000
        head = f"echo x >>{self.ran}; "
        self.want = b""
        if self.kind == "sleep":
            script, self.want = f"echo a; sleep {ms}; echo b", b"a\nb\n"
        elif self.kind == "out":
            script = f"seq {n}; sleep {ms}; seq {n}"
            self.want = 2 * b"".join(b"%d\n" % i for i in range(1, n + 1))
        elif self.kind == "lines":
            script = "cat; sleep 0.1"
            self.want = b"".join(b"%d\n" % i for i in range(1, n + 1))
            self.source = subprocess.Popen(
                ["sh", "-c", f"seq {n // 2}; sleep {ms}; seq {n // 2 + 1} {n}"], stdout=PIPE
            )
            self.input = self.source.stdout
        elif self.kind == "file":
            name = os.path.join(c.dir, f"in{Task.count}")
            with open(name, "wb") as f:
                f.write(b"".join(b"%d\n" % i for i in range(n)))
            self.input = open(name, "rb")
            script = f"read a; echo $a; sleep {ms}; read b; echo $b; cat | tail -n 1"
            self.want = b"0\n1\n%d\n" % (n - 1)
        elif self.kind == "children":
            script, self.want = f"(sleep {ms}; echo late) & echo now", b"now\nlate\n"
        elif self.kind == "signal":
            script = "trap 'echo got; exit 77' TERM; echo up; while :; do sleep 0.05; done"
        elif self.kind == "kill":
            script = "echo up; exec sleep 1000"
        else:
            script, self.want = f"echo a; sleep {ms}; echo b", b"a\nb\n"
        self.p = c.popen(
            0,
            [
                STUB,
                "@auto" if dice.randrange(8) == 0 else "@0.1",
                "/bin/sh",
                "sh",
                "-c",
                f"{head}{script}; exit {self.status}",
            ],
            preexec_fn=lambda: os.setpgid(0, 0),
            stdin=self.input,
            text=False,
        )
        if self.input is not NULL:
            self.input.close()
        self.out, self.err, self.open = b"", b"", {self.p.stdout, self.p.stderr}
        for f in self.open:
            os.set_blocking(f.fileno(), False)
        self.poked = False

    def step(self):
        """Reads what there is, and does to it what its kind says. True: it has ended."""
        for f in select.select(list(self.open), [], [], 0)[0]:
            data = f.read() or b""
            if not data:
                self.open.discard(f)
            if f is self.p.stdout:
                self.out += data
            else:
                self.err += data
        if (
            not self.poked
            and self.out
            and (
                self.kind in ("signal", "kill")
                or self.kind in ("stop", "freeze")
                and dice.randrange(3) == 0
            )
        ):
            self.poked = True
            self.p.send_signal(
                {
                    "signal": signal.SIGTERM,
                    "kill": signal.SIGKILL,
                    "stop": signal.SIGTSTP,
                    "freeze": signal.SIGSTOP,
                }[self.kind]
            )
            if self.kind in ("stop", "freeze"):
                self.due = time.monotonic() + dice.random()
        if self.due and time.monotonic() > self.due:
            self.due = None
            self.p.send_signal(signal.SIGCONT)
        return not self.open and self.p.poll() is not None

    def wrong(self):
        """None, or what is wrong with how it went."""
        runs = os.path.getsize(self.ran) // 2 if os.path.exists(self.ran) else 0
        code, seen = (
            self.p.returncode,
            (
                f"{self.kind}: status {self.p.returncode}, {runs} runs, {len(self.out)} of"
                f" {len(self.want)} bytes, {self.out[:60]!r} {self.err[:300]!r}"
            ),
        )
        if runs > 1:
            return "run twice: " + seen
        # Said by `ehctl exec`: nothing was started.
        if code == 1 and self.err and not self.out:
            return None if runs == 0 else "run, and refused: " + seen
        if self.kind == "kill":
            return None if code == -signal.SIGKILL else seen
        if self.kind == "signal":
            return None if (code, self.out) == (77, b"up\ngot\n") else seen
        return (
            None if (code, self.out, self.err, runs) == (self.status, self.want, b"", 1) else seen
        )


def poke(stopped):
    """Does something to an agent."""
    i, what = dice.randrange(2), dice.choice(["kill", "end", "both", "stop", "stop", "link"])
    print(f"# {time.monotonic() - began:.1f} s: {what} {i}", flush=True)
    if what in ("kill", "end"):
        if stopped.pop(i, None):
            c.agents[i].send_signal(signal.SIGCONT)
        c.end(i, signal.SIGKILL if what == "kill" else signal.SIGTERM)
        c.start(i)
    elif what == "both":
        for j in list(stopped):
            stopped.pop(j)
            c.agents[j].send_signal(signal.SIGCONT)
        for j in 0, 1:
            c.end(j, signal.SIGKILL)
        for j in dice.sample([0, 1], 2):
            c.start(j)
    elif what == "stop":
        c.agents[i].send_signal(signal.SIGSTOP)
        stopped[i] = time.monotonic() + 2 * dice.random() + (4 if dice.randrange(4) == 0 else 0)
    else:
        c.net.switch("link", "set", c.net.port(i), "down")
        cut[i] = time.monotonic() + 5 * dice.random()


def restore(stopped, now):
    for j in [j for j, at in stopped.items() if now > at]:
        stopped.pop(j)
        c.agents[j].send_signal(signal.SIGCONT)
    for j in [j for j, at in cut.items() if now > at]:
        cut.pop(j)
        c.net.switch("link", "set", c.net.port(j), "up")


ok("two agents", c.start_all(), c.log(0) + c.log(1))
began = time.monotonic()
stopped, cut, live, all_tasks = {}, {}, [], []
pokes, tasks = 12 * rounds, 100 * rounds
next_poke = began + 0.5
while live or len(all_tasks) < tasks:
    now = time.monotonic()
    while len(live) < AT_ONCE and len(all_tasks) < tasks:
        live.append(Task())
        all_tasks.append(live[-1])
    restore(stopped, now)
    if pokes and now > next_poke and len(all_tasks) < tasks:
        poke(stopped)
        pokes -= 1
        next_poke = time.monotonic() + 0.5 + dice.random()
    live = [t for t in live if not t.step()]
    if live and now - min(t.began for t in live) > WAIT + 30:
        break
    select.select([], [], [], 0.02)
restore(stopped, float("inf"))
hung = [(t.kind, t.p.pid, state(t.p.pid), t.out[:50], t.err[:200]) for t in live]
ok("every task ends", not hung, hung)
for t in live:
    t.p.kill()
print(f"# {time.monotonic() - began:.0f} s, {len(all_tasks)} tasks")
wrong = [w for t in all_tasks if t not in live for w in [t.wrong()] if w]
ok("each has run once, with all its bytes and its status", not wrong, "\n".join(wrong[:20]))
refused = sum(t.p.returncode == 1 and not t.out for t in all_tasks)
ok("most were not refused", refused < len(all_tasks) * 3 // 4, refused)
ok("the agents find each other", c.all_up(range(2)))
left = lambda: [c.tasks(i) for i in range(2)]
ok("no task is left", until(lambda: left() == [[], []], 90), left())
guests = os.path.join(c.cgroup(1), "guest")
if os.path.isdir(guests):
    folders = lambda: [d for d in os.listdir(guests) if os.path.isdir(os.path.join(guests, d))]

    def inside():
        """Who is still in one, and where it sleeps."""
        read = lambda *path: open(os.path.join(*path)).read()
        try:
            return [
                (
                    d,
                    pid,
                    state(pid),
                    read("/proc", pid, "cmdline")[:80],
                    read("/proc", pid, "wchan"),
                    read("/proc", pid, "net/unix").count(c.dir),
                    len(os.listdir(f"/proc/{pid}/fd")),
                )
                for d in folders()
                for pid in read(guests, d, "cgroup.procs").split()
            ] or folders()
        except FileNotFoundError:
            return folders()

    ok("no guest's cgroup is left", until(lambda: not folders(), 90), inside())
idle = (
    lambda: "no connection was needed"
    in next(d for d in c.ask(0, {"command": "doctor"})["checks"] if d["name"] == "peer 0.1")["what"]
)
ok("no stream is left", until(idle), c.log(0)[-1500:])
files = lambda: [len(os.listdir(f"/proc/{c.agents[i].pid}/fd")) for i in range(2)]
ok("no descriptor is left", until(lambda: max(files()) < 40), files())
ok(
    "no report of a sanitizer",
    "Sanitizer" not in c.log(0) + c.log(1) and "runtime error" not in c.log(0) + c.log(1),
    "\n".join(l for i in range(2) for l in c.log(i).splitlines() if "Z " not in l[:30]),
)
ok("the agents end", c.end(0) == 0 and c.end(1) == 0, c.log(0)[-3000:] + c.log(1)[-3000:])
done()
