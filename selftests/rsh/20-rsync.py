#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""rsync -e."""

import os, random, signal, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from nodes import PIPE, RSH, Nodes
from seed import new_seed
from wait import WAIT, until

c = Nodes(2)
numbers = random.Random(new_seed())


def make(name, text, mode=0o644):
    path = os.path.join(c.work, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text)
    os.chmod(path, mode)


def tree(top):
    """Names, modes, times and content of all below."""
    found = {}
    for folder, _, files in os.walk(os.path.join(c.work, top)):
        for name in files:
            path = os.path.join(folder, name)
            st = os.stat(path)
            found[os.path.relpath(path, os.path.join(c.work, top))] = (
                st.st_mode,
                st.st_mtime_ns // 10**9,
                open(path, "rb").read(),
            )
    return found


make("from/large", numbers.randbytes(8 << 20))
make("from/a name with blanks", b"text\n", 0o600)
make("from/folder/program", b"#!/bin/sh\n", 0o755)
os.system(f"chown -R eht1: {c.work}")
status, out, err = c.run("rsync", "-a", "-e", RSH, "from/", f"n1:{c.work}/to/")
ok("to a node", status == 0 and tree("to") == tree("from"), (status, out, err))
make("from/large", bytes(4096) + open(f"{c.work}/from/large", "rb").read()[4096:-4096])
status, out, err = c.run(
    "rsync", "-a", "--delete", "--stats", "-e", f"{RSH} -q -x", "from/", f"eht1@n1:{c.work}/to/"
)
ok(
    "what has changed, with options for ssh and a user",
    status == 0 and tree("to") == tree("from") and "Matched data: 0" not in out,
    (status, out, err),
)
status, out, err = c.run("rsync", "-az", "-e", RSH, f"n1:{c.work}/from/", "back/")
ok("from a node", status == 0 and tree("back") == tree("from"), (status, out, err))
status, out, err = c.run("rsync", "-a", "-e", RSH, f"n1:{c.work}/none", "back/")
ok("what is missing there: rsync's own status", status == 23 and "none" in err, (status, out, err))
status, out, err = c.run("rsync", "-a", "-e", RSH, "from/", "n9:to")
ok("a node that is not there", status != 0 and "ehrsh: n9: no such node" in err, (status, out, err))
os.mkfifo(f"{c.work}/from/fifo")
p = c.spawn(
    "rsync", "--bwlimit=1", "-a", "-e", RSH, "from/", f"n1:{c.work}/slow/", stdout=PIPE, stderr=PIPE
)
ok("a slow one is at work", until(lambda: c.has(1, "^rsync --server")), c.shown())
os.killpg(p.pid, signal.SIGINT)
p.communicate(timeout=WAIT)
c.nothing_left("^C ends it there")
done()
