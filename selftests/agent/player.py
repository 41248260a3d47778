# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that plays a stub: what it says of its process is not what the kernel does."""

import os, socket, struct
import agent_socket
from frames import FRAME, JOB, frame, read_exactly

LIMITS, TRAITS = 16, 19
UNLIMITED = b"\xff" * 16 * LIMITS  # soft and hard


def job(
    *argv,
    node=b"@0.1",
    path=b"/bin/sh",
    folder=b"/",
    flags=7,
    nice=0,
    login=0xFFFFFFFF,
    rlimits=UNLIMITED
):
    """FRAME_JOB of this command."""
    words = [node, path, folder, *argv, b"PATH=/usr/bin:/bin"]
    text = struct.pack("<10I", 3, flags, 0o22, nice, 0, 0, 0, len(argv), 1, login)
    return frame("FRAME_JOB", text + rlimits + bytes(16 + 8 * TRAITS) + b"\0".join(words) + b"\0")


def link(number, expected, what, body=b""):
    return frame("FRAME_LINK", struct.pack("<QQI", number, expected, what) + body)


def play(s):
    """Plays home's end of a job, without input. Returns what the task writes."""
    number, expected, out = 1, 1, b""
    while True:
        try:
            kind, length = struct.unpack("<II", read_exactly(s, 8))
            payload = read_exactly(s, length)
        except EOFError:
            return out
        if kind == FRAME["FRAME_ATTACHED"]:
            s.sendall(link(0, expected, 0xFFFFFFFF))
        if kind != FRAME["FRAME_LINK"]:
            continue
        got, _, what = struct.unpack("<QQI", payload[:20])
        expected += got == expected
        if what == JOB["JOB_READY"]:
            s.sendall(link(number, expected, JOB["JOB_GO"]))
            number += 1
        if what == JOB["JOB_DATA"]:
            out += payload[22:]
        if what == JOB["JOB_EXIT"]:
            return out


def lie(cluster, before, *argv, **said):
    """What a task of node 0 writes, whose stub is played by a process that has done `before`."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        os.chdir("/")
        with cluster.net.enter(0), socket.socket(socket.AF_UNIX) as s:
            before()
            agent_socket.connect(s)
            s.sendall(job(*argv, **said))
            os.write(writer, play(s))
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as f:
        out = f.read()
    os.waitpid(pid, 0)
    return out
