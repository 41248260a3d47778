# SPDX-License-Identifier: GPL-2.0-or-later
"""GNU find and xargs: trees, and programs that they start with many arguments."""
from results import automake
from suite import Suite

SUITE = Suite(
    "findutils",
    "4.9.0",
    build=(
        "./configure -q --disable-nls --disable-dependency-tracking && for d in gl lib find xargs"
        " locate; do make -s -j2 -C $d || exit; done && make -s -C tests check TESTS="
    ),
    programs=["find/find", "xargs/xargs"],
    run="make -k -C tests check",
    results=automake("tests"),
)
