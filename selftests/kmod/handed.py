# SPDX-License-Identifier: GPL-2.0-or-later
"""handed.py STUB   has ehlaunch register an agent, and writes to the socket that comes, as a
                    set-user-ID program of root may
be made to do. Prints for each message what the kernel answers."""
import os
import socket
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../agent"))
from genl import NLM_F_ACK, ask, attribute, find, said
from launcher import STAGE, Launcher, head
from wait import WAIT

EHS_CMD_NODE_SET, EHS_A_NODE_THRESHOLD_LENGTH, EHS_A_NODE_CLEAR_CGROUPS = 2, 3, 13
TCP_METRICS_CMD_DEL = 2
KERNEL = (0, 0)

launcher = Launcher("--stub", sys.argv[1])
ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
ours.settimeout(WAIT)
launcher.send(head("LAUNCH_KERNEL"), [its.fileno()])
told, fds, _, _ = socket.recv_fds(ours, 4096, 1)
stage, error = struct.unpack_from("@Ii", told)
if stage != STAGE["LAUNCH_READY"] or len(fds) != 1:
    sys.exit(f"not registered: {os.strerror(error)}: {told[12:].rstrip(bytes(1)).decode()}")
sock = socket.socket(fileno=fds[0])
sock.settimeout(WAIT)
family, other = find(sock, b"ehsched"), find(sock, b"tcp_metrics")
length = attribute(EHS_A_NODE_THRESHOLD_LENGTH, struct.pack("=I", 1234))
clear = attribute(EHS_A_NODE_CLEAR_CGROUPS, b"")
print("setting", said(ask(sock, family, NLM_F_ACK, EHS_CMD_NODE_SET, length)))
print("cgroups", said(ask(sock, family, NLM_F_ACK, EHS_CMD_NODE_SET, clear)))
print("cgroups-to-the-kernel", said(ask(sock, family, NLM_F_ACK, EHS_CMD_NODE_SET, clear, KERNEL)))
print("other-family", said(ask(sock, other, NLM_F_ACK, TCP_METRICS_CMD_DEL, b"")))
print(
    "other-family-to-the-kernel",
    said(ask(sock, other, NLM_F_ACK, TCP_METRICS_CMD_DEL, b"", KERNEL)),
)
