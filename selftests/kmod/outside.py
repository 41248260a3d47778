# SPDX-License-Identifier: GPL-2.0-or-later
"""outside.py STUB   registers an agent in a network namespace whose user namespace the caller owns
                     but is not in.

The owner has every capability over it from outside too; the socket is opened inside and handed out.
Prints the kernel's answer: "accepted" or the name of the error. """
import ctypes
import os
import socket
import struct
import sys

from genl import NETLINK_GENERIC, NLM_F_ACK, ask, attribute, find, said

EHS_CMD_AGENT_REGISTER, EHS_A_AGENT_STUB_FD = 4, 2
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000

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
family = find(sock, b"ehsched")
stub = struct.pack("=I", os.open(sys.argv[1], os.O_RDONLY))
print(
    said(ask(sock, family, NLM_F_ACK, EHS_CMD_AGENT_REGISTER, attribute(EHS_A_AGENT_STUB_FD, stub)))
)
