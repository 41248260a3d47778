# SPDX-License-Identifier: GPL-2.0-or-later
"""Python, the one of this machine: the tests of its source that start programs, which are Python
again. They themselves run here; what they start leaves."""
from results import unittest
from suite import Suite

TESTS = (
    "subprocess popen wait3 wait4 fork1 pty resource fcntl getpass cmd_line cmd_line_script"
    " faulthandler signal threadsignals"
)
SUITE = Suite(
    "python3.11",
    "3.11.2",
    bound=1800,
    build="mkdir -p tests bin && cp -r Lib/test tests && cp /usr/bin/python3.11 bin/python3",
    programs=["bin/python3"],
    results=unittest,
    environment={"PYTHONDONTWRITEBYTECODE": "1"},
    run=f"""
PYTHONPATH=$PWD/tests; export PYTHONPATH
for t in {TESTS}; do
	echo "# test_$t"
	timeout 900 bash -c \\
		'exec -a "$PWD/bin/python3" bin/.here/python3 -m unittest -v "test.test_$1"' sh "$t"
done""",
)
