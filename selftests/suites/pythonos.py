# SPDX-License-Identifier: GPL-2.0-or-later
"""Python, the one of this machine, as a task that leaves: its tests of what the kernel does for a
program: files, descriptors, pipes, sockets, select and epoll, mappings, signals, threads, clocks,
processes and terminals. Each module of tests is one task; what it starts is there with it.
test_subprocess and others whose children leave are in python.py."""
import os

from results import unittest
from suite import Suite

TESTS = """
    eintr signal threadsignals poll selectors tempfile time bufio asyncore runpy pty pathlib os
    posix mailbox shutil shelve atexit dbm dbm_dumb epoll fcntl file file_eintr filecmp fileinput
    fileio fork1 getpass glob grp gzip ioctl linecache mmap openpty pipes pkgutil popen posixpath
    pwd resource select site socketserver stat thread threadedtempfile tty wait3 wait4 zipapp
    zipimport
""".split()


def results(tree, log):
    found = {}
    folder = os.path.join(tree, "out")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
            found.update(unittest(tree, f.read()))
    return found


SUITE = Suite(
    "python3.11",
    "3.11.2",
    bound=3600,
    programs=["bin/python3"],
    results=results,
    environment={"PYTHONDONTWRITEBYTECODE": "1"},
    build=(
        "mkdir tests bin out && mv Lib/test tests && find . -mindepth 1 -maxdepth 1 ! -name tests !"
        " -name bin ! -name out -exec rm -rf {} + && cp /usr/bin/python3.11 bin/python3"
    ),
    run=f"""
PYTHONPATH=$PWD/tests; export PYTHONPATH
echo {" ".join(TESTS)} | xargs -n1 -P8 sh -c '
	[ -e "$0/tests/test/test_$1.py" ] || [ -d "$0/tests/test/test_$1" ] || exit 0
	cd "$(mktemp -d)" &&
		timeout 1200 "$0/bin/python3" -m unittest -v "test.test_$1" >"$0/out/$1" 2>&1 </dev/null
	echo "$1"' "$PWD" """,
)
