# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of the wires between nodes and switch. Frames are dropped by a filter of the kernel
(classic BPF) where a node's wire comes into the switch, so a fault has a direction. Late frames go
through wire.py."""

import atexit, os, socket, struct, subprocess, threading
from netns import address

HERE = os.path.dirname(os.path.abspath(__file__))
RANDOM = 0xFFFFF038  # SKF_AD_OFF + SKF_AD_RANDOM
PASS, DROP = 0xFFFFFFFF, 2  # TC_ACT_UNSPEC, TC_ACT_SHOT


def program(to, share):
    """Drops what is for these nodes, and this share of all else."""
    words, drops = [], []
    if share:
        words += [(0x20, 0, 0, RANDOM), [0x35, None, 0, int(share * (1 << 32))]]
        drops.append(len(words) - 1)
    if to:
        words += [(0x28, 0, 0, 12), [0x15, 0, None, 0x0800], (0x20, 0, 0, 30)]
        other = len(words) - 2
        for i in to:
            words.append([0x15, None, 0, struct.unpack("!I", socket.inet_aton(address(i)))[0]])
            drops.append(len(words) - 1)
        words[other][2] = len(words) - other - 1
    words += [(6, 0, 0, PASS), (6, 0, 0, DROP)]
    for at in drops:
        words[at][1] = len(words) - 1 - at - 1
    return f"{len(words)}," + ",".join(" ".join(map(str, w)) for w in words)


class Network:
    def __init__(self, nodes):
        self.nodes = nodes
        self.walls = {i: set() for i in range(nodes.n)}  # whom what it sends does not reach
        self.share = {i: 0 for i in range(nodes.n)}
        self.lock = (
            threading.Lock()
        )  # of faults that begin and end at the same time, or an older filter is the last
        for i in range(nodes.n):
            self.tc("qdisc", "add", "dev", nodes.net.port(i), "clsact")

    def tc(self, *words):
        subprocess.run(
            ["tc", "-n", self.nodes.net.name("br"), *words], check=True, stdout=subprocess.DEVNULL
        )

    def apply(self, i):
        where = ["dev", self.nodes.net.port(i), "ingress", "prio", "1", "handle", "1"]
        self.tc(
            "filter",
            "replace",
            *where,
            "bpf",
            "da",
            "bytecode",
            program(sorted(self.walls[i]), self.share[i]),
        )

    def wall(self, pairs, up):
        """From the first of each pair to the second nothing passes; or all does again."""
        with self.lock:
            for a, b in pairs:
                (self.walls[a].add if up else self.walls[a].discard)(b)
            for a in {a for a, _ in pairs}:
                self.apply(a)

    def lose(self, i, share):
        with self.lock:
            self.share[i] = share
            self.apply(i)

    def narrow(self, i, kbit):
        """So much a second goes to node i; 0: as before."""
        if kbit:
            self.tc(
                "qdisc",
                "add",
                "dev",
                self.nodes.net.port(i),
                "root",
                "tbf",
                "rate",
                f"{kbit}kbit",
                "burst",
                "8k",
                "latency",
                "300ms",
            )
        else:
            self.tc("qdisc", "del", "dev", self.nodes.net.port(i), "root")

    def reset(self, i):
        """The connections between node i's agent and others get a reset."""
        with_port = ["( sport = :7411 or dport = :7411 )"]
        subprocess.run(
            [
                "ip",
                "netns",
                "exec",
                self.nodes.net.name(i),
                "ss",
                "-K",
                "-t",
                "state",
                "established",
                *with_port,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def wire(self, a, b, seed, ms, jitter):
        """wire.py between two interfaces of the switch's namespace."""
        p = subprocess.Popen(
            [
                "ip",
                "netns",
                "exec",
                self.nodes.net.name("br"),
                os.path.join(HERE, "wire.py"),
                a,
                b,
                str(seed),
                str(ms),
                str(jitter),
            ],
            stdout=subprocess.PIPE,
        )
        if p.stdout.readline() != b"up\n":
            raise RuntimeError("wire.py")
        return p

    def delay(self, i, seed, ms, jitter):
        """Puts wire.py into node i's wire; returns it, for undelay()."""
        a, b, port = f"a{i}", f"b{i}", self.nodes.net.port(i)
        self.nodes.net.switch("link", "add", a, "type", "veth", "peer", "name", b)
        for name in a, b:
            self.nodes.net.switch("link", "set", name, "up")
        p = self.wire(port, a, seed, ms, jitter)
        self.nodes.net.switch("link", "set", port, "nomaster")
        self.nodes.net.switch("link", "set", b, "master", "br0")
        return p

    def apart(self, nodes, ms):
        """These nodes are behind another switch, and each frame between the switches is late.
        Returns wire.py."""
        switch = self.nodes.net.switch
        switch("link", "add", "br1", "type", "bridge")
        for name, other in ("a", "br0"), ("b", "br1"):
            switch("link", "add", f"{name}x", "type", "veth", "peer", "name", f"{name}y")
            switch("link", "set", f"{name}y", "master", other)
            for end in f"{name}x", f"{name}y", other:
                switch("link", "set", end, "up")
        p = self.wire("ax", "bx", 1, ms, 0)
        atexit.register(p.kill)
        for i in nodes:
            switch("link", "set", self.nodes.net.port(i), "master", "br1")
        return p

    def undelay(self, i, p):
        self.nodes.net.switch("link", "set", self.nodes.net.port(i), "master", "br0")
        p.kill()
        p.wait()
        p.stdout.close()
        self.nodes.net.switch("link", "del", f"a{i}")
