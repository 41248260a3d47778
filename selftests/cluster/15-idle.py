#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Policy idle with the module: tasks go to idle nodes while home is far from overloaded, and a real
build goes to all."""

import atexit, json, os, re, signal, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok, skip, skip_all, within
from seed import new_seed
from wait import WAIT, until

PIPE, NULL = subprocess.PIPE, subprocess.DEVNULL
if "EHS_SHARE" not in os.environ:
    skip_all("not on a node of the virtual cluster: make check T=cluster boots one")
within(1500)
new_seed()  # of nothing yet: it is said so that it can be given
os.chdir(os.environ["EHS_SHARE"])
os.chmod(".", 0o777)
SHARE, BUILD = os.environ["EHS_SHARE"], os.environ["EHS_BUILD"]
SLOW = int(os.environ.get("EHS_SLOW", 1))
PROBE = os.path.join(SHARE, "probe")
NODES = ["n0", "n1", "n2"]
OTHERS = NODES[1:]
CODES = {f"0.{i}": host for i, host in enumerate(NODES)}
LIMIT = WAIT * 4 * SLOW  # of what only a broken run does not reach
# How long an exec may wait: starved guests answer late.
TIME_LIMIT = 10000
ENV = dict(
    os.environ, LC_ALL="C"
)  # the files of a locale cost an emulated guest as much as the program
# what says that an answer came late
DISTURBED = re.compile(r"refuses: (unreachable|credit-used)|time-out|no credit")
if not os.path.exists(PROBE):
    subprocess.run(["cp", os.path.join(BUILD, "selftests/cluster/probe"), PROBE], check=True)


def said(*words):
    return subprocess.run(words, stdin=NULL, stdout=PIPE, env=ENV, text=True, check=True).stdout


def on(i, *words):
    return said("on", str(i), *words) if i else said(*words)


def nodes():
    return {n["host"]: n for n in json.loads(said("ehctl", "status", "--json"))["nodes"]}


def why(task):
    p = subprocess.run(
        ["ehctl", "why", str(task), "--json"],
        stdin=NULL,
        stdout=PIPE,
        stderr=NULL,
        env=ENV,
        text=True,
    )
    got = json.loads(p.stdout or "{}")
    got["what"] = [s["what"] for s in got.get("steps", [])]
    return got


def told(task):
    return f"{task.get('command')} {task.get('reason')} {task['what']}"


def calm(what):
    """As until(), but each look costs the guests some of their time, and is load: the longer it
    takes, the fewer there are."""
    pause, end = 0.2, time.monotonic() + LIMIT
    while not (value := what()) and time.monotonic() < end:
        time.sleep(pause)
        pause = min(pause * 1.5, 5)
    return value


# ---- settings ----


def in_effect(i):
    with open(f".agent/n{i}.log", errors="replace") as f:
        return f.read().count("is now in effect")


def configure(i, text):
    folder = f"/run/ehsched/node{i}"
    before = in_effect(i)
    with open("agent.conf", "w") as f:
        f.write(text)
    on(i, "sh", "-c", f"cp agent.conf {folder}/agent.conf && kill -HUP $(cat {folder}/pid)")
    return until(lambda: in_effect(i) > before, LIMIT)


def with_idle(text):
    text = re.sub(r"(?m)^(policy|time-limit) *=.*\n", "", text)
    return f'policy = "idle"\ntime-limit = {TIME_LIMIT}\n{text}'


earlier = {i: on(i, "cat", f"/run/ehsched/node{i}/agent.conf") for i in range(len(NODES))}


@atexit.register
def restore():
    for i, text in earlier.items():
        configure(i, text)


ok(
    "all agents have the policy",
    all([configure(i, with_idle(text)) for i, text in earlier.items()]),
)


# Exact at once: what agents do is no load. The shell that starts the tasks sleeps, and is none by
# itself.
def by_tasks(weight):
    for i in range(len(NODES)):
        on(i, "ehctl", "set", "load-index=tasks", f"weight={1 if i else weight}")


def by_samples():
    for i in range(len(NODES)):
        on(i, "ehctl", "set", "load-index=runnable", "weight=1")


# ---- one after the other ----


class Tasks:
    """Tasks that compute until they are ended, children of one managed shell."""

    def __init__(self):
        self.where = os.path.join(SHARE, "where")
        if os.path.exists(self.where):
            os.unlink(self.where)
        self.shell = subprocess.Popen(
            [
                "ehctl",
                "run",
                "-n",
                "idle",
                "--",
                "bash",
                "-c",
                'while read -r ms; do "$0" burn "$ms" & echo $!; done; wait',
                PROBE,
            ],
            stdin=PIPE,
            stdout=PIPE,
            env=dict(ENV, EHS_WHERE=self.where),
            text=True,
        )
        self.pids = []

    def ran(self):
        try:
            with open(self.where) as f:
                return f.read().split()
        except FileNotFoundError:
            return []

    def start(self):
        """(where it runs, what is said of it)"""
        self.shell.stdin.write("100000000\n")
        self.shell.stdin.flush()
        self.pids.append(int(self.shell.stdout.readline()))
        if not until(lambda: len(self.ran()) == len(self.pids), LIMIT):
            return None, why(self.pids[-1])
        return self.ran()[-1], why(self.pids[-1])

    def end(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGTERM)
        self.shell.stdin.close()
        self.shell.stdout.close()
        return self.shell.wait(LIMIT)


def disturbed(got):
    """Whether an answer was late, as in guests that are starved: that says nothing of the
    policy."""
    return any(DISTURBED.search("; ".join(w["what"])) for _, w in got)


def one_by_one():
    """One round: None if it was disturbed, else whether it was as it should be, and what it was."""
    tasks, states, got = Tasks(), [], []
    try:
        # those of the round before have gone
        calm(lambda: not any(n["load"] for host, n in nodes().items() if host != "n0"))
        while len(got) < len(NODES) and not (got and disturbed(got)):
            got.append(tasks.start())
            states.append(nodes()["n0"]["state"])
            if got[-1][0] is None:
                break
    finally:
        tasks.end()
    shown = f"home {states}; " + "; ".join(f"{host}: {told(w)}" for host, w in got)
    print(f"# {shown}", flush=True)
    if None not in [host for host, _ in got] and disturbed(got):
        return None
    return (
        len(got) == len(NODES)
        and got[0][0] == "n0"
        and got[0][1]["reason"] == "not-sender"
        and "sender" not in states
        and sorted(host for host, _ in got[1:]) == OTHERS
        and all(
            w["reason"] == "credit" and f"a credit of {host}: a processor is free" in w["what"]
            for host, w in got[1:]
        )
    ), shown


by_tasks(0.4)
seen = calm(one_by_one)
by_samples()
ok(
    (
        "the first of three tasks stays, each other goes to an idle node by its credit, though home"
        " is no sender"
    ),
    seen and seen[0],
    seen[1] if seen else "each round was disturbed",
)


# ---- a real build ----


def events(path):
    with open(path) as f:
        return [json.loads(line) for line in f.read().split("\n")[:-1] if line.startswith("{")]


def uneven(seen):
    """Tasks that went to a node with two or more while the other had none; of how many."""
    at, guests, bad, n = {}, dict.fromkeys(OTHERS, 0), [], 0
    for e in seen:
        if e["event"] == "place" and e["executor"] != "0.0":
            host = at[e["id"]] = CODES[e["executor"]]
            n += 1
            if guests[host] >= 2 and min(guests.values()) == 0:
                bad.append(e["id"])
            guests[host] += 1
        elif e["event"] == "finish" and e["id"] in at:
            guests[at.pop(e["id"])] -= 1
    return bad, n


# What a task that stays may say. That it was asked for too late is true as well, on a starved
# machine.
STAYS = {
    "credit": "a credit of n0: ",
    "not-sender": "",
    "no-receiver": "",
    "time-out": "",
    "unreachable": "",
    "credit-used": "",
}


def untrue(w, host):
    """Whether its reason is not what its steps say."""
    text = "\n".join(w["what"])
    if host == "n0":
        return w["reason"] not in STAYS or STAYS[w["reason"]] not in text
    if w["reason"] == "credit":
        return not re.search(
            rf"a credit of {host}: (a|no) processor is free[^\n]*\n(.*\n)?reserved on {host}", text
        )
    none = "no credit: the thresholds decide" in text or text.count("refuses: credit-used") >= 2
    return w["reason"] != "sender" or not none or f"the controller chose {host}" not in text


def same(a, b):
    with open(a, "rb") as f, open(b, "rb") as g:
        return f.read() == g.read()


def outputs(folder):
    return sorted(
        os.path.relpath(os.path.join(at, name), folder)
        for at, _, names in os.walk(folder)
        for name in names
        if name.endswith((".o", ".a"))
    )


def reasons():
    own = json.loads(said("ehctl", "status", "--json"))
    return {r["reason"]: r["tasks"] for r in own["reasons"]}


def since(before):
    """Tasks by reason that `ehctl status` has counted since."""
    return {
        reason: count - before.get(reason, 0)
        for reason, count in reasons().items()
        if count > before.get(reason, 0)
    }


def configure_alone(folder):
    """A script, whose commands come one after the other: the processor is free for each, though its
    load has not faded."""
    before, skipped = reasons(), len(events("events"))
    made = subprocess.run(
        ["ehctl", "run", "-n", "configure", "--", "./configure", "--static"],
        cwd=folder,
        stdin=NULL,
        stdout=PIPE,
        stderr=subprocess.STDOUT,
        env=dict(ENV, TMPDIR=os.path.join(SHARE, "tmp")),
        text=True,
    )
    ok("configure", made.returncode == 0, made.stdout)
    n = since(before)
    asked = {e["id"]: e["reason"] for e in events("events")[skipped:] if e["event"] == "place"}
    print(f"# {n}, asked: {asked}", flush=True)
    ok(
        f"the agent is asked for few of its commands: {len(asked)} of {sum(n.values())}",
        sum(n.values()) >= 50 and len(asked) * 5 <= sum(n.values()),
        n,
    )


def build(reference):
    name = os.path.basename(reference)
    folder = os.path.join(SHARE, name)
    os.makedirs(os.path.join(SHARE, "tmp"), exist_ok=True)
    subprocess.run(["cp", "-r", reference, folder], check=True)
    with open(os.path.join(reference, "make.args")) as f:
        args = f.read().splitlines()
    objects = outputs(folder)
    for o in objects:
        os.unlink(os.path.join(folder, o))
    with open("events", "w") as f:
        watch = subprocess.Popen(["ehctl", "watch", "--json"], stdin=NULL, stdout=f, env=ENV)

    def watches():
        said("ehctl", "exec", "0.1", "--", "true")
        return events("events")

    ok("placements are watched", calm(watches))
    if os.path.exists(os.path.join(folder, "configure")):
        configure_alone(folder)
    before, skipped = reasons(), len(events("events"))
    began = time.monotonic()
    made = subprocess.run(
        ["ehctl", "run", "-n", "build", "--", "make", "-j6", *args],
        cwd=folder,
        stdin=NULL,
        stdout=PIPE,
        stderr=subprocess.STDOUT,
        env=dict(ENV, TMPDIR=os.path.join(SHARE, "tmp")),
        text=True,
    )
    took = time.monotonic() - began
    ok(f"make -j6 of {name}", made.returncode == 0, made.stdout)

    def all_ended():
        now = events("events")[skipped:]
        away = {e["id"] for e in now if e["event"] == "place" and e["executor"] != "0.0"}
        return away <= {e["id"] for e in now if e["event"] == "finish"}

    until(all_ended, LIMIT)
    watch.terminate()
    watch.wait()
    differ = [
        o
        for o in objects
        if not os.path.exists(os.path.join(folder, o))
        or not same(os.path.join(folder, o), os.path.join(reference, o))
    ]
    ok(
        f"all {len(objects)} objects are the same as those of a build by one host",
        objects and not differ,
        differ,
    )

    seen = events("events")[skipped:]
    last = {e["id"]: CODES[e["executor"]] for e in seen if e["event"] == "place"}
    placed = [(host, why(task)) for task, host in last.items()]
    shown = "\n".join(f"{host}: {told(w)}" for host, w in placed)
    count = {host: sum(h == host for h, _ in placed) for host in NODES}
    by_credit = sum(w["reason"] == "credit" for h, w in placed if h != "n0")
    print(
        (
            f"# {took:.1f} s, {len(placed)} execs asked and were placed {count}, {by_credit} by a"
            " credit"
        ),
        flush=True,
    )
    ok(
        "both other nodes have a fair share of it",
        min(count[h] for h in OTHERS) >= max(3, len(placed) // 8),
        shown,
    )
    ok("credits sent a good part of them", by_credit * 3 >= count["n1"] + count["n2"], shown)
    ok(
        "the reason of each is what its steps say",
        not [1 for h, w in placed if untrue(w, h)],
        "\n".join(f"{h}: {told(w)}" for h, w in placed if untrue(w, h)),
    )
    told_of = since(before)
    for reason in (
        "credit",
        "short",
        "no-receiver",
    ):  # of which the module knows one, and counts it for others
        ok(
            f"ehctl status counts {reason} as why has it",
            told_of.get(reason, 0) == sum(w["reason"] == reason for _, w in placed),
            f"{told_of}\n{shown}",
        )
    bad, n = uneven(seen)
    # What a starved guest says of itself comes late.
    ok(
        "few got to a node as its third task while the other had none",
        len(bad) * 5 <= max(n, 15),
        f"{len(bad)} of {n}: {bad}\n{shown}",
    )


# EHS_LONG=1: lua, too
for name in ("zlib", "lua")[: 1 + int(os.environ.get("EHS_LONG", 0))]:
    reference = os.path.join(BUILD, "builds", name)
    if os.path.exists(reference):
        build(reference)
    else:
        skip(
            f"a build of {name}",
            "its source is not there: the archive of Debian has not been reached",
        )
for i in range(len(NODES)):
    ok(
        f"n{i} saw no invalid message about credits",
        "about credits that" not in open(f".agent/n{i}.log", errors="replace").read(),
    )
subprocess.run(["rm", "-rf", "zlib", "lua", "tmp", "agent.conf", "events", "where"])
done()
