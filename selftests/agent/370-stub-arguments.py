#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The arguments of a stub that the kernel starts: stub, token, path, and those of the task. The
token is what an agent says, perhaps one that was taken over; the program that runs is the task's in
any case."""

import os, pty, select, shutil, subprocess, sys, tempfile, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok, skip_all
from tree import BUILD
from wait import WAIT

STUB = os.path.join(BUILD, "bin", "ehstub")
ALONE = ["unshare", "-n"] if not os.geteuid() else ["unshare", "-rn"]  # without an agent
if not shutil.which("unshare") or subprocess.run([*ALONE, "true"]).returncode:
    skip_all("needs a network namespace of its own")
work = tempfile.TemporaryDirectory(prefix="ehs-stub-")
told = os.path.join(work.name, "told")
data = os.path.join(work.name, "data")
with open(data, "w") as f:
    f.write(f"#!/bin/sh\necho ran >{told}\n")
os.chmod(data, 0o755)
shutil.copy(data, os.path.join(work.name, "cat"))


def run(token):
    """As the kernel does it for `cat data`."""
    r = subprocess.run(
        [*ALONE, STUB, token, "/bin/cat", "cat", data],
        cwd=work.name,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return r.returncode, r.stdout, r.stderr


text = open(data).read()
ok("a placement that is not there: the program runs here", run("7")[:2] == (0, text), run("7"))
for token in "--retry", "--view", "--view=home", "-", "--", "":
    got = run(token)
    ok(
        f"the token {token!r}: no other program than the task's",
        not os.path.exists(told) and got[1] in ("", text),
        got,
    )
r = subprocess.run(
    [*ALONE, STUB, "--retry", "--view", "home", "@auto", "/bin/cat", "cat", data],
    stdout=subprocess.PIPE,
    text=True,
)
ok("the options of ehctl", (r.returncode, r.stdout) == (0, text), r)

# ---- what it says ----


def little_room():
    """A terminal that nobody reads, with room for a few bytes."""
    master, slave = pty.openpty()
    os.set_blocking(slave, False)
    try:
        while os.write(slave, b"x" * 64):
            pass
    except BlockingIOError:
        pass
    os.set_blocking(slave, True)
    while not select.select([], [slave], [], 0)[1]:
        os.read(master, 1)
    return master, slave


held, theirs = little_room()
began = time.monotonic()
p = subprocess.Popen(
    [*ALONE, STUB, "7", "/" + "y/" * 2000 + "z", "z"],
    stdin=subprocess.DEVNULL,
    stdout=subprocess.DEVNULL,
    stderr=theirs,
)
try:
    got = p.wait(WAIT)
except subprocess.TimeoutExpired:
    got = None
    p.kill()
    p.wait()
ok(
    "a terminal that takes a part of what it says does not hold it up",
    got == 127,
    (got, time.monotonic() - began),
)
os.set_blocking(held, False)
shown = b""
try:
    while more := os.read(held, 65536):
        shown += more
except OSError:
    pass
ok(
    "it has said what there was room for",
    shown.rstrip(b"y/\r\n").endswith(b"x") and b"y/y" in shown,
    shown[-100:],
)
done()
