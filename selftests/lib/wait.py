# SPDX-License-Identifier: GPL-2.0-or-later
"""Waiting for events. A bound only ends a broken run: no test waits for a time to pass."""

import time

WAIT = 60       # seconds


def until(what, limit=WAIT):
    """Waits until what() is true; returns its value."""
    end = time.monotonic() + limit
    while True:
        value = what()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.02)
