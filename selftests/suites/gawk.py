# SPDX-License-Identifier: GPL-2.0-or-later
"""GNU awk: programs, pipes to and from it, co-processes and signals. A test that failed leaves
_NAME, what it wrote."""
import os, re

from suite import Suite


def results(tree, log):
    """Each test says its name in a line before it runs."""
    found = {}
    for name in re.findall(r"^([a-z][a-z0-9_-]*)$", log, re.M):
        found[name] = (
            "failed" if os.path.exists(os.path.join(tree, "test", f"_{name}")) else "passed"
        )
    return found


SUITE = Suite(
    "gawk",
    "5.2.1",
    build=(
        "./configure -q --disable-nls --disable-mpfr --disable-extensions --disable-pma"
        " --disable-dependency-tracking && make -s -j2 SUBDIRS='support .'"
    ),
    programs=["gawk"],
    run="make -k -C test check",
    results=results,
)
