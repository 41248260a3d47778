# SPDX-License-Identifier: GPL-2.0-or-later
"""Where tasks can be transferred: agents in namespaces of this machine, or the virtual cluster with
the module."""

import os, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "agent"))
import cluster
from commands import STUB
from frames import frame, read_frame
from tree import BUILD
from wait import until


def copy_probe(folder):
    shutil.copy(os.path.join(BUILD, "selftests", "conformance", "probe"), folder)


def moved(status):
    """How many tasks of node 0.0 were away so far."""
    return sum(e["tasks"] for e in status["placed"] if e["executor"] != "0.0")


class Native:
    """Two agents in network namespaces. A task that goes execs the stub, as `ehctl exec 0.1`
    does."""

    kind, slow = "native", 1

    def __init__(self):
        self.cluster = cluster.Cluster(2, "heartbeat = 3000\njob-limit = 60000")
        os.chmod(self.cluster.dir, 0o755)
        if not self.cluster.start_all():
            raise RuntimeError("two agents did not come up together: " + self.log())
        self.work = tempfile.mkdtemp(prefix="ehs-conformance-", dir=self.cluster.dir)
        os.chmod(self.work, 0o777)
        copy_probe(self.work)
        # what a session's commands are put behind, as no module sees them
        self.prefix = os.path.join(self.work, "away")
        with open(self.prefix, "w") as f:
            f.write(f'#!/bin/sh\nexec {STUB} @0.1 "$(command -v "$1")" "$@"\n')
        os.chmod(self.prefix, 0o755)
        self.net = self.cluster.net.enter(0)
        self.net.__enter__()

    def enter(self):
        """Called in the child, before its exec."""

    def command(self, path, argv):
        return STUB, [STUB, "@0.1", path, *argv]

    def stayed(self, pid, error):
        return None

    def session(self, words):
        return words

    def moved(self):
        return moved(self.cluster.ask(0, {"command": "status"}))

    def log(self):
        return self.cluster.log(0) + self.cluster.log(1)

    def end(self):
        self.net.__exit__()
        self.cluster.stop()


class Guests:
    """The virtual cluster: tasks of a session on a node that is overloaded by sleepers go by
    themselves."""

    kind, slow = "module", 6
    SLEEPERS = 12

    def __init__(self):
        self.work = os.path.join(os.environ["EHS_SHARE"], "conformance")
        os.makedirs(self.work, exist_ok=True)
        os.chmod(os.environ["EHS_SHARE"], 0o777)
        os.chmod(self.work, 0o777)
        copy_probe(self.work)
        self.prefix = ""
        self.ehctl = os.path.join(BUILD, "bin", "ehctl")
        subprocess.run(["ehctl", "set", "load-index=tasks"], check=True)
        self.sleepers = [
            subprocess.Popen(["ehctl", "run", "--", "sleep", "infinity"])
            for _ in range(self.SLEEPERS)
        ]
        with open("/proc/self/cgroup") as f:
            self.own = f.read()
        if not until(self.ready, 60):
            raise RuntimeError(f"home does not become a sender: {self.request('status')}")
        with open(f"/proc/{self.sleepers[0].pid}/cgroup") as f:
            self.managed_cgroup = "/sys/fs/cgroup" + f.read().strip().split("::")[1]

    def request(self, command, **more):
        import agent_socket, json, socket

        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(60)
            agent_socket.connect(s)
            s.sendall(frame("FRAME_REQUEST", json.dumps({"command": command, **more}).encode()))
            return read_frame(s)[1]

    def ready(self):
        nodes = {n["code"]: n for n in self.request("status")["nodes"]}
        with open(f"/proc/{self.sleepers[0].pid}/cgroup") as f:
            return nodes["0.0"]["state"] == "sender" and f.read() != self.own

    def enter(self):
        with open(self.managed_cgroup + "/cgroup.procs", "w") as f:
            f.write(str(os.getpid()))

    def command(self, path, argv):
        return path, argv

    def stayed(self, pid, error):
        """Why a task of this process id was not away; None: it was."""
        if error:
            return None  # nothing was executed
        said = self.request("why", id=str(pid))
        if "error" in said:
            return "the module"
        return said["reason"] if said["executor"] == said["home"] else None

    def session(self, words):
        return [self.ehctl, "run", "--", *words]

    def moved(self):
        return moved(self.request("status"))

    def log(self):
        return self.read_log(0)

    def read_log(self, i):
        with open(
            os.path.join(os.environ["EHS_SHARE"], ".agent", f"n{i}.log"), errors="replace"
        ) as f:
            return f.read()

    def end(self):
        for p in self.sleepers:
            p.kill()
        for p in self.sleepers:
            p.wait()
        subprocess.run(["ehctl", "set", "load-index=runnable"])


def here():
    return Guests() if os.environ.get("EHS_MODULE") and os.environ.get("EHS_SHARE") else Native()
