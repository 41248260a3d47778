#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""No program prints a word of its command line as it is: a file may have any name, and a shell
completes it. There is no agent."""

import os, re, shutil, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from netns import without_agents
from tree import BUILD

without_agents()

ODD = "a\x1b[31mb\x9bc\x7fd"
ORDER = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
WAIT = 60
work = tempfile.mkdtemp()
odd = f"{work}/{ODD}"
EHCTL = [f"{BUILD}/bin/ehctl"]
printed = 0


def look(*words):
    """What it prints has no order to a terminal in it."""
    global printed
    p = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, cwd=work, timeout=WAIT)
    printed += b"?[31m" in p.stdout + p.stderr
    bad = [text for text in (p.stdout, p.stderr) if ORDER.search(text)]
    ok(
        " ".join(os.path.basename(word) for word in words).encode("unicode_escape").decode(),
        not bad,
        bad,
    )


listed = subprocess.run([*EHCTL, "help"], capture_output=True, text=True, check=True).stdout
commands = re.findall(r"^  (\w+) ", listed, re.M)
ok("ehctl help lists commands", {"cert", "exec", "plan", "why"} <= set(commands), listed)
for command in *commands, ODD:
    for more in (
        [ODD],
        [f"--{ODD}"],
        [f"-{ODD}"],
        [ODD, ODD],
        [f"--json={ODD}"],
        ["--json", ODD, f"--{ODD}"],
    ):
        look(*EHCTL, command, *more)
for planner in "assign", "dag", "divide", "gang", ODD:
    for more in [odd], ["/dev/null", ODD], ["/dev/null", f"--{ODD}"]:
        look(*EHCTL, "plan", planner, *more)
for more in (
    ["init", odd],
    ["init", odd],
    ["node", odd, "n1"],
    ["node", odd, ODD],
    ["list", odd],
    ["list", f"{odd}x"],
    ["init", "--cluster", ODD, f"{odd}2"],
    [ODD],
):
    look(*EHCTL, "cert", *more)
for more in [], ["--address", ODD], ["--host", ODD], ["--topology", ODD]:
    look(
        *EHCTL,
        "init",
        "--dir",
        f"{odd}3",
        *(more or ["--host", "h", "--address", "192.0.2.1"]),
        "c",
    )
look(*EHCTL, "join", "--token", ODD, "--dir", f"{odd}4")
AGENT = f"{BUILD}/bin/ehagent"
for more in (
    ["-t", "-c", odd],
    ["-c", f"{odd}x"],
    ["-t", "-c", f"{odd}3/agent.conf"],
    ["--launch", "-c", f"{odd}x"],
    ["--join", ODD],
    ["--join", f"{ODD}:1"],
    [f"--{ODD}"],
    [f"-{ODD}"],
    [ODD],
    ["-\x1b"],
    [f"--launch={ODD}"],
):
    look(AGENT, *more)
with open(f"{work}/conf", "w", encoding="utf-8") as f:
    f.write(f'cluster = "{ODD}"\n{ODD} = 1\n')
look(AGENT, "-t", "-c", f"{work}/conf")
for name in (
    "ehrsh",
    "ehlaunch",
    "ehstub",
    "ehfiles",
    "ehview",
    "ehhist",
    "ehnames",
    "ehlook",
    "ehcert",
    "ehplan",
    "ehsim",
    "ehtop",
    "ehmetrics",
):
    for more in [ODD], [f"--{ODD}"], [f"-{ODD}"], [ODD, ODD], [f"@{ODD}", ODD, ODD]:
        look(f"{BUILD}/bin/{name}", *more)
ok("many say what was wrong", printed > 50, printed)
shutil.rmtree(work)
done()
