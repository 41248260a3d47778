#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A host with a certificate of the authority that is in no roster holds no connection for long,
however it keeps it busy."""

import os, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster
from ktap import done, ok
from netns import address
from wait import until

PING = http2.frame(6, 0, 0, b"01234567")

c = Cluster(2)
cert = c.certificates("cert", "outsider")
c.start(0, c.conf(0, peers=[0]))
s = http2.connect(c.net, 1, address(0), cert, "outsider")
client = http2.Client(s)
ok("it is refused", client.hello(node="0.1") == 403, c.log(0))
s.settimeout(0.2)
heard = bytearray()


def over():
    """It pings, and asks again: whether the agent has closed the connection."""
    try:
        s.sendall(PING)
        more = s.recv(65536)
    except TimeoutError:
        return False
    except OSError:
        return True
    heard.extend(more)
    return not more


ok("for its pings and questions nothing stays open", until(over), c.log(0))
ok("which had been answered until then", heard.count(b"01234567") > 10, len(heard))
ok("the agent serves others", c.alive(0))
ok("the agent ends", (saw := c.end(0)) == 0, saw)
done()
