# SPDX-License-Identifier: GPL-2.0-or-later
"""GNU make, the one of this machine: the regression tests of its source, with sub-makes, the
jobserver and signals."""
from results import lines
from suite import Suite

SUITE = Suite(
    "make-dfsg",
    "4.3",
    needs=["perl"],
    build=(
        "cp /usr/bin/make make && sed 's/@CC@/gcc/; s/@[A-Z_]*@//' tests/config-flags.pm.in"
        " >tests/config-flags.pm"
    ),
    programs=["make"],
    run="cd tests && perl run_make_tests.pl -make $PWD/../make -srcdir $PWD/..",
    results=lines(r"^(?P<test>[a-z]+/[\w.+-]+) \.\.+ *(?P<result>.*)$"),
)
