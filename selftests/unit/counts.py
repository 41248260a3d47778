#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the harness makes of a program's output."""

import contextlib, io, os, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
sys.path.append(os.path.join(sys.path[0], "../runner"))
from ktap import done, ok
from programs import Program
from report import Report, plain
from results import Results


def counts(name, want, *lines, status=0, skips=None):
    r = Results("dir/test")
    for line in lines:
        r.line(line)
    got = (r.passed, r.failed, r.skipped, r.why(status))
    ok(name, got == want, got)
    if skips is not None:
        ok("is named with its reason", r.skips == skips, r.skips)
    return r


counts("all well", (2, 0, 0, None), "KTAP version 1", "ok 1 - a", "ok 2 - b", "1..2")
r = counts("a failure", (1, 1, 0, None), "1..2", "ok 1 a", "# more", "not ok 2 b", status=1)
ok("its results are shown", r.shown == ["1..2", "ok 1 a", "not ok 2 b"], r.shown)
counts(
    "a skip",
    (1, 0, 1, None),
    "ok 1 - a # SKIP no root",
    "ok 2 - b",
    "1..2",
    skips=[("dir/test: a", "no root")],
)
counts(
    "a skip as cmocka has it",
    (1, 0, 1, None),
    "1..2",
    "ok 1 - test_a",
    "not ok 2 # SKIP test_b",
    skips=[("dir/test", "test_b")],
)
counts(
    "all of a program",
    (0, 0, 1, None),
    "KTAP version 1",
    "1..0 # SKIP no machine",
    skips=[("dir/test", "no machine")],
)
counts("no end", (1, 0, 0, "no plan"), "ok 1 - a")
counts("too few", (1, 0, 0, "2 results planned, 1 seen"), "1..2", "ok 1 - a")
counts("given up", (0, 1, 0, None), "KTAP version 1", "Bail out! no agent", status=1)
counts(
    "an exit status without a bad result", (1, 0, 0, "exit status 3"), "1..1", "ok 1 a", status=3
)
counts(
    "nested results count once",
    (2, 0, 0, None),
    "1..1",
    "    # Subtest: x",
    "    1..2",
    "    ok 1 a",
    "    ok 2 b",
    "ok 1 x",
)
counts(
    "so does a nested failure",
    (1, 1, 0, None),
    "1..1",
    "    1..2",
    "    ok 1 a",
    "    not ok 2 b",
    "not ok 1 x",
    status=1,
)
counts(
    "a failure beside nested results is one more",
    (1, 1, 0, None),
    "1..1",
    "    1..1",
    "    ok 1 a",
    "not ok 1 x",
    status=1,
)
counts(
    "two levels",
    (2, 1, 1, None),
    "    # Subtest: dir/x",
    "        not ok 1 a",
    "        ok 2 b # SKIP why",
    "    not ok 1 x",
    "not ok 1 y",
    "    ok 1 c",
    "ok 2 z",
    "ok 3 d",
    "1..3",
    status=1,
    skips=[("dir/x: b", "why")],
)
counts(
    "exit status 4 without a plan that says so",
    (0, 0, 0, "exit status 4, no plan"),
    "gone",
    status=4,
)
counts(
    "or with a result",
    (1, 0, 1, "exit status 4, 0 results planned, 1 seen"),
    "ok 1 a",
    "1..0 # SKIP b",
    status=4,
)
counts("a plan of none", (0, 0, 0, "no result"), "1..0")
counts("what only begins like a result", (1, 0, 0, None), "okay", "1..1", "ok 1 a")
ok(
    "a seed is seen",
    counts("with a seed", (1, 0, 0, None), "# EHS_SEED=17", "ok 1", "1..1").seed == "17",
)

with contextlib.redirect_stdout(io.StringIO()) as out:
    failed = Report([Program("dir/test", 1, "serial")]).close()
ok(
    "a program without a result has failed",
    failed and "0 passed, 1 failed, 0 skipped" in out.getvalue(),
    out.getvalue(),
)

ok(
    "control characters are shown",
    plain("a\0\33[2J\tb\x9b\udcff") == r"a\x00\x1b[2J" + "\t" + r"b\x9b\xff",
)

done()
