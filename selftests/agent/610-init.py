#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl init: the first host of a cluster, from nothing to an agent that runs."""

import json, os, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from cluster import Cluster, USER
from commands import AGENT, STUB
from ktap import done, ok
from netns import address

c = Cluster(2)
ehctl = c.ehctl
folder = os.path.join(c.dir, "etc", "ehsched")


def content(path):
    return (
        {f: open(os.path.join(path, f)).read() for f in os.listdir(path)}
        if os.path.isdir(path)
        else {}
    )


def refused(what, status, *words, where=folder):
    before = content(where)
    r = ehctl(0, "init", *words)
    ok(
        f"{what}: refused, and nothing is changed",
        r.returncode == status
        and not r.stdout
        and r.stderr.startswith("ehctl init: ")
        and content(where) == before,
        r,
    )
    return r.stderr


refused("no name", 2)
refused("two names", 2, "a", "b", "--dir", folder)
refused("a name that no certificate may have", 2, "a/b", "--dir", folder)
refused("a topology that is none", 2, "lab", "--dir", folder, "--topology", "11,1")
refused("an address that is none", 2, "lab", "--dir", folder, "--address", "somewhere")
refused("a host that is none", 2, "lab", "--dir", folder, "--host", "a b")
r = ehctl(0, "init", "lab", "--dir", folder, "--host", "n0")
ok("a cluster", r.returncode == 0 and not r.stderr, r)
ok(
    "it finds the address, and says what to do next",
    f"{address(0)}:7411" in r.stdout
    and "\nnext: " in r.stdout
    and f"ehagent -c {folder}/agent.conf" in r.stdout,
    r.stdout,
)
ok(
    "these files",
    sorted(os.listdir(folder)) == ["agent.conf", "ca.crt", "ca.key", "n0.crt", "n0.key"],
    os.listdir(folder),
)
modes = {f: os.stat(os.path.join(folder, f)).st_mode & 0o007 for f in os.listdir(folder)}
ok(
    "others can read the certificates only",
    modes == {"agent.conf": 0, "ca.crt": 4, "ca.key": 0, "n0.crt": 4, "n0.key": 0},
    modes,
)
words = refused("a second time", 1, "lab", "--dir", folder, "--host", "n0")
ok("it names what is there", f"{folder}/agent.conf already exists" in words, words)
os.unlink(os.path.join(folder, "agent.conf"))
words = refused("again without agent.conf", 1, "lab", "--dir", folder, "--host", "n0")
ok("it names another", "ca.crt already exists" in words, words)
for name in os.listdir(folder):
    os.unlink(os.path.join(folder, name))
os.mkdir(os.path.join(folder, "agent.conf"))
refused(
    "agent.conf is a directory", 1, "lab", "--dir", folder, "--host", "n0", where=c.dir + "/none"
)
ok("and nothing is left", os.listdir(folder) == ["agent.conf"], os.listdir(folder))
os.rmdir(os.path.join(folder, "agent.conf"))

# As the package has it: a user of the agent's own, of whose group the directory is.
users.add_group("ehsched", USER)
r = ehctl(0, "init", "lab", "--dir", folder + "2", "--host", "n0", "--json")
said = json.loads(r.stdout or "{}")
ok(
    "--json",
    r.returncode == 0
    and said.get("cluster") == "lab"
    and said.get("node") == "0.0.0"
    and said.get("host") == "n0",
    r,
)
found = {f: os.stat(os.path.join(folder + "2", f)) for f in (".", *os.listdir(folder + "2"))}
ok(
    "the agent's group may read key and configuration, and pass the directory",
    all(
        (found[f].st_gid, found[f].st_mode & 0o7777) == (USER, mode)
        for f, mode in ((".", 0o750), ("agent.conf", 0o640), ("n0.key", 0o640))
    ),
    found,
)
os.chmod(c.dir, 0o755)
os.chmod(os.path.join(c.dir, "etc"), 0o755)
r = subprocess.run(
    [
        "setpriv",
        f"--reuid={USER}",
        f"--regid={USER}",
        "--clear-groups",
        AGENT,
        "-t",
        "-c",
        folder + "2/agent.conf",
    ],
    capture_output=True,
    text=True,
)
ok("that user can use them", r.returncode == 0, r)

# The agent.
r = ehctl(0, "init", "lab", "--dir", folder, "--host", "n0", "--topology", "2,1")
conf = os.path.join(folder, "agent.conf")
with open(conf, "a") as f:
    f.write(f'state = "{c.state(0)}"\ncgroup = "{c.cgroup(0)}"\nstub = "{STUB}"\nheartbeat = 300\n')
c.start(0, conf)
ok("an agent runs with it", "ready: node 0.0 of cluster lab" in c.log(0), c.log(0))
ok("it ends", (saw := c.end(0)) == 0, saw)

c.net.ip(0, "addr", "add", "10.78.0.1/24", "dev", "eth0")
words = refused("a host with two addresses", 1, "lab", "--dir", folder + "3", "--host", "n0")
ok("it says what to do", "say with --address" in words, words)
r = ehctl(0, "init", "lab", "--dir", folder + "3", "--host", "n0", "--address", "10.78.0.1")
ok("with one of them it works", r.returncode == 0 and "10.78.0.1:7411" in r.stdout, r)
done()
