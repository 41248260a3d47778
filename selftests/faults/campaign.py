# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks of all kinds on eight nodes while faults come; the checker knows each task. The dice's seed
repeats the choices, not the times."""

import collections, random, threading, time
import faults, work
from network import Network
from nodes import JOB_LIMIT, Nodes
from wait import WAIT

NODES = 8
TASKS = 10  # at once
AT_ONCE = 5  # faults
STUCK = (
    JOB_LIMIT + 2 * WAIT
)  # a task that is older has hung: no task is longer than some seconds, no fault longer than that
SCENE = 400  # lines of a log


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else None


def descendants(pid):
    """It and its children's children."""
    found, queue = [], [pid]
    while queue:
        p = queue.pop()
        found.append(p)
        try:
            queue += map(int, open(f"/proc/{p}/task/{p}/children").read().split())
        except OSError:
            pass
    return found


class Campaign:
    def __init__(self, seed, kinds=None, n=NODES, tasks=TASKS, say=print):
        self.dice, self.say, self.at_once = random.Random(seed), say, tasks
        self.task_dice = random.Random(seed + 1)
        self.nodes = Nodes(n)
        if not self.nodes.start_all():
            raise RuntimeError("agents do not find each other: " + self.nodes.log(0)[-2000:])
        self.network = Network(self.nodes)
        self.place = work.Place(self.nodes)
        self.kinds = kinds or faults.KINDS
        self.live, self.tasks, self.faults, self.threads, self.problems = [], [], [], [], []
        self.words = collections.Counter()
        self.deck = []
        self.wrong = []
        self.began = self.next_word = time.monotonic()

    # ---- what faults ask ----

    def active(self):
        return [f for f in self.faults[-100:] if not f.over]

    def task_of(self, pid):
        """Whose end this is."""
        for p in descendants(pid):
            try:
                text = open(f"/proc/{p}/environ", "rb").read()
            except OSError:
                continue
            for word in text.split(b"\0"):
                if word.startswith(b"EHT="):
                    return next((t for t in self.live if t.id == word[4:].decode()), None)
        return None

    def note_views(self, i):
        for t in self.live:
            if t.kind == "view" and i in (t.home, t.away):
                t.why = "view-kill"

    # ---- a round ----

    def more_tasks(self):
        while len(self.live) < self.at_once:
            home = self.task_dice.randrange(self.nodes.n)
            away = self.task_dice.choice([i for i in range(self.nodes.n) if i != home])
            kind = self.task_dice.choice(work.KINDS)
            self.live.append(kind(self.place, self.task_dice, home, away))
            self.tasks.append(self.live[-1])

    def step(self):
        done = [t for t in self.live if t.step()]
        now = time.monotonic()
        for t in self.live:
            if not t.ended and now - t.began > STUCK:
                self.wrong.append(("stuck", t.seen(self.place.runs())))
                self.words["stuck"] += 1
                self.say(
                    f"# {t.seen(self.place.runs())}\n# held by {t.holders()}\n# tasks: "
                    f"{[self.nodes.tell(i, 'tasks') for i in range(self.nodes.n)]}"
                )
                t.kill()
                done.append(t)
        self.live = [t for t in self.live if t not in done]
        if done:  # said at once, and judged at the end once more
            for word, tasks in work.judge(done, self.place.runs()).items():
                for t in tasks if word in work.WRONG else ():
                    self.say(f"# {now - self.began:.0f} s: {word}: {t.seen(self.place.runs())}")
                    self.show_scene(t)
        held = {i for f in self.active() for i in f.victims}
        for i, agent in self.nodes.agents.items():
            if i not in held and agent.poll() is not None and not self.held_now(i):
                self.problems.append(
                    f"n{i}: its agent ended by itself, status {agent.returncode}:"
                    f" {self.nodes.log(i)[-1500:]}"
                )
                self.nodes.start(i, ready=False)
        for i, launcher in self.nodes.launchers.items():
            if i not in held and launcher.poll() is not None and not self.held_now(i):
                self.problems.append(
                    f"n{i}: its ehlaunch ended by itself, status {launcher.returncode}"
                )
                self.nodes.launch(i)

    def show_scene(self, task):
        """What happened on both nodes of a task, which their logs at the end have no more."""
        for f in self.faults:
            if {task.home, task.away} & set(f.victims) and f.began > task.began - STUCK:
                self.say(f"#   {f.began - self.began:.1f} s: {f}, over after {f.took} s more")
        for i in (task.home, task.away):
            for line in self.nodes.log(i).splitlines()[-SCENE:]:
                self.say(f"#   n{i}: {line[:240]}")

    def held_now(self, i):
        return any(i in f.victims for f in self.active())

    def more_faults(self):
        """Begins one if there is room."""
        if len(self.active()) >= AT_ONCE:
            return
        # each kind is as often as the others
        if not self.deck:
            self.deck = self.dice.sample(self.kinds, len(self.kinds))
        held = {i for f in self.active() for i in f.victims}
        victims = self.deck[-1].choose(
            self.dice, [i for i in range(self.nodes.n) if i not in held], self.nodes
        )
        if not victims:
            return
        fault = self.deck.pop()(self, self.dice, victims)
        self.faults.append(fault)
        thread = threading.Thread(target=fault.run, daemon=True)
        self.threads.append(thread)
        thread.start()

    def run(self, count, seconds):
        """So many faults under load, or as many as begin in the time."""
        end = time.monotonic() + seconds
        more = lambda: len(self.faults) < count and time.monotonic() < end
        self.loop(lambda: more() or self.active(), lambda: more() and self.more_faults())

    def loop(self, going, act=lambda: None):
        next_fault = time.monotonic()
        while going():
            now = time.monotonic()
            self.more_tasks()
            self.step()
            if now > next_fault:
                act()
                next_fault = now + self.dice.random() * 0.3
            if now > self.next_word:
                self.say(
                    f"# {now - self.began:.0f} s: {len(self.faults)} faults,"
                    f" {len(self.tasks) - len(self.live)} tasks have ended; now "
                    + "; ".join(map(str, self.active()))
                )
                self.next_word = now + 20
            time.sleep(0.02)

    def finish(self):
        end = time.monotonic() + STUCK
        while self.live and time.monotonic() < end:
            self.step()
            time.sleep(0.02)
        runs = self.place.runs()
        for word, tasks in work.judge(self.tasks, runs).items():
            if word == "stuck":
                continue  # said when it was
            self.words[word] += len(tasks)
            if word in work.WRONG:
                self.wrong += [(word, t.seen(runs)) for t in tasks]
        known = {n for t in self.tasks for n in t.names}
        strangers = set(runs) - known
        if strangers:
            self.problems.append(f"in the ledger and nobody's: {strangers}")
        self.problems += [f"{f}: {f.problem}" for f in self.faults if f.problem]

    def table(self):
        """Lines of the faults' table: kind, how many, and seconds from its end until all was
        well."""
        rows = []
        for kind in self.kinds:
            mine = [f for f in self.faults if type(f) is kind]
            took = [f.took for f in mine if f.took is not None and not f.none]
            nothing = sum(f.none for f in mine)
            if mine:
                p50, p99 = percentile(took, 0.5), percentile(took, 0.99)
                rows.append(
                    f"| {kind.name} | {len(mine)} | {nothing} | "
                    + (f"{p50:.1f} | {p99:.1f} |" if took else "| |")
                )
        return ["| fault | count | no target | p50, s | p99, s |", "|---|---|---|---|---|", *rows]

    def sums(self):
        w = self.words
        return (
            f"{len(self.faults)} faults, {len(self.tasks)} tasks: {w['right']} right,"
            f" {w['told']} told, {w['refused']} refused; "
            + ", ".join(
                f"{name} {w[word]}"
                for word, name in (
                    ("lost", "lost silently"),
                    ("twice", "run twice"),
                    ("bytes", "bytes wrong"),
                    ("status", "status wrong"),
                    ("untold", "killed without a cause"),
                    ("stuck", "stuck"),
                )
            )
        )
