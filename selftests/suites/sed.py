# SPDX-License-Identifier: GPL-2.0-or-later
"""GNU sed: scripts that compare what it writes, also in place, with what is expected."""
from results import automake
from suite import Suite

SUITE = Suite(
    "sed",
    "4.9",
    default=True,
    build=(
        "./configure -q --disable-nls --disable-dependency-tracking && make -s -j2 SUBDIRS=. &&"
        " make -s SUBDIRS=. check TESTS="
    ),
    programs=["sed/sed"],
    run="make -k SUBDIRS=. check",
    results=automake("testsuite"),
)
