# SPDX-License-Identifier: GPL-2.0-or-later
"""As much of an HTTP/2 client as is needed to be rude to an agent: one request a connection."""

import json, socket, ssl, struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, END_HEADERS, ACK = 1, 4, 1

# HPACK's codes of the digits (RFC 7541, appendix B), and its table's statuses.
DIGITS = {"00000": "0", "00001": "1", "00010": "2", "011001": "3", "011010": "4", "011011": "5",
          "011100": "6", "011101": "7", "011110": "8", "011111": "9"}
STATUSES = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}


def connect(net, i, address, cert=None, host=None, **limits):
    """TLS to node i's neighbour at `address`, from i's namespace. Certificate: folder and host."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(limits.get("alpn", ["h2"]))
    if "maximum" in limits:
        context.minimum_version = context.maximum_version = limits["maximum"]
    if cert:
        context.load_cert_chain(f"{cert}/{host}.crt", f"{cert}/{host}.key")
    with net.enter(i):
        s = socket.socket()
    s.settimeout(15)
    s.connect((address, 7411))
    return context.wrap_socket(s)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def text(value):
    value = value.encode()
    if len(value) < 127:
        return bytes([len(value)]) + value
    rest, out = len(value) - 127, b"\x7f"
    while rest >= 128:
        out, rest = out + bytes([rest % 128 + 128]), rest // 128
    return out + bytes([rest]) + value


def headers(method, path, more=()):
    fields = [(":method", method), (":scheme", "https"), (":authority", "x"), (":path", path), *more]
    return b"".join(b"\0" + text(name) + text(value) for name, value in fields)


def digits(coded, value):
    """The number in a string of at least three digits."""
    if not coded:
        return int(value)
    bits, number = "".join(f"{b:08b}" for b in value), ""
    while len(number) < 3:
        code = next(c for c in DIGITS if bits.startswith(c))
        number, bits = number + DIGITS[code], bits[len(code):]
    return int(number)


class Client:
    def __init__(self, s):
        self.s = s
        self.stream = -1
        self.table = []    # what the agent's encoder has added, newest first: statuses, None for other fields
        s.sendall(PREFACE + frame(SETTINGS, 0, 0))

    def exactly(self, n):
        data = b""
        while len(data) < n:
            more = self.s.recv(n - len(data))
            if not more:
                raise EOFError("closed")
            data += more
        return data

    def next(self):
        head = self.exactly(9)
        length = int.from_bytes(head[:3], "big")
        return head[3], head[4], int.from_bytes(head[5:], "big"), self.exactly(length)

    def status(self, block):
        """The status among a response's fields; the table of the agent's encoder is kept along."""
        found = None
        at = 0

        def number(bits):
            nonlocal at
            most = (1 << bits) - 1
            value, shift, more = block[at] & most, 0, block[at] & most == most
            at += 1
            while more:
                more = block[at] & 0x80
                value += (block[at] & 0x7f) << shift
                shift += 7
                at += 1
            return value

        def string():
            nonlocal at
            coded, size = block[at] & 0x80, number(7)
            value = block[at:at + size]
            at += size
            return coded, value

        def known(index):
            return STATUSES.get(index) if index < 62 else self.table[index - 62]

        while at < len(block):
            first = block[at]
            if first & 0x80:
                found = known(number(7)) or found
                continue
            if first & 0xe0 == 0x20:    # the table's size
                number(5)
                continue
            kept = first & 0x40
            name = number(6 if kept else 4)
            if not name:
                string()
            is_status = bool(name) and known(name) is not None
            value = string()
            value = digits(*value) if is_status else None
            if kept:
                self.table.insert(0, value)
            found = value or found
        return found

    def request(self, method, path, body=None, more=(), end=True):
        """Returns status and body; status 0: the stream was reset."""
        self.stream += 2
        self.s.sendall(frame(HEADERS, END_HEADERS | (END_STREAM if body is None else 0), self.stream,
                             headers(method, path, more)))
        if body is not None:
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
            for at in range(0, len(body) or 1, 16384):
                last = at + 16384 >= len(body)
                self.s.sendall(frame(DATA, END_STREAM if last and end else 0, self.stream,
                                     body[at:at + 16384]))
        return self.answer()

    def answer(self):
        status, content = 0, b""
        while True:
            kind, flags, stream, payload = self.next()
            if kind == SETTINGS and not flags & ACK:
                self.s.sendall(frame(SETTINGS, ACK, 0))
            elif kind == GOAWAY:
                raise EOFError("GOAWAY")
            elif stream != self.stream:
                continue
            elif kind == RST_STREAM:
                return status, content
            elif kind == HEADERS:
                status = self.status(payload)
            elif kind == DATA:
                content += payload
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                return status, content

    def hello(self, cluster="test", node="0.1"):
        return self.request("POST", "/v1/hello", {"cluster": cluster, "node": node, "version": 1,
                                                  "boot_id": "x", "capacity": 1000})[0]
