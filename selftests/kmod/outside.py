# SPDX-License-Identifier: GPL-2.0-or-later
"""outside.py STUB   registers an agent in a network namespace whose user namespace the caller owns but is not in.

The owner has every capability over it from outside too; the socket is opened inside and handed out. Prints the kernel's
answer: "accepted" or the name of the error.
"""
import ctypes
import errno
import os
import socket
import struct
import sys

NETLINK_GENERIC, NLM_F_REQUEST, NLM_F_ACK, GENL_ID_CTRL = 16, 1, 4, 16
CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 3, 1, 2
EHS_CMD_AGENT_REGISTER, EHS_A_AGENT_STUB_FD = 4, 2
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000


def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def ask(sock, family, flags, cmd, attributes):
    body = struct.pack("=BBH", cmd, 1, 0) + attributes
    sock.send(struct.pack("=IHHII", 16 + len(body), family, NLM_F_REQUEST | flags, 1, 0) + body)
    return sock.recv(65536)


def family_id(answer):
    at = 20
    while at < len(answer):
        length, kind = struct.unpack_from("=HH", answer, at)
        if kind == CTRL_ATTR_FAMILY_ID:
            return struct.unpack_from("=H", answer, at + 4)[0]
        at += (length + 3) & ~3
    sys.exit("no family")


here, there = socket.socketpair()
child = os.fork()
if child == 0:
    here.close()
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER | CLONE_NEWNET):
        os._exit(1)
    inside = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    socket.send_fds(there, [b"s"], [inside.fileno()])
    there.recv(1)
    os._exit(0)
there.close()
_, fds, _, _ = socket.recv_fds(here, 1, 1)
sock = socket.socket(fileno=fds[0])
family = family_id(ask(sock, GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY, attribute(CTRL_ATTR_FAMILY_NAME, b"ehsched\0")))
stub = struct.pack("=I", os.open(sys.argv[1], os.O_RDONLY))
answer = ask(sock, family, NLM_F_ACK, EHS_CMD_AGENT_REGISTER, attribute(EHS_A_AGENT_STUB_FD, stub))
code = -struct.unpack_from("=i", answer, 16)[0]
print(errno.errorcode[code] if code else "accepted")
