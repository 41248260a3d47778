#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""With `learn`, the default, a node without a free processor keeps programs that were short, and
sends long ones away; each user's own runs decide, and they are still known after a restart. A file
that was changed is refused."""

import itertools, json, os, re, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
import users
from ktap import done, ok
from wait import WAIT, until

SHORT, LONG = ("sleep", "0.002"), ("sleep", "2")
USER = users.ONE
c = Cluster(
    2,
    (
        'load-index = "tasks"\nthreshold-floor = 1\nthreshold = 20\nthreshold-length = 0\ndwell ='
        " 0\nheartbeat = 3000\ntime-limit = 10000\n"
    ),
)
COSTS = os.path.join(os.path.dirname(c.state(0)), "costs")
others = itertools.count(1)
seen = {}
sitters = []


def conf(more="", learn=True):
    """Home is full with one task, and the other node has room for twenty."""
    settings = c.settings + f"capacity = 0.001\n{more}"
    if not learn:
        settings += "learn = false\n"
    return c.conf(0, settings=settings)


def start(more=""):
    """Home's agent, with a task that fills it."""
    c.start(0, conf(more))
    assert c.all_up(range(2)), c.log(0)
    sitters.append(
        c.popen(
            0,
            [EHCTL, "exec", "--auto", "--", "sh", "-c", "echo; read x"],
            cwd="/",
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=False,
        )
    )
    sitters[-1].stdout.readline()
    # others leave when the other node's credits are known; each is a program of its own
    return until(lambda: left(run("sleep", f"0.001{next(others)}")))


def end():
    """Home's agent, by SIGTERM; the tasks that it knew."""
    status = c.end(0)
    while sitters:
        sitters.pop().communicate()
    return status


def run(*words, uid=0, how=("run", "--")):
    """What why says of a run."""

    def become():
        if uid:
            os.setgid(uid)
            os.setuid(uid)

    p = c.popen(
        0, [EHCTL, *how, *words], cwd="/", preexec_fn=become, stdout=subprocess.DEVNULL, text=False
    )
    err = p.communicate(timeout=WAIT)[1]
    said = c.ask(0, {"command": "why", "id": str(p.pid)}, uid)
    assert p.returncode == 0 and "reason" in said, (words, p.returncode, err, said)
    return said


def left(said):
    return said["executor"] == "0.1"


def stays(*words, uid=0, most=WAIT):
    """Runs it until it stays because it is short; how many runs that took."""
    went = []

    def once():
        went.append(run(*words, uid=uid))
        return went[-1]["reason"] == "short"

    seen[uid] = went
    return until(once, most) and len(went)


c.start(1)
ok("two agents, home is full", start(), c.log(0))

# ---- a short one, a long one ----

first = run(*SHORT)
ok("what is not known goes", left(first) and first["expected"] is None, first)
n = stays(*SHORT)
last = seen[0][-1]
ok("what is short stays after some runs", n and n >= 3, [w["reason"] for w in seen[0]][-20:])
known = last["expected"] or {}
ok(
    "why has what was expected",
    known.get("runs", 0) >= 3
    and 0 < known["ms"] <= known["most_ms"] < 2 * known["transfer_ms"]
    and known["place"] == "away"
    and known["bytes"] >= 0
    and known["memory"] > 0
    and known["cpu_ms"] >= 0,
    last,
)
text = c.ehctl(0, "why", last["id"]).stdout
ok(
    "ehctl why shows it",
    re.search(r"short: It runs at home because such tasks of its user end", text)
    and re.search(
        r"expected: [\d.]+ ms, up to [\d.]+ \(\d+ runs away\); a transfer: [\d.]+ ms", text
    ),
    text,
)
shown = json.loads(c.ehctl(0, "why", "--json", last["id"]).stdout)
ok("and with --json", shown["expected"] == known, shown)

long = [run(*LONG) for _ in range(5)]
ok(
    "what is long goes, though it is known",
    all(map(left, long))
    and long[-1]["expected"]["runs"] == 4
    and long[-1]["expected"]["ms"] > 1500,
    long[-1],
)
ok("other arguments of sleep are another program", long[0]["expected"] is None, long[0])

# ---- what the user says goes first ----

ok("named: the short one goes", left(run(*SHORT, how=("exec", "0.1", "--"))))
ok("--all: the short one goes", left(run(*SHORT, how=("run", "--all", "--"))))

# ---- another user ----

other = run(*SHORT, uid=USER)
ok("another user's runs say nothing of it", left(other) and other["expected"] is None, other)
ok("his own do", stays(*SHORT, uid=USER), [w["reason"] for w in seen[USER]][-20:])
root = stays(*SHORT)
said = c.ask(0, {"command": "why", "id": seen[0][-1]["id"]}, USER)
ok("and he is not told what is expected of root's", root and "expected" not in said, said)

# ---- restarts ----

ok("the agent ends", end() == 0, c.log(0)[-2000:])
ok(
    "its file is for itself alone",
    os.path.exists(COSTS)
    and os.stat(COSTS).st_mode & 0o777 == 0o600
    and b"sleep" not in open(COSTS, "rb").read(),
)
ok("it starts again", start(), c.log(0)[-2000:])
# at once, or when a slow run here is forgotten
ok(
    "the short one is known",
    run(*SHORT)["expected"] is not None and stays(*SHORT) and stays(*SHORT, uid=USER),
    seen[0][-1],
)
again = run(*LONG)
ok("so is the long one, and goes", left(again) and again["expected"]["runs"] >= 5, again)

end()
data = bytearray(open(COSTS, "rb").read())
at = data.index(b"away") + 10
data[at] = ord("1") if data[at] != ord("1") else ord("2")
with open(COSTS, "wb") as f:
    f.write(data)
ok("it starts with a file that has one wrong figure", start(), c.log(0)[-2000:])
ok(
    "and says so",
    c.logged(0, r"costs beside .* is refused as a whole: line \d+: the checksum differs"),
    c.log(0)[-2000:],
)
said = run(*LONG)
ok("nothing of it is known", left(said) and said["expected"] is None, said)

# ---- without ----

ok("it is known again", stays(*SHORT), seen[0][-1])
conf(learn=False)
c.ask(0, {"command": "reload"})
said = run(*SHORT)
ok(
    "without learn, after a reload, the short one goes",
    left(said) and said["expected"] is None,
    said,
)
conf()
c.ask(0, {"command": "reload"})
ok("with it again it stays", stays(*SHORT), seen[0][-1])

# ---- nowhere to keep it ----

end()
ok(
    "it starts where it can make no file",
    start(f'state = "{c.dir}/none/state"\n'),
    c.log(0)[-2000:],
)
ok("what is short stays, as before", stays(*SHORT), seen[0][-1])
ok(
    "it ends well, and says what is not kept",
    end() == 0 and c.logged(0, "what programs cost cannot be kept in costs beside .*/none/state: "),
    c.log(0)[-2000:],
)
ok("no report of a sanitizer", not c.reports(), c.reports())
done()
