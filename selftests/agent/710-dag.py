#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl dag: a workflow runs by its plan; failures, resuming after kill -9, and a node that
leaves."""

import json, os, re, signal, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, ok
from seed import new_seed
from wait import WAIT, until
from workflow import SCRIPT, Workflow, montage

seed = new_seed()
NODES = 4
c = Cluster(NODES)
top = tempfile.mkdtemp(prefix="ehs-dag-", dir=c.dir)
env = {**os.environ, "XDG_STATE_HOME": os.path.join(top, "state")}


def start(*words):
    """ehctl dag, not waited for."""
    return c.popen(0, [EHCTL, "dag", *words], env=env, cwd="/")


def dag(*words):
    """Exit status, document or None, what was said."""
    p = start(*words, "--json")
    out, err = p.communicate(timeout=4 * WAIT)
    return p.returncode, json.loads(out) if out.strip() else None, err


def children(pid):
    """Processes that it has started, and that have not ended, the first one first."""
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(word) for word in f.read().split()]


def local(make):
    """The same tasks here, one after the other: what their outputs should be."""
    w = make("local")
    for name in w.parents:
        subprocess.run(["sh", *w.words(name)], check=True)
    return w.outputs()


ok("agents", c.start_all(), c.log(0))

# the order, the outputs, what is told
w = montage(os.path.join(top, "order"), 6, seed, 0.005, 0.05)
svg = os.path.join(top, "gantt.svg")
status, told, err = dag(w.write(), "--slots", "2", "--gantt", svg)
names = list(w.parents)
mine = os.path.join(top, "mine")
link = os.path.join(top, "link.journal")
with open(mine, "w") as f:
    f.write("mine")
os.symlink(mine, link)
for more in [], ["--resume"]:
    refused = dag(w.folder + "/flow.json", "--journal", link, *more)
    ok(
        "a journal that is a link to another file is not written",
        refused[0] == 1 and "link.journal" in refused[2] and open(mine).read() == "mine",
        refused,
    )
ok("a workflow ends", status == 0, (status, err))
ok("each task ran once, behind its parents", sorted(w.ran()) == sorted(names), w.ran())
ok(
    "outputs are those of a run here",
    w.outputs() == local(lambda f: montage(os.path.join(top, f), 6, seed, 0, 0)),
)
told = told or {"tasks": [], "hosts": []}
tasks = {t["task"]: t for t in told["tasks"]}
ok(
    "each task is told, as predicted and as it was",
    set(tasks) == set(names)
    and told["done"] == len(names)
    and told["predicted"] > 0
    and told["real"] > 0
    and all(
        t["state"] == "done"
        and t["code"] == 0
        and t["predicted"]["finish"] > t["predicted"]["start"]
        and t["real"]["finish"] > t["real"]["start"]
        for t in tasks.values()
    ),
    told,
)
ok(
    "no task starts before its parents end",
    all(
        tasks[n]["real"]["start"] >= tasks[p]["real"]["finish"] for n in names for p in w.parents[n]
    ),
    tasks,
)
hosts = {h["host"]: h for h in told["hosts"]}
ok(
    "hosts were probed, and several had work",
    all(h["startup"] > 0 for h in hosts.values())
    and all(h["rate"] > 0 and h["round_trip"] > 0 for n, h in hosts.items())
    and sum(h["tasks"] > 0 for h in hosts.values()) > 1
    and sum(h["tasks"] for h in hosts.values()) == len(names),
    hosts,
)
if not told.get("plans_again"):
    for host in hosts:
        own = [
            t
            for t in tasks.values()
            if t["predicted"]["host"] == host and t["real"]["host"] == host
        ]
        own.sort(key=lambda t: t["predicted"]["start"])
        ok(
            f"{host}: its tasks, but those that others took, are in the plan's order",
            all(
                a["real"]["start"] <= b["real"]["start"] + 0.02
                or a["predicted"]["start"] == b["predicted"]["start"]
                for a, b in zip(own, own[1:])
            ),
            own,
        )
ok("the diagram", "<svg" in open(svg).read() and "planned" in open(svg).read())
kept = os.path.join(top, "state/ehsched/durations.json")
ok("durations are kept", len(json.load(open(kept))["commands"]) == len(names))
p = start(w.write(said=50), "--dry-run", "--json")
again = json.loads(p.communicate(timeout=WAIT)[0])
ok(
    "and the next plan knows them, whatever the file says",
    again["predicted"] < 25 and len(w.ran()) == len(names),
    again,
)
ok(
    "a dry run leaves the journal alone",
    len(open(w.folder + "/flow.json.journal").readlines()) == len(names) + 1,
)

# text
p = start(w.write())
out, err = p.communicate(timeout=4 * WAIT)
ok(
    "text",
    p.returncode == 0 and re.search(rf"{len(names)} tasks: .* s; planned: .* s", out) and err == "",
    (out, err),
)

# a command that is not there: of this node, not of the way to the other one
w = Workflow(os.path.join(top, "missing"))
w.add("a")
file = w.write()
with open(file) as f:
    text = f.read()
with open(file, "w") as f:
    f.write(text.replace('"program": "sh"', '"program": "no-such-command"'))
status, told, err = dag(file, "--hosts", "n1")
ok(
    "a command that is not there is the only thing that is told",
    status == 1 and "no-such-command" in err and "record" not in err and "not known" not in err,
    (status, err),
)
status, told, err = dag(file, "--view", "nix")
ok(
    "a view that is none",
    status == 2 and "--view nix: must be shared, home or auto" in err,
    (status, err),
)

# a failure
w = Workflow(os.path.join(top, "failure"))
w.add("a")
w.add("bad", ["a"], script="exit 7")
w.add("good", ["a"])
w.add("behind", ["bad", "good"])
w.add("last", ["behind"])
status, told, err = dag(w.write())
states = {t["task"]: t["state"] for t in told["tasks"]}
ok(
    "a failed task ends what depends on it, and nothing else",
    status == 1
    and sorted(w.ran()) == ["a", "good"]
    and states
    == {"a": "done", "good": "done", "bad": "failed", "behind": "not-run", "last": "not-run"},
    (status, states),
)
ok(
    "it is said which, where and how",
    re.search(r"bad failed on n\d: exit status 7", err)
    and "2 of 5 tasks are done, 1 failed, 2 that depend" in err,
    err,
)
w.add("bad", ["a"])
status, told, err = dag(w.write(), "--resume")
ok(
    "once it is fixed, --resume runs the rest only",
    status == 0
    and sorted(w.ran()) == ["a", "bad", "behind", "good", "last"]
    and told["earlier"] == 2,
    (status, err, w.ran()),
)
status, told, err = dag(w.write(), "--resume")
ok(
    "and then nothing",
    status == 0 and len(w.ran()) == 5 and told["earlier"] == 5 and told["real"] == 0,
    (status, err),
)

# a parent that has run again: what its child did before is no longer right
w.add("good", ["a"], script="exit 7")
w.add("a", script="true\n" + SCRIPT)
status, told, err = dag(w.write(), "--resume")
ok(
    "a task that has changed runs again, and its child fails",
    status == 1 and w.ran().count("a") == 2,
    (status, err, w.ran()),
)
w.add("good", ["a"])
status, told, err = dag(w.write(), "--resume")
ok(
    "then all that depends on it runs again",
    status == 0
    and [w.ran().count(name) for name in ("a", "bad", "good", "behind", "last")] == [2, 2, 2, 2, 2],
    (status, err, w.ran()),
)

# journals
path, data = w.write(), os.path.join(top, "data")
with open(data, "w") as f:
    f.write("dear\nto me\n")
os.chown(path + ".journal", 2001, 2001)
status, told, err = dag(path, "--resume")
ok(
    "the journal of another user is not believed",
    status == 1 and "belongs to user 2001" in err,
    (status, err),
)
os.chown(path + ".journal", 0, 0)
for what, more in (path, []), (path, ["--resume"]), (data, []):
    before = open(what).read()
    status, told, err = dag(path, "--journal", what, *more)
    ok(
        f"a file that is no journal is left alone: {os.path.basename(what)} {' '.join(more)}",
        status == 1 and "not a journal" in err and open(what).read() == before,
        (status, err),
    )
status, told, err = dag(path, "--resume", "--gantt", "/nonexistent/x.svg")
ok(
    "a diagram that cannot be written: the rest is told",
    status == 1 and told and told["done"] == 5 and "/nonexistent/x.svg" in err,
    (status, err),
)

# kill -9
w = montage(os.path.join(top, "kill"), 6, seed + 1, 0.05, 0.2)
path = w.write()
p = start(path, "--slots", "2")
ok("tasks run", until(lambda: len(w.ran()) >= 5 or p.poll() is not None))
p.kill()
p.communicate(timeout=WAIT)
before = len(w.ran())
status, told, err = dag(path, "--slots", "2", "--resume")
ok("killed with some done", 0 < before < len(w.parents), before)
ok(
    "resumed: all are done, none ran twice",
    status == 0 and sorted(w.ran()) == sorted(w.parents),
    (status, err, w.ran()),
)
ok(
    "what was done is told",
    told and before <= told["earlier"] < len(w.parents) and told["done"] == len(w.parents),
    told,
)
with open(path + ".journal", "a") as f:
    f.write('{"end":"proj')
status, told, err = dag(path, "--resume")
ok(
    "a journal that ends within a line",
    status == 0 and told["earlier"] == len(w.parents),
    (status, err),
)

# one run at a time, and ^C
w = Workflow(os.path.join(top, "stop"))
gate = os.path.join(top, "gate")
w.add("first")
w.add("waits", ["first"], script=f"until [ -e {gate} ]; do sleep 0.02; done\n" + SCRIPT)
w.add("after", ["waits"])
path = w.write()
p = start(path)
ok("a run is under way", until(lambda: len(w.ran()) == 1 or p.poll() is not None))
for more in [], ["--resume", "--dry-run"]:
    status, told, err = dag(path, *more)
    ok(
        f"a second one at the same time: {' '.join(more) or 'refused'}",
        (status == 0) if more else (status == 1 and told is None and "another run uses it" in err),
        (status, err),
    )
p.send_signal(signal.SIGINT)
out, err = p.communicate(timeout=WAIT)
ok(
    "^C: it ends its tasks, and says how to go on",
    p.returncode == 130 and "--resume" in err,
    (p.returncode, err),
)
open(gate, "w").close()
status, told, err = dag(path, "--resume")
ok(
    "and it does",
    status == 0 and sorted(w.ran()) == sorted(w.parents) and told["earlier"] == 1,
    (status, err, w.ran()),
)

# what starts the tasks is killed
os.unlink(gate)
w.add("after", ["waits"], script="true\n" + SCRIPT)
w.add("waits", ["first"], script=f"until [ -e {gate} ]; do sleep 0.03; done\n" + SCRIPT)
p = start(w.write(), "--resume")
ok(
    "a run goes on",
    until(lambda: children(p.pid) and children(children(p.pid)[0])[1:] or p.poll() is not None),
)
os.kill(children(p.pid)[0], signal.SIGKILL)
out, err = p.communicate(timeout=WAIT)
ok(
    "without what starts its tasks a run ends",
    p.returncode == 1 and "is gone: 1 of 3 tasks are done" in err,
    (p.returncode, err),
)
open(gate, "w").close()
status, told, err = dag(w.folder + "/flow.json", "--resume")
ok(
    "and goes on when told to",
    status == 0 and sorted(w.ran()) == sorted([*w.parents, "waits", "after"]),
    (status, err, w.ran()),
)

# a node that drains, and one that dies
for what in "drains", "dies":
    w = montage(os.path.join(top, what), 6, seed + 2, 0.05, 0.2)
    p = start(w.write(), "--slots", "2", "--grace", "0.5", "--json")
    ok(f"tasks run ({what})", until(lambda: len(w.ran()) >= 5 or p.poll() is not None))
    if what == "drains":
        c.ask(0, {"command": "drain", "node": "n2"})
    else:
        c.end(3, signal.SIGKILL)
    out, err = p.communicate(timeout=4 * WAIT)
    told = json.loads(out) if out else {}
    ok(
        f"a node {what}: all tasks are done",
        p.returncode == 0 and set(w.ran()) == set(w.parents),
        (p.returncode, err),
    )
    ok(f"it was planned again ({what})", told.get("plans_again"), told)
    gone = "n2" if what == "drains" else "n3"
    last = max(
        [t["real"]["start"] for t in told.get("tasks", []) if t["real"]["host"] == gone] or [0]
    )
    ok(
        f"and later tasks were elsewhere ({what})",
        sum(t["real"]["start"] > last and t["real"]["host"] != gone for t in told.get("tasks", []))
        > len(w.parents) / 3,
    )
    if what == "drains":
        c.ask(0, {"command": "undrain", "node": "n2"})

# a task that takes long: those planned behind it go elsewhere
w = Workflow(os.path.join(top, "late"))
go = os.path.join(top, "go")
w.add("slow", script=f"until [ -e {go} ]; do sleep 0.02; done\n" + SCRIPT)
for i in range(30):
    w.add(f"t{i}")
p = start(w.write(said=0.05), "--slots", "1", "--json")
ok("all others end while one takes long", until(lambda: len(w.ran()) == 30 or p.poll() is not None))
open(go, "w").close()
out, err = p.communicate(timeout=WAIT)
told = json.loads(out) if out else {}
ok(
    "it was planned again because of it",
    p.returncode == 0
    and any("slow takes more than twice" in a["why"] for a in told.get("plans_again", [])),
    (p.returncode, err, told),
)

# a task that holds up its host, but not yet for longer than planned: what waits behind it goes to a
# slot that is idle


def held(folder):
    now = SCRIPT.replace("sleep $seconds\n", "")
    w = Workflow(os.path.join(top, folder))
    w.add("a", seconds=1000, script=now)
    w.add("holds", seconds=1000, script=f"until [ -e {free} ]; do sleep 0.02; done\n" + now)
    for i in range(10):
        w.add(f"t{i}", ["a"], 100, now)
    return w


free = os.path.join(top, "free")
w = held("held")
p = start(w.write(), "--hosts", "n0,n1", "--slots", "1", "--json")
ok(
    "an idle slot takes what waits elsewhere",
    until(lambda: len(w.ran()) == 11 or p.poll() is not None),
    w.ran(),
)
open(free, "w").close()
out, err = p.communicate(timeout=WAIT)
told = json.loads(out) if out else {}
ok(
    "with the same result, and no other plan",
    p.returncode == 0
    and sorted(w.ran()) == sorted(w.parents)
    and w.outputs() == local(lambda f: held("held-" + f))
    and not told.get("plans_again"),
    (p.returncode, err, told),
)

# what cannot be run
status, told, err = dag(os.path.join(top, "none.json"))
ok("no such file", status == 2 and "none.json" in err, (status, err))
path = os.path.join(top, "bare.json")
document = json.load(open(w.folder + "/flow.json"))
del document["workflow"]["execution"]["tasks"][1]["command"]
json.dump(document, open(path, "w"))
status, told, err = dag(path)
ok(
    "a task without a command",
    status == 2 and 'tasks[1]: "command" is missing' in err,
    (status, err),
)
status, told, err = dag(w.folder + "/flow.json", "--hosts", "n0,nowhere")
ok("no such host", status == 2 and "nowhere" in err, (status, err))
done()
