# SPDX-License-Identifier: GPL-2.0-or-later
"""dash, the one of this machine: the tests of yash for any shell of POSIX. Signals to shells, to
their children and groups, here and through kill, job control on terminals, redirections, traps.
Each case is a shell of its own, and many start others; yash itself, which runs them, stays here.
sig*3 and sig*7 but for SIGCONT are left out: in them dash, in the background of a terminal that has
no shell, sends itself SIGTTIN for ever, which the kernel ignores; sigt*4 and sigt*8, in which a
subshell stops that nobody lets go on, here too; and kill4, which ends neither here nor away. test-p
takes the first device that it finds, which may be a terminal of somebody else, who closes it: it
gets one that stays."""
import os, re

from suite import Suite


def results(tree, log):
    """The result of each case is in FILE.trs. Its line number alone is no name: a function has many
    cases at one line."""
    found = {}
    folder = os.path.join(tree, "tests")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".trs"):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                text = f.read()
            for number, match in enumerate(
                re.finditer(r"^%%% (PASSED|FAILED|SKIPPED): [^:]*:(.*)$", text, re.M), 1
            ):
                found[f"{name[:-4]} {number} {match[2]}"] = match[1]
    return found


SUITE = Suite(
    "yash",
    "2.52",
    bound=1800,
    build=(
        "cp /usr/bin/dash dash && ./configure --disable-lineedit --disable-nls --disable-help &&"
        " make -s yash && make -s -C tests tester && sed -i 's,\"$(find /dev -type c .*,/dev/null,'"
        " tests/test-p.tst"
    ),
    programs=["dash"],
    results=results,
    run=r"""sed -n 's/^POSIX_.*TEST_SOURCES = //p' tests/Makefile | tr ' ' '\n' | grep '\.tst$' |
	grep -v '^sig[^c][a-z]*[37]-p\|^sigt[stio][a-z]*[48]-p\|^kill4-p' | sort >list
cd tests && make -k -j4 TESTEE="$PWD/../dash" $(sed 's/tst$/trs/' ../list)""",
)
