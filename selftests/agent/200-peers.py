#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hosts are let in, what strangers and rude peers get, and how agents find and lose each
other."""

import os, signal, socket, ssl, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster, STRANGERS
from frames import closed, gone
from ktap import done, ok
from netns import address
from wait import until

c = Cluster(3)
cert = os.path.join(c.dir, "cert")
other = c.certificates("other", "n1")
c.certificates("cert", "stranger")
c.certificates("strange", "n2")


def refused(cert=None, host=None, **limits):
    """Whether nothing is served: the handshake fails, or the connection closes at once."""
    try:
        s = http2.connect(c.net, 1, address(0), cert, host, **limits)
        return http2.Client(s).hello() == 0
    except (OSError, EOFError):
        return True


def client(node=1):
    return http2.Client(http2.connect(c.net, node, address(0), cert, f"n{node}"))


c.start(0)
ok("no certificate: refused", refused())
ok(
    "and logged with the address",
    c.logged(0, r"refused 10\.77\.0\.2:\d+ \(CN unknown\): TLS: peer did not return a certificate"),
    c.log(0),
)
ok("a certificate of another authority: refused", refused(other, "n1"))
ok(
    "and logged with address, CN and reason",
    c.logged(0, r"refused 10\.77\.0\.2:\d+ \(CN n1\): certificate refused: "),
    c.log(0),
)
stranger = http2.Client(http2.connect(c.net, 1, address(0), cert, "stranger"))
ok("a CN that is not in the roster: 403", (saw := stranger.hello()) == 403, saw)
ok(
    "and logged",
    c.logged(0, r"refused 10\.77\.0\.2:\d+ \(CN stranger\): not in the roster"),
    c.log(0),
)
ok("it is served nothing", (saw := stranger.request("GET", "/v1/nodes")[0]) == 403, saw)
ok("TLS 1.2: refused", refused(cert, "n1", maximum=ssl.TLSVersion.TLSv1_2))
ok("HTTP/1.1: refused", refused(cert, "n1", alpn=["http/1.1"]))

ok("before the hello: 403", (saw := client().request("GET", "/v1/nodes")[0]) == 403, saw)
ok("another cluster's name: 403", (saw := client().hello(cluster="elsewhere")) == 403, saw)
ok(
    "and logged",
    c.logged(0, r"refused .*\(CN n1\): it is node 0\.1 of cluster elsewhere"),
    c.log(0),
)
ok(
    "a node code that is not the certificate's: 403",
    (saw := client().hello(node="0.2")) == 403,
    saw,
)
h = client()
ok("a good hello: 200", (saw := h.hello()) == 200, saw)
status, body = h.request("GET", "/v1/nodes")
ok("then requests are served", status == 200 and b'"code":"0.0"' in body, (status, body))
ok("an unknown path: 404", (saw := h.request("GET", "/v1/nothing")[0]) == 404, saw)
ok("a very long path: 404", (saw := h.request("GET", "/" + "x" * 3000)[0]) == 404, saw)
ok("the wrong method: 405", (saw := h.request("POST", "/v1/nodes", {})[0]) == 405, saw)
for body in b"", b"{", b"[]", b'{"a":1,"a":2}', b"\xff\xfe", b"[" * 100000:
    ok(f"body {body[:12]}: 400", (saw := h.request("POST", "/v1/control", body)[0]) == 400, saw)
good = {
    "type": "report",
    "level": 1,
    "load": 0,
    "threshold": 0,
    "length": 0,
    "floor": 0,
    "capacity": 1000,
    "nodes": 1,
    "rule": {"epoch": 0, "load": 0, "capacity": 0},
    "best": [{"node": "0.1", "load": 0, "threshold": 0, "length": 0}],
    "seen": [7],
}
ok("a report: 200", (saw := h.request("POST", "/v1/control", good)[0]) == 200, saw)
for name in good:
    for value in None, -1, "x", 1 << 62, [None], {"epoch": -1}:
        if name in ("best", "seen", "rule") and (value is None or type(value) != type(good[name])):
            continue  # as good as not there
        if h.request("POST", "/v1/control", {**good, name: value})[0] != 400:
            ok(f"a report with {name} = {value}: 400", False)
            break
    else:
        ok(f"a report with a bad {name}: 400", True)
ask = {
    "type": "ask",
    "level": 1,
    "id": 3,
    "size": 1000,
    "home": "0.1",
    "at_home": {"load": 9000, "capacity": 1000},
}
for bad in (
    {"type": "asks"},
    {"level": 0},
    {"level": 9},
    {"id": "3"},
    {"home": "0.9"},
    {"home": None},
    {"at_home": {}},
    {"tried": ["0"]},
    {"tried": ["0.1"] * 17},
    {"route": ["0.1"] * 22},
    {"path": [{"level": 1}]},
    {"type": "redirect"},
    {"type": "answer"},
    {"type": "failed", "to": "x"},
):
    status = h.request("POST", "/v1/control", {**ask, **bad})[0]
    ok(f"an ask with {bad}: 400", status == 400, status)
ok("drain with 3: 400", (saw := h.request("POST", "/v1/drain", {"draining": 3})[0]) == 400, saw)
ok(
    "a body above 1 MiB: 413",
    (saw := h.request("POST", "/v1/control", b" " * (1 << 20) + b"{}")[0]) == 413,
    saw,
)
big = [(f"x-{i}", "v" * 500) for i in range(30)]
try:
    status = client().request("GET", "/v1/nodes", more=big)[0]
except EOFError:
    status = 0
ok("headers of 16 KiB: the stream is reset", status == 0)
ok("the connection outlived all that", (saw := h.request("GET", "/v1/nodes")[0]) == 200, saw)

s = http2.connect(c.net, 1, address(0), cert, "n1")
s.sendall(os.urandom(4096))
ok("garbage within TLS: closed", closed(s))
h = client()
h.hello()
h.s.sendall(http2.frame(http2.DATA, 0, 0, b"on stream 0"))
ok("a protocol error: closed", closed(h.s))
with c.net.enter(1):
    s = socket.socket()
s.settimeout(15)
s.connect((address(0), 7411))
s.sendall(b"GET / HTTP/1.0\r\n\r\n")
ok("garbage on the TLS port: closed", closed(s))
ok(
    "for what it said",
    c.logged(0, r"refused 10\.77\.0\.2:\d+ \(CN unknown\): TLS: http request"),
    c.log(0)[-1500:],
)
crowd = []
for i in range(300):
    with c.net.enter(1):
        s = socket.socket()
    s.connect((address(0), 7411))
    crowd.append(s)
ok(f"300 silent connections cost little ({c.memory(0)} KiB)", (saw := c.memory(0)) < 40960, saw)
# by the rule for sources or by that for strangers: this depends on how fast those before came
ok(
    "but for a few all are closed",
    until(lambda: sum(map(gone, crowd)) >= len(crowd) - STRANGERS),
    c.log(0)[-2000:],
)
ok("and the agent answers", c.alive(0))
for s in crowd:
    s.close()

c.start(1)
c.start(2)
ok("three agents find each other", c.all_up(range(3)), c.log(0))
ok("0.0 is the controller", until(lambda: c.status(2)["controller"] == "0.0"))
c.agents[1].send_signal(signal.SIGSTOP)
ok("a silent one is noticed", c.logged(0, r"0\.1 \(n1\) left group 0"), c.log(0))
ok("status says that it is down", until(lambda: c.up(2) == {"0.0", "0.2"}))
c.agents[1].send_signal(signal.SIGCONT)
ok("and is back when it speaks again", c.all_up(range(3)), c.log(0))
c.end(0, signal.SIGKILL)
ok(
    "0.1 follows as controller",
    until(lambda: c.status(2)["controller"] == "0.1"),
    c.log(2),
)
ok("and knows the others", c.all_up([1, 2]), c.log(1))
c.start(0)
ok(
    "0.0 is it again when it is back",
    c.all_up(range(3)) and until(lambda: c.status(2)["controller"] == "0.0"),
    c.log(0),
)

c.end(2)
c.start(2, c.conf(2, cluster="elsewhere"))
ok(
    "an agent of another cluster is refused",
    c.logged(0, "of cluster elsewhere, not node 0.2 of cluster test"),
    c.log(0),
)
ok("and says why", c.logged(2, "no connection to 0.0 .*it refused this node"), c.log(2))
c.end(2)
c.conf(2, cert=os.path.join(c.dir, "strange"))
c.start(2, os.path.join(c.dir, "n2.conf"))
ok(
    "a server of another authority is refused",
    c.logged(0, r"no connection to 0\.2 .*certificate refused"),
    c.log(0),
)
c.end(2)
conf = c.conf(2, host="stranger")
c.start(2, conf)
ok(
    "a server with another host's certificate is refused",
    c.logged(0, r"no connection to 0\.2 .*certificate belongs to another host"),
    c.log(0),
)
ok("the others go on", c.all_up([0, 1]))
done()
