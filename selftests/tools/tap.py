# SPDX-License-Identifier: GPL-2.0-or-later
"""Results as TAP, and how these tests call programs."""
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("EHS_BUILD", "build"))

_count = _failed = 0


def ok(name, good, more=""):
    """One result; `more` is shown when it is bad."""
    global _count, _failed
    _count += 1
    if good:
        print(f"ok {_count} - {name}", flush=True)
        return
    _failed += 1
    print(f"not ok {_count} - {name}")
    for line in str(more).splitlines():
        print(f"#   {line}")
    sys.stdout.flush()


def skip(name, why):
    """A result that cannot be had here."""
    global _count
    _count += 1
    print(f"ok {_count} - {name} # SKIP {why}", flush=True)


def done():
    """The plan, and the exit status."""
    print(f"1..{_count}")
    sys.exit(_failed > 0)


def run(*command, **how):
    """A program's status and output; it is ended when it hangs."""
    how.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(command, timeout=30, check=False,
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how})
