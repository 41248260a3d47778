#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl doctor, of one node and of pairs."""

import json, os, re, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from replies import Agent, REPLY, ehctl, frame, show


def pair(a, b, *checks, why=None):
    """One of doctor --pairs."""
    return {
        "from": f"0.{a}",
        "from_host": f"n{a}",
        "to": f"0.{b}",
        "to_host": f"n{b}",
        "tested": not why,
        "why": why,
        "ok": not why and all(c["level"] == "note" for c in checks),
        "checks": list(checks),
    }


def check(level, fix):
    return {"name": "port", "ok": False, "level": level, "what": f"a {level}", "fix": fix}


PAIRS = {
    "version": 1,
    "nodes": 3,
    "left_out": 0,
    "pairs": [
        pair(0, 1),
        pair(0, 2, check("note", "wait"), check("warning", "start it")),
        pair(1, 0, why="down"),
        pair(1, 2, why="down"),
        pair(2, 0, check("warning", "start it")),
        pair(2, 1, check("note", "wait")),
    ],
}
with Agent(frame(REPLY, PAIRS)) as a:
    r = ehctl("doctor", "--pairs")
    ok(
        "doctor --pairs: the worst first, each fix once",
        r.returncode == 0
        and r.stdout.decode().splitlines()
        == [
            "warning n0 -> n2  port: a warning",
            "warning n2 -> n0  port: a warning",
            "        fix: start it",
            "note    n0 -> n2  port: a note",
            "note    n2 -> n1  port: a note",
            "        fix: wait",
            "not tested: 2 pairs from n1: down",
            "6 pairs, 2 good, 2 not tested",
        ],
        show(r),
    )
    r = ehctl("doctor", "--pairs", "--json")
    ok(
        "and --json is the agent's document",
        r.returncode == 0 and json.loads(r.stdout) == PAIRS,
        show(r),
    )
    ok("it has asked for it", a.asked[0][1] == {"command": "pairs"}, a.asked)
with Agent(
    frame(REPLY, {**PAIRS, "left_out": 7, "pairs": [pair(0, 1, check("error", "start it"))]})
):
    r = ehctl("doctor", "--pairs")
    ok(
        "an error is exit status 1, and what was left out is said",
        r.returncode == 1
        and b"not tested: 7 pairs" in r.stdout
        and r.stdout.endswith(b"\n1 pair, 0 good\n"),
        show(r),
    )
    ok("with --json, too", ehctl("doctor", "--json", "--pairs").returncode == 1)
for level, lines in ("note", 8), ("warning", 12):
    with Agent(
        frame(REPLY, {**PAIRS, "pairs": [pair(0, b, check(level, "x")) for b in range(1, 13)]})
    ):
        r = ehctl("doctor", "--pairs")
        ok(
            f"lines of one kind of {level}",
            r.stdout.decode().count(f"a {level}\n") == lines
            and (b"of 4 more pairs" in r.stdout) == (level == "note"),
            show(r),
        )


CHECKS = {
    "version": 1,
    "checks": [{"name": "module", "ok": True, "what": "loaded", "fix": "", "mend": ""}],
}
with Agent(frame(REPLY, CHECKS)):
    r = ehctl("doctor")
    ok("doctor: all is well", r.returncode == 0 and r.stdout.startswith(b"ok "), show(r))
CHECKS["checks"].append(
    {"name": "peers", "ok": False, "what": "n1 is down", "fix": "start it", "mend": "start it"}
)
with Agent(frame(REPLY, CHECKS)):
    r = ehctl("doctor")
    ok(
        "doctor: something is wrong",
        r.returncode == 1 and b"fix: start it" in r.stdout and not r.stderr,
        show(r),
    )
for level, status in ("note", 0), ("warning", 0), ("error", 1):
    CHECKS["checks"][1] = {
        "name": "peer 0.1",
        "host": "n1",
        "ok": False,
        "level": level,
        "what": "is down",
        "fix": "start it",
        "mend": "start it",
    }
    with Agent(frame(REPLY, CHECKS)):
        r = ehctl("doctor")
        ok(
            f"doctor: {level}",
            r.returncode == status
            and re.search(
                rf"^{level} +peer n1 +is down\n +fix: start it\n", r.stdout.decode(), re.M
            ),
            show(r),
        )

done()
