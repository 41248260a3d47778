# SPDX-License-Identifier: GPL-2.0-or-later
"""Mounts of a test, and those of views."""

import ctypes, os

from ktap import skip_all

MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE, CLONE_NEWNS = 4096, 8192, 16384, 1 << 18, 0x20000
libc = ctypes.CDLL(None, use_errno=True)


def own_mounts():
    """From now on nothing that this process or a child mounts is seen outside."""
    if libc.unshare(CLONE_NEWNS) or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None):
        skip_all("needs a mount namespace of its own")


def mount(what, at, kind="", flags=0, options=""):
    """Mounts it at a directory: a mount over a file goes when that file is replaced."""
    if libc.mount(what.encode(), at.encode(), kind.encode(), flags, options.encode()):
        skip_all(f"cannot mount {at}: {os.strerror(ctypes.get_errno())}")


def mounted(work):
    """Processes that see a view's mount of this directory, or of one below it; others run beside
    the test."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            text = open(f"/proc/{entry}/mountinfo").read() if entry.isdigit() else ""
        except OSError:
            continue
        if " ehsched " in text and work in text:
            found.append(int(entry))
    return found
