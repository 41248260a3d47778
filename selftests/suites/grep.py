# SPDX-License-Identifier: GPL-2.0-or-later
"""GNU grep: patterns, locales, binary files, and input that is its own output."""
from results import automake
from suite import Suite

SUITE = Suite("grep", "3.8", default=True,
              build="./configure -q --disable-nls --disable-dependency-tracking && make -s -j2 SUBDIRS='lib src tests' && make -s -C tests check TESTS=",
              programs=["src/grep"], run="make -k -C tests check", results=automake("tests"))
