#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent believes netlink messages of the kernel only. CAP_NET_ADMIN in its network namespace is
enough to send it others."""

import errno, os, re, socket, struct, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, ok
from proc import links
from wait import until

NETLINK_GENERIC, GENL_ID_CTRL = 16, 16
CTRL_CMD_NEWFAMILY, CTRL_CMD_DELFAMILY, CTRL_ATTR_FAMILY_NAME = 1, 2, 2
NOTIFY = 1 << (GENL_ID_CTRL - 1)  # the group "notify" of the family nlctrl

c = Cluster(1)
c.start(0)
ok("the agent is there", until(lambda: c.up(0) == {"0.0"}), c.log(0))


def ports():
    """Netlink ports of the agent, as the kernel lists them in its network namespace."""
    agent = c.agents[0].pid
    inodes = {
        inode for link in links(agent).values() for inode in re.findall(r"socket:\[(\d+)\]", link)
    }
    rows = [line.split() for line in open(f"/proc/{agent}/net/netlink").readlines()[1:]]
    return [int(row[2]) for row in rows if row[1] == str(NETLINK_GENERIC) and row[9] in inodes]


def forged(command):
    """What the kernel sends when a family comes or goes."""
    name = b"ehsched\0"
    body = (
        struct.pack("=BBH", command, 2, 0)
        + struct.pack("=HH", 4 + len(name), CTRL_ATTR_FAMILY_NAME)
        + name
    )
    return struct.pack("=IHHII", 16 + len(body), GENL_ID_CTRL, 0, 0, 0) + body


with c.net.enter(0):
    forger = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
forger.bind((0, 0))

found = ports()
ok("its netlink sockets", len(found) >= 2 and 0 not in found, found)
for port in found:
    try:
        forger.sendto(forged(CTRL_CMD_DELFAMILY), (port, 0))
        got = "accepted"
    except OSError as e:
        got = errno.errorcode[e.errno]
    ok(f"a message of another process to port {port} is not delivered", got == "ECONNREFUSED", got)

before = len(c.log(0))
for command in CTRL_CMD_NEWFAMILY, CTRL_CMD_DELFAMILY:
    forger.sendto(forged(command), (0, NOTIFY))
sender = forger.getsockname()[0]
ok(
    "one to a group is ignored, with a warning",
    until(lambda: c.log(0)[before:].count(f"ignored a netlink message from port {sender}") == 2),
    c.log(0)[before:],
)
ok("the agent goes on", c.alive(0) and c.end(0) == 0)
done()
