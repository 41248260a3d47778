#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs print the same at home and in a view of home's files on another node: locks, access
lists, modes, descriptors."""

import os, shutil, stat, struct, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok, skip, skip_all
from mounts import own_mounts
from users import add_names, as_user
from wait import WAIT

if os.geteuid() or not os.path.exists("/dev/fuse"):
    skip_all("needs root and /dev/fuse")
USER = 2001
own_mounts()
add_names(eha=USER)
c = Cluster(2, "heartbeat = 1000\nlink-idle = 60000")
os.chmod(c.dir, 0o755)
must("two agents", c.start_all(), c.log(0) + c.log(1))
AWAY = [EHCTL, "exec", "--view", "home", "0.1", "--"]


def seen(how, words, prepare):
    """What it prints in a new directory, and what that has then: names, modes, content."""
    folder = tempfile.mkdtemp(prefix="case-", dir=c.dir)
    try:
        os.chown(folder, USER, USER)
        prepare(folder)
        r = c.call(0, [*how, *words], cwd=folder, **as_user(USER))
        made = {}
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            made[name] = oct(mode), open(path).read() if stat.S_ISREG(mode) else ""
        return r.returncode, r.stdout, r.stderr, made
    finally:
        shutil.rmtree(folder)


def is_same(name, words, prepare=lambda folder: None):
    if isinstance(words, str):
        words = ["python3", "-c", words]
    here, away = seen([], words, prepare), seen(AWAY, words, prepare)
    ok(name, here == away and not here[2], f"here: {here}\naway: {away}\n{c.log(1)[-500:]}")


# ---- locks of fcntl() go with any descriptor of the file ----

LOCKS = """
import fcntl, os
def free():
    pid = os.fork()
    if not pid:
        try:
            fcntl.lockf(open("file", "r+"), fcntl.LOCK_EX | fcntl.LOCK_NB)
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0
before = os.open("file", os.O_RDONLY | os.O_CREAT, 0o644)
mine = open("file", "r+")
fcntl.lockf(mine, fcntl.{lock})
print(free())
{close}
print(free())
"""
for lock in "LOCK_EX", "LOCK_SH":
    for name, close in (
        ("one that reads, opened before", "os.close(before)"),
        ("one that reads", "open('file').close()"),
        ("one that writes", "open('file', 'r+').close()"),
        ("a duplicate", "os.close(os.dup(mine.fileno()))"),
        ("another file", "open('other', 'w').close()"),
        (
            "a child's",
            "pid = os.fork()\nif not pid:\n    os.close(before); os._exit(0)\nos.waitpid(pid, 0)",
        ),
    ):
        is_same(f"{lock}, and {name} is closed", LOCKS.format(lock=lock, close=close))

# ---- the modes of new files, by umask and default access lists ----

MAKE = """
import os, socket, sys
os.umask({umask})
for name, mode in (("a", 0o666), ("b", 0o600), ("c", 0o777), ("d", 0o4755)):
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT, mode))
    os.mkdir(f"{{name}}.d", mode)
    os.mkfifo(f"{{name}}.f", mode)
print([(name, sorted(os.listxattr(name))) for name in sorted(os.listdir("."))])
"""


def acl(*entries):
    """As in the extended attribute: (tag, permissions, id)."""
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, perm, who) for tag, perm, who in entries
    )


NOBODY = 0xFFFFFFFF
DEFAULTS = {
    "all": acl((1, 7, NOBODY), (4, 7, NOBODY), (32, 7, NOBODY)),
    "one more": acl(
        (1, 7, NOBODY), (2, 6, 65534), (4, 5, NOBODY), (16, 7, NOBODY), (32, 0, NOBODY)
    ),
}
try:
    os.setxattr(c.dir, "system.posix_acl_default", DEFAULTS["all"])
    os.removexattr(c.dir, "system.posix_acl_default")
except OSError as e:
    skip("default access lists", f"{c.dir}: {e}")
    DEFAULTS = {}
for umask in "0", "0o022", "0o077", "0o777":
    is_same(f"umask {umask}", MAKE.format(umask=umask))
    for name, value in DEFAULTS.items():
        is_same(
            f"umask {umask} and a default list: {name}",
            MAKE.format(umask=umask),
            lambda folder, value=value: os.setxattr(folder, "system.posix_acl_default", value),
        )

# ---- descriptors ----

for name, script in (
    ("a file that is open for both", "exec 0<>file; echo old >&0; exec sh -c 'echo new >&0'"),
    ("and read", "echo text >file; exec 0<>file; sh -c 'read x; echo $x; echo more >&0'; cat file"),
    ("above 2", "exec 5<>file; sh -c 'echo new >&5'; cat file"),
):
    is_same(name, ["sh", "-c", script])
with c.net.enter(0):
    for name, script in (
        ("0<>file", "echo text >file; $X sh -c 'read x; echo $x; echo more >&0' 0<>file; cat file"),
        ("1<>file", "echo text >file; $X sh -c 'echo TE' 1<>file; cat file"),
    ):
        got = []
        for how in "env", " ".join(AWAY), f"{EHCTL} exec 0.1 --":
            with tempfile.TemporaryDirectory(dir=c.dir) as folder:
                os.chown(folder, USER, USER)
                r = subprocess.run(
                    ["bash", "-c", script],
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    timeout=WAIT,
                    env={**os.environ, "X": how},
                    **as_user(USER),
                )
                got.append((r.returncode, r.stdout, r.stderr))
        ok(name, got[0] == got[1] == got[2] and not got[0][2], got)

# ---- what programs fall back on if it is refused ----

FALLS = """
import errno, os
try:
    os.open(".", os.O_TMPFILE | os.O_RDWR)
except OSError as e:
    print(errno.errorcode[e.errno])
"""
got = seen(AWAY, ["python3", "-c", FALLS], lambda folder: None)
ok("a file without a name: as on a file system that has none", got[:3] == (0, "ENOTSUP\n", ""), got)
done()
