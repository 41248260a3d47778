#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that plays a stub can say what it likes of its limits and its nice value: its task has
no more than the kernel gives that process."""

import os, re, resource, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import player
from cluster import Cluster
from confinement import become
from ktap import done, ok

# as /proc/PID/limits calls them
LIMITS = {
    resource.RLIMIT_CPU: "Max cpu time",
    resource.RLIMIT_FSIZE: "Max file size",
    resource.RLIMIT_AS: "Max address space",
    resource.RLIMIT_NPROC: "Max processes",
    resource.RLIMIT_NOFILE: "Max open files",
    resource.RLIMIT_MSGQUEUE: "Max msgqueue size",
    resource.RLIMIT_RTPRIO: "Max realtime priority",
}
HAS = {
    resource.RLIMIT_CPU: 3600,
    resource.RLIMIT_FSIZE: 4096,
    resource.RLIMIT_AS: 1 << 30,
    resource.RLIMIT_NPROC: 500,
    resource.RLIMIT_NOFILE: 100,
    resource.RLIMIT_MSGQUEUE: 8192,
    resource.RLIMIT_RTPRIO: 0,
}
NICE = 15

c = Cluster(2, "heartbeat = 1000\nthreshold-floor = 20.0")
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def limited():
    for which, most in HAS.items():
        resource.setrlimit(which, (most, most))
    os.nice(NICE)
    become(2001)


def shown(**said):
    """The limits of a task, and its nice value."""
    text = player.lie(c, limited, b"sh", b"-c", b"cat /proc/self/limits; nice", **said).decode()
    has = {
        which: re.search(rf"^{name} +(\S+) +(\S+)", text, re.M) for which, name in LIMITS.items()
    }
    return {which: m and m.groups() for which, m in has.items()}, text.rstrip().rpartition("\n")[2]


got, nice = shown()
ok(
    "it has no limit that is above its process's",
    got == {which: (str(most), str(most)) for which, most in HAS.items()},
    got,
)
ok("nor a lower nice value", nice == str(NICE), nice)
fewer = bytearray(player.UNLIMITED)
fewer[16 * resource.RLIMIT_NOFILE : 16 * resource.RLIMIT_NOFILE + 16] = (50).to_bytes(
    8, "little"
) + (60).to_bytes(8, "little")
got, _ = shown(rlimits=bytes(fewer))
ok("one that it says is lower holds", got[resource.RLIMIT_NOFILE] == ("50", "60"), got)
done()
