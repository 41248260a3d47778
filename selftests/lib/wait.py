# SPDX-License-Identifier: GPL-2.0-or-later
"""Waiting for events. A bound only ends a broken run: no test waits for a time to pass."""

import os
import signal
import subprocess
import time

WAIT = 60  # seconds


def until(what, limit=WAIT):
    """Waits until what() is true; returns its value."""
    end = time.monotonic() + limit
    while True:
        value = what()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.02)


def outcome(p, limit=WAIT):
    """(status, output, errors) of a process that leads a group; all of that is killed if it does
    not end."""
    try:
        out, err = p.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, err = p.communicate()
        err += b" (it does not end)"
    return p.returncode, out.decode(), err.decode()
