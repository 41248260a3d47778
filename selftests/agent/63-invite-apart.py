#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Invitations as installed: agents run as a user of their own, and write only where their state is."""

import json, os, re, stat, sys
sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from cluster import STUB, USER, Cluster
from ktap import done, ok

c = Cluster(2, apart=True)
ehctl = c.ehctl
users.add_group("ehsched", USER)


def start(i):
    conf = os.path.join(c.etc(i), "agent.conf")
    with open(conf, "a") as f:
        f.write(f'state = "{c.state(i)}"\ncgroup = "{c.cgroup(i)}"\nstub = "{STUB}"\nlauncher = "{c.launcher(i)}"\n')
    c.start(i, conf)


r = ehctl(0, "init", "lab", "--dir", c.etc(0), "--host", "n0", "--topology", "2,1")
ok("init", r.returncode == 0, r)
start(0)
r = ehctl(0, "invite", "--json")
ok("an agent without rights invites", r.returncode == 0, (r, c.log(0)[-1500:]))
kept = os.path.join(os.path.dirname(c.state(0)), "invites.json")
ok("what it keeps is its own, for nobody else", os.stat(kept).st_uid == USER and stat.S_IMODE(os.stat(kept).st_mode) == 0o600)
r = ehctl(1, "join", "--token", json.loads(r.stdout)["token"], "--dir", c.etc(1), "--host", "n1")
ok("join", r.returncode == 0, (r, c.log(0)[-1500:]))
found = {f: os.stat(os.path.join(c.etc(1), f)) for f in (".", "agent.conf", "n1.key", "n1.crt", "ca.crt")}
ok("the agent's group may read what it needs, and change nothing",
   {f: (s.st_uid, s.st_gid, stat.S_IMODE(s.st_mode)) for f, s in found.items() if not f.endswith("crt")} ==
   {".": (0, USER, 0o750), "agent.conf": (0, USER, 0o640), "n1.key": (0, USER, 0o640)} and
   all(stat.S_IMODE(s.st_mode) == 0o644 for f, s in found.items() if f.endswith("crt")), found)
start(1)
ok("both are members", c.all_up([0, 1]), c.log(1)[-1500:])
r = ehctl(1, "doctor")
ok("doctor is content with certificate and key", all(re.search(rf"^ok +{what} ", r.stdout, re.M) for what in ("certificate", "key")), r)
ok("and names no settings", "settings" not in r.stdout, r)
with open(os.path.join(c.etc(1), "agent.conf"), "a") as f:
    f.write('view-own = { "/usr" }\nguest-memory = 512\n')
reloaded = ehctl(1, "reload")
r = ehctl(1, "doctor")
ok("it warns of settings that an ehlaunch of its own would be told", reloaded.returncode == 0 and r.returncode == 0 and
   re.search(r"^warning +settings +.*: view-own guest-memory\n +fix: .*EHLAUNCH_OPTIONS", r.stdout, re.M), (reloaded, r))
ok("the agents end", all(c.end(i) == 0 for i in range(2)))
done()
