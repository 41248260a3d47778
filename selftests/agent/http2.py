# SPDX-License-Identifier: GPL-2.0-or-later
"""As much of HTTP/2 as is needed to be rude to an agent: a client with one request at a time, and a
server."""

import json, socket, ssl, struct, threading

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1

# HPACK's codes of the digits (RFC 7541, appendix B), and its table's statuses.
DIGITS = {
    "00000": "0",
    "00001": "1",
    "00010": "2",
    "011001": "3",
    "011010": "4",
    "011011": "5",
    "011100": "6",
    "011101": "7",
    "011110": "8",
    "011111": "9",
}
STATUSES = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}


def connect(net, i, address, cert=None, host=None, **limits):
    """TLS to node i's neighbour at `address`, from i's namespace. Certificate: directory and
    host."""
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
    fields = [
        (":method", method),
        (":scheme", "https"),
        (":authority", "x"),
        (":path", path),
        *more,
    ]
    return b"".join(b"\0" + text(name) + text(value) for name, value in fields)


def digits(coded, value):
    """The number in a string of at least three digits."""
    if not coded:
        return int(value)
    bits, number = "".join(f"{b:08b}" for b in value), ""
    while len(number) < 3:
        code = next(c for c in DIGITS if bits.startswith(c))
        number, bits = number + DIGITS[code], bits[len(code) :]
    return int(number)


class Client:
    def __init__(self, s):
        self.s = s
        self.stream = -1
        self.table = (
            []
        )  # what the agent's encoder has added, newest first: statuses, None for other fields
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
                value += (block[at] & 0x7F) << shift
                shift += 7
                at += 1
            return value

        def string():
            nonlocal at
            coded, size = block[at] & 0x80, number(7)
            value = block[at : at + size]
            at += size
            return coded, value

        def known(index):
            return STATUSES.get(index) if index < 62 else self.table[index - 62]

        while at < len(block):
            first = block[at]
            if first & 0x80:
                found = known(number(7)) or found
                continue
            if first & 0xE0 == 0x20:  # the table's size
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

    def request(self, *words, **more):
        """Returns status and body; status 0: the stream was reset."""
        self.send(*words, **more)
        return self.answer()

    def send(self, method, path, body=None, more=(), end=True):
        self.stream += 2
        self.s.sendall(
            frame(
                HEADERS,
                END_HEADERS | (END_STREAM if body is None else 0),
                self.stream,
                headers(method, path, more),
            )
        )
        if body is not None:
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
            for at in range(0, len(body) or 1, 16384):
                last = at + 16384 >= len(body)
                self.s.sendall(
                    frame(
                        DATA, END_STREAM if last and end else 0, self.stream, body[at : at + 16384]
                    )
                )

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

    def statuses(self, n):
        """Those of the answers to the last n that were sent."""
        found, ended = {}, set()
        while len(ended) < n:
            kind, flags, stream, payload = self.next()
            if kind == HEADERS:
                found[stream] = self.status(payload)
            if stream > self.stream - 2 * n and (
                kind == RST_STREAM or kind in (HEADERS, DATA) and flags & END_STREAM
            ):
                ended.add(stream)
        return sorted(found[stream] for stream in ended)

    def hello(self, cluster="test", node="0.1", **more):
        return self.request(
            "POST",
            "/v1/hello",
            {
                "cluster": cluster,
                "node": node,
                "version": 1,
                "boot_id": "x",
                "capacity": 1000,
                **more,
            },
        )[0]


class Server:
    """A member that answers as a test likes: agents connect to node i's address. answer(body) gives
    what it says, as bytes or for JSON, or None: nothing. `body` is that of a request, None for a
    GET. Headers are not read: bodies say what is asked for. streams(bytes) does the same for what a
    stream that goes on has said so far."""

    def __init__(self, net, i, address, cert, host, answer, streams=None):
        self.answer, self.streams = answer, streams
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(f"{cert}/{host}.crt", f"{cert}/{host}.key")
        self.context.load_verify_locations(f"{cert}/ca.crt")
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.context.set_alpn_protocols(["h2"])
        with net.enter(i):
            self.s = socket.socket()
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.s.bind((address, 7411))
        self.s.listen(16)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=[self.s.accept()[0]], daemon=True).start()

    def serve(self, s):
        try:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.context.wrap_socket(s, server_side=True) as s:
                h = Served(s)
                while True:
                    h.turn(self.answer, self.streams)
        except (EOFError, OSError, ValueError):  # also of a body that is no JSON
            pass


class Served:
    """One connection of a Server."""

    def __init__(self, s):
        self.s, self.bodies = s, {}
        self.window, self.windows = 65535, {}
        self.initial = 65535
        self.waiting = []  # (stream, what is left of its answer)
        assert self.exactly(len(PREFACE)) == PREFACE
        s.sendall(frame(SETTINGS, 0, 0))

    exactly = Client.exactly
    next = Client.next

    def turn(self, answer, streams=None):
        kind, flags, stream, payload = self.next()
        if kind == SETTINGS and not flags & ACK:
            for at in range(0, len(payload), 6):
                if payload[at : at + 2] == b"\0\4":
                    self.initial = int.from_bytes(payload[at + 2 : at + 6], "big")
            self.s.sendall(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            self.s.sendall(frame(PING, ACK, 0, payload))
        elif kind == WINDOW_UPDATE:
            size = int.from_bytes(payload, "big")
            if stream:
                self.windows[stream] = self.windows.get(stream, 0) + size
            else:
                self.window += size
        elif kind == GOAWAY:
            raise EOFError("GOAWAY")
        elif kind == HEADERS:
            self.bodies[stream] = b""
        elif kind == DATA:
            self.bodies[stream] = self.bodies.get(stream, b"") + payload
            if payload:
                self.s.sendall(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", len(payload))))
        if kind in (HEADERS, DATA) and flags & END_STREAM:
            body = self.bodies.pop(stream)
            self.say(stream, answer(json.loads(body) if body else None))
        elif (
            kind == DATA
            and streams
            and stream in self.bodies
            and self.say(stream, streams(self.bodies[stream]))
        ):
            del self.bodies[stream]
        self.write()

    def say(self, stream, said):
        """Whether this is anything."""
        if said is None:
            return False
        self.s.sendall(frame(HEADERS, END_HEADERS, stream, b"\x88"))
        self.waiting.append(
            (stream, said if isinstance(said, bytes) else json.dumps(said).encode())
        )
        return True

    def write(self):
        left = []
        for stream, said in self.waiting:
            while said:
                room = min(
                    self.window, self.initial + self.windows.get(stream, 0), 16384, len(said)
                )
                if room <= 0:
                    break
                self.window -= room
                self.windows[stream] = self.windows.get(stream, 0) - room
                self.s.sendall(
                    frame(DATA, END_STREAM if room == len(said) else 0, stream, said[:room])
                )
                said = said[room:]
            if said:
                left.append((stream, said))
        self.waiting = left
