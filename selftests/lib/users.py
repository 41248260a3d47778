# SPDX-License-Identifier: GPL-2.0-or-later
"""Users of this machine that only this process and its children see: files of its own in place of /etc/passwd and
/etc/group, in a mount namespace of its own."""

import ctypes, os, shutil, tempfile

from ktap import skip_all

ONE, TWO, THREE = 2001, 2002, 2003      # their user ids
ONES_GROUPS = {2001, 2002, 5, 6, 40000, *range(3000, 4000)}
TWOS_GROUPS = {2002, 5, 6}
MS_BIND, MS_REC, MS_PRIVATE, CLONE_NEWNS = 4096, 16384, 1 << 18, 0x20000
libc = ctypes.CDLL(None, use_errno=True)
added = False


def members_of(gid):
    """Whose group it is beside those who have it as their first."""
    return ["eht1"] * (gid in ONES_GROUPS - {ONE}) + ["eht2"] * (gid in TWOS_GROUPS - {TWO})


def groups():
    """/etc/group, with ONE and TWO in their groups."""
    lines, found = [], set()
    for line in open("/etc/group").read().splitlines():
        name, password, gid, members = line.split(":")
        found.add(int(gid))
        members = ",".join(filter(None, [members, *members_of(int(gid))]))
        lines.append(f"{name}:{password}:{gid}:{members}")
    for gid in sorted(ONES_GROUPS - found):
        lines.append(f"ehg{gid}:x:{gid}:" + ",".join(members_of(gid)))
    return "\n".join(lines) + "\n"


def passwd():
    lines = [line for line in open("/etc/passwd").read().splitlines() if line.split(":")[2] not in (str(ONE), str(TWO), str(THREE))]
    lines += [f"eht{n}:x:{uid}:{uid}::/tmp:/bin/sh" for n, uid in ((1, ONE), (2, TWO), (3, THREE))]
    return "\n".join(lines) + "\n"


def add():
    """Adds eht1, eht2 and eht3. Once for a process."""
    global added
    if added:
        return
    added = True
    if libc.unshare(CLONE_NEWNS) or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None):
        skip_all("needs a mount namespace of its own")
    folder = tempfile.mkdtemp(prefix="ehs-users-")
    for name, text in ("passwd", passwd()), ("group", groups()):
        path = os.path.join(folder, name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o644)
        if libc.mount(path.encode(), f"/etc/{name}".encode(), None, MS_BIND, None):
            skip_all(f"cannot mount /etc/{name}: {os.strerror(ctypes.get_errno())}")
    shutil.rmtree(folder)
