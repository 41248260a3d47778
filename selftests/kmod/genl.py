# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of generic netlink, for programs that need more of the socket than nl has."""
import errno
import struct
import sys

NETLINK_GENERIC, NLM_F_REQUEST, NLM_F_ACK, GENL_ID_CTRL = 16, 1, 4, 16
CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 3, 1, 2


def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def message(family, flags, cmd, attributes):
    body = struct.pack("=BBH", cmd, 1, 0) + attributes
    return struct.pack("=IHHII", 16 + len(body), family, NLM_F_REQUEST | flags, 1, 0) + body


def ask(sock, family, flags, cmd, attributes, to=None):
    """`to`: the address; None: without one."""
    what = message(family, flags, cmd, attributes)
    if to is None:
        sock.send(what)
    else:
        sock.sendto(what, to)
    return sock.recv(65536)


def family_id(answer):
    at = 20
    while at < len(answer):
        length, kind = struct.unpack_from("=HH", answer, at)
        if kind == CTRL_ATTR_FAMILY_ID:
            return struct.unpack_from("=H", answer, at + 4)[0]
        at += (length + 3) & ~3
    sys.exit("no family")


def find(sock, name):
    return family_id(
        ask(
            sock,
            GENL_ID_CTRL,
            0,
            CTRL_CMD_GETFAMILY,
            attribute(CTRL_ATTR_FAMILY_NAME, name + b"\0"),
        )
    )


def said(answer):
    """ "accepted" or the name of the error."""
    code = -struct.unpack_from("=i", answer, 16)[0]
    return errno.errorcode[code] if code else "accepted"
