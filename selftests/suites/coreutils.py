# SPDX-License-Identifier: GPL-2.0-or-later
"""GNU coreutils, a part of its tests: those of what reads, writes, waits and is signalled."""
from results import automake
from suite import Suite

PART = (
    "tests/misc/*.sh tests/misc/*.pl tests/tail-2/*.sh tests/dd/*.sh tests/cp/*.sh tests/split/*.sh"
    " tests/tee/*.sh tests/touch/*.sh"
)
SUITE = Suite(
    "coreutils",
    "9.1",
    bound=3600,
    build=(
        "./configure -q --disable-nls --disable-dependency-tracking --without-libgmp"
        " --without-openssl && make -s -j2 SUBDIRS=. && make -s SUBDIRS=. check TESTS="
    ),
    programs=["src/*"],
    run=f'make -k SUBDIRS=. check TESTS="$(echo {PART})"',
    results=automake("tests"),
)
