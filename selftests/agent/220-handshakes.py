#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a connection costs before its host is known: no group of numbers that takes a hundred times
as long, and not more than a small part of each turn of the agent's loop, whatever comes in the
records of TLS."""

import ctypes, os, socket, struct, sys, threading

sys.path.append(os.path.join(sys.path[0], "../lib"))
from client_hello import client_hello
from cluster import Cluster
from frames import frame, read_frame
from ktap import done, ok
from netns import address

# seconds of processor time: a hundred times as much as a turn takes, as this program may have to
# wait, too
TURN = 0.3
ALERT, HANDSHAKE = 21, 22

c = Cluster(3, "heartbeat = 20000")  # so that nothing ends while records are made
c.start(0)


def spent():
    """Seconds of processor time that the agent has had."""
    return int(open(f"/proc/{c.agents[0].pid}/schedstat").read().split()[0]) / 1e9


def connect():
    with c.net.enter(2):
        s = socket.socket()
    s.settimeout(30)
    s.connect((address(0), 7411))
    return s


# ---- whose numbers are large ----


def answer(group, share):
    """The kind of record that the agent answers with."""
    with connect() as s:
        said = client_hello(group, share)
        s.sendall(struct.pack(">BHH", HANDSHAKE, 0x301, len(said)) + said)
        return s.recv(1)[0]


# any number is a share of ffdhe, and costs who sends it nothing
ok("X25519 is taken", answer(29, os.urandom(32)) == HANDSHAKE, c.log(0)[-500:])
for name, group, size in (
    ("ffdhe2048", 0x100, 256),
    ("ffdhe4096", 0x102, 512),
    ("ffdhe8192", 0x104, 1024),
):
    before = spent()
    ok(f"{name} is refused", (saw := answer(group, os.urandom(size))) == ALERT, saw)
    ok(f"{name}: it was not computed", spent() - before < TURN / 3, spent() - before)

# ---- who keeps libssl reading ----


def longest(during):
    """The most processor time that the agent took to answer a question while this was done."""
    thread, most, n = threading.Thread(target=during, daemon=True), 0, 0
    with c.connect(0) as asks:
        thread.start()
        while thread.is_alive() or n < 3:
            before = spent()
            asks.sendall(frame("FRAME_REQUEST", b'{"command":"owner"}'))
            read_frame(asks)
            most, n = max(most, spent() - before), n + 1
    print(f"# {n} answers, {most:.3f} s")
    return most


def push(s, data):
    try:
        s.sendall(data)
        return True
    except OSError:
        return False


# A message may have 128 KiB, and each of its bytes a record of its own.
pieces = b"".join(
    struct.pack(">BHHB", HANDSHAKE, 0x301, 1, byte) for byte in b"\1\1\xff\xff" + bytes(130000)
)
crowd = [connect() for i in range(2)]
threads = [threading.Thread(target=push, args=(s, pieces)) for s in crowd]


def all_push():
    for t in threads:
        t.start()
    for t in threads:
        t.join()


ok("hellos in records of a byte: others have their turn", (saw := longest(all_push)) < TURN, saw)
for s in crowd:
    s.close()

# After the handshake, a certificate that is in no roster will do: new keys, again and again.
ssl, crypto = ctypes.CDLL("libssl.so.3"), ctypes.CDLL("libcrypto.so.3")
for name in "SSL_CTX_new", "SSL_new", "TLS_client_method", "BIO_new", "BIO_s_mem":
    getattr(crypto if name.startswith("BIO") else ssl, name).restype = ctypes.c_void_p
P, N = ctypes.c_void_p, ctypes.c_int
for name, types in {
    "SSL_CTX_new": [P],
    "SSL_CTX_use_certificate_file": [P, ctypes.c_char_p, N],
    "SSL_CTX_use_PrivateKey_file": [P, ctypes.c_char_p, N],
    "SSL_new": [P],
    "SSL_set_bio": [P, P, P],
    "SSL_set_alpn_protos": [P, ctypes.c_char_p, N],
    "SSL_set_connect_state": [P],
    "SSL_do_handshake": [P],
    "SSL_write": [P, ctypes.c_char_p, N],
    "SSL_key_update": [P, N],
}.items():
    getattr(ssl, name).argtypes = types
crypto.BIO_new.argtypes = [P]
crypto.BIO_read.argtypes = crypto.BIO_write.argtypes = [P, ctypes.c_char_p, N]
room = ctypes.create_string_buffer(1 << 16)


class Tls:
    """The side that connects, with what it writes in memory."""

    def __init__(self, s, folder, host):
        context = ssl.SSL_CTX_new(ssl.TLS_client_method())
        assert ssl.SSL_CTX_use_certificate_file(context, f"{folder}/{host}.crt".encode(), 1) == 1
        assert ssl.SSL_CTX_use_PrivateKey_file(context, f"{folder}/{host}.key".encode(), 1) == 1
        self.s, self.ssl = s, ssl.SSL_new(context)
        self.came, self.goes = (crypto.BIO_new(crypto.BIO_s_mem()) for i in range(2))
        ssl.SSL_set_bio(self.ssl, self.came, self.goes)
        ssl.SSL_set_alpn_protos(self.ssl, b"\2h2", 3)
        ssl.SSL_set_connect_state(self.ssl)
        while ssl.SSL_do_handshake(self.ssl) != 1:
            s.sendall(self.written())
            data = s.recv(65536)
            crypto.BIO_write(self.came, data, len(data))

    def written(self):
        data = b""
        while (n := crypto.BIO_read(self.goes, room, len(room))) > 0:
            data += room.raw[:n]
        return data

    def say(self, data):
        ssl.SSL_write(self.ssl, data, len(data))
        return self.written()

    def update(self):
        assert ssl.SSL_key_update(self.ssl, 0) == 1 and ssl.SSL_do_handshake(self.ssl) == 1


tls = Tls(connect(), c.certificates("cert", "outsider"), "outsider")
tls.s.sendall(tls.say(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\4" + bytes(5)))
updates = []
for i in range(40000):
    tls.update()
    if i % 1000 == 999:
        updates.append(tls.written())
last = tls.say(bytes([0, 0, 8, 6, 0, 0, 0, 0, 0]) + b"last one")  # a PING
took = []
ok(
    "new keys without an end: others have their turn",
    (saw := longest(lambda: took.append(push(tls.s, b"".join(updates) + last)))) < TURN,
    saw,
)
ok("and all of them were taken", took == [True] and c.alive(0), c.log(0)[-500:])
ok("the agent ends", (saw := c.end(0)) == 0, saw)
done()
