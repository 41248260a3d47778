# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds under `ehctl run --jobserver`, whose jobs end when they are told to."""

import os, tempfile, time
from commands import EHCTL
from wait import WAIT, until


def slots(free, hosts=1):
    """How many builds have together if so many processors are free on these hosts."""
    return free + min(free, max(hosts, (free + 7) // 8))


class Build:
    """A build on node `home` of a Cluster, below the directory `work`. Its jobs stay until they are
    let go. Each is placed by itself, as with the module, unless it is to stay. `files`: from its
    directory, what else it finds there, as {name: text}."""

    def __init__(
        self,
        c,
        work,
        home,
        jobs,
        uid=0,
        words=("make", "-j"),
        scope="cluster",
        stay=False,
        style="auto",
        files=lambda folder: {},
    ):
        self.folder = tempfile.mkdtemp(dir=work)
        self.jobs = jobs
        self.gone = 0
        for i in range(jobs):
            os.mkfifo(f"{self.folder}/go{i}")
            os.chmod(f"{self.folder}/go{i}", 0o666)
        place = f"{EHCTL} exec --auto -- " if scope == "cluster" and not stay else ""
        with open(f"{self.folder}/Makefile", "w") as f:
            f.write(
                f"J := {' '.join(map(str, range(jobs)))}\nall: $(J)\n$(J):\n"
                f"\t@if test -e {self.folder}/end; then echo $@ >>{self.folder}/short; else "
                f"{place}sh -c 'echo $@ >>{self.folder}/log; read x <{self.folder}/go$@'; fi\n"
            )
        for name, text in files(self.folder).items():
            with open(f"{self.folder}/{name}", "w") as f:
                f.write(text)
        for name in "log", "short":
            open(f"{self.folder}/{name}", "w").close()
            os.chmod(f"{self.folder}/{name}", 0o666)
        os.chmod(self.folder, 0o755)
        self.p = c.popen(
            home,
            [
                EHCTL,
                "run",
                f"--jobserver={scope}",
                "--jobserver-style",
                style,
                "--",
                *words,
                "-C",
                self.folder,
                "--no-print-directory",
            ],
            uid=uid,
        )

    def started(self):
        """Those that stay until they are let go."""
        return [int(line) for line in open(f"{self.folder}/log").read().split()]

    def whole(self):
        """Whether each job was run once."""
        short = [int(line) for line in open(f"{self.folder}/short").read().split()]
        return sorted(self.started() + short) == list(range(self.jobs))

    def running(self):
        return len(self.started()) - self.gone

    def let_go(self, n=1):
        """Those that began first."""
        gates = [
            open(f"{self.folder}/go{job}", "w") for job in self.started()[self.gone : self.gone + n]
        ]
        for gate in gates:  # all have been opened: the jobs end together
            gate.write("\n")
            gate.close()
        self.gone += n

    def reaches(self, n):
        return until(lambda: self.running() == n)

    def shrinks_to(self, n, beside=None):
        """Lets jobs go until others do not start in their places. `beside`: they are n together,
        and who has more lets go.

        One at a time: on a loaded machine a job that starts has its slot long before it is in the
        load, and if many start at once it looks as if nobody else had tasks."""
        calm, last = [0], [0]

        def look():
            most = max((b for b in (self, beside) if b), key=Build.running)
            runs = self.running() + (beside.running() if beside else 0)
            if runs > n and time.monotonic() - last[0] > 0.3:
                most.let_go()
                last[0], calm[0] = time.monotonic(), 0
            calm[0] += runs == n
            return calm[0] > 40 and len(self.started()) < self.jobs  # there are some that could

        return until(look)

    def ends(self):
        """Lets all go; those that have not started do no more than to say so."""
        open(f"{self.folder}/end", "w").close()

        def look():
            while self.running():
                self.let_go()
            return self.p.poll() is not None

        until(look)
        out, err = self.p.communicate(timeout=WAIT)
        return self.p.returncode, out, err
