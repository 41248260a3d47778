# SPDX-License-Identifier: GPL-2.0-or-later
"""The first message of TLS, by hand."""

import os, struct


def client_hello(group, share):
    """A ClientHello of TLS 1.3 with a share for this group only."""

    def extension(kind, data):
        return struct.pack(">HH", kind, len(data)) + data

    def vector(data, size=2):
        return len(data).to_bytes(size, "big") + data

    more = b"".join(
        [
            extension(10, vector(struct.pack(">H", group))),
            extension(13, vector(struct.pack(">3H", 0x0403, 0x0804, 0x0807))),
            extension(16, vector(vector(b"h2", 1))),
            extension(43, vector(struct.pack(">H", 0x0304), 1)),
            extension(51, vector(struct.pack(">H", group) + vector(share))),
        ]
    )
    body = (
        b"\3\3"
        + os.urandom(32)
        + vector(os.urandom(32), 1)
        + vector(b"\x13\1")
        + b"\1\0"
        + vector(more)
    )
    return b"\1" + vector(body, 3)
