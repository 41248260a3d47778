# SPDX-License-Identifier: GPL-2.0-or-later
"""The seed of random choices: EHS_SEED, or another number each time."""

import os
import random
import sys


def new_seed(file=None):
    """Prints it, so that the run can be repeated: among the results, unless to `file`."""
    seed = int(os.environ.get("EHS_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"# EHS_SEED={seed}", file=file or sys.stdout, flush=True)
    return seed
