#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The hierarchy at work: start, spread over groups, deaths of controllers, a partition, with tasks
in flight. Under load index `tasks` a node's load is a number of tasks, so that sums can be told to
the task. The policy is eta, which is asked at each level up to the first with room.
    700-hierarchy.py [TOPOLOGY [TASKS]]      agents on this machine without the module; EH(3,2) if
                                             nothing is said
    selftests/vm/cluster --netns 64 --topology 3,2 --append 'load-index = "tasks"' --append 'policy
    = "eta"' \\
        --append 'learn = false' -- 700-hierarchy.py 3,2      with it"""

import json, os, random, signal, sys, tempfile, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from guest import Guest
from ktap import done, must, ok
from seed import new_seed
from tree import BUILD
from wait import until

EHCTL = os.path.join(BUILD, "bin", "ehctl")
topology = sys.argv[1] if len(sys.argv) > 1 else "3,2"
N, L = map(int, topology.split(","))
SIZE = 1 << N * L
IN_GUEST = "EHS_NODES" in os.environ
WAIT = 120 if IN_GUEST else 60  # emulated guests are some twenty times slower
TASKS = int(sys.argv[2]) if len(sys.argv) > 2 else 200  # in flight when something fails
# guests that keep the last node a sender, however thresholds follow, also when half a group is left
LOADED = 20 + TASKS // 5
seed = new_seed()
random.seed(seed)

c = (
    Guest(topology)
    if IN_GUEST
    else Cluster(
        SIZE,
        (
            'policy = "eta"\nlearn = false\nload-index = "tasks"\nthreshold = 2\nthreshold-floor ='
            " 2\nthreshold-length = 1\ncapacity = 1\ndwell = 0\nheartbeat = 500\njob-limit ="
            ' 5000\nguests = 4000\nlog = "info"\n'
        ),
        topology=topology,
    )
)
live = set(range(SIZE))
sides = None  # of a partition: node → side
words = tempfile.TemporaryDirectory()


def group(i, level):
    return i >> N * level


def lowest(i, level, among=None):
    return min(j for j in (among or live) if group(j, level) == group(i, level))


def parent_of(code):
    return code.rsplit(".", 1)[0]


def state(i):
    try:
        return c.ask(i, {"command": "tree"})
    except (OSError, ValueError, EOFError):
        return {"nodes": [], "groups": []}


def is_right(i, among=None):
    """Whether node i sees one controller a group, the lowest live node, and sums that are the
    nodes'."""
    among = among or live
    s = state(i)
    up = {n["code"]: n for n in s["nodes"] if n["agent"] == "up"}
    if set(up) != {c.code(j) for j in among}:
        return False
    want = {}
    for j in among:
        for level in range(1, L + 1):
            code = ".".join(c.code(j).split(".")[: L + 1 - level])
            want[code] = c.code(lowest(j, level, among))
    got = {g["code"]: g for g in s["groups"]}
    if len(got) != len(s["groups"]) or {code: g["controller"] for code, g in got.items()} != want:
        return False
    for code, g in got.items():
        members = [n for n in up.values() if n["code"].startswith(code + ".")]
        if g["nodes"] != len(members) or abs(g["load"] - sum(n["load"] for n in members)) > 0.001:
            return False
        if abs(g["threshold"] - sum(n["threshold"] for n in members)) > 0.001:
            return False
    for j in among:
        leads = [
            ".".join(c.code(j).split(".")[: L + 1 - level])
            for level in range(1, L + 1)
            if lowest(j, level, among) == j
        ]
        if sorted(up[c.code(j)]["controller_of"]) != sorted(leads):
            return False
    return True


def trouble(i, among):
    """Who leads, and what those who are missing have to say."""
    s = state(i)
    up = {n["code"] for n in s["nodes"] if n["agent"] == "up"}
    missing = [j for j in among or live if c.code(j) not in up]
    return "\n".join(
        [f"{g['code']} {g['controller']} {g['nodes']} nodes" for g in s["groups"]]
        + [
            f"{c.code(j)}: {state(j)['groups']}\n" + "\n".join(c.log(j).splitlines()[-8:])
            for j in missing[:3]
        ]
    )


def heals(i, what, among=None):
    began = time.monotonic()
    good = until(lambda: is_right(i, among), WAIT)
    ok(
        f"{what}: one controller a group, sums right ({time.monotonic() - began:.1f} s)",
        good,
        good or trouble(i, among),
    )


def run(i, *words):
    return c.popen(i, [EHCTL, *words])


def where():
    """Node by network namespace, of those that live."""
    return {os.readlink(f"/proc/{a.pid}/ns/net"): k for k, a in c.agents.items()}


def script(k, seconds, word):
    """Task k: says where it runs, waits for the word, which is a file, and ends within so many
    seconds."""
    wait = f"until [ -e {word} ]; do sleep 1; done; " if word else ""
    return (
        f"readlink /proc/self/ns/net; {wait}sleep {seconds * random.random():.2f}; exit {k % 200}"
    )


class Session:
    """The tasks of one managed session, each an exec that the kernel may hand to another node."""

    PARENT = """if 1:
        import json, subprocess, sys
        pipe = subprocess.PIPE
        streams = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe, "text": True}
        tasks = [subprocess.Popen(["sh", "-c", s], **streams)
                 for s in json.load(open(sys.argv[1]))]
        for t in tasks:
            out, err = t.communicate()
            print(json.dumps([t.returncode, out, err]), flush=True)
    """

    def __init__(self, i, scripts):
        file = os.path.join(os.environ["EHS_SHARE"], "scripts.json")
        with open(file, "w") as f:
            json.dump(scripts, f)
        # forked, not vforked: that would wait for each one's placement
        self.process = run(
            i,
            "run",
            "--",
            sys.executable,
            "-c",
            "import subprocess; subprocess._USE_VFORK = subprocess._USE_POSIX_SPAWN = False\n"
            + self.PARENT,
            file,
        )

    def is_lost(self, k):
        """Its process is not known here."""
        return False

    def results(self):
        out, err = self.process.communicate(timeout=10 * WAIT)
        return [json.loads(line) for line in out.splitlines()], err


class Apart:
    """The same without the module: each task is asked for by itself."""

    def __init__(self, i, scripts):
        self.processes = [run(i, "exec", "--auto", "--", "sh", "-c", s) for s in scripts]

    def results(self):
        ended = [(p.communicate(timeout=WAIT), p.returncode) for p in self.processes]
        return [(status, out, err) for (out, err), status in ended], ""

    def is_lost(self, k):
        """Whether its home says so. A task whose last descriptors were closed when it was cut off
        can say nothing itself."""
        ids = [
            e["id"] for e in heard() if e["event"] == "place" and e["pid"] == self.processes[k].pid
        ]
        return bool(ids) and until(
            lambda: any(
                e["event"] == "finish" and e["id"] == ids[-1] and e["lost"] for e in heard()
            )
        )


def burst(i, n, seconds, word=None):
    """n tasks on node i; each prints where it runs and exits with its own status."""
    return (Session if c.managed else Apart)(i, [script(k, seconds, word) for k in range(n)])


def in_flight(word):
    """A burst of which a good part runs elsewhere, while the rest is on its way. However slow this
    machine is, so many are there at the same time, as none ends before the word."""
    tasks = burst(home, TASKS, 4, word)
    must(
        "tasks are in flight",
        until(
            lambda: sum(
                t["executor"] != c.code(home) for t in c.tasks(home) if t["home"] == c.code(home)
            )
            >= TASKS // 8
        ),
        c.log(home)[-2000:],
    )
    return tasks


def verdicts(tasks, dead=()):
    """Of a burst: how many ran where; and those that did not end as they should."""
    at, wrong = {}, []
    nets = where()
    results, trouble = tasks.results()
    if trouble:
        wrong.append(trouble)
    for k, (status, out, err) in enumerate(results):
        lines = out.split()
        lost = "reported as killed" in err or (
            dead and not err and status == -signal.SIGKILL and tasks.is_lost(k)
        )
        if lost and len(lines) <= 1 and dead:
            at["lost"] = at.get("lost", 0) + 1
        elif status != k % 200 or len(lines) != 1:
            wrong.append((k, status, lines, err))
        else:
            node = nets.get(lines[0], "gone")
            at[node] = at.get(node, 0) + 1
    return at, wrong


if not IN_GUEST:
    order = list(range(SIZE))
    random.shuffle(order)
    for i in order:
        c.start(i, ready=False)
heals(SIZE - 1, f"{SIZE} agents started in any order")
memory = [c.memory(i) for i in range(SIZE)]
ok(
    f"resident memory of an agent: {min(memory)} to {max(memory)} KiB",
    (saw := max(memory)) <= 16384,
    saw,
)

# a node with guests is a sender; its own tasks go over the whole tree
home = SIZE - 1
guests = [run(home - 1, "exec", c.code(home), "--", "sleep", "1000") for _ in range(LOADED)]
loads = lambda: {
    n["code"]: n["load"] for n in state(0)["nodes"]
}  # those that it sees: on a busy machine not always all
must("the last node is loaded", until(lambda: loads().get(c.code(home)) == LOADED, WAIT), loads())
at, wrong = verdicts(burst(home, 3 * SIZE // 2, 3))
groups = {group(i, 1) for i in at if isinstance(i, int)}
ok(f"all {3 * SIZE // 2} tasks of a burst end as they should", not wrong, wrong[:5])
ok(
    f"and run in {len(groups)} of {SIZE >> N} groups, on {len(at)} nodes",
    (saw := len(groups)) > (SIZE >> N) // 2,
    saw,
)

events_in = tempfile.TemporaryFile("w+")
events = c.popen(
    home,
    [EHCTL, "watch", "--json"],
    stdout=os.open(f"/proc/self/fd/{events_in.fileno()}", os.O_WRONLY),
    stderr=None,
)


def heard():
    """The events of home."""
    events_in.seek(0)
    return [json.loads(line) for line in events_in if line.endswith("\n")]


def next_placed():
    """The event of a placement; asked for again while `watch` may not yet be heard."""
    while not (placed := [e for e in heard() if e["event"] == "place"]):
        run(home, "exec", "--auto", "--", "true").communicate()
    return placed[0]


place = next_placed()
steps = c.ask(home, {"command": "why", "id": place["id"]})["steps"]
ok(
    "why names the controllers that were asked, and the way",
    any("led by" in s["what"] for s in steps)
    and any(f"path: {c.code(home)} " in s["what"] for s in steps),
    "\n".join(s["what"] for s in steps),
)


def story(what, victims, heal_from):
    """Kills agents while 200 tasks are in flight."""
    word = os.path.join(words.name, what.replace(" ", "-"))
    tasks = in_flight(word)
    for v in victims:
        c.end(v, signal.SIGKILL)
        live.discard(v)
    open(word, "x").close()
    began = time.monotonic()
    probe = None
    while time.monotonic() - began < WAIT and not probe:
        task = run(home, "exec", "--auto", "--", "sh", "-c", "readlink /proc/self/ns/net")
        out = task.communicate()[0].strip()
        if task.returncode == 0 and where().get(out, home) != home:
            probe = time.monotonic() - began
    ok(
        f"{what}: a new task is placed elsewhere after {probe or 99:.2f} s",
        probe,
        c.log(home)[-1500:],
    )
    at, wrong = verdicts(tasks, victims)
    ok(
        (
            f"of {TASKS} tasks in flight {at.get('lost', 0)} are reported lost, the others end once"
            " and right"
        ),
        not wrong,
        wrong[:5],
    )
    heals(heal_from, what)
    for v in victims:
        c.start(v, ready=False)
        live.add(v)
    heals(heal_from, "and when they are back")


if L > 1:
    story("a controller is killed", [1 << N], home)
story("the top is killed", [0], home)
story("half a group is killed", list(range(0, (1 << N) // 2)), home)
for g in guests:
    g.terminate()
    g.wait()

if L > 1:
    # a partition: the second group moves to a switch of its own
    apart = [i for i in range(SIZE) if group(i, 1) == 1]
    rest = [i for i in range(SIZE) if group(i, 1) != 1]
    c.net.switch("link", "add", "br1", "type", "bridge")
    c.net.switch("link", "set", "br1", "up")
    guests = [run(home - 1, "exec", c.code(home), "--", "sleep", "1000") for _ in range(LOADED)]
    must(
        "they are known to load it", until(lambda: loads().get(c.code(home), 0) >= LOADED), loads()
    )
    word = os.path.join(words.name, "a-partition")
    tasks = in_flight(word)
    for i in apart:
        c.net.switch("link", "set", c.net.port(i), "master", "br1")
    open(word, "x").close()
    heals(apart[-1], "a partition: the small side", set(apart))
    heals(home, "the large side", set(rest))
    at, wrong = verdicts(tasks, apart)
    ok(
        (
            f"{at.get('lost', 0)} of {TASKS} tasks in flight are reported lost, the others end once"
            " and right"
        ),
        not wrong,
        wrong[:5],
    )
    for i in apart:
        c.net.switch("link", "set", c.net.port(i), "master", "br0")
    heals(home, "after healing")
    for g in guests:
        g.terminate()
        g.wait()
events.terminate()
events.wait()
done()
