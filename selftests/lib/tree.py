# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the project and its build are, and how tests call programs."""

import os
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("EHS_BUILD", "build"))
# public instances and graphs that some tests read, when they are there
DATA = os.path.join(TOP, os.environ.get("EHS_DATA", "../shared/data"))


def run(*command, **how):
    """A program's status and output; it is ended when it hangs."""
    how.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(
        command,
        timeout=300,
        check=False,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    )
