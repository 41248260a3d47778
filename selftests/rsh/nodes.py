# SPDX-License-Identifier: GPL-2.0-or-later
"""Agents as in selftests/agent, on hosts that look like hosts to programs of others: each has a
name of its own (UTS namespace), /etc/hosts knows all, and an ordinary user starts what runs."""

import os, re, signal, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "../lib"), os.path.join(HERE, "../agent")]
import environment, users
from cluster import Cluster
from ktap import ok
from netns import address
from proc import running, send, words
from tree import BUILD
from wait import WAIT, until

RSH = os.path.join(BUILD, "bin", "ehrsh")
NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE
USER = users.ONE
# what belongs to a node itself
OURS = {
    os.path.join(BUILD, "bin", name)
    for name in ("ehagent", "ehlaunch", "ehlook", "ehhist", "ehnames")
}


def links(pid, name):
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return ""


class Nodes(Cluster):
    def __init__(self, n, **more):
        # A machine that is busy with other tests may stand still for a second: nobody is lost for
        # that.
        super().__init__(n, "heartbeat = 3000\njob-limit = 10000", **more)
        os.chmod(self.dir, 0o755)
        self.work = tempfile.mkdtemp(prefix="rsh-", dir=self.dir)
        os.chmod(self.work, 0o755)
        os.chown(self.work, USER, USER)
        names = "".join(f"{address(i)} n{i}\n" for i in range(n))
        users.put("/etc/hosts", f"127.0.0.1 localhost\n{names}")
        for i in range(n):
            self.wrap(i, root=True, by=f"unshare --uts sh -c 'hostname n{i} && exec \"$@\"' sh")
        ok(f"{n} agents", self.start_all(), "".join(map(self.log, range(n))))

    def spawn(self, *words, node=0, **more):
        """A command of the user on a node, in a process group of its own as in a shell."""
        pid = self.launchers[node].pid
        more.setdefault("cwd", self.work)
        return subprocess.Popen(
            [
                "nsenter",
                f"--net=/proc/{pid}/ns/net",
                f"--uts=/proc/{pid}/ns/uts",
                "setpriv",
                f"--reuid={USER}",
                f"--regid={USER}",
                "--clear-groups",
                "env",
                "HOME=/tmp",
                f"TMPDIR={self.work}",
                "USER=eht1",
                "LOGNAME=eht1",
                *words,
            ],
            preexec_fn=lambda: (environment.default_signals(), os.setpgid(0, 0)),
            **more,
        )

    def run(self, *words, input=None, **more):
        """Its status and output."""
        how = {
            "stdin": NULL if input is None else PIPE,
            "stdout": PIPE,
            "stderr": PIPE,
            "text": True,
        }
        p = self.spawn(*words, **{**how, **more})
        try:
            out, err = p.communicate(input, WAIT * 2)
        except subprocess.TimeoutExpired:
            shown = self.shown()
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            err = f"{err}(time-out)\n{shown}"
        return p.returncode, out, err

    def processes(self, node):
        """What runs on a node beside its agent: {pid: command line}."""
        found = {}
        space = os.stat(f"/run/netns/{self.net.name(node)}")
        for pid, (name, *_) in running():
            try:
                net = os.stat(f"/proc/{pid}/ns/net")
            except OSError:
                continue
            if (net.st_dev, net.st_ino) == (space.st_dev, space.st_ino) and (
                links(pid, "exe") not in OURS or name == "ehguest"
            ):
                found[pid] = words(pid)
        return found

    def shown(self):
        return "\n".join(
            f"n{i}: {pid}: {words}"
            for i in range(self.n)
            for pid, words in sorted(self.processes(i).items())
        )

    def nothing_left(self, name="nothing is left on any node", nodes=None):
        nodes = range(self.n) if nodes is None else nodes
        return ok(name, until(lambda: not any(map(self.processes, nodes))), self.shown())

    def has(self, node, pattern):
        """Processes of a node whose command line has this."""
        return [pid for pid, words in self.processes(node).items() if re.search(pattern, words)]

    def clear(self):
        """Whatever a test has left on its nodes ends with them."""
        for i in range(self.n):
            for pid in self.processes(i):
                send(pid, signal.SIGKILL)
        super().clear()
