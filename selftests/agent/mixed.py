# SPDX-License-Identifier: GPL-2.0-or-later
"""Nodes of which some run this version and some the previous one (selftests/upgrade/previous), as
while a cluster is upgraded: each has agent, ehlaunch, stub and ehctl of its version."""

import atexit, os, select, shutil, subprocess
import agent_socket
from cluster import Cluster
from ktap import skip_all
from tree import BUILD, TOP
from wait import WAIT, until

NEW, OLD = "new", "old"
NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE


def previous():
    """The directory with the previous version's programs; a test ends here where there is no
    history."""
    made = subprocess.run(
        [os.path.join(TOP, "selftests/upgrade/build")],
        stdout=PIPE,
        stderr=PIPE,
        text=True,
        check=False,
    )
    if made.returncode == 4:
        skip_all(made.stderr.strip())
    if made.returncode:
        raise RuntimeError(made.stderr)
    return made.stdout.strip()


class Mixed(Cluster):
    bound = 90  # the previous version keeps views for all of job-limit, whatever a reload says

    def __init__(self, which, settings="", **more):
        """`which`: NEW or OLD for each node."""
        self.which = list(which)
        self.mixed = {}  # (node, program): its version, if it is another one than that of the node
        self.joins = {}  # node: those that it asks for its place
        self.previous = previous()
        super().__init__(len(self.which), settings, apart=True, **more)
        os.chmod(self.dir, 0o755)

    def program(self, i, name):
        if self.mixed.get((i, name), self.which[i]) == NEW:
            return os.path.join(BUILD, "bin", name)
        # The cache may be closed to other users, whose tasks run here.
        here = os.path.join(self.dir, "previous")
        if not os.path.exists(here):
            shutil.copytree(self.previous, here)
            os.chmod(here, 0o755)
        return os.path.join(here, name)

    def listens(self, i, s):
        return (
            agent_socket.path(s)
            if self.mixed.get((i, "ehagent"), self.which[i]) == NEW
            else agent_socket.EARLIER
        )

    def launch_words(self, i, conf):
        if {self.mixed.get((i, name), self.which[i]) for name in ("ehagent", "ehlaunch")} == {NEW}:
            return [self.program(i, "ehagent"), "--launch", "-c", conf]
        return self.launch_alone(i)

    def conf(self, i, **more):
        if i in self.joins:
            return super().conf(i, join=self.joins[i], **more)
        return super().conf(i, peers=[j for j in range(self.n) if j not in self.joins], **more)

    def change(self, i, which):
        """Upgrades a node, or takes it back: both services end, and those of the other version
        start."""
        status = self.end(i)
        self.which[i] = which
        self.launch(i)
        self.start(i)
        return status

    def ctl(self, i, *words, uid=0, **more):
        """Node i's ehctl, as a process."""

        def become():
            if uid:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)

        with self.net.enter(i):
            return subprocess.Popen(
                [self.program(i, "ehctl"), *words],
                preexec_fn=become,
                **{"stdin": NULL, "stdout": PIPE, "stderr": PIPE, "cwd": "/", **more},
            )

    def run(self, i, *words, input=None, uid=0, **more):
        """Its status, output and errors."""
        p = self.ctl(i, *words, uid=uid, **{"stdin": NULL if input is None else PIPE, **more})
        try:
            out, err = p.communicate(input, WAIT)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            err += b"(time-out)"
        return p.returncode, out, err

    def doctor(self, i, name):
        """What node i's doctor says in this check, or None."""
        return next(
            (
                check
                for check in self.ask(i, {"command": "doctor"})["checks"]
                if check["name"] == name
            ),
            None,
        )


class Echo:
    """A task of node i on node j that writes what it reads, all of which is compared; it must begin
    once."""

    def __init__(self, c, i, j, dice, folder, *options, uid=0):
        self.where, self.dice, self.status = (i, j), dice, dice.randrange(1, 120)
        self.begun = os.path.join(folder, f"begun.{i}.{j}.{dice.getrandbits(64):x}")
        self.errors = open(self.begun + ".err", "w+b")
        self.p = c.ctl(
            i,
            "exec",
            *options,
            c.code(j),
            "--",
            "/bin/sh",
            "-c",
            f"echo begun >>{self.begun}; cat; exit {self.status}",
            uid=uid,
            stdin=PIPE,
            stdout=PIPE,
            stderr=self.errors,
        )
        self.wrong = ""
        atexit.register(self.p.kill)

    def step(self, size=None):
        """Sends bytes and waits for the same ones. False: others came, or none; `wrong` says
        what."""
        if self.wrong:
            return False
        sent = self.dice.randbytes(size or self.dice.randrange(1, 50000))
        got = b""
        os.set_blocking(self.p.stdin.fileno(), False)
        left, end = memoryview(sent), False

        def more():
            nonlocal got, left, end
            readable, writable, _ = select.select(
                [self.p.stdout], [self.p.stdin] if left else [], [], 0
            )
            try:
                if writable:
                    left = left[os.write(self.p.stdin.fileno(), left) :]
            except BlockingIOError:
                pass
            except BrokenPipeError:
                end = True
            if readable:
                data = os.read(self.p.stdout.fileno(), 1 << 16)
                end = end or not data
                got += data
            return end or len(got) >= len(sent)

        until(more)
        if got != sent:
            self.wrong = f"{self.where}: {len(got)} of {len(sent)} bytes, ended: {end}"
        return not self.wrong

    def finish(self):
        """Whether it ended as it should, having begun once."""
        os.set_blocking(self.p.stdin.fileno(), True)
        try:
            rest, _ = self.p.communicate(timeout=WAIT)
        except subprocess.TimeoutExpired:
            self.p.kill()
            rest, _ = self.p.communicate()
        begun = open(self.begun).read() if os.path.exists(self.begun) else ""
        if not self.wrong and (self.p.returncode, rest, begun) != (self.status, b"", "begun\n"):
            self.errors.seek(0)
            self.wrong = (
                f"{self.where}: status {self.p.returncode}, not {self.status}; {len(rest)} bytes"
                f" too many; begun {begun.count('begun')} times; {self.errors.read()!r}"
            )
        return not self.wrong
