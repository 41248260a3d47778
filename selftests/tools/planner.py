# SPDX-License-Identifier: GPL-2.0-or-later
"""A planner of `ehctl plan` that reads a JSON problem: its plans; and refusals."""

import json
import os

from ktap import ok
from tree import BUILD, run

EHCTL = os.path.realpath(f"{BUILD}/bin/ehctl")


def refusal(name, r, command, status, says):
    """A clear error of this command, and nothing on standard output."""
    ok(
        name,
        r.returncode == status
        and not r.stdout
        and r.stderr.startswith(f"ehctl {command}: ".encode())
        and says in r.stderr.decode(),
        f"{r.returncode} {r.stdout[:200]} {r.stderr}",
    )


class Planner:
    def __init__(self, name, file="problem.json"):
        self.name = name
        self.file = file

    def put(self, problem, name=None):
        """A file of it."""
        name = name or self.file
        with open(name, "wb") as f:
            f.write(problem if isinstance(problem, bytes) else json.dumps(problem).encode())
        return name

    def call(self, problem, *options):
        return run(EHCTL, "plan", self.name, self.put(problem), *options, "--json")

    def plan(self, problem, *options):
        """Its document."""
        r = self.call(problem, *options)
        if r.returncode or r.stderr:
            return {"error": r.stderr.decode()}
        return json.loads(r.stdout)

    def refused(self, name, status, says, problem, *options):
        refusal(name, self.call(problem, *options), f"plan {self.name}", status, says)
