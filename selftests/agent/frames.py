# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of the local socket and of jobs, as lib/wire/frame.h has them."""

import json, os, re, select, socket, struct, sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tree import TOP


def numbers(header, enum, prefix):
    """Numbers of an enum by name; it begins with 1."""
    text = open(header).read()
    body = re.sub(r"/\*.*?\*/", "", text[text.index(f"enum {enum} {{") :], flags=re.S)
    names = re.findall(rf"\b({prefix}_[A-Z]+)\b", body[: body.index("}")])
    return {name: number + 1 for number, name in enumerate(names)}


FRAME = numbers(f"{TOP}/lib/wire/frame.h", "frame_type", "FRAME")
JOB = numbers(f"{TOP}/lib/job/message.h", "job_what", "JOB")


def frame(name, payload, length=None):
    number = FRAME[name] if isinstance(name, str) else name
    return struct.pack("<II", number, len(payload) if length is None else length) + payload


def read_exactly(s, n):
    data = b""
    while len(data) < n:
        more = s.recv(n - len(data))
        if not more:
            raise EOFError("closed")
        data += more
    return data


def read_frame(s):
    number, length = struct.unpack("<II", read_exactly(s, 8))
    return number, json.loads(read_exactly(s, length))


def gone(s):
    """Whether the other side has closed it; waits for nothing."""
    if not select.select([s], [], [], 0)[0]:
        return False
    try:
        return not s.recv(1)
    except OSError:
        return True


def closed(s):
    """Whether the other side closes; waits for it."""
    try:
        while s.recv(65536):
            pass
        return True
    except (ConnectionResetError, BrokenPipeError):
        return True
    except (TimeoutError, socket.timeout):
        return False
