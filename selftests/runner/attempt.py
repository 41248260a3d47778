# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of a program: its output, status and time."""

import contextlib
import os
import re
import select
import signal
import subprocess
import tempfile
import time

import scene
from proc import send, state
from programs import TOP
from results import KSFT_SKIP, Results

LATE = 124, 137, -signal.SIGKILL  # exit statuses of timeout(1) at the limit
POLL = 0.1  # seconds
KILL_AFTER = 20  # seconds from SIGTERM to SIGKILL
GRACE = 2  # seconds after which timeout(1) is late itself
MIB = 64  # of output, at most
LONGEST = 1 << 16  # bytes of a line that are kept, about
# Where each session is scheduled as a group, a program with many processes takes no more than the
# others, and nice counts within the session only.
APART = ("setsid",)
# A guest comes before all else: one that has to wait spins, hears nothing of others for seconds,
# and its tests are about the kernel.
FIRST = (
    "sh",
    "-c",
    '{ renice -n -10 $$; echo -10 >/proc/self/autogroup; } >/dev/null 2>&1; exec "$@"',
    "sh",
)


class Attempt:
    """`lines`, `status`, `took` and `busy` (seconds, and those of processors), `results`."""

    def __init__(self, name):
        self.name = name
        self.lines = []
        self.status = self.took = self.busy = None
        self.results = Results(name)
        self.cut = None  # why it was ended
        self.left = []  # what it has left

    def take(self, line):
        self.lines.append(line)
        self.results.line(line)

    def run(self, what, where, factor=1, take=None):
        """Of a Program or Guest, in a Scene, which is cleared then. Its output comes in lines, as
        it is written; a file and not a pipe, as what a program leaves running must not hold up its
        end."""
        limit = what.limit * factor
        argv = ["timeout", "-k", str(KILL_AFTER), str(limit), *what.argv()]
        if what.kind == "guest":
            argv = [*FIRST, *argv]
        # ends with this process, however that ends
        argv = ["setpriv", "--pdeathsig", "TERM", *APART, *argv]
        began = time.monotonic()
        try:
            # a guest has the output of all its programs
            most = (MIB << 20) * (1 + len(getattr(what, "programs", ())))
            self._run(argv, where, take or self.take, began + limit, most)
            if not self.cut and self.status in LATE and time.monotonic() >= began + limit:
                self.cut = f"not done after {limit} s"
        finally:
            self.left = where.clear()
        self.took = time.monotonic() - began
        self.lines += [f"# left: {line}" for line in self.left]

    def _run(self, argv, where, take, limit, most):
        with tempfile.TemporaryFile() as out:
            child = subprocess.Popen(
                argv,
                cwd=TOP,
                env=where.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
            self._follow(child, out.fileno(), take, limit, most)

    def _follow(self, child, out, take, limit, most):
        """timeout(1) keeps the limit; what it runs may have stopped that, and is ended all the
        same."""
        at, rest, over = 0, b"", None
        last = limit + KILL_AFTER + GRACE
        try:
            while not over and time.monotonic() < last + scene.DYING:
                over = scene.reap(child.pid)
                while at <= most and (block := os.pread(out, 1 << 16, at)):
                    at += len(block)
                    *lines, rest = (rest + block).split(b"\n")
                    for line in lines:
                        take(text(line))
                    rest = rest[:LONGEST]
                if at > most:
                    self.cut = f"more than {most >> 20} MiB of output"
                if not over and (self.cut or time.monotonic() > last):
                    kill(child.pid)
                elif not over and time.monotonic() > limit + GRACE:
                    send(child.pid, signal.SIGCONT)
                if not over and select.select([scene.wake_up], [], [], POLL)[0]:
                    os.read(scene.wake_up, 4096)
        finally:
            if not over:  # an exception, of a signal; or it cannot be killed
                end(child.pid)
        if rest:
            take(text(rest))
        status, usage = over or (signal.SIGKILL, None)
        child.returncode = self.status = os.waitstatus_to_exitcode(status)
        self.busy = usage.ru_utime + usage.ru_stime if usage else 0.0

    def why(self):
        """Why it failed, besides bad results; or None."""
        if self.cut:
            return self.cut
        if self.left:
            return f"left {self.left[0]}"
        why = self.results.why(self.status)
        if not why or not self.status or self.results.failed:
            return why
        # mostly an exception
        last = next(
            (
                line
                for line in reversed(self.lines)
                if line.strip() and not line.startswith("#") and line not in self.results.shown
            ),
            None,
        )
        return f"{why}: {last.strip()[:200]}" if last else why

    def skipped(self):
        """Why all of it was; or None."""
        return self.results.reason if self.status == KSFT_SKIP and not self.failed() else None

    def failed(self):
        """How many of its results, counting what is wrong with the whole as one."""
        return self.results.failed + bool(self.why())

    def first_bad(self):
        """The first failing check, or what is wrong with the whole."""
        return (
            re.sub(r"^not ok \d* *-? *", "", self.results.bad[0])[:300]
            if self.results.bad
            else self.why()
        )


def kill(child):
    """With its process group, which timeout(1) or setsid(1) has made."""
    for how in os.killpg, os.kill:
        with contextlib.suppress(ProcessLookupError):
            how(child, signal.SIGKILL)


def end(child):
    """By timeout(1), which may have been stopped; by force if it does not."""
    send(child, signal.SIGTERM)
    send(child, signal.SIGCONT)
    if not gone(child, KILL_AFTER + GRACE):
        kill(child)
        gone(child, scene.DYING)


def gone(child, seconds):
    """Whether it is within so many seconds."""
    until = time.monotonic() + seconds
    while state(child) != "gone" and time.monotonic() < until:
        scene.reap()
        time.sleep(0.02)
    return state(child) == "gone"


def text(line):
    return line.decode(errors="replace").rstrip("\r")
