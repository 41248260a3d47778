# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run prints: KTAP with a result for each program, and at the end what failed, was flaky,
was skipped, and took long."""

import os
import re
import shutil
import sys
import time

from programs import Guest

BAD_LINES = 9  # of a program that failed, in the closing lines
SLOWEST = 10
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")


def plain(line):
    """Without what a terminal would obey, and bytes of names that are no text."""
    return CONTROL.sub(lambda m: f"\\x{ord(m[0]) & 0xff:02x}", line)


def kept(folder, name):
    return os.path.join(os.environ["EHS_BUILD"], folder, name.replace("/", "-"))


def keep(folder, name, attempt):
    """Writes the output into a file of that folder of the build directory. Returns where it is."""
    path = kept(folder, name)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write("\n".join(attempt.lines) + "\n")
    except OSError as error:
        return f"not kept: {error.filename}: {error.strerror}"
    return path


class Report:
    def __init__(self, chosen):
        self.began = time.monotonic()
        self.programs = [p for w in chosen for p in (w.programs if isinstance(w, Guest) else [w])]
        self.planned = len(self.programs) + sum(isinstance(w, Guest) for w in chosen)
        self.number = 0
        self.passed = self.failed = 0
        self.skips = []
        self.failures = []  # lines
        self.flaky = []  # lines
        self.again_at_end = {}  # (the check that failed at first, where the output is), by name
        self.notes = []  # lines
        self.times = []  # (seconds, of processors, name)
        self.running = {}  # by name
        self.parts = set()
        self.live = sys.stdout.isatty()
        self.say("KTAP version 1", f"1..{self.planned}")

    def say(self, *lines):
        self._progress("")
        print(*map(plain, lines), sep="\n", flush=True)

    def _progress(self, text):
        if self.live:
            print(f"\r\x1b[K{text[:shutil.get_terminal_size().columns - 1]}", end="", flush=True)

    def tick(self):
        """On a terminal: how far it is."""
        self._progress(
            f"{self.number} of {self.planned}, {self.seconds():.0f} s: {', '.join(self.running)}"
        )

    def seconds(self):
        return time.monotonic() - self.began

    def begins(self, what):
        self.running[what.name] = what
        part = what.name if isinstance(what, Guest) else what.directory
        if part not in self.parts:
            self.parts.add(part)
            of_it = [p.name for p in self.programs if p.directory == what.directory]
            if isinstance(what, Guest) or what.kind != "guest":
                self.say(f"# {self.seconds():.0f} s: {part} begins, {len(of_it)} programs")
        self.tick()

    def again(self, what, attempt):
        """It failed, and gets a second try. Its output is kept."""
        self.running.pop(what.name, None)
        self._show(what, attempt)
        where = keep("flaky", what.name, attempt)
        self.again_at_end[what.name] = attempt.first_bad(), where
        self.say(
            f"# failed at first: {what.name}: {attempt.first_bad()}: it is run again at the end,"
            f" alone ({where})"
        )

    def result(self, what, attempt, first=None, strict=False):
        """The last word on it. `first` is its first try, if that failed and this is the second."""
        self.running.pop(what.name, None)
        self._show(what, attempt)
        why, skipped, failed = attempt.why(), attempt.skipped(), attempt.failed()
        check, where = self.again_at_end.pop(what.name, (None, None))
        self.number += 1
        if not isinstance(what, Guest):
            self.times.append((attempt.took, attempt.busy, what.name))
        # broken memory shows itself by chance: what it broke may well go right the second time
        strict = strict or bool(first and any("crashed" in line for line in first.results.bad))
        if first and not failed:
            self.flaky.append(f"# flaky: {what.name}: {check} (first output: {where})")
            failed += strict
            why = f"flaky: {check}" if strict else None
        line = f"{'not ' if failed else ''}ok {self.number} - {what.name} # "
        if skipped and not failed:
            self.say(f"{line}SKIP {skipped}")
            self.skips += attempt.results.skips or [(what.name, skipped)]
            return
        self.say(
            f"{line}{attempt.took:.1f} s, {attempt.busy:.1f} s of processor time"
            + (f": {why}" if why else "")
        )
        self.skips += attempt.results.skips
        self.passed += attempt.results.passed
        self.failed += failed
        if failed:
            self._has_failed(what, attempt, why)

    def _show(self, what, attempt):
        """Its results, and its whole output if it failed."""
        if isinstance(what, Guest) and not attempt.failed():
            return
        self.say(f"    # Subtest: {what.name}", *("    " + line for line in attempt.results.shown))
        if attempt.failed():
            self.say(*("#   " + line for line in attempt.lines))

    def _has_failed(self, what, attempt, why):
        self.failures.append(f"# failed: {what.name}" + (f": {why}" if why else ""))
        self.failures += ["#   " + line[:300] for line in attempt.results.bad[:BAD_LINES]]
        name = what.directory if isinstance(what, Guest) else what.name
        seed = f" EHS_SEED={attempt.results.seed}" if attempt.results.seed else ""
        self.failures.append(f"#   again: make check T={name}{seed}")

    def close(self, early=None):
        """The closing lines; `early` says why they come before the end. Returns whether any has
        failed."""
        lost = self.planned - self.number
        self.failures += [
            f"# failed at first: {name}: {check}" for name, (check, _) in self.again_at_end.items()
        ]
        if lost > 0 and early:
            self.failures.append(f"# not done: {lost} programs")
        elif lost > 0:  # a defect of the runner: not knowing is no pass
            self.failed += lost
            self.failures.append(f"# failed: {lost} programs have no result")
        self.say(
            *(
                f"# slow: {took:.1f} s, {busy:.1f} s of processor time: {name}"
                for took, busy, name in sorted(self.times, reverse=True)[:SLOWEST]
            ),
            f"# {self.seconds():.0f} s in all",
            *self.notes,
            *(f"# skipped: {what}: {reason}" for what, reason in self.skips),
            *self.failures,
            *self.flaky,
            f"{self.passed} passed, {self.failed} failed, {len(self.skips)} skipped",
            *([early] if early else []),
        )
        return self.failed > 0
