# SPDX-License-Identifier: GPL-2.0-or-later
"""GNU diff, cmp, diff3 and sdiff: files, directories, standard input, and diff started by the
others."""
from results import automake
from suite import Suite

SUITE = Suite(
    "diffutils",
    "3.8",
    build=(
        "./configure -q --disable-nls --disable-dependency-tracking && make -s -j2 SUBDIRS='lib src"
        " tests' && make -s -C tests check TESTS="
    ),
    programs=["src/diff", "src/cmp", "src/diff3", "src/sdiff"],
    run="make -k -C tests check",
    results=automake("tests"),
)
