# SPDX-License-Identifier: GPL-2.0-or-later
"""A terminal that is only looked at."""

import fcntl
import os
import struct
import subprocess
import termios


def terminal(*words, columns, locale="C.UTF-8"):
    """What a program shows on a terminal that is so wide."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")} | {
        "LC_ALL": locale
    }
    process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=env)
    os.close(slave)
    text = b""
    try:
        while True:
            more = os.read(master, 4096)
            if not more:
                break
            text += more
    except OSError:  # the last one has closed it
        pass
    process.wait()
    os.close(master)
    return text.decode().replace("\r\n", "\n")
