# SPDX-License-Identifier: GPL-2.0-or-later
"""A document whose commands are run. Blocks marked `console` have lines

    n0# COMMAND     as root on host n0
    n0$ COMMAND     as a user there
    OUTPUT          what it prints: all of it, but that numbers, states of nodes and bars of loads
                    may be others; … in a line stands for any text, a line … for any lines

A word of a command that ends in … is the one printed last that begins so. A block below `<!-- from
packages -->` is run where the hosts were made to be installed from packages."""

import re
import time

from wait import WAIT

PROMPT = re.compile(r"(n\d+)([#$]) (.+)")
# what only looks is looked at again until it is as expected
LOOK = re.compile(r"ehctl (status|tree|tasks|top|doctor|history|why)\b")
PACKAGES = "<!-- from packages -->"


class Step:
    def __init__(self, line, host, root, command, packages):
        self.line, self.host, self.root, self.command, self.packages = (
            line,
            host,
            root,
            command,
            packages,
        )
        self.expected = []

    def __str__(self):
        return f"line {self.line}: {self.host}{'#' if self.root else '$'} {self.command}"


def read(text):
    """(steps, errors) of a document."""
    steps, errors, inside, packages, before = [], [], None, False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if inside is None:
                inside, packages = line[3:], before == PACKAGES
                if inside != "console":
                    errors.append(f"line {number}: a block that is not run")
                first = True
            else:
                inside = None
        elif inside == "console":
            m = PROMPT.fullmatch(line)
            if m:
                steps.append(Step(number, m[1], m[2] == "#", m[3], packages))
            elif first:
                errors.append(f"line {number}: output without a command")
            else:
                steps[-1].expected.append(line)
            first = False
        if line:
            before = line
    if inside is not None:
        errors.append("the last block has no end")
    return steps, errors


def normal(line):
    """A line without what differs from host to host."""
    line = re.sub(r"[▏▎▍▌▋▊▉█]+", " ", line)
    line = re.sub(r"(?<![\w.])(ok|receiver|sender)(?![\w.])", "STATE", line)
    line = re.sub(r"(?<![\w.])\d+(\.\d+)?[KMGT]\b", "#", line)
    # what a column is wide depends on the numbers in it
    line = re.sub(r"(?<![\w])-?\d+(\.\d+)*(?![\w])|(?<=[:.])\d+", "#", line)
    return re.sub(r"\b#[KMGT]\b|#[KMGT]\b", "#", " ".join(line.split()))


def fits(expected, said):
    """Whether lines that are expected stand for those that were printed."""
    if not expected:
        return not said
    if expected[0].strip() == "…":
        return any(fits(expected[1:], said[i:]) for i in range(len(said) + 1))
    pattern = ".*".join(re.escape(part) for part in normal(expected[0]).split("…"))
    return (
        bool(said)
        and re.fullmatch(pattern, normal(said[0])) is not None
        and fits(expected[1:], said[1:])
    )


def lines(text):
    """Without empty ones, at the ends and between."""
    return [line for line in text.splitlines() if line.strip()]


def complete(command, seen):
    """The command with each word that ends in … completed by what was printed; None if nothing
    fits."""
    missing = []

    def word(m):
        begun = [w for w in seen if w.startswith(m[1]) and "…" not in w and w != m[1]]
        if not begun:
            missing.append(m[0])
        return begun[-1] if begun else m[0]

    command = re.sub(r"(?<!\S)(\S+)…(?!\S)", word, command)
    return None if missing else command


class Tour:
    """`run(host, root, command)` returns (status, what it printed)."""

    def __init__(self, run, packages):
        self.run, self.packages = run, packages
        self.seen = []  # words that were printed

    def step(self, step):
        """(done, what happened): "skip" if it needs packages."""
        if step.packages and not self.packages:
            return "skip", "installed from packages"
        command = complete(step.command, self.seen)
        if command is None:
            return False, "nothing was printed with which to complete it"
        end = time.monotonic() + WAIT
        while True:
            status, said = self.run(step.host, step.root, command)
            good = status == 0 and (
                step.packages or fits(lines("\n".join(step.expected)), lines(said))
            )
            if good or status is None or not LOOK.match(command) or time.monotonic() > end:
                break
            time.sleep(0.2)
        self.seen += said.split()
        return good, f"exit status {status}\n{said}\nexpected:\n" + "\n".join(step.expected)
