# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps of a build that note in a file when they begin and end, and how many ran at once."""

import os


def step(notes, seconds):
    """The command of one, for a shell."""
    return f"echo start >>{notes}; sleep {seconds}; echo stop >>{notes}"


def at_once(notes):
    """How many ran at once; forgets the notes."""
    now = most = 0
    if not os.path.exists(notes):
        return 0
    with open(notes) as f:
        for line in f:
            now += 1 if line == "start\n" else -1
            most = max(most, now)
    os.unlink(notes)
    return most
