# SPDX-License-Identifier: GPL-2.0-or-later
"""GNU gzip and its scripts (zgrep, zdiff, zmore), which run it in pipelines."""
from results import automake
from suite import Suite

SUITE = Suite(
    "gzip",
    "1.12",
    build=(
        "./configure -q --disable-dependency-tracking && make -s -j2 SUBDIRS='lib .' && make -s -C"
        " tests check TESTS="
    ),
    programs=["gzip"],
    run="make -k -C tests check",
    results=automake("tests"),
)
