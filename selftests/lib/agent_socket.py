# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the agent of a network namespace listens: helpers/common/agent_address.h."""

import contextlib, os, socket, struct

FOLDER = "/run/ehsched"
EARLIER = "\0ehsched"  # where only what has begun already may come back
SO_NETNS_COOKIE = 71  # asm-generic/socket.h


def path(s, folder=FOLDER):
    """For a socket that was made in the agent's network namespace."""
    (cookie,) = struct.unpack("Q", s.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8))
    return f"{folder}/agent.{cookie}"


def connect(s):
    s.connect(path(s))


def listen(s, backlog=64):
    """As the agent, in place of one that did."""
    os.makedirs(FOLDER, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path(s))
    s.bind(path(s))
    os.chmod(path(s), 0o666)
    s.listen(backlog)
