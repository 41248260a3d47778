#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of a file that begin at the bytes FIRST to NEXT - 1: a file divided by ranges of bytes
has each line once.
    lines.py FILE FIRST NEXT"""
import sys

first, following = int(sys.argv[2]), int(sys.argv[3])
with open(sys.argv[1], "rb") as f:
    if first:
        f.seek(first - 1)
        f.readline()
    data = b"\n"
    while data and f.tell() < following:
        data = f.read(min(following - f.tell(), 1 << 20))
        sys.stdout.buffer.write(data)
    if not data.endswith(b"\n"):
        sys.stdout.buffer.write(f.readline())
