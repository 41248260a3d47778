# SPDX-License-Identifier: GPL-2.0-or-later
"""What /proc says of a process, which may end meanwhile."""

import os


def state(pid):
    """The letter of its state, "gone" if there is none."""
    try:
        return open(f"/proc/{pid}/stat", errors="replace").read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"


def send(pid, sig):
    """A signal to it. Returns whether it was there."""
    try:
        os.kill(pid, sig)
        return True
    except ProcessLookupError:
        return False


def children(pid):
    """Those of its first thread."""
    try:
        return [int(p) for p in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def words(pid):
    """Its command line, words with spaces between them; empty if there is none."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().decode(errors="replace").replace("\0", " ").strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def descriptors(pid):
    """What each of its descriptors is, without the number of a socket or pipe."""
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[int(fd)] = os.readlink(f"/proc/{pid}/fd/{fd}").split(":")[0]
        except FileNotFoundError:
            pass
    return found
