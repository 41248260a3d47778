# SPDX-License-Identifier: GPL-2.0-or-later
"""Agents for tests of `ehctl gang`: gangs that are started, and who has which node."""

import json, os, tempfile
from cluster import Cluster
from commands import EHCTL
from ktap import ok, within
from wait import WAIT, until

LEASE = 8000  # ms, where the end of one is waited for
LONG = 2 * WAIT  # a lease that nobody renews is over long before


class Gangs(Cluster):
    def __init__(self, n, settings="", **more):
        within()
        # nobody is lost because the machine stands still for a second
        super().__init__(n, f"heartbeat = 1000\n{settings}", **more)
        self.top = tempfile.mkdtemp(prefix="ehs-gang-", dir=self.dir)
        self.go = os.path.join(self.top, "go")
        self.tmp = os.path.join(self.top, "tmp")  # of ehctl
        os.mkdir(self.tmp)
        # the more, the faster; and three at best
        self.all = self.model("all", [100 / p for p in range(1, 9)])
        self.three = self.model("three", [9, 5, 1, 5, 5, 5, 5, 5])
        # a launcher: a part on each host, by ehrsh, and it waits for them
        self.starter = os.path.join(self.top, "launch")
        with open(self.starter, "w") as f:
            f.write(
                """#!/bin/sh
trap 'kill $pids; wait; exit 9' TERM INT HUP
for host in $(sed 's/ .*//' "$EHSCHED_GANG_HOSTFILE"); do
	"$EHSCHED_RSH" -n "$host" "$1" & pids="$pids $!"
done
wait
"""
            )
        os.chmod(self.starter, 0o755)

    def model(self, name, compute):
        path = os.path.join(self.top, name)
        with open(path, "w") as f:
            json.dump({"model": {"kind": "table", "compute": compute}}, f)
        return path

    def begin(self, home, *words):
        """ehctl gang, not waited for."""
        return self.popen(
            home, [EHCTL, "gang", *words], cwd="/", env={**os.environ, "TMPDIR": self.tmp}
        )

    def gang(self, home, *words):
        p = self.begin(home, *words)
        out, err = p.communicate(timeout=LONG)
        return p.returncode, out, err

    def own(self, i):
        """What node i says of itself; {}: its agent has just started."""
        try:
            return next(n for n in self.status(i)["nodes"] if n["code"] == self.code(i))
        except OSError:
            return {}

    def leases(self, among=None):
        """What the nodes themselves say: {node: (home of the gang, whether it is only offered)}."""
        return {
            i: (g["home"], g["offered"])
            for i in (self.agents if among is None else among)
            if i in self.agents
            for g in self.own(i).get("gangs") or []
        }

    def free(self, name="no lease is left", among=None, limit=WAIT):
        return ok(name, until(lambda: not self.leases(among), limit), self.leases(among))

    def held(self, name):
        """A script that says where it runs and waits for the file."""
        return f"echo >>{self.top}/{name}; while [ ! -e {self.go} ]; do sleep 0.1; done"

    def lines(self, name):
        path = f"{self.top}/{name}"
        return len(open(path).read().splitlines()) if os.path.exists(path) else 0

    def begun(self, name, home):
        """A job that runs on all hosts and goes on until the file is there."""
        n = len(self.agents)
        p = self.begin(
            home,
            "--model",
            self.all,
            "--least",
            str(n),
            "--wait",
            str(WAIT),
            "--",
            self.starter,
            self.held(name),
        )
        good = (
            until(lambda: self.lines(name) >= n or p.poll() is not None, LONG) and p.poll() is None
        )
        ok(
            f"{name}: a job runs on all hosts",
            good and len(self.leases()) == n,
            (self.leases(), p.communicate() if p.poll() is not None else ""),
        )
        return p

    def parts(self):
        """Processes of jobs that are left."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                found += (
                    [pid] if self.go.encode() in open(f"/proc/{pid}/cmdline", "rb").read() else []
                )
            except OSError:
                pass
        return found
