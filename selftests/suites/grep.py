# SPDX-License-Identifier: GPL-2.0-or-later
"""GNU grep: patterns, locales, binary files, and input that is its own output.

hash-collision-perf is left out: it gives grep more and more to do until that has used a tenth of a
second of processor time. Without the module a parent is not told what its task used elsewhere
(docs/transparency.md), so it does not end."""
from results import automake
from suite import Suite

SUITE = Suite(
    "grep",
    "3.8",
    build=r"""./configure -q --disable-nls --disable-dependency-tracking &&
	make -s -j2 SUBDIRS='lib src tests' && make -s -C tests check TESTS= &&
	printf '#!/bin/sh\nexit 77\n' >tests/hash-collision-perf""",
    programs=["src/grep"],
    run="make -k -C tests check",
    results=automake("tests"),
)
