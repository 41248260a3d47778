#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What an agent that was taken over would have: no rights, no descriptor of a task or a terminal,
no way to start or trace anything. What others get who take its place, or send it text: nothing."""

import os, pty, re, shutil, socket, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import agent_socket
from cluster import Cluster, USER
from ktap import done, ok
from proc import links
from tree import BUILD
from wait import WAIT, until

c = Cluster(2, "heartbeat = 1000\njob-limit = 20000", apart=True)
os.chmod(c.dir, 0o755)
NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE
EHCTL = os.path.join(BUILD, "bin", "ehctl")


ok("two agents", c.start_all(), c.log(0) + c.log(1))
for i in range(2):
    status = dict(
        line.split(":\t", 1)
        for line in open(f"/proc/{c.agents[i].pid}/status").read().splitlines()
        if ":\t" in line
    )
    ok(
        f"agent {i} has no capability, and gets none",
        all(int(status[f"Cap{kind}"], 16) == 0 for kind in ("Inh", "Prm", "Eff", "Amb"))
        and status["NoNewPrivs"] == "1",
        status,
    )
    ok(f"agent {i} is of its own user", set(status["Uid"].split()) == {str(USER)}, status["Uid"])
    ok(f"agent {i} filters its system calls", status["Seccomp"] == "2", status["Seccomp"])
    traced = subprocess.run(
        [
            "setpriv",
            f"--reuid={USER}",
            f"--regid={USER}",
            "--clear-groups",
            "cat",
            f"/proc/{c.agents[i].pid}/mem",
        ],
        stdout=NULL,
        stderr=PIPE,
    )
    ok(
        f"agent {i} cannot be read by another process of its user",
        b"Permission denied" in traced.stderr,
        traced.stderr,
    )

# A terminal, a pipe and a file of a user: their agents have none of them open.
master, slave = pty.openpty()
with open(os.path.join(c.dir, "input"), "w+") as file:
    away = c.stub("/bin/sleep", "100000", stdin=slave, stdout=PIPE, stderr=file)
    ok("a task with a terminal, a pipe and a file", until(lambda: c.tasks(0) and c.tasks(1)))
    kinds = {link for i in range(2) for link in links(c.agents[i].pid).values()}
    mine = (
        {os.readlink(f"/proc/{away.pid}/fd/{fd}") for fd in range(3)}
        if away.poll() is None
        else set()
    )
    there = {k for k in kinds if k.startswith(("/dev/pts", "/dev/tty", "/dev/ptmx"))}
    ok(
        "no agent has a terminal open, nor a descriptor of the task",
        len(mine) == 3 and not there and not kinds & mine,
        (kinds, mine),
    )
    away.kill()
    away.wait(WAIT)
os.close(master)
os.close(slave)
ok("it is gone", until(lambda: not c.tasks(0) and not c.tasks(1)))

# A program whose name would change what a terminal shows.
evil = os.path.join(c.dir, "e\x1b[31m\x07vil\u009b")
shutil.copy("/bin/sleep", evil)
away = c.stub(evil, "100000", stdin=NULL)
ok("a program with such a name runs there", until(lambda: c.tasks(0) and c.tasks(1)))
for i in range(2):
    for words in ["tasks"], ["tasks", "--json"], ["status"]:
        said = c.ehctl(i, *words, text=False)
        ok(
            f"ehctl {' '.join(words)} on node {i} prints no control character of it",
            said.returncode == 0
            and not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", said.stdout),
            said,
        )
    ok(f"nor has the log of agent {i} one", not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", c.log(i)))
away.kill()
away.wait(WAIT)

# Another user listens where root or the agent's user has bound a socket, while there is no agent.
ok("an agent ends", (saw := c.end(0)) == 0, saw)
with c.net.enter(0):
    taken = socket.socket(socket.AF_UNIX)
    agent_socket.listen(taken)
    os.seteuid(1000)
    try:
        taken.listen()
    finally:
        os.seteuid(0)
taken.settimeout(WAIT)
here = c.stub("/bin/echo", "here", stdin=NULL, stdout=PIPE, stderr=PIPE, node="12345678")
out, err = here.communicate(timeout=WAIT)
ok(
    "the stub of another user runs its program here",
    (here.returncode, out) == (0, b"here\n"),
    (here.returncode, out, err),
)
said, _ = taken.accept()
said.settimeout(WAIT)
ok("and says nothing to that socket", (saw := said.recv(1)) == b"", saw)
asked = c.ehctl(0, "status", text=False)
ok("ehctl does not believe it either", asked.returncode == 1, asked)
taken.close()
done()
