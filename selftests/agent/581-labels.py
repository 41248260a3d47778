#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Labels of nodes: programs that leave for nodes with a label only, or never for those. The
executor looks, and home does not take a node's silence for a yes."""

import os, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from commands import AGENT, EHCTL
from ktap import done, ok
from rules import Site
from wait import WAIT, until

c = Site(4)
rule, where = c.rule, c.where
tools = os.path.join(c.dir, "tools")
os.mkdir(tools)
for name in "render", "plain":
    with open(os.path.join(tools, name), "w") as f:
        f.write("#!/bin/sh\nreadlink /proc/self/ns/net\n")
    os.chmod(f.name, 0o755)
RENDER, PLAIN = (os.path.join(tools, name) for name in ("render", "plain"))


def run(*words):
    p = c.popen(0, [EHCTL, "exec", *words], cwd="/")
    out, err = p.communicate(timeout=WAIT)
    return p.returncode, where.get(out.strip(), out), err, p.pid


def leaves(program):
    """Where it runs if it is to leave, and the reason: "auto", whether a credit or thresholds
    chose."""
    got = run("--auto", "--all", "--", program)
    why = c.ask(0, {"command": "why", "id": str(got[3])})
    return (
        got[1],
        "auto" if why.get("reason") == "credit" else why.get("reason"),
        [s["what"] for s in why.get("steps", [])],
        why.get("text"),
    )


rule(0, f'only-on = {{ "tape:{RENDER}" }}')
got = leaves(RENDER)
ok(
    "no node has it: each was asked once",
    got[:2] == (0, "labels")
    and sorted(w for w in got[2] if "refuses" in w) == [f"n{i} refuses: labels" for i in (1, 2, 3)],
    got,
)
rule(2, 'labels = { "gpu", "big-memory" }')
rule(0, f'only-on = {{ "gpu:{RENDER}" }}')
ok(
    "home learns that a node has got one",
    until(lambda: leaves(RENDER)[:2] == (2, "auto")),
    leaves(RENDER),
)
for n in range(4):
    got = leaves(RENDER)
    ok(f"it goes where the label is, {n}", got[:2] == (2, "auto"), got)
got = run("n1", "--", RENDER)
ok("a node without it refuses", got[0] == 1 and "node n1 has no label gpu" in got[2], got)
got = run("n2", "--", RENDER)
ok("the one that has it does not", got[:2] == (0, 2), got)
got = run("n1", "--", PLAIN)
ok("another program goes anywhere", got[:2] == (0, 1), got)


def listed():
    return [n.get("labels") for n in c.status(1)["nodes"]]


ok(
    "ehctl status --json has them",
    until(lambda: listed() == [[], [], ["gpu", "big-memory"], []]),
    listed(),
)

rule(0, f'only-on = {{ "gpu:{tools}", "big-memory:{RENDER}" }}')
got = leaves(RENDER)
ok("all labels of all rules about it", got[:2] == (2, "auto"), got)
rule(0, f'only-on = {{ "gpu:{tools}", "tape:{RENDER}" }}')
got = leaves(RENDER)
ok(
    "one is nowhere: it runs at home, and the reason says so",
    got[:2] == (0, "labels") and "only-on" in got[3],
    got,
)
got = leaves(PLAIN)
ok("a directory", got[:2] == (2, "auto"), got)
rule(3, 'labels = { "gpu", "tape" }')
ok("a node gets it", until(lambda: leaves(RENDER)[:2] == (3, "auto")), leaves(RENDER))

rule(0, f'never-on = {{ "gpu:{tools}" }}')
for n in range(4):
    got = leaves(RENDER)
    ok(f"never there, {n}", got[:2] == (1, "auto"), got)
got = run("n3", "--", RENDER)
ok("nor if it is named", got[0] == 1 and "node n3 has the label gpu" in got[2], got)
rule(0, f'only-on = {{ "tape:{RENDER}" }}', f'never-on = {{ "gpu:{RENDER}" }}')
got = leaves(RENDER)
ok("never wins", got[:2] == (0, "labels"), got)
os.symlink(RENDER, os.path.join(c.dir, "link"))
got = run("n3", "--", os.path.join(c.dir, "link"))
ok("by a link", got[0] == 1 and "has the label gpu" in got[2], got)
rule(0)
got = run("n3", "--", RENDER)
ok("without rules", got[:2] == (0, 3), got)

for line, text in (
    ('labels = { "a b" }', "is not a label"),
    ('labels = { "' + "x" * 33 + '" }', "is not a label"),
    ('only-on = { "gpu" }', "is not LABEL:PATH"),
    ('never-on = { "gpu:opt" }', "is not LABEL:PATH"),
    ('only-on = { "gpu:/opt/../x" }', "is not LABEL:PATH"),
    ("labels = { " + ", ".join(f'"l{n}"' for n in range(17)) + " }", "more than 16 items"),
):
    conf = c.conf(0, settings=line)
    number = open(conf).read().splitlines().index(line) + 1
    p = subprocess.run([AGENT, "-t", "-c", conf], capture_output=True, text=True)
    ok(
        f"ehagent -t: {line[:40]}",
        p.returncode == 2 and p.stderr.startswith(f"{conf}:{number}: ") and text in p.stderr,
        p,
    )
done()
