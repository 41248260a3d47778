# SPDX-License-Identifier: GPL-2.0-or-later
"""Agents for tests of a site's rules: nodes that nothing overloads, and whose rules a test
changes."""

import os
from cluster import Cluster
from ktap import ok
from wait import until

# heartbeat: on a busy machine an agent may be silent for a second, and is no candidate then
BASE = "heartbeat = 3000\nthreshold-floor = 20.0\ntime-limit = 10000\n"


class Site(Cluster):
    """n agents that are up. `where`: the node that a network namespace is of."""

    def __init__(self, n):
        super().__init__(n, BASE)
        ok(f"{n} agents", self.start_all(), self.log(0))
        for i in range(n):
            self.ask(
                i,
                {
                    "command": "set",
                    "threshold": 20000,
                    "length": 0,
                    "load-index": "tasks",
                    "time-limit": 10000,
                },
            )
        ok(
            "nobody is overloaded",
            until(lambda: all(node.get("threshold") == 20.0 for node in self.status(0)["nodes"])),
        )
        self.where = {}
        for i in range(n):
            with self.net.enter(i):
                self.where[os.readlink("/proc/self/ns/net")] = i

    def rule(self, i, *lines):
        """Node i has these rules from now on, and no others."""
        self.conf(i, settings="\n".join([BASE, *lines]))
        answer = self.ask(i, {"command": "reload"})
        ok(f"n{i}: {', '.join(lines) or 'no rule'}", answer == {"version": 1}, answer)
