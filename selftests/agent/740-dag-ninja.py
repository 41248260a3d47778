#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl dag --ninja: what ninja would run is run by a plan, and ninja's own records are as after
ninja."""

import json, os, re, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
import compared
from cluster import Cluster
from commands import EHCTL
from compared import older, put, ran
from ktap import done, ok, skip_all
from wait import WAIT

PARTS = 10
RULES = """\
rule cc
  command = { cat $in gen.h | cksum; echo $out; } >$out && echo "$out: gen.h" >$out.d && $
      echo $out >>ran
  depfile = $out.d
  deps = gcc
rule link
  command = cat $$(cat $out.rsp) >$out && echo $out >>ran
  rspfile = $out.rsp
  rspfile_content = $in
rule gen
  command = cmp -s $in $out || { cp $in $out && echo $out >>ran; }
  restat = 1
rule both
  command = cp $in $out_a && cp $in $out_b && echo both >>ran
"""
EDGES = (
    "build gen.h: gen gen.in\n"
    + "".join(
        f"build obj/{i}.o: cc {i}.c || gen.h\nbuild check{i}: gen obj/{i}.o\n" for i in range(PARTS)
    )
    + (
        "build left right: both prog\n  out_a = left\n  out_b = right\nbuild prog: link "
        + " ".join(f"obj/{i}.o" for i in range(PARTS))
        + "\n"
        "build name$ with$ spaces: gen right | left\n  command = cp 'right' 'name with spaces'\n"
        "build all: phony name$ with$ spaces "
        + " ".join(f"check{i}" for i in range(PARTS))
        + "\ndefault all\n"
    )
)

if subprocess.run(["sh", "-c", "command -v ninja"], capture_output=True).returncode:
    skip_all("ninja is not installed (packaging/deps test)")
c = Cluster(3)
top = tempfile.mkdtemp(prefix="ehs-dag-", dir=c.dir)
env = {**os.environ, "XDG_STATE_HOME": os.path.join(top, "state")}


def folder(name):
    path = os.path.join(top, name)
    os.makedirs(path + "/obj")
    for i in range(PARTS):
        put(path, f"{i}.c", f"part {i}\n")
    put(path, "gen.in", "generated\n")
    put(path, "build.ninja", RULES + EDGES)
    older(path)
    return path


def dag(path, *words):
    p = c.call(
        0,
        [EHCTL, "dag", "--ninja", "--slots", "2", "--json", *words],
        env=env,
        cwd=path,
        timeout=4 * WAIT,
    )
    return (
        p.returncode,
        json.loads(p.stdout) if p.stdout.strip() else {"tasks": [], "hosts": []},
        p.stderr,
    )


def ninja(path, *words):
    return subprocess.run(["ninja", *words], cwd=path, capture_output=True, text=True)


def tree(path):
    return compared.tree(path, "ninja.journal", ".ninja_log", ".ninja_deps")


ok("agents", c.start_all(), c.log(0))
mine, other = folder("mine"), folder("other")
reference = ninja(other)
status, told, err = dag(mine)
tasks = {t["task"]: t for t in told["tasks"]}
ok(
    "a graph of ninja is built",
    reference.returncode == 0 and status == 0,
    (reference.stdout, status, err),
)
ok("what it built is what ninja builds", tree(mine) == tree(other), (tree(mine), tree(other)))
first = ran(mine), ran(other)
ok("each command ran once", first[0] == first[1] and len(first[0]) > PARTS, first)
ok(
    "each was a task",
    len(tasks) == 2 * PARTS + 4
    and all(t["state"] == "done" for t in tasks.values())
    and "name with spaces" in tasks,
    tasks,
)
ok("several hosts had some", sum(h["tasks"] > 0 for h in told["hosts"]) > 1, told["hosts"])
ok(
    "the plan knows what needs what",
    all(
        tasks[a]["predicted"]["finish"] <= tasks[b]["predicted"]["start"] + 1e-6
        for a, b in [
            ("gen.h", "obj/1.o"),
            ("obj/8.o", "prog"),
            ("obj/3.o", "check3"),
            ("prog", "left"),
            ("left", "name with spaces"),
        ]
        if a in tasks and b in tasks
    ),
    tasks,
)
status, told, err = dag(mine)
ok(
    "a second run does nothing",
    status == 0 and told["tasks"] == [] and ran(mine) == [],
    (status, told, err),
)
ok(
    "nor does ninja: its log and its dependencies are there",
    "no work to do" in (saw := ninja(mine).stdout),
    saw,
)

for path in mine, other:
    put(path, "gen.in", "generated again\n")
    put(path, "3.c", "changed\n")
status, told, err = dag(mine)
reference = ninja(other)
again = ran(mine), ran(other)
ok(
    "a changed source: what ninja builds again, with headers that only depfiles name",
    status == 0 and again[0] == again[1] and len(again[0]) > PARTS and tree(mine) == tree(other),
    (status, err, again),
)
for path in mine, other:
    os.utime(path + "/gen.in")
status, told, err = dag(mine)
reference = ninja(other)
again = ran(mine), ran(other)
ok(
    "an output that stays as it was (restat): nothing behind it is run, and that is no failure",
    status == 0 and again == ([], []) and told["not_run"] > 0,
    (status, err, again, told),
)

for path in mine, other:
    put(
        path,
        "build.ninja",
        RULES
        + EDGES.replace(
            "build obj/5.o: cc 5.c || gen.h\n",
            "build obj/5.o: cc 5.c || gen.h\n  command = echo oops; exit 3\n",
        ),
    )
    os.utime(path + "/1.c")
status, told, err = dag(mine)
reference = ninja(other, "-k", "0")
states = {t["task"]: t["state"] for t in told["tasks"]}
again = ran(mine), ran(other)
ok(
    "a command that fails: what depends on it is not run, all else is",
    status == 1
    and reference.returncode == 1
    and tree(mine) == tree(other)
    and again[0] == again[1]
    and states.get("obj/5.o") == "failed"
    and states.get("prog") == "not-run"
    and states.get("obj/1.o") == "done",
    (status, states, err, again),
)
ok(
    "it is said which, where and how, and what was not run",
    re.search(r"obj/5\.o failed on n\d: exit status 3", err)
    and re.search(r"not run because of it: .*prog", err)
    and "oops" in err,
    err,
)
for path in mine, other:
    put(path, "build.ninja", RULES + EDGES)
status, told, err = dag(top, "--", "-C", "mine", "all")
ok(
    "ninja gets its own arguments; once it is repaired, the rest is built",
    status == 0 and ninja(other).returncode == 0 and tree(mine) == tree(other),
    (status, err),
)
status, told, err = dag(top)
ok("ninja itself says what it cannot read", status == 1 and "build.ninja" in err, (status, err))
done()
