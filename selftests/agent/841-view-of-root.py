#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks of root in a view of home's files that become other users: each script runs here and there,
and must do the same."""

import os, shutil, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from cluster import Cluster
from commands import EHCTL
from ktap import done, ok, skip_all

if os.geteuid() or not os.path.exists("/dev/fuse"):
    skip_all("needs root and /dev/fuse")
c = Cluster(2, "heartbeat = 1000")
os.chmod(c.dir, 0o755)
ok("two agents", c.start_all(), c.log(0) + c.log(1))
work = tempfile.mkdtemp(prefix="ehs-root-", dir=c.dir)
os.chmod(work, 0o755)
AS = f"setpriv --reuid={users.ONE} --regid={users.TWO} --clear-groups "


def play(script, away):
    folder = os.path.join(work, "case")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    words = ["sh", "-c", f"cd {folder}; umask 022; AS='{AS}'; {script}"]
    if away:
        words = [EHCTL, "exec", "--view", "home", "0.1", "--", *words]
    p = c.call(0, words, cwd="/", env={**os.environ, "LC_ALL": "C"}, text=False)
    left = {}
    for path, folders, files in os.walk(folder):
        for name in folders + files:
            st = os.lstat(os.path.join(path, name))
            left[os.path.relpath(os.path.join(path, name), folder)] = (
                oct(st.st_mode),
                st.st_uid,
                st.st_gid,
            )
    return p.returncode, p.stdout.decode(), p.stderr.decode(), left


def is_same(name, script):
    here, away = play(script, False), play(script, True)
    ok(name, here == away, f"here: {here}\naway: {away}")


is_same("a file of root that others may not read", "echo x >f; chmod 600 f; cat f; $AS cat f")
is_same("one that they may not write", "echo x >f; $AS sh -c 'echo y >>f'; cat f")
is_same(
    "a directory that is closed to them", "mkdir d; echo x >d/f; chmod 700 d; cat d/f; $AS cat d/f"
)
is_same("what they make in a directory of root", "$AS touch f; $AS mkdir d; ls")
is_same(
    "what they make is theirs",
    (
        "chmod 777 .; $AS sh -c 'echo x >f; mkdir d; ln -s f l; mkfifo p; cp f d/g; cat d/g'; echo"
        " y >roots"
    ),
)
is_same(
    "and they may use it",
    (
        "chmod 777 .; $AS sh -c 'umask 077; echo x >f; cat f; echo y >>f; chmod 400 f; mv f g; cat"
        " g; rm g; mkdir d; rmdir d'"
    ),
)
is_same(
    "in a directory with set-group-ID",
    "chown 0:2001 .; chmod 2777 .; $AS sh -c 'touch f; mkdir d; ln -s f l'",
)
is_same("a file with set-user-ID", "chmod 777 .; $AS install -m 4755 /dev/null f")
is_same(
    "somebody else's file",
    "touch f; $AS chmod 600 f; $AS touch f; $AS chown 2001 f; $AS truncate -s 5 f",
)
is_same(
    "in a directory with the sticky bit",
    "chmod 1777 .; touch f; $AS sh -c 'rm -f f; mv f g; touch h; rm h'",
)
is_same(
    "his groups count",
    (
        "echo x >f; chown 0:2003 f; chmod 640 f; $AS cat f; setpriv --reuid=2001 --regid=2002"
        " --groups=2003 cat f"
    ),
)
is_same(
    "root may do all",
    (
        "mkdir d; echo x >d/f; chown 2001:2002 d d/f; chmod 0 d/f; chmod 0 d; cat d/f; chown 2002"
        " d/f; mknod b b 1 2; rm -r d"
    ),
)
c.stop()
done()
