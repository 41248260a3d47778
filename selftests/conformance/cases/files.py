# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that tasks make: content, owner, mode, times."""

import os
from suite import case, sh

sh(
    "a file, a directory, links",
    "echo content >a; mkdir d; ln a d/hard; ln -s ../a d/soft; chmod 640 a",
)
for mask in "000", "022", "077", "137":
    sh(f"modes under umask {mask}", f"umask {mask}; echo >f; mkdir d; mkfifo p; ln -s x l")
sh("modes of all kinds", "for m in 0 1 4 644 755 1777 2755 4755; do echo >f$m; chmod $m f$m; done")
sh(
    "times that are set",
    "echo >f; touch -d '2001-02-03 04:05:06.789' f; mkdir d; touch -d 1999-12-31 d",
)
sh("times that are kept", "echo >f; touch -d 2010-10-10 f; cp -p f g; mv f h; ln g i")
sh(
    "an empty file, a sparse one",
    ": >empty; truncate -s 1M sparse; dd if=/dev/zero of=tail bs=1 count=1 seek=65536 status=none",
)
sh("append by several commands", "for i in 1 2 3; do echo $i >>log; done; cat log")
sh("rename over, remove, recreate", "echo a >x; echo b >y; mv y x; rm x; echo c >x; cat x")
sh(
    "names that begin with a dash or a dot",
    "echo >-f; echo >.hidden; echo >..; echo >...; ls -a | wc -l",
)
sh(
    "a lock that two children take in turn",
    "for i in 1 2 3; do (flock 9; echo in >>log; echo out >>log) 9>lock & done; wait; cat log",
)
sh(
    "a tree packed and unpacked",
    (
        "mkdir -p t/a/b; for i in 1 2 3; do echo $i >t/a/b/$i; done; tar cf - t | (mkdir u; cd u;"
        " tar xf -); rm -r t; find u | sort"
    ),
)
sh("compressed and back", "seq 1000 >n; gzip -n n; cksum <n.gz; gunzip n.gz")
sh("a directory without permission", "mkdir d; chmod 0 d; echo >d/f; echo $?; chmod 700 d")
sh(
    "a file that is executed and written",
    "printf '#!/bin/sh\\necho ran\\n' >s; chmod +x s; ./s; ./s >out",
)
sh("a socket and a named pipe in its directory", "mkfifo p; (echo through >p &) ; cat p")
sh(
    "extended attributes",
    (
        "python3 -c \"import os; open('f', 'w'); os.setxattr('f', b'user.x', b'v');"
        " print(os.getxattr('f', b'user.x'))\""
    ),
)

for uid, gid, groups in (2001, 2002, []), (2001, 2001, [2002]), (0, 2002, []):

    @case(f"files of user {uid}, group {gid}, groups {groups}")
    def owned(s, uid=uid, gid=gid, groups=groups):
        def become():
            os.setgroups(groups)
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)

        s.sh(
            (
                "echo >f; mkdir d; echo >d/g; chgrp 2002 f; echo $?; chown 2002 f; echo $?; ls"
                " /root >/dev/null; echo $?"
            ),
            before=become,
        )


@case("a directory that hands its group down")
def setgid(s):
    os.mkdir(s.file("d"))
    os.chown(s.file("d"), 0, 2002)
    os.chmod(s.file("d"), 0o2777)
    s.sh("echo >d/f; mkdir d/e; echo >d/e/g")


@case("a file that the parent changes while the task reads it")
def changed(s):
    from scene import PIPE

    path = s.write("f", "before\n")
    task = s.start("/bin/sh", "-c", "cat f; echo; read go; cat f", stdin=PIPE)
    got = b""
    while b"\n\n" not in got:
        got += os.read(task.stdout, 100)
    s.see("before", got)
    with open(path, "a") as f:
        f.write("after\n")
    os.write(task.stdin, b"\n")
    s.see("after", s.collect(task)[0])
    s.see("end", task.wait())
