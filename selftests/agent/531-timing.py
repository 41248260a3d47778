#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ehctl why --timing`: when the steps of a task were, at home and on its executor."""

import json, os, signal, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok
from netns import address
from users import ONE, TWO, as_user
from wait import WAIT, until

KEPT = 64  # guests that are over, of which the executor knows the steps
HOME = [
    "stub",
    "job",
    "sent",
    "answered",
    "linked",
    "ready",
    "go",
    "started",
    "exit",
    "ended",
    "over",
]
THERE = ["came", "admitted", "launch", "end", "go-came", "executed", "exited", "gone"]
# what is sent is there later
MESSAGES = [
    ("sent", "came"),
    ("admitted", "answered"),
    ("ready-said", "ready"),
    ("go", "go-came"),
    ("executed", "started"),
    ("exited", "exit"),
]

# the third one is played by this test
# What else this machine does makes nobody a sender, and does not keep a task here.
c = Cluster(3, 'heartbeat = 3000\nload-index = "tasks"\nthreshold-floor = 20.0\ntime-limit = 10000')
for i in 0, 1:
    c.start(i)
ok("two agents", c.all_up([0, 1]), c.log(0))


def run(*words, options=("n1",), **how):
    """Its ID, and how long it took by this clock, in microseconds."""
    began = time.monotonic_ns()
    with c.net.enter(0):
        p = subprocess.Popen(
            [EHCTL, "exec", *options, "--", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **how,
        )
    out, err = p.communicate(timeout=2 * WAIT)
    took = (time.monotonic_ns() - began) // 1000
    must("it runs", p.returncode == 0, err)
    return p.pid, took


def why(id, *options, i=0, **how):
    r = c.ehctl(i, "why", *options, str(id), "--json", **how)
    return json.loads(r.stdout) if r.returncode == 0 else r


def timing(id, *options, **how):
    return why(id, "--timing", *options, **how)["timing"]


def settled(id):
    """Its timing when both ends have gone."""
    return until(lambda: {"over", "gone"} <= set(names(t := timing(id))) and t) or timing(id)


def names(t):
    return [s["step"] for s in t["steps"]]


def in_order(t, wanted):
    return [n for n in names(t) if n in wanted] == wanted


def negative(t):
    return [s for s in t["steps"] if s["at_us"] < 0 or s["after_us"] < 0]


pid, took = run("/bin/true")
t = settled(pid)
at = {s["step"]: s["at_us"] for s in t["steps"]}
ok("the steps at home, in order", in_order(t, HOME), t)
ok(
    "and those on the executor",
    in_order(t, THERE) and in_order(t, ["end", "ready-said", "go-came"]),
    t,
)
ok(
    "of a program that home does not know ehlook is asked",
    in_order(t, ["job", "look", "looked", "sent"]),
    names(t),
)
ok(
    "none twice, none else",
    len(set(names(t))) == len(names(t))
    and set(names(t)) <= {*HOME, *THERE, "look", "looked", "ready-said", "launched"},
    names(t),
)
ok("what is sent is there later", all(at[a] <= at[b] for a, b in MESSAGES), at)
ok("none is negative", not negative(t), t)
ok(
    "the first is 0, and their times add up",
    t["steps"][0]["at_us"] == 0
    and all(
        sum(s["after_us"] for s in t["steps"][: n + 1]) == s["at_us"]
        for n, s in enumerate(t["steps"])
    ),
    t,
)
ok("together less than it took", 0 < at["ended"] <= took, (at, took))
ok(
    "hosts and processes",
    {(s["host"], s["process"]) for s in t["steps"]}
    == {("n0", "stub"), ("n0", "ehagent"), ("n1", "ehagent"), ("n1", "ehguest")},
    t,
)
ok("nothing is missing", t["missing"] is None and t["within_us"] >= 0, t)
ok("why alone does not have it", "timing" not in why(pid))
t = settled(run("/bin/true")[0])
ok("of one that it knows nobody is", "sent" in names(t) and "look" not in names(t), names(t))

pid, took = run("/bin/sleep", "0.3")
at = {s["step"]: s["at_us"] for s in settled(pid)["steps"]}
# its end may notice late that the program is executed
ok(
    "time that the program takes is its own",
    300000 <= at["exited"] - at["go-came"] <= took,
    (at, took),
)

# ---- the table ----

t = settled(pid)
r = c.ehctl(0, "why", "--timing", str(pid))
rows = [line.split(None, 4) for line in r.stdout.splitlines()]
rows = rows[rows.index(["US", "+US", "HOST", "PROCESS", "STEP"]) + 1 :][: len(t["steps"])]
ok(
    "the table says the same",
    rows
    == [
        [str(s["at_us"]), str(s["after_us"]), s["host"], s["process"], s["what"]]
        for s in t["steps"]
    ],
    r.stdout,
)
ok(
    "and how wrong the executor's clock may be",
    f"wrong by {t['within_us']} us" in " ".join(r.stdout.split()),
    r.stdout,
)
r = c.ehctl(0, "why", str(pid))
ok(
    "without the option the table is not there",
    "PROCESS" not in r.stdout and " ms  exited with status 0" in r.stdout,
    r.stdout,
)

# ---- files that are compared, one that stays, one that is away ----

t = settled(run("/bin/cat", "/usr/bin/env", options=("--auto", "--all"))[0])
ok(
    "files of its arguments are compared before READY",
    in_order(t, ["end", "compared", "ready-said"]),
    names(t),
)
ok("where no node is named, one is sought", in_order(t, ["job", "seek", "found", "sent"]), names(t))
pid, took = run("/bin/true", options=("--auto",))
t = timing(pid)
ok(
    "one that stays has the steps of home",
    t["missing"] is None
    and {s["node"] for s in t["steps"]} == {"0.0"}
    and "job" in names(t)
    and "sent" not in names(t),
    t,
)

p = c.popen(
    0,
    [EHCTL, "exec", "n1", "--", "sh", "-c", "echo; exec cat"],
    stdin=subprocess.PIPE,
    stderr=None,
    text=False,
)
p.stdout.readline()
t = until(lambda: "started" in names(t := timing(p.pid)) and t)
ok(
    "one that runs has the steps until now",
    t and "executed" in names(t) and not {"exited", "exit", "over"} & set(names(t)),
    t,
)
id = why(p.pid)["id"]
ok(
    "its executor asks its home",
    (saw := timing(id, i=1)) == (of_home := timing(id)) and saw["missing"] is None,
    (saw, of_home),
)
os.kill(c.agents[0].pid, signal.SIGSTOP)
t = timing(id, i=1)
os.kill(c.agents[0].pid, signal.SIGCONT)
ok(
    "if that does not answer, it has its own steps",
    "home" in t["missing"]
    and in_order(t, THERE[:-2])
    and {s["node"] for s in t["steps"]} == {"0.1"}
    and t["steps"][0]["at_us"] == 0,
    t,
)
c.again([0], 9)
t = until(lambda: "executed" in names(t := timing(id)) and t)
ok(
    "after a restart at home its executor still knows",
    t
    and "earlier agent" in t["missing"]
    and in_order(t, THERE[:-2])
    and not set(HOME) & set(names(t)),
    t or timing(id),
)
must("all is well again", c.all_up([0, 1]))
p.communicate()
t = settled(id)
ok(
    "and the end is known",
    in_order(t, ["came", "executed", "exited", "exit", "ended", "over"]) and not negative(t),
    t,
)

# ---- who may see it ----


def seen_by(uid, *words):
    """What this user is told."""
    return c.ehctl(0, *words, **as_user(uid))


pid, took = run("/bin/true", **as_user(ONE))
id = why(pid)["id"]
r = seen_by(ONE, "why", "--timing", id, "--json")
ok("its user sees it", r.returncode == 0 and in_order(json.loads(r.stdout)["timing"], HOME[:-1]), r)
for words in ["why"], ["why", "--timing"]:
    r = seen_by(TWO, *words, id)
    ok(
        f"another one sees nothing by {' '.join(words)}",
        (r.returncode, r.stdout) == (1, "") and "not known on this node" in r.stderr,
        r,
    )
r = c.ehctl(0, "why", "--timing", "0.0:1234567")
ok(
    "an unknown ID is an error",
    (r.returncode, r.stdout) == (1, "") and "0.0:1234567: not known on this node" in r.stderr,
    r,
)
for words in ["--timing"], ["--timing", "--what", "1"], ["--timing", "1", "2"]:
    r = c.ehctl(0, "why", *words)
    ok(f"wrong usage: {' '.join(words)}", (r.returncode, r.stdout) == (2, ""), r)

# ---- what the executor says, and to whom ----


def answer(id, i=2):
    """What node 1 tells node i of this task."""
    h = http2.Client(http2.connect(c.net, i, address(1), os.path.join(c.dir, "cert"), f"n{i}"))
    must("hello", h.hello(node=c.code(i)) == 200)
    status, content = h.request("POST", "/v1/timing", {"id": id})
    return status, json.loads(content)["steps"]


ok("the executor tells nobody but its home", answer(id) == (200, None), id)
first = why(run("/bin/true")[0])["id"]
settled(first)
ok("it is remembered", timing(first)["missing"] is None)
later = [run("/bin/true")[0] for _ in range(KEPT)]
lately = later[-1]
t = until(lambda: (t := timing(first))["missing"] and t) or timing(first)
ok(
    f"{KEPT} later ones have taken its place",
    "does not know the task any more" in t["missing"]
    and in_order(t, HOME)
    and {s["node"] for s in t["steps"]} == {"0.0"},
    t,
)
ok("and are remembered themselves", all(timing(i)["missing"] is None for i in later))

c.end(1)
c.start(1)
must("again", c.all_up([0, 1]))
t = timing(lately)
ok(
    "an executor that has restarted knows no more of it",
    "n1 does not know the task any more" in t["missing"]
    and in_order(t, HOME)
    and not set(names(t)) & set(THERE)
    and t["within_us"] is None,
    t,
)
r = c.ehctl(0, "why", "--timing", str(lately))
ok(
    "the table says so, too",
    "Not shown: n1 does not know the task any more: its steps are left out." in r.stdout,
    r.stdout,
)
c.end(1)
t = timing(lately)
ok("nor does one that has ended", "n1 does not answer" in t["missing"] and in_order(t, HOME), t)
done()
