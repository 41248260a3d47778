# SPDX-License-Identifier: GPL-2.0-or-later
"""Two copies of a directory, one built by `ehctl dag` and one by the tool itself: what is
compared."""

import os


def put(path, name, text):
    with open(os.path.join(path, name), "w") as f:
        f.write(text)


def older(path):
    """Files there are older than what is made of them, however coarse the clock is."""
    for at, _, names in os.walk(path):
        for name in names:
            os.utime(os.path.join(at, name), (1e9, 1e9))


def tree(path, *besides):
    """All files, by name; but not the notes of what ran, nor these."""
    found = {}
    for at, _, names in os.walk(path):
        for name in {*names} - {"ran", *besides}:
            with open(os.path.join(at, name)) as f:
                found[os.path.relpath(os.path.join(at, name), path)] = f.read()
    return found


def ran(path):
    """The commands that say so, sorted; and forgets them."""
    try:
        return sorted(open(path + "/ran").read().split())
    except FileNotFoundError:
        return []
    finally:
        open(path + "/ran", "w").close()
