# SPDX-License-Identifier: GPL-2.0-or-later
"""git, the one of this machine: the t0* of its tests, of its basics: reading and writing of objects
and the index, conversion of line ends, attributes, paths, signals, daemons of credentials. Each git
that a test calls leaves; those that git calls are there with it. The shells of the tests and git's
own test-tool stay here. Left out, as they call git many thousand times for the same: t0000, of the
tests' own library, t0027, all combinations of line ends, and t0450, of the manual."""
import os, re

from suite import Suite


def results(tree, log):
    """TAP, in out/SCRIPT."""
    found = {}
    folder = os.path.join(tree, "out")
    for script in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, script), encoding="utf-8", errors="replace") as f:
            for result, number, name in re.findall(r"^(ok|not ok) (\d+)(.*)$", f.read(), re.M):
                directive = re.search(r"# *(skip|TODO)\b", name)
                found[f"{script} {number}"] = result + (
                    f" {directive[1].lower()}" if directive else ""
                )
    return found


SUITE = Suite(
    "git",
    "2.39.5",
    bound=3600,
    programs=["bin/git"],
    results=results,
    needs=["zlib1g-dev", "git"],
    environment={"GIT_TEST_OPTS": "", "GIT_CEILING_DIRECTORIES": "/"},
    build="""
mkdir bin out && cp /usr/bin/git bin/git
make -s -j8 CFLAGS=-O0 NO_OPENSSL=1 NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_TCLTK=1 \\
	GIT-BUILD-OPTIONS t/helper/test-tool &&
make -s -C templates NO_PERL=1 boilerplates.made &&
rm -f *.o */*.o */*/*.o libgit.a xdiff/lib.a reftable/*.a""",
    run="""
cd t
for t in t0*.sh; do
	case $t in t0000* | t0027* | t0450*) ;; *) echo "$t" ;; esac
done | GIT_TEST_INSTALLED="$PWD/../bin" xargs -P24 -I@ sh -c '
	timeout 1800 sh "./$1" >"../out/${1%.sh}" 2>&1 </dev/null
	echo "$1"' sh @""",
)
