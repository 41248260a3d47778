# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of a program: its output, status and time."""

import os
import re
import select
import subprocess
import tempfile
import time

import scene
from programs import TOP
from results import Results

KSFT_SKIP = 4
LATE = 124          # of timeout(1)
POLL = 0.1          # seconds
# A guest comes before all else: one that has to wait spins, hears nothing of others for seconds, and its tests are about the
# kernel. Where each session is scheduled as a group, nice counts within it only.
FIRST = "setsid", "sh", "-c", '{ renice -n -10 $$; echo -10 >/proc/self/autogroup; } >/dev/null 2>&1; exec "$@"', "sh"


class Attempt:
    """`lines`, `status`, `took` and `busy` (seconds, and those of processors), `results`."""

    def __init__(self, name):
        self.name = name
        self.lines = []
        self.status = self.took = self.busy = None
        self.results = Results(name)
        self.late = None        # the limit that it exceeded
        self.left = []          # what it has left

    def take(self, line):
        self.lines.append(line)
        self.results.line(line)

    def run(self, what, where, factor=1, take=None):
        """Of a Program or Guest, in a Scene, which is cleared then. Its output comes in lines, as it is written; a file and
        not a pipe, as what a program leaves running must not hold up its end."""
        limit = what.limit * factor
        argv = ["timeout", "-k", "20", str(limit), *what.argv()]
        if what.kind == "guest":
            argv = [*FIRST, *argv]
        # ends with this process, however that ends
        argv = ["setpriv", "--pdeathsig", "TERM", *argv]
        began = time.monotonic()
        try:
            self._run(argv, where, take or self.take)
        finally:
            self.left = where.clear()
        self.took = time.monotonic() - began
        self.lines += [f"# left: {line}" for line in self.left]
        if self.status == LATE:
            self.late = limit

    def _run(self, argv, where, take):
        with tempfile.TemporaryFile() as out:
            child = subprocess.Popen(argv, cwd=TOP, env=where.environment, stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=subprocess.STDOUT)
            self._follow(child, out.fileno(), take)

    def _follow(self, child, out, take):
        at, rest, over = 0, b"", None
        try:
            while not over:
                over = scene.reap(child.pid)
                while block := os.pread(out, 1 << 16, at):
                    at += len(block)
                    *lines, rest = (rest + block).split(b"\n")
                    for line in lines:
                        take(text(line))
                if not over and select.select([scene.wake_up], [], [], POLL)[0]:
                    os.read(scene.wake_up, 4096)
        finally:
            if not over:    # an exception: of a signal
                child.terminate()
                child.wait()
        if rest:
            take(text(rest))
        status, usage = over
        child.returncode = self.status = os.waitstatus_to_exitcode(status)
        self.busy = usage.ru_utime + usage.ru_stime

    def why(self):
        """Why it failed, besides bad results; or None."""
        if self.late:
            return f"not done after {self.late} s"
        if self.left:
            return f"left {self.left[0]}"
        return None if self.skipped() else self.results.why(self.status)

    def skipped(self):
        """Why all of it was; or None."""
        if self.status != KSFT_SKIP or self.results.failed:
            return None
        return self.results.reason or (self.lines[-1] if self.lines else "no reason given")

    def failed(self):
        """How many of its results, counting what is wrong with the whole as one."""
        return self.results.failed + bool(self.why())

    def first_bad(self):
        """The first failing check, or what is wrong with the whole."""
        return re.sub(r"^not ok \d* *-? *", "", self.results.bad[0])[:300] if self.results.bad else self.why()


def text(line):
    return line.decode(errors="replace").rstrip("\r")
