#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of docs/tour.md, in their order, on two hosts with a systemd each. Here they are of
`make install`, and without the module. With EHS_DEBS=DIR they are installed from these packages,
and with EHS_SYSTEM=DIR they are of that system, as selftests/install/packages has them in a guest,
where there is the module, too."""

import os, shlex, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import tour
from hosts import Hosts
from ktap import done, ok, skip
from tree import BUILD, TOP

DEBS = os.environ.get("EHS_DEBS")
# A host of this test is a part of a machine, whose load is that of all of it: only what ehsched
# starts is to count. A guest is slow.
QUIET = 'load-index = "tasks"\n' + (
    "time-limit = 5000\nheartbeat = 3000\n" if "EHS_SHARE" in os.environ else ""
)

with open(f"{TOP}/docs/tour.md", encoding="utf-8") as f:
    TEXT = f.read()
steps, errors = tour.read(TEXT)
ok("each block of the tour is one of commands", not errors and len(steps) > 30, errors)

# ---- what is wrong with a tour is found ----

bad = tour.read("```sh\nls\n```\n```console\noutput\n```\n")[1]
ok("a block that nobody runs is found", len(bad) == 2, bad)


def tried(text, said, status=0):
    """Whether a tour of this text passes if its commands print this."""
    t = tour.Tour(lambda *_: (status, said), False)
    return all(t.step(s)[0] for s in tour.read(f"```console\n{text}\n```\n")[0])


ok(
    "numbers and states may differ",
    tried("n0$ x\na 0.50 ok  17:02:03 0.0.0:12", "a  12.25 sender 1:02:03 0.0.0:9123\n"),
)
ok("and sizes", tried("n0$ x\na 1.4M b", "a 468K b\n"))
ok("words may not", not tried("n0$ x\nout", "put\n"))
ok("a line more is found", not tried("n0$ x\na", "a\nb\n") and not tried("n0$ x\na\nb", "a\n"))
ok(
    "lines that are left out",
    tried("n0$ x\na\n…\nz", "a\nb\nc\nz\n") and not tried("n0$ x\na\n…\nz", "a\nb\n"),
)
ok("a command that fails is found", not tried("n0$ x\na", "a\n", 1))
ok(
    "a word is completed",
    tour.complete("y eh1-… z", ["eh1-a", "eh1-b", "c"]) == "y eh1-b z"
    and tour.complete("y q…", ["r"]) is None,
)

# ---- the tour ----

# Two directories that were made in the same tick of one clock, and not changed, are taken for one.
USER = 'chroot "$ROOT" useradd -m -s /bin/bash ann; touch -d "@$RANDOM" "$ROOT/home/ann"'
if DEBS:
    prepare = f'cp {shlex.quote(DEBS)}/ehsched-*.deb "$ROOT/root/"; {USER}'
else:
    prepare = (
        f'make -s -C {shlex.quote(TOP)} O={shlex.quote(BUILD)} DESTDIR="$ROOT" PREFIX=/usr install;'
        f' chroot "$ROOT" sh -s <{shlex.quote(TOP)}/packaging/user; {USER}'
    )
hosts = Hosts(2, os.environ.get("EHS_SYSTEM", "/"), prepare)
if ok("two hosts start", hosts.up(), hosts.log()):

    def run(host, root, command):
        host = hosts[int(host[1:])]
        status, said = host.shell("root" if root else "ann").run(command)
        if command.startswith(("ehctl init", "ehctl join")) and status == 0:
            host.shell("root").run(f"printf %s {shlex.quote(QUIET)} >>/etc/ehsched/agent.conf")
        return status, said

    going = tour.Tour(run, bool(DEBS))
    for step in steps:
        good, what = going.step(step)
        if good == "skip":
            skip(step, what)
        elif not ok(step, good, what):
            for i in range(2):
                print(
                    f"# n{i}:",
                    *hosts[i]
                    .run(
                        "sh",
                        "-c",
                        "systemctl --no-pager status ehagent ehlaunch; journalctl --no-pager -n 30",
                    )
                    .stdout.splitlines(),
                    sep="\n#   ",
                )
            break  # what follows depends on it
    left = [hosts[i].run("pgrep", "-x", "ehguest|ehstub").stdout for i in range(2)]
    ok("no task is left", not any(left), left)
done()
