# SPDX-License-Identifier: GPL-2.0-or-later
"""Pipelines of three tasks: one, two or all of them away."""

import itertools, os
from scene import NULL
from suite import case, sh

TEXT = b"".join(b"%d the %d quick %d\n" % (i * 7919 % 1000, i % 7, i % 13) for i in range(5000))


def pipeline(name, *stages, data=TEXT, close_early=None, ignore_ends=()):
    """With each choice of tasks that are away."""
    for away in itertools.product((False, True), repeat=len(stages)):
        if not any(away):
            continue
        where = "".join("A" if a else "h" for a in away)

        @case(f"{name} ({where})")
        def play(s, away=away):
            with open(s.write("in", data), "rb") as f:
                at = os.dup(f.fileno())
            tasks = []
            for i, (words, gone) in enumerate(zip(stages, away)):
                last = i == len(stages) - 1
                r, w = os.pipe()
                tasks.append(s.start(*words, stdin=at, stdout=w, stderr=NULL, away=gone))
                os.close(at)
                os.close(w)
                at = r
            got = b""
            while more := os.read(at, 1 << 16):
                got += more
                if close_early and len(got) >= close_early:
                    break
            os.close(at)
            s.see("output", got if not close_early else got[:close_early])
            s.see("ends", [t.wait() for t in tasks])


pipeline(
    "sort | uniq -c | sort -n", ("/usr/bin/sort",), ("/usr/bin/uniq", "-c"), ("/usr/bin/sort", "-n")
)
pipeline("grep | tr | wc", ("/bin/grep", "7"), ("/usr/bin/tr", "a-z", "A-Z"), ("/usr/bin/wc",))
pipeline(
    "yes | cat | head", ("/usr/bin/yes",), ("/bin/cat",), ("/usr/bin/head", "-n", "3"), data=b""
)
pipeline(
    "the reader of all closes early",
    ("/usr/bin/yes",),
    ("/bin/cat",),
    ("/bin/cat",),
    data=b"",
    close_early=2,
)
pipeline("the first fails at once", ("/bin/false",), ("/bin/cat",), ("/usr/bin/wc", "-c"))
pipeline(
    "the last reads a line only",
    ("/usr/bin/head", "-c", "100"),
    ("/bin/cat",),
    ("/bin/sh", "-c", "read line; echo $line"),
)


def within(name, script, **more):
    """A pipeline that is all inside of one task."""
    sh("in one task: " + name, script, **more)


within("three stages", "sort | uniq -c | sort -rn | head -n 5", data=TEXT)
within("yes | head", "yes | head -n 2")
within("a loop with read", "printf '1\\n2\\n3\\n' | while read n; do echo $((n * n)); done")
within("tee and two readers", "tee copy | wc -c; wc -c <copy", data=TEXT)
within("a here document", "cat <<END\nof $((1 + 1)) lines\nEND")
within("command substitution", "echo $(echo $(echo deep))")
within(
    "find, xargs -P",
    (
        "mkdir d; for i in 1 2 3 4 5 6 7 8; do echo $i >d/$i; done; find d -type f | sort | xargs"
        " -P 4 -n 1 cat | sort"
    ),
)
