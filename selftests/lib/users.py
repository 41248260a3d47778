# SPDX-License-Identifier: GPL-2.0-or-later
"""Users of this machine that only this process and its children see: files of its own in place of /etc/passwd and
/etc/group, in a mount namespace of its own."""

import os, tempfile

from mounts import bind, libc, own_mounts

ONE, TWO, THREE = 2001, 2002, 2003      # their user ids
ONES_GROUPS = {2001, 2002, 5, 6, 40000, *range(3000, 4000)}
TWOS_GROUPS = {2002, 5, 6}
added = False
shown = set()


def as_user(uid):
    """For Popen() and run(): as this user, with its own group only. It need not be in /etc/passwd."""
    return {"user": uid, "group": uid, "extra_groups": []}


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


def put(path, text):
    """Shows a file with this text at `path`, instead of one that was shown there before."""
    if path in shown:
        libc.umount2(path.encode(), 0)      # its file has no name any more, and nothing can be mounted over that
    shown.add(path)
    with tempfile.NamedTemporaryFile("w", prefix="ehs-users-") as f:
        f.write(text)
        f.flush()
        os.chmod(f.name, 0o644)
        bind(f.name, path)


def add_names(**users):
    """Adds users by name=UID, without a group, after own_mounts()."""
    with open("/etc/passwd") as f:
        text = f.read()
    put("/etc/passwd", text + "".join(f"{who}:x:{uid}:{uid}::/:/bin/sh\n" for who, uid in users.items()))


def add():
    """Adds eht1, eht2 and eht3. Once for a process."""
    global added
    if added:
        return
    added = True
    own_mounts()
    put("/etc/passwd", passwd())
    put("/etc/group", groups())
