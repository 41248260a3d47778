# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs of a suite, test by test, and the differences that are known."""

import os, re

ABSENT = "absent"


class Known:
    """The file `known`: a line for each test that differs, with tabs between SUITE, TEST, the
    beginning of the row of docs/transparency.md that says why, and the reason in short."""

    def __init__(self, path, document):
        self.path, self.tests, self.wrong = path, {}, []
        with open(document, encoding="utf-8") as f:
            rows = [line[2:] for line in f if line.startswith("| ")]
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                line = line.rstrip("\n")
                if not line.strip() or line.startswith("#"):
                    continue
                words = re.split(r"\t+", line)
                if len(words) != 4 or not all(words):
                    self.wrong.append(
                        f"{path}:{number}: SUITE, TEST, ROW and REASON are needed, with tabs"
                        " between them"
                    )
                    continue
                suite, test, row, reason = words
                if not any(r.startswith(row) for r in rows):
                    self.wrong.append(
                        f"{path}:{number}: no row of {os.path.basename(document)} begins with:"
                        f" {row}"
                    )
                if (suite, test) in self.tests:
                    self.wrong.append(f"{path}:{number}: {suite} {test} is there twice")
                self.tests[suite, test] = reason

    def of(self, suite):
        return {test: reason for (name, test), reason in self.tests.items() if name == suite}


class Comparison:
    """same, and what is not: differ {test: (here, away)}, unsteady {test: (here, away, another
    result here)}, known, gone (known ones that do not differ). `again`: more runs here."""

    def __init__(self, here, away, known, again=()):
        self.differ, self.unsteady, self.known, self.gone, self.same = {}, {}, {}, {}, 0
        for test in sorted(set(here) | set(away)):
            pair = here.get(test, ABSENT), away.get(test, ABSENT)
            if pair[0] == pair[1] and test in known:
                self.gone[test] = f"is the same now ({pair[0]})"
            elif pair[0] == pair[1]:
                self.same += 1
            elif test in known:
                self.known[test] = pair
            else:
                others = [r for r in (run.get(test, ABSENT) for run in again) if r != pair[0]]
                if others:
                    self.unsteady[test] = *pair, others[0]
                else:
                    self.differ[test] = pair
        for test in set(known) - set(here) - set(away):
            self.gone[test] = "was not run"

    def good(self):
        return not self.differ and not self.gone
