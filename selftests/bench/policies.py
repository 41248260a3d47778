# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies of the agents of a Cluster that has Shares, by turns: nodes of one processor."""
import subprocess

from commands import EHCTL
from wait import until


def settings(policy, length):
    return (
        f'policy = "{policy}"\nthreshold-length = {length}\nthreshold = 1\nthreshold-floor ='
        ' 1\ncapacity = 1\nload-index = "tasks"\nlearn = false\nheartbeat = 1000\ntime-limit ='
        ' 2000\nlog = "info"\n'
    )


def ran(c):
    """Tasks so far by the code of the node that node 0 placed them on."""
    return {p["executor"]: p["tasks"] for p in c.status(0)["placed"]}


def quiet(c):
    """Waits until no node has tasks."""
    return until(lambda: not any(n["load"] for n in c.status(0)["nodes"]))


def use(c, policy, length):
    """Whether all agents have this policy, and with idle the controller has the credits of all."""
    for i in range(c.n):
        c.conf(i, settings=settings(policy, length))
        c.ask(i, {"command": "reload"})
        c.ask(i, {"command": "set", "threshold": 1000, "length": int(1000 * length)})

    def spread():
        before = ran(c)
        ps = []
        for _ in range(c.n):
            ps.append(
                c.popen(
                    0,
                    [EHCTL, "exec", "--auto", "--", "sh", "-c", "echo; read x"],
                    stdin=subprocess.PIPE,
                    stderr=None,
                    text=False,
                )
            )
            ps[-1].stdout.readline()
        after = ran(c)
        for p in ps:
            p.communicate()
        quiet(c)
        return all(after[c.code(i)] - before[c.code(i)] == 1 for i in range(1, c.n))

    return policy != "idle" or bool(until(spread))
