# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test program says: KTAP, line by line."""

import re

KSFT_SKIP = 4
RESULT = re.compile(r"( *)(not )?ok(?= |$)(?: +\d+)? *(?:- *)?(.*)")
PLAN = re.compile(r"( *)1\.\.(\d+) *(?:# *SKIP *(.*))?$", re.I)
VAIN = "# waited in vain"  # lib/wait.sh: a minute that is lost, or a failure that is near
VERSION = re.compile(r" *K?TAP version")
SUBTEST = re.compile(r" *# Subtest: (.*)")
SKIP = re.compile(r"(.*?) *# *SKIP *(.*)", re.I)
SEED = re.compile(r"\bEHS_SEED=(\d+)")


class Results:
    """Counts the results of one program. Of nested ones (indented) the innermost count; a result
    that closes a nested block only repeats it. `name` is the program's."""

    def __init__(self, name):
        self.name = name
        self.passed = self.failed = self.skipped = 0
        self.shown = []  # the lines of all results
        self.bad = []  # those of bad ones
        self.skips = []  # (what, reason)
        self.seed = None  # of random choices, if it has told one
        self.reason = None  # why there is no result of it at all
        self._bailed = False
        self._plans = self._planned = self._seen = 0
        self._subtest = name
        self._inner = {}  # depth: whether a result there was bad, since the last one above

    def line(self, line):
        """Takes a line of its output."""
        seed = SEED.search(line)
        if seed:
            self.seed = seed[1]
        if m := SUBTEST.match(line):
            self._subtest = m[1]
        elif m := PLAN.match(line):
            self._plan(len(m[1]), int(m[2]), m[3])
        elif line.startswith("Bail out!"):
            self.failed += 1
            self.bad.append(line)
            self._bailed = True
        elif m := RESULT.match(line):
            self._result(len(m[1]), bool(m[2]), m[3], line)
        elif not VERSION.match(line) and not line.startswith(VAIN):
            return
        self.shown.append(line)

    def _plan(self, depth, planned, reason):
        if depth:
            return
        self._plans += 1
        self._planned += planned
        if reason is not None and not planned:
            self.reason = reason or "no reason given"
            self._skip(self.name, self.reason)

    def _skip(self, what, reason):
        self.skipped += 1
        self.skips.append((what, reason))

    def _result(self, depth, bad, text, line):
        if not depth:
            self._seen += 1
        skip = SKIP.match(text)
        bad = bad and not skip  # cmocka says "not ok 3 # SKIP name"
        nested = self._inner.get(depth)  # None: no nested block; else whether it was bad
        self._inner = {d: b for d, b in self._inner.items() if d < depth}
        for d in range(depth):
            self._inner[d] = self._inner.get(d, False) or bad
        if bad:
            self.bad.append(line.strip())
        if nested is not None:
            self.failed += bad and not nested
        elif bad:
            self.failed += 1
        elif skip:
            self._skip(
                ": ".join(filter(None, (self._subtest if depth else self.name, skip[1]))), skip[2]
            )
        else:
            self.passed += 1

    def why(self, status):
        """Why it failed, besides bad results: by its exit status, or as it did not come to its end.
        Or None."""
        if self._bailed:
            what = None
        elif not self._plans:
            what = "no plan"
        elif self._seen != self._planned:
            what = f"{self._planned} results planned, {self._seen} seen"
        elif not self._seen and not self.reason:
            what = "no result"
        else:
            what = None
        if status == KSFT_SKIP and self.reason and not self._seen + self.passed:
            return what
        if status and not self.failed:
            return f"exit status {status}" + (f", {what}" if what else "")
        return what
