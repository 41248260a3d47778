#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the demo says at its end follows from what was measured: selftests/demo/table."""
import json
import os
import re
import sys
import tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from tree import run, TOP

CODES = ("0.0", "0.1", "0.2")


def status(ran, reasons):
    """As `ehctl status --json` has it."""
    return {
        "self": "0.0",
        "nodes": [{"code": c, "host": f"n{i}"} for i, c in enumerate(CODES)],
        "placed": [{"executor": c, "tasks": n} for c, n in zip(CODES, ran)],
        "reasons": [{"reason": r, "tasks": n} for r, n in reasons.items()],
    }


def event(task, reason, to, ms):
    """As `ehctl watch --json` has it."""
    return {
        "event": "place",
        "id": f"0.0:{task}",
        "home": "0.0",
        "executor": CODES[to],
        "reason": reason,
        "at_ms": ms,
    }


def told(ran, reasons, events, *more):
    """What table says of a run that begins with some tasks."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{folder}/{name}" for name in ("before", "after", "events")]
        before = status((5, 0, 1), {"not-sender": 4, "no-receiver": 1})
        texts = [
            json.dumps(before),
            json.dumps(status(ran, reasons)),
            "".join(f"{json.dumps(e)}\n" for e in events),
        ]
        for name, text in zip(names, texts):
            with open(name, "w", encoding="utf-8") as f:
                f.write(text)
        p = run(sys.executable, f"{TOP}/selftests/demo/table", *names, *more)
    return p.returncode, " ".join(p.stdout.decode().split()), p.stderr.decode()


# 13 execs: 6 of which nobody was asked, 7 of which two left; the module has no word for a time-out
# that is the agent's
RAN, REASONS = (16, 1, 2), {"not-sender": 11, "no-receiver": 1, "none": 1, "credit": 3, "short": 2}
EVENTS = [
    event(1, "short", 0, 1),
    event(2, "short", 0, 3),
    event(3, "credit", 0, 500),
    event(4, "credit", 1, 80),
    event(5, "credit", 2, 60),
    event(6, "not-sender", 0, 40),
    event(7, "time-out", 0, 2000),
    {"event": "state", "node": "0.1"},
    {**event(8, "credit", 0, 1), "home": "0.1"},
]
code, text, err = told(RAN, REASONS, EVENTS)
ok(
    "the table",
    code == 0
    and "short at home 2 2 3" in text
    and "credit elsewhere 2 70 80" in text
    and "credit at home 1 500 500" in text,
    (text, err),
)
ok(
    "it has what the agent said, and not the module's words for that",
    "no-receiver" not in text and "none" not in text and text.endswith("reason tasks not-sender 6"),
    text,
)
code, story, err = told(RAN, REASONS, EVENTS, "9")
for said in (
    "called exec() 13 times on n0 within 9 s. 6 of these started at once",
    "7 times none was",
    "for 60 ms in the median, 2000 at most",
    "2 tasks ran elsewhere, 1 on n1 and 1 on n2: 2 by a `credit`",
    "5 ran at home: 2 because such programs end sooner than they could have moved (`short`)",
    "1 because no other node was known to have fewer tasks",
    "1 because no answer came in time",
):
    ok(f"the text: {said}", said in story, (story, err))
ok(
    "it has no other reason",
    set(re.findall(r"\(`([a-z-]+)`\)", story)) == {"not-sender", "short", "credit", "time-out"},
    story,
)
code, text, err = told((16, 2, 1), REASONS, EVENTS)
ok("a node on which nothing ran fails", code == 1 and "no task ran on 0.2" in err, (text, err))
code, story, err = told(RAN, REASONS, [*EVENTS, event(9, "labels", 0, 5)], "9")
ok("a reason without a sentence is named", "1 `labels`" in story, story)
done()
