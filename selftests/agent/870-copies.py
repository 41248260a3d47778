#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts that were made of one image have the same directories, with the same numbers and times. A
task that can write to its directory does not write to the executor's copy of it, and none reads
what was changed there."""

import os, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, ok, skip_all
from mounts import libc, own_mounts

USER = 2001

if os.geteuid() or not os.path.exists("/dev/fuse"):
    skip_all("needs root and /dev/fuse")
own_mounts()

c = Cluster(2, "heartbeat = 1000\njob-limit = 3000")
os.chmod(c.dir, 0o755)
image, host, disks = (os.path.join(c.dir, name) for name in ("image", "host", "disks"))
for name in "work", "theirs", "roots", "marks":
    os.makedirs(os.path.join(image, name))
os.chown(os.path.join(image, "theirs"), USER, USER)
os.mkdir(host)
# an overlay keeps its upper directory on a file system that is no overlay
os.mkdir(disks)
libc.mount(b"disks", disks.encode(), b"tmpfs", 0, b"mode=755")
for i in range(2):
    for name in "upper", "scratch":
        os.makedirs(os.path.join(disks, name + str(i)))


def disk(i):
    """Arguments of mount for a disk that is a copy of the image."""
    return (
        f"-t overlay -o lowerdir={image},upperdir={disks}/upper{i},workdir={disks}/scratch{i} disk"
        f" {host}"
    )


subprocess.run(["mount", *disk(0).split()], check=True)
c.wrap(1, f"umount {host}\nmount {disk(1)}\ntouch {host}/marks/1", mounts=True)
ok("two hosts of one image", c.start_all(), c.log(0) + c.log(1))


def run(script, folder, uid=0, view="auto"):
    p = c.call(
        0,
        [EHCTL, "exec", "--view", view, "0.1", "--", "/bin/sh", "-c", script],
        user=uid,
        group=uid,
        extra_groups=[],
        cwd=os.path.join(host, folder),
    )
    return p.returncode, p.stdout, p.stderr


for folder, uid in ("work", 0), ("theirs", USER):
    got = run("echo made >out", folder, uid)
    made = os.path.join(host, folder, "out")
    ok(
        f"what a task of user {uid} writes is at home",
        got[0] == 0 and os.path.exists(made) and open(made).read() == "made\n",
        got,
    )
got = run(f"cat {host}/marks/1 && echo there", "roots", USER)
ok("a user who cannot write there does not see the executor's files", got[:2] == (1, ""), got)
got = run("echo made >shared", "marks", view="shared")
ok("told that all files are shared, it does not leave", got[0] == 1 and "differ" in got[2], got)
ok("the agents end", c.end(0) == 0 and c.end(1) == 0, c.log(0) + c.log(1))
# keepers of views still have files there
subprocess.run(["umount", "-l", host, disks], check=True)
done()
