# SPDX-License-Identifier: GPL-2.0-or-later
"""GNU tar: archives through files and pipes, other programs started by it, and files that change
meanwhile."""
from results import lines
from suite import Suite

SUITE = Suite(
    "tar",
    "1.34",
    bound=1800,
    build=(
        "./configure -q --disable-nls --disable-dependency-tracking && for d in gnu lib rmt src; do"
        " make -s -j2 -C $d || exit; done && make -s -C tests check TESTSUITEFLAGS=-l"
    ),
    programs=["src/tar"],
    run="make -k -C tests check",
    results=lines(
        r"^ *(?P<test>\d+: \S.*?)  +(?P<result>ok|FAILED|skipped|expected failure|UNEXPECTED"
        r" PASS)\b.*$"
    ),
)
