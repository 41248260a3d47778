# SPDX-License-Identifier: GPL-2.0-or-later
"""The time of day: whether make may trust it, and one that a test sets for programs that are
started with its environment."""

import os, struct, subprocess, time

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clock.c")


def wall_clock():
    """How far it is ahead of the time since the boot, in seconds: this changes only when it is
    set."""
    return max(time.time() - time.monotonic() for _ in range(5))


def in_order(folder, pairs=200):
    """Whether a file that is written after another is never the older one, whichever processors
    write them."""
    cpus = sorted(os.sched_getaffinity(0))
    last = 0
    try:
        for i in range(pairs):
            os.sched_setaffinity(0, {cpus[i % len(cpus)]})
            path = os.path.join(folder, f"order{i % 3}")
            with open(path, "w") as f:
                f.write("x")
            now = os.stat(path).st_mtime_ns
            if now < last:
                return False
            last = now
        return True
    finally:
        os.sched_setaffinity(0, cpus)
        for i in range(3):
            os.unlink(os.path.join(folder, f"order{i}"))


class Clock:
    """Kept in this directory, under this name. It is right until it is set."""

    def __init__(self, folder, name):
        library = os.path.join(folder, "clock.so")
        if not os.path.exists(library):
            subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", library, SOURCE], check=True)
        self.path = os.path.join(folder, f"{name}.clock")
        self.environment = {"LD_PRELOAD": library, "EHS_CLOCK": self.path}
        with open(self.path, "wb") as f:
            f.write(bytes(8))

    def set(self, seconds):
        """So much ahead of the real one."""
        with open(self.path, "r+b", buffering=0) as f:
            f.write(struct.pack("=q", int(seconds * 1e9)))
