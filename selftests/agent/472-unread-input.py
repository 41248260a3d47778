#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Input that a task away has not read stays for the next reader, beside four busy loops. Each case
is repeated, as what goes wrong does so by chance: EHS_ROUNDS=N times; 400 with EHS_LONG=1."""

import os, signal, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok, skip

ROUNDS = int(os.environ.get("EHS_ROUNDS", 400 if os.environ.get("EHS_LONG", "0") != "0" else 60))
AT_ONCE = 4

# Programs that wait for input in one way and do not read it.
PERL = {
    "select": "vec($r, 0, 1) = 1; select($r, undef, undef, undef)",
    # x86-64's prctl()
    "hides": "syscall(157, 4, 0); select(undef, undef, undef, 0.01)",  # PR_SET_DUMPABLE
    "hides-reads": "syscall(157, 4, 0); sysread(STDIN, $x, 2); print $x",
    "socket": """socketpair(A, B, AF_UNIX, SOCK_STREAM, 0); syswrite(B, 123); shutdown(B, 1);
        close(B); open(STDIN, '<&A'); close(A); exec('sh', '-c', $ENV{X}.' true; cat')""",
}

# (name, script, what it prints: all that it may)
CASES = [
    ("a loop over lines", "seq 3 | while read x; do $X true; echo $x; done", ["1\n2\n3\n"]),
    (
        "one that starts others",
        "printf '1\\n2\\n3\\n' | { read p; $X sh -c 'true; :'; read q; echo $p$q; }",
        ["12\n"],
    ),
    (
        "what it leaves of what it reads",
        "printf 'headerBODY' | { $X dd bs=6 count=1 2>/dev/null; cat; }",
        ["headerBODY"],
    ),
    (
        "a line that a shell there reads",
        "printf '1\\n2\\n3\\n' | { $X sh -c 'read a; echo $a'; cat; }",
        ["1\n2\n3\n"],
    ),
    ("one that waits with select()", 'printf 123 | { $X perl -e "$SELECT"; cat; }', ["123"]),
    # One byte makes it readable, and cannot be put back.
    (
        "the same beside another reader",
        (
            "printf 123 | { exec 4<&0; sleep 1000 <&4 4<&- >/dev/null & exec 4<&-; $X perl -e"
            ' "$SELECT"; cat; kill $!; }'
        ),
        ["123", "23"],
    ),
    ("one that may not be looked at", 'printf 123 | { $X perl -e "$HIDES"; cat; }', ["123"]),
    ("the same that reads", 'printf 123 | { $X perl -e "$HIDESREADS"; cat; }', ["123"]),
    ("a socket", 'perl -MSocket -e "$SOCKET"', ["123"]),
]

signal.signal(
    signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM)
)  # what was started is ended
users.add()
c = Cluster(2, "heartbeat = 3000\njob-limit = 60000")
must("two agents", c.start_all(), c.log(0) + c.log(1))
env = {
    **os.environ,
    "LC_ALL": "C",
    "X": f"{EHCTL} exec 0.1 --",
    "SELECT": PERL["select"],
    "HIDES": PERL["hides"],
    "HIDESREADS": PERL["hides-reads"],
    "SOCKET": PERL["socket"],
}


def start(words, **more):
    """As an ordinary user, whose end of a task may not look at all processes; in a session that has
    no process of root's."""
    return subprocess.Popen(
        words, cwd="/", start_new_session=True, **users.as_user(users.ONE), **more
    )


def repeat(script, times):
    """A shell that runs it so often and prints what it has printed each time, between zeros."""
    loop = f"for i in $(seq {times}); do {script}\nprintf '\\0'; done"
    with c.net.enter(0):
        return start(
            ["bash", "-c", loop],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )


busy = [start(["sh", "-c", "while :; do :; done"]) for _ in range(4)]
try:
    for name, script, may in CASES:
        if "HIDES" in script and os.uname().machine != "x86_64":
            skip(name, "the number of prctl() here is not known")
            continue
        shells = [repeat(script, -(-ROUNDS // AT_ONCE)) for _ in range(AT_ONCE)]
        printed = [
            text for shell in shells for text in shell.communicate()[0].decode().split("\0")[:-1]
        ]
        wrong = [text for text in printed if text not in may]
        ok(
            f"{name}: {ROUNDS} times",
            len(printed) >= ROUNDS and not wrong,
            f"{len(wrong)} of {len(printed)} wrong, as {wrong[:3]}",
        )
finally:
    for one in busy:
        one.kill()
        one.wait()
done()
