#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A member that opens as many streams as it can, sends as much as it can on each, and reads
nothing: the agent's memory has a bound, the tasks of others go on, and operators see who it is,
what it holds and what was refused."""

import json, os, re, struct, subprocess, sys, threading

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from bodies import place
from cluster import Cluster
from commands import STUB
from frames import FRAME
from ktap import done, ok
from netns import address
from wait import WAIT, until

STREAMS, MEMORY = 64, 2  # peer-streams; peer-memory, MiB
BOUND = (MEMORY + 14) << 10  # KiB: docs/security.md, "Memory for one host"
GUESTS = 16
NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE

c = Cluster(
    3,
    (
        f"heartbeat = 5000\nheadroom = 0\nguests = {GUESTS}\nlease = 60000\n"
        f"peer-streams = {STREAMS}\npeer-memory = {MEMORY}"
    ),
)
cert = os.path.join(c.dir, "cert")
for i in 0, 1:
    c.start(i)
ok("two honest agents", c.all_up([0, 1]), c.log(0)[-1000:])

# ---- what honest members do meanwhile ----

over, done_at, failures = threading.Event(), {0: 0, 1: 0}, []


def work(home):
    """Tasks of this home on the other, one after the other; each reads and writes more than a
    window."""
    while not over.is_set():
        p = c.popen(home, [STUB, f"@{c.code(1 - home)}", "/bin/cat", "cat"], stdin=PIPE, text=False)
        out, err = p.communicate(b"x" * 300000, timeout=WAIT)
        if p.returncode or len(out) != 300000:
            failures.append((home, p.returncode, len(out), err))
        done_at[home] += 1


threads = [threading.Thread(target=work, args=(home,), daemon=True) for home in (0, 1)]
for t in threads:
    t.start()


def others_go_on():
    """Each home has had another two tasks done since, the first of which may have begun before."""
    before = dict(done_at)
    return until(lambda: all(done_at[i] >= before[i] + 2 for i in (0, 1))) and not failures


ok("their tasks run", others_go_on(), failures)
before = c.memory(0)
most = [0]


def grown():
    most[0] = max(most[0], c.memory(0) - before)
    return most[0]


# ---- the other one ----


class Rude:
    """A connection on which nothing is read but what settle() reads."""

    def __init__(self, window=65535):
        self.h = http2.Client(http2.connect(c.net, 2, address(0), cert, "n2"))
        assert self.h.hello(node="0.2") == 200
        self.statuses, self.resets = {}, {}
        if window != 65535:
            self.send(http2.frame(http2.SETTINGS, 0, 0, struct.pack(">HI", 4, window)))

    def send(self, data):
        """False: the agent has closed it, or takes no more."""
        try:
            self.h.s.sendall(data)
            return True
        except OSError:
            return False

    def open(self, path, body=b"", method="POST", end=False):
        self.h.stream += 2
        self.send(
            http2.frame(
                http2.HEADERS,
                http2.END_HEADERS | (http2.END_STREAM if end else 0),
                self.h.stream,
                http2.headers(method, path),
            )
        )
        self.more(self.h.stream, body)
        return self.h.stream

    def more(self, stream, body):
        for at in range(0, len(body), 16384):
            if not self.send(http2.frame(http2.DATA, 0, stream, body[at : at + 16384])):
                return False
        return True

    def settle(self):
        """Reads what the agent has said until now."""
        self.send(http2.frame(http2.PING, 0, 0, b"settled!"))
        try:
            while True:
                kind, flags, stream, payload = self.h.next()
                if kind == http2.HEADERS:
                    self.statuses[stream] = self.h.status(payload)
                elif kind == http2.RST_STREAM:
                    self.resets[stream] = int.from_bytes(payload, "big")
                elif (
                    kind == http2.GOAWAY
                    or kind == http2.PING
                    and flags & http2.ACK
                    and payload == b"settled!"
                ):
                    return self
        except (EOFError, OSError):
            return self

    def close(self):
        self.h.s.close()


def crowd(what, make, n=4):
    """The rude ones, when the agent has heard them."""
    made = [make() for i in range(n)]
    ok(f"with {what}, the agent has grown by {grown()} KiB", grown() < BOUND, f"bound: {BOUND} KiB")
    ok(f"with {what}, tasks of others go on", others_go_on(), failures)
    return made


def end(made):
    for r in made:
        r.close()


def quotas():
    """What operators see: the limits, and {host: what it has}."""
    said = c.status(0)["quotas"]
    return said, {one["host"]: one for one in said["peers"]}


def doctor():
    """The check of the rude one."""
    found = json.loads(c.ehctl(0, "doctor", "--json").stdout)["checks"]
    return next((check for check in found if check["name"] == "quota 0.2"), None)


limits, peers = quotas()
ok("the limits are shown", (limits["streams"], limits["memory"]) == (STREAMS, MEMORY << 20), limits)
ok(
    "nothing was refused yet",
    all(not any(p["refused"].values()) and "refused_seconds" not in p for p in peers.values()),
    peers,
)

# Streams for files of a view that some agent before this one had: they wait for its keeper, each
# with a window of bytes.

head = struct.pack("<IIII", 1000, 0, 1, 0) + b"0" * 32


def files():
    r = Rude()
    for k in range(500):
        r.open("/v1/files", head + bytes(60000))
    return r.settle()


made = crowd("files that nobody serves", files)
kept = sum(
    500 - len(r.settle().resets) for r in made
)  # on a slow machine the first ones have ended
ok(f"{STREAMS} streams are kept at most, on all its connections together", kept <= STREAMS, kept)
ok(
    "the log says it with the host's name",
    c.logged(0, r"n2: \d+ (streams|requests) refused"),
    c.log(0)[-1000:],
)
rude = quotas()[1].get("n2")
ok(
    "what was refused is shown",
    rude
    and rude["node"] == "0.2"
    and rude["refused"]["streams"] + rude["refused"]["memory"]
    >= sum(len(r.resets) for r in made)
    > 0
    and rude["refused_seconds"] >= 0,
    (rude, [len(r.resets) for r in made]),
)
check = doctor()
ok(
    "`ehctl doctor` warns of it",
    check
    and check["level"] == "warning"
    and check["host"] == "n2"
    and re.search(
        (
            rf"n2 has \d+ of {STREAMS} streams, .* of {MEMORY} MiB; it was refused \d+ times, .*"
            r" (streams|memory)"
        ),
        check["what"],
    ),
    check,
)
end(made)


def all_given_back():
    """None of its connections is left, and what was refused is still known."""
    now = quotas()[1].get("n2", {})
    return (
        now
        and not (now["streams"] or now["memory"])
        and all(now["refused"][k] >= n for k, n in rude["refused"].items())
    )


ok("what it held is given back, and what was refused stays known", until(all_given_back), quotas())

# Jobs that are never whole.


def reserve(h, k):
    return json.loads(
        h.request(
            "POST",
            "/v1/reserve",
            place(f"0.2:{k}"),
        )[1]
    )


def metrics():
    """{(what, limit): number} of the rude one, and the text."""
    text = c.ehctl(0, "metrics", "--once").stdout
    return {
        (name, limit): float(value)
        for name, limit, value in re.findall(
            r'^ehsched_peer_(\w+)\{node="0\.0",host="n0",peer="n2"(?:,limit="(\w+)")?\} (\S+)$',
            text,
            re.M,
        )
    }, text


def held():
    """What the rude one holds, as operators see it: of its three jobs."""
    now, (numbers, _) = quotas()[1].get("n2", {}), metrics()
    return (
        now.get("streams") == 3
        and now["memory"] >= 3 * 16000
        and "has 3 of" in doctor()["what"]
        and (
            numbers.get(("open_streams", "")) == 3
            and numbers.get(("held_bytes", ""), 0) >= 3 * 16000
        )
    )


made = [Rude()]
for k in range(3):
    reserve(made[0].h, 100 + k)
for k in range(3):  # of each only the first bytes come
    made[0].open("/v1/job", struct.pack("<II", FRAME["FRAME_JOB"], 8 << 20) + bytes(16000))
made[0].settle()
ok(
    "what it holds is shown by status, doctor and metrics",
    until(held),
    (quotas(), doctor(), metrics()[1]),
)
numbers, text = metrics()
now = quotas()[1]["n2"]["refused"]
ok(
    "metrics have what was refused",
    all(numbers.get(("refused_requests_total", k)) == n for k, n in now.items()),
    (now, text),
)
ok(
    "and the limits",
    re.search(rf'^ehsched_peer_limit_streams\{{node="0\.0",host="n0"\}} {STREAMS}$', text, re.M)
    and re.search(rf"^ehsched_peer_limit_bytes\{{.*\}} {MEMORY << 20}$", text, re.M),
    text,
)
end(made)
ok("and given back when it is gone", until(all_given_back), quotas())


def jobs():
    r = Rude()
    for k in range(GUESTS):
        reserve(r.h, k)
    streams = [
        r.open("/v1/job", struct.pack("<II", FRAME["FRAME_JOB"], 8 << 20)) for k in range(GUESTS)
    ]
    for part in range(5 << 4):  # windows are opened again as long as it takes in more
        for stream in streams:
            r.more(stream, bytes(16384) * 4)
        r.settle()
        if part % 4 == 0 and grown() > BOUND:
            break
        if all(s in r.resets for s in streams):
            break
    return r


made = crowd("jobs that are never whole", jobs, 1)
ok("jobs that are too large together are refused", len(made[0].resets) > 0, made[0].statuses)
ok(
    "and counted as that",
    quotas()[1]["n2"]["refused"]["memory"] > rude["refused"]["memory"],
    quotas(),
)
end(made)

# Answers that nobody reads.


def replies():
    r = Rude(window=0)
    for k in range(500):
        r.open("/v1/roster", method="GET", end=True)
    return r


end(crowd("answers that nobody reads", replies, 1))

# Streams that are refused, by a host that has not agreed to any number of them and does not read
# the refusals.


def refused():
    s = http2.connect(c.net, 2, address(0), cert, "n2")
    s.sendall(http2.PREFACE + http2.frame(http2.SETTINGS, 0, 0))
    stream, some = -1, []
    s.settimeout(3)
    for k in range(60000):
        stream += 2
        some.append(
            http2.frame(
                http2.HEADERS, http2.END_HEADERS, stream, http2.headers("POST", "/v1/resume")
            )
        )
        if len(some) == 500:
            try:
                s.sendall(b"".join(some))
            except OSError:
                break
            some = []
    return s


end(crowd("refusals that nobody reads", refused, 3))
ok(
    "no honest one was refused anything",
    not any(any(p["refused"].values()) for host, p in quotas()[1].items() if host != "n2"),
    quotas(),
)
over.set()
for t in threads:
    t.join()
ok(f"{done_at[0]} and {done_at[1]} tasks in all, and none has failed", not failures, failures)
ok("the log is short", len(re.findall("n2: ", c.log(0))) < 60, len(re.findall("n2: ", c.log(0))))
ok("the agents end", c.end(0) == 0 and c.end(1) == 0)
done()
