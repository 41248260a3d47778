# SPDX-License-Identifier: GPL-2.0-or-later
"""pjdfstest: what POSIX promises of files, call by call, with its errors: chmod, link, mkdir, open,
rename, truncate, unlink and others, as root and as users that root becomes. Each of its files of
tests leaves as a whole and runs in a view of home's files, where every call goes to ehview."""
import os, re

from suite import Suite


def results(tree, log):
    """TAP, in out/GROUP:FILE. Names are random, so a case is a file and a number."""
    found = {}
    folder = os.path.join(tree, "out")
    for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, file), encoding="utf-8", errors="replace") as f:
            for result, number in re.findall(r"^(ok|not ok) (\d+)\b", f.read(), re.M):
                found[f"{file} {number}"] = result
    return found


SUITE = Suite(
    "pjdfstest",
    "85a8aea",
    bound=3600,
    view="home",
    root=True,
    git="https://github.com/pjd/pjdfstest",
    commit="85a8aea9e685999ef0540392fd80535f873d7ff7",
    needs=["autoconf", "automake", "openssl"],
    build=(
        "echo fs=EXT4 >>tests/conf && autoreconf -ifs && ./configure -q && make -s pjdfstest &&"
        " mkdir bin work out && cp /bin/dash bin/sh"
    ),
    programs=["bin/sh"],
    results=results,
    run=r"""
cd work
for t in ../tests/*/*.t; do
	echo "${t#../tests/}"
done | xargs -P4 -I@ sh -c '
	timeout 2400 ../bin/sh "../tests/$1" >"../out/$(echo "$1" | tr / :)" 2>&1 </dev/null
	echo "$1"' sh @""",
)
