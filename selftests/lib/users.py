# SPDX-License-Identifier: GPL-2.0-or-later
"""Users of this machine that only this process and its children see: for them a copy of /etc is
mounted in its place."""

import os, subprocess, tempfile

from mounts import MS_MOVE, mount, own_mounts

ONE, TWO, THREE = 2001, 2002, 2003  # their user ids
ONES_GROUPS = {2001, 2002, 5, 6, 40000, *range(3000, 4000)}
TWOS_GROUPS = {2002, 5, 6}
added = copied = False


def as_user(uid):
    """For Popen() and run(): as this user, with its own group only. It need not be in
    /etc/passwd."""
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
    lines = [
        line
        for line in open("/etc/passwd").read().splitlines()
        if line.split(":")[2] not in (str(ONE), str(TWO), str(THREE))
    ]
    lines += [f"eht{n}:x:{uid}:{uid}::/tmp:/bin/sh" for n, uid in ((1, ONE), (2, TWO), (3, THREE))]
    return "\n".join(lines) + "\n"


def own_etc():
    """From now on /etc is a copy of itself, which only this process and its children see. All of
    it: a mount over one of its files goes when anybody on this machine replaces that file."""
    global copied
    if copied:
        return
    copied = True
    own_mounts()
    folder = tempfile.mkdtemp(prefix="ehs-etc-")
    mount("etc", folder, "tmpfs", options="mode=755")
    copy = ["cp", "-a", "/etc/.", folder]
    if subprocess.run(copy, check=False).returncode:  # a file of it was renamed meanwhile
        subprocess.run(copy, check=True)
    mount(folder, "/etc", flags=MS_MOVE)
    os.rmdir(folder)


def put(path, text):
    """Gives a file of /etc this text."""
    own_etc()
    with open(f"{path}.new", "w") as f:
        f.write(text)
    os.rename(f.name, path)  # an agent that reads it meanwhile finds all of it


def add_group(name, gid):
    """Adds a group without members."""
    with open("/etc/group") as f:
        put("/etc/group", f"{f.read()}{name}:x:{gid}:\n")


def add_names(**users):
    """Adds users by name=UID, without a group."""
    with open("/etc/passwd") as f:
        text = f.read()
    put(
        "/etc/passwd",
        text + "".join(f"{who}:x:{uid}:{uid}::/:/bin/sh\n" for who, uid in users.items()),
    )


def add():
    """Adds eht1, eht2 and eht3. Once for a process."""
    global added
    if added:
        return
    added = True
    put("/etc/passwd", passwd())
    put("/etc/group", groups())
