# SPDX-License-Identifier: GPL-2.0-or-later
"""What /proc says of a process, which may end meanwhile."""

import os


def stat(pid):
    """[name, state, parent, group, session, …]; None if there is none. Names of others need not be
    UTF-8."""
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as f:
            text = f.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return [text[text.index("(") + 1 : text.rindex(")")], *text[text.rindex(")") + 2 :].split()]


def running():
    """(pid, what stat() says) of all that have not ended."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        s = stat(entry)
        if s and s[1] not in "ZX":
            yield int(entry), s


def state(pid):
    """The letter of its state, "gone" if there is none."""
    s = stat(pid)
    return s[1] if s else "gone"


def parent(pid):
    """0 if there is none."""
    s = stat(pid)
    return int(s[2]) if s else 0


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


def links(pid):
    """What each of its descriptors leads to. One that is closed meanwhile is none."""
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[int(fd)] = os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            pass
    return found


def descriptors(pid):
    """The same without the number of a socket or pipe."""
    return {fd: link.split(":")[0] for fd, link in links(pid).items()}
