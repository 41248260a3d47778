#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Who is let in, what strangers and rude peers get, and how agents find and lose each other."""

import os, signal, socket, ssl, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import http2
from cluster import Cluster, Tap, address, closed, until

tap = Tap()
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
tap.ok(refused(), "no certificate: refused")
tap.ok(c.logged(0, r"refused 10\.77\.0\.2:\d+ \(CN unknown\): TLS: peer did not return a certificate"),
       "and logged with the address", c.log(0))
tap.ok(refused(other, "n1"), "a certificate of another authority: refused")
tap.ok(c.logged(0, r"refused 10\.77\.0\.2:\d+ \(CN n1\): certificate refused: "),
       "and logged with address, CN and reason", c.log(0))
stranger = http2.Client(http2.connect(c.net, 1, address(0), cert, "stranger"))
tap.ok(stranger.hello() == 403, "a CN that is not in the roster: 403")
tap.ok(c.logged(0, r"refused 10\.77\.0\.2:\d+ \(CN stranger\): not in the roster"), "and logged", c.log(0))
tap.ok(stranger.request("GET", "/v1/nodes")[0] == 403, "it is served nothing")
tap.ok(refused(cert, "n1", maximum=ssl.TLSVersion.TLSv1_2), "TLS 1.2: refused")
tap.ok(refused(cert, "n1", alpn=["http/1.1"]), "HTTP/1.1: refused")

tap.ok(client().request("GET", "/v1/nodes")[0] == 403, "before the hello: 403")
tap.ok(client().hello(cluster="elsewhere") == 403, "another cluster's name: 403")
tap.ok(c.logged(0, r"refused .*\(CN n1\): it is node 0\.1 of cluster elsewhere"), "and logged", c.log(0))
tap.ok(client().hello(node="0.2") == 403, "a node code that is not the certificate's: 403")
h = client()
tap.ok(h.hello() == 200, "a good hello: 200")
status, body = h.request("GET", "/v1/nodes")
tap.ok(status == 200 and b'"code":"0.0"' in body, "then requests are served", (status, body))
tap.ok(h.request("GET", "/v1/nothing")[0] == 404, "an unknown path: 404")
tap.ok(h.request("GET", "/" + "x" * 3000)[0] == 404, "a very long path: 404")
tap.ok(h.request("POST", "/v1/nodes", {})[0] == 405, "the wrong method: 405")
for body in b"", b"{", b"[]", b'{"a":1,"a":2}', b"\xff\xfe", b"[" * 100000:
    tap.ok(h.request("POST", "/v1/control", body)[0] == 400, f"body {body[:12]}: 400")
good = {"type": "report", "level": 1, "load": 0, "threshold": 0, "length": 0, "floor": 0, "capacity": 1000, "nodes": 1,
        "rule": {"epoch": 0, "load": 0, "capacity": 0}, "best": [{"node": "0.1", "load": 0, "threshold": 0, "length": 0}],
        "seen": [7]}
tap.ok(h.request("POST", "/v1/control", good)[0] == 200, "a report: 200")
for name in good:
    for value in None, -1, "x", 1 << 62, [None], {"epoch": -1}:
        if name in ("best", "seen", "rule") and (value is None or type(value) != type(good[name])):
            continue    # as good as not there
        if h.request("POST", "/v1/control", {**good, name: value})[0] != 400:
            tap.ok(False, f"a report with {name} = {value}: 400")
            break
    else:
        tap.ok(True, f"a report with a bad {name}: 400")
ask = {"type": "ask", "level": 1, "id": 3, "size": 1000, "home": "0.1", "at_home": {"load": 9000, "capacity": 1000}}
for bad in ({"type": "asks"}, {"level": 0}, {"level": 9}, {"id": "3"}, {"home": "0.9"}, {"home": None}, {"at_home": {}},
            {"tried": ["0"]}, {"tried": ["0.1"] * 17}, {"route": ["0.1"] * 22}, {"path": [{"level": 1}]},
            {"type": "redirect"}, {"type": "answer"}, {"type": "failed", "to": "x"}):
    status = h.request("POST", "/v1/control", {**ask, **bad})[0]
    tap.ok(status == 400, f"an ask with {bad}: 400", status)
tap.ok(h.request("POST", "/v1/drain", {"draining": 3})[0] == 400, "drain with 3: 400")
tap.ok(h.request("POST", "/v1/control", b" " * (1 << 20) + b"{}")[0] == 413, "a body above 1 MiB: 413")
big = [(f"x-{i}", "v" * 500) for i in range(30)]
try:
    status = client().request("GET", "/v1/nodes", more=big)[0]
except EOFError:
    status = 0
tap.ok(status == 0, "headers of 16 KiB: the stream is reset")
tap.ok(h.request("GET", "/v1/nodes")[0] == 200, "the connection outlived all that")

s = http2.connect(c.net, 1, address(0), cert, "n1")
s.sendall(os.urandom(4096))
tap.ok(closed(s), "garbage within TLS: closed")
h = client()
h.hello()
h.s.sendall(http2.frame(http2.DATA, 0, 0, b"on stream 0"))
tap.ok(closed(h.s), "a protocol error: closed")
with c.net.enter(1):
    s = socket.socket()
s.settimeout(15)
s.connect((address(0), 7411))
s.sendall(b"GET / HTTP/1.0\r\n\r\n")
tap.ok(closed(s), "garbage on the TLS port: closed")
crowd = []
for i in range(300):
    with c.net.enter(1):
        s = socket.socket()
    s.connect((address(0), 7411))
    crowd.append(s)
tap.ok(c.memory(0) < 40960, f"300 silent connections cost little ({c.memory(0)} KiB)")
tap.ok(c.logged(0, "too many"), "most are closed", c.log(0))
tap.ok(c.alive(0), "and the agent answers")
for s in crowd:
    s.close()

c.start(1)
c.start(2)
tap.ok(c.all_up(range(3)), "three agents find each other", c.log(0))
tap.ok(until(lambda: c.ask(2, {"command": "status"})["controller"] == "0.0"), "0.0 is the controller")
c.agents[1].send_signal(signal.SIGSTOP)
tap.ok(c.logged(0, r"0\.1 \(n1\) left group 0"), "a silent one is noticed", c.log(0))
tap.ok(until(lambda: c.up(2) == {"0.0", "0.2"}), "status says that it is down")
c.agents[1].send_signal(signal.SIGCONT)
tap.ok(c.all_up(range(3)), "and is back when it speaks again", c.log(0))
c.end(0, signal.SIGKILL)
tap.ok(until(lambda: c.ask(2, {"command": "status"})["controller"] == "0.1"), "0.1 follows as controller",
       c.log(2))
tap.ok(c.all_up([1, 2]), "and knows the others", c.log(1))
c.start(0)
tap.ok(c.all_up(range(3)) and until(lambda: c.ask(2, {"command": "status"})["controller"] == "0.0"),
       "0.0 is it again when it is back", c.log(0))

c.end(2)
c.start(2, c.conf(2, cluster="elsewhere"))
tap.ok(c.logged(0, "of cluster elsewhere, not node 0.2 of cluster test"), "an agent of another cluster is refused",
       c.log(0))
tap.ok(c.logged(2, "no connection to 0.0 .*it refused this node"), "and says why", c.log(2))
c.end(2)
c.conf(2, cert=os.path.join(c.dir, "strange"))
c.start(2, os.path.join(c.dir, "n2.conf"))
tap.ok(c.logged(0, r"no connection to 0\.2 .*certificate refused"), "a server of another authority is refused",
       c.log(0))
c.end(2)
conf = c.conf(2, host="stranger")
c.start(2, conf)
tap.ok(c.logged(0, r"no connection to 0\.2 .*certificate belongs to another host"),
       "a server with another host's certificate is refused", c.log(0))
tap.ok(c.all_up([0, 1]), "the others go on")
tap.done()
