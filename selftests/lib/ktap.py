# SPDX-License-Identifier: GPL-2.0-or-later
"""KTAP for test programs in Python. The plan comes last, so that it also proves that the end was reached."""

import sys

import environment

# before anything is started
environment.settle()

KSFT_SKIP = 4
LINES = 40      # of what a failure shows, at most
_tests = _failed = 0


def _begin():
    """Numbers the next result. The first one comes after the version line."""
    global _tests
    if not _tests:
        print("KTAP version 1")
    _tests += 1
    return _tests


def ok(name, good, more=""):
    """One result; `more` is shown when it is bad. Returns `good`."""
    global _failed
    number = _begin()
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    if not good:
        _failed += 1
        for line in str(more).splitlines()[-LINES:]:
            print(f"#   {line}")
    sys.stdout.flush()
    return good


def skip(name, reason):
    """A result that cannot be had here."""
    print(f"ok {_begin()} - {name} # SKIP {reason}", flush=True)


def skip_all(reason):
    """No result of this program can be had here."""
    print(f"KTAP version 1\n1..0 # SKIP {reason}", flush=True)
    sys.exit(KSFT_SKIP)


def failed():
    """How many results were bad so far."""
    return _failed


def done():
    """The plan, and the exit status."""
    print(f"1..{_tests}", flush=True)
    sys.exit(_failed > 0)
