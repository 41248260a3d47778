# SPDX-License-Identifier: GPL-2.0-or-later
"""Nodes as when installed: an agent without rights, root's ehlaunch on a socket that the service
manager keeps, a small file system for the state. Each has joined the first one. What has ended is
started again, as the service manager does."""

import json, os, signal, socket, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "../lib"), os.path.join(HERE, "../agent")]
import agent_socket, users
from clock import Clock
from cluster import Cluster, USER
from frames import frame, read_frame
from mounts import mounted
from proc import running, send
from wait import WAIT, until

HEARTBEAT = 1.0  # seconds
JOB_LIMIT = 20.0
SETTINGS = f"""heartbeat = {HEARTBEAT * 1000:.0f}
job-limit = {JOB_LIMIT * 1000:.0f}
link-idle = 5000
lease = 5000
time-limit = 10000
guests = 1000
load-index = "tasks"
threshold = 100.0
threshold-floor = 100.0
view-own = {{ "/usr" }}
allow-root = false"""
LOOKS = "ehlook", "ehhist", "ehnames", "ehkeep-look"  # an agent keeps some
STATE_KIB = 4096  # of the file system of a node's state


class Nodes(Cluster):
    def __init__(self, n, topology="3,1", settings=SETTINGS):
        self.sockets = {}
        super().__init__(n, settings, topology=topology, apart=True)
        self.work = os.path.join(self.dir, "work")
        os.mkdir(self.work)
        os.chown(self.work, users.ONE, users.ONE)
        self.clocks = [Clock(self.dir, f"n{i}") for i in range(n)]  # of the agents
        # the network namespace of a process says whose it is
        self.spaces = {os.stat(f"/run/netns/{self.net.name(i)}").st_ino: i for i in range(n)}

    def state(self, i):
        folder = os.path.join(self.dir, f"n{i}.d")
        if not os.path.exists(folder):
            os.mkdir(folder)
            subprocess.run(
                [
                    "mount",
                    "-t",
                    "tmpfs",
                    "-o",
                    f"size={STATE_KIB}k,mode=700,uid={USER},gid={USER}",
                    "state",
                    folder,
                ],
                check=True,
            )
        return os.path.join(folder, "state")

    def start(self, i, conf=None, ready=True):
        conf = conf or (
            self.conf(i, peers=[0])
            if i == 0
            else self.conf(i, join=[j for j in range(min(self.n, 3)) if j != i])
        )
        return super().start(i, conf, ready)

    def environment(self, i):
        return self.clocks[i].environment

    def launch(self, i, conf=None):
        """Starts ehlaunch; its socket stays when it ends."""
        if i not in self.sockets:
            s = self.sockets[i] = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.bind(self.launcher(i))
            os.chown(self.launcher(i), 0, USER)
            os.chmod(self.launcher(i), 0o660)
            s.listen()
        fd = self.sockets[i].fileno()
        self.launchers[i] = subprocess.Popen(
            [
                "nsenter",
                f"--net=/run/netns/{self.net.name(i)}",
                "bash",
                "-c",
                f'exec "$@" 3<&{fd}',
                "bash",
                *self.launch_words(i, conf or self.confs[i]),
            ],
            stdin=subprocess.DEVNULL,
            pass_fds=[fd],
            start_new_session=True,
        )

    def tell(self, i, command, limit=3):
        """What node i's agent answers; None: nothing in time."""
        try:
            with self.net.enter(i):
                s = socket.socket(socket.AF_UNIX)
            with s:
                s.settimeout(limit)
                agent_socket.connect(s)
                s.sendall(frame("FRAME_REQUEST", json.dumps({"command": command}).encode()))
                return read_frame(s)[1]
        except (OSError, EOFError, ValueError):
            return None

    def sees(self, i):
        """Codes of the nodes that node i knows to be up."""
        status = self.tell(i, "status") or {}
        return {
            n["code"]
            for n in status.get("nodes", [])
            if n["agent"] == "up" and n["load"] is not None
        }

    def processes(self):
        """{pid: (node, name)} of all that runs in the nodes' network namespaces, but what has
        ended."""
        found = {}
        for pid, (name, *_) in running():
            try:
                node = self.spaces.get(os.stat(f"/proc/{pid}/ns/net").st_ino)
            except OSError:
                continue
            if node is not None and pid != os.getpid():
                found[pid] = node, name
        return found

    def left(self):
        """What is there beside agents, launchers and what looks at files for them, in words."""
        own = {p.pid for p in [*self.agents.values(), *self.launchers.values()]}
        found = [
            f"n{node}: process {pid} {name}"
            for pid, (node, name) in self.processes().items()
            if pid not in own and (name not in LOOKS or node not in self.agents)
        ]
        found += [f"a view is mounted for process {pid}" for pid in mounted(self.dir)]
        for i in range(self.n):
            guests = os.path.join(self.cgroup(i), "guest")
            if os.path.isdir(guests):
                found += [
                    f"n{i}: cgroup {d}"
                    for d in os.listdir(guests)
                    if os.path.isdir(os.path.join(guests, d))
                ]
            tasks = self.tell(i, "tasks") if i in self.agents else {"tasks": []}
            if tasks is None:
                found.append(f"n{i}: no answer")
            else:
                found += [f"n{i}: task {t['id']} {t['state']}" for t in tasks["tasks"]]
        return found

    def leftovers(self):
        """What is left behind when all is over; [] is right. Ends the agents."""
        left = self.left
        found = [] if until(lambda: not left(), JOB_LIMIT + WAIT) else left()
        many = lambda: [
            f"n{i}: {n} descriptors"
            for i, n in ((i, self.descriptors(i)) for i in self.agents)
            if n > 60
        ]
        found += [] if until(lambda: not many(), WAIT) else many()
        for i in list(self.agents):
            status = self.end(i)
            if status:
                found.append(f"n{i}: its agent ended with {status}: {self.log(i)[-1500:]}")
        found += [] if until(lambda: not left(), WAIT) else left()
        return found

    def descriptors(self, i):
        return len(os.listdir(f"/proc/{self.agents[i].pid}/fd"))

    def clear(self):
        for i in list(self.agents):
            self.agents[i].send_signal(signal.SIGCONT)
        if self.agents or self.launchers:
            for pid, (_, name) in self.processes().items():
                if pid not in {p.pid for p in [*self.agents.values(), *self.launchers.values()]}:
                    send(pid, signal.SIGKILL)
        for i in list(self.agents):
            self.end(i, signal.SIGKILL)
        for s in self.sockets.values():
            s.close()
        self.sockets = {}
        for i in range(self.n):
            folder = os.path.join(self.dir, f"n{i}.d")
            if os.path.ismount(folder):
                subprocess.run(["umount", "-l", folder])
        super().clear()
        self.launchers = {}
