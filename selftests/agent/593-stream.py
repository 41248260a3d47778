#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of `ehctl metrics` as a stream (text/event-stream): as they come, without loss or
repetition, and bounded whoever reads. What is told to whom is in 592-page.py."""

import json, os, re, signal, socket, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, must, ok
from metrics import Metrics
from tree import BUILD
from wait import WAIT, until
import users

EHCTL = os.path.join(BUILD, "bin", "ehctl")
USER, MOST = users.ONE, 16
c = Cluster(2, 'heartbeat = 1000\nload-index = "tasks"\nthreshold-floor = 20.0\nguests = 50\n')
ok("two agents", c.start_all(), c.log(0))
os.chmod(c.dir, 0o755)
m = Metrics(c, 0, USER)
count = 0


def happen(times=1):
    """That many events, which are no tasks."""
    global count
    for _ in range(times):
        count += 1
        c.ask(0, {"command": "set", "length": 1000 + count % 2})


def task():
    c.call(
        0,
        [
            "setpriv",
            f"--reuid={USER}",
            f"--regid={USER}",
            "--clear-groups",
            EHCTL,
            "exec",
            "n1",
            "--",
            "true",
            "topsecretword",
        ],
        check=True,
        stdout=None,
        stderr=None,
    )


class Stream:
    """One that is open. Each message is (number, kind, text)."""

    def __init__(self, after=None, key=None, query="", rest="", hold=0):
        key = m.key if key is None else key
        with c.net.enter(0):
            self.s = socket.socket()
        if hold:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, hold)
        self.s.settimeout(WAIT)
        self.s.connect((m.address, m.port))
        self.s.sendall(
            (
                f"GET /api/events{query} HTTP/1.1\r\nHost: localhost\r\nAccept:"
                " text/event-stream\r\n"
                + (f"X-Ehsched-Key: {key}\r\n" if key else "")
                + (f"Last-Event-ID: {after}\r\n" if after is not None else "")
                + rest
                + "\r\n"
            ).encode()
        )
        if hold:
            return
        self.file = self.s.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = dict(
            line.decode().rstrip().split(": ") for line in iter(self.file.readline, b"\r\n")
        )
        self.text, self.whole, self.last = "", False, after

    def message(self):
        """The next one; None: it has ended."""
        while "\n\n" not in self.text:
            size = int(self.file.readline() or b"0", 16)
            self.text += self.file.read(size).decode()
            self.file.readline()
            if not size:
                return None
        text, self.text = self.text.split("\n\n", 1)
        fields = dict(
            line.split(": ", 1) if ": " in line else (line, "") for line in text.split("\n")
        )
        self.last = int(fields["id"]) if "id" in fields else self.last
        return (
            fields.get("id") and int(fields["id"]),
            fields.get("event", ""),
            fields.get("data", text),
        )

    def until(self, wanted):
        """The events that come until one is wanted, with that one."""
        got, end = [], time.monotonic() + WAIT
        while True:
            one = self.message()
            # signs of life come all the time
            if one is None or time.monotonic() > end:
                raise RuntimeError(
                    f"{'it has ended' if one is None else 'nothing else came'} after {got[-3:]}"
                )
            got.append(one)
            if wanted(one):
                return got

    def now(self):
        """What was kept."""
        return self.until(lambda x: x[1] == "now")[:-1]

    def close(self):
        self.s.close()
        if hasattr(self, "file"):
            self.file.close()


def kept():
    return json.loads(m.get("/api/events", X_Ehsched_Key=m.key)[2])


def is_threshold(message):
    """Whether it is of happen(). Loads change now and then, so states do, too; and there are signs
    of life."""
    return message[2].startswith("{") and json.loads(message[2])["event"] == "threshold"


def numbers(messages):
    return [n for n, _, _ in messages if n]


def opened(**words):
    """One, once there is room for it: what has just closed may not be known yet."""

    def again():
        s = Stream(**words)
        if s.status == 200:
            return s
        s.close()

    return until(again)


must("the agent is heard", until(lambda: happen() or kept()["events"]))

# ---- as they come

s = opened()
ok(
    "a stream",
    s.headers["Content-Type"] == "text/event-stream" and s.headers["Cache-Control"] == "no-store",
    s.headers,
)
had = s.now()
same = kept()["events"][: len(had)]
ok("what was kept", had and [json.loads(text) for _, _, text in had] == same, (had, same))
happen()
got = numbers(s.until(is_threshold))
ok("and what comes, without a request", got == list(range(had[-1][0] + 1, got[-1] + 1)), got)
task()
tasks = [
    json.loads(text)
    for n, _, text in s.until(
        lambda x: x[2].startswith("{") and json.loads(x[2])["event"] == "finish"
    )
    if n
]
ok(
    "tasks, too",
    [(e["event"], e["uid"]) for e in tasks if "uid" in e] == [("place", USER), ("finish", USER)],
    tasks,
)
c.call(
    1,
    [
        "setpriv",
        f"--reuid={USER}",
        f"--regid={USER}",
        "--clear-groups",
        EHCTL,
        "exec",
        "n0",
        "--",
        "true",
    ],
    check=True,
    stdout=None,
    stderr=None,
)
others = [
    json.loads(text)
    for n, _, text in s.until(lambda x: '"finish"' in x[2] and '"true"' in x[2])
    if n
]
ok(
    "and of other nodes, each once",
    [
        (e["event"], e["self_host"], e["home_host"])
        for e in others
        if e.get("command") == "true" and e["event"] == "place"
    ]
    == [("place", "n1", "n1")],
    others,
)
stranger = opened(key="")
ok(
    "none without the key",
    "topsecretword" not in str(seen := stranger.now())
    and not [x for x in seen if "uid" in x[2]]
    and seen,
    seen,
)
task()
happen()
got = stranger.until(is_threshold)
ok("as they come, neither", not [x for x in got if "uid" in x[2]], got)
ok("a key that is another's", not [x for x in opened(key="0" * 32).now() if "uid" in x[2]])
ok(
    "the same as JSON for who asks so",
    json.loads(m.get("/api/events", Accept="application/json")[2])["version"] == 1,
)
ok(
    "HEAD is no stream",
    (saw := m.get("/api/events", "HEAD", Accept="text/event-stream")[0]) == 200,
    saw,
)

# ---- again after a cut

last = s.last
s.close()
happen(5)
task()
again = Stream(last)
got = numbers(again.now())
ok(
    "what it had not, once",
    len(got) >= 7 and got == list(range(last + 1, got[-1] + 1)),
    (last, got),
)
s = Stream(query=f"?after={last}")
saw = numbers(s.now())
ok("by the address, too", saw[: len(got)] == got, saw)
happen()
must("it has heard", until(lambda: kept()["last"] > saw[-1]))
last = kept()["last"]
both = [mine + numbers(x.until(lambda y: y[0] == last)) for x, mine in ((again, got), (s, saw))]
ok("and both go on", both[0] == both[1] == list(range(got[0], last + 1)), both)
for wrong in "x", "-1", "9" * 30, 10**9:
    x = opened(after=wrong)
    ok(
        f"a number that was never given: {wrong}",
        numbers(x.now())[:last] == list(range(1, last + 1)),
        x.last,
    )
    x.close()
for x in again, s, stranger:
    x.close()

# ---- bounds

many = [opened() for _ in range(MOST)]
x = Stream()
must("too many", x.status == 503 and x.headers["Content-Type"] == "application/json", x.headers)
x.close()
x = opened(key="")
ok("who has no key takes nobody's place, nor the other way round", x.now() is not None)
ok(
    "nor that of other questions",
    m.get("/api/tasks", X_Ehsched_Key=m.key)[0] == 200 and m.get("/metrics")[0] == 200,
)
for y in many[1:]:
    y.close()
happen()
ok("the others go on", many[0].now() and many[0].until(is_threshold))
y = opened()
ok("one that closes makes room", y.now() is not None)
y.close()
ok("a sign of life when nothing happens", x.until(lambda y: y[2].startswith(":")) is not None)
x.close()

happen(500)
pid = int(
    re.search(
        r"\d+",
        open(f"/proc/{m.process.pid}/task/{m.process.pid}/children").read() or str(m.process.pid),
    )[0]
)


def memory():
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read())[1])


def gone(s):
    """Whether the other side has closed it, without an end of its own; reads a little."""
    s.s.settimeout(0.05)
    try:
        return not s.s.recv(1024)
    except socket.timeout:
        return False
    except ConnectionError:
        return True


# AddressSanitizer keeps what was freed.
MOST_GROWTH = 65536 if "libasan" in open(f"/proc/{pid}/maps").read() else 2048
before = memory()
stalled = [Stream(hold=2048) for _ in range(MOST - 1)]
# What a visitor sends behind its request is not kept, either.
for s in stalled:
    s.s.setblocking(False)
    try:
        while s.s.send(b"x" * 65536):
            pass
    except BlockingIOError:
        pass
happen(3000)
grown = memory() - before
ok("who does not read costs little", grown < MOST_GROWTH, f"{grown} KiB")
# A connection that takes nothing for 10 s is closed: there is room again.
x = opened()
ok("and is dropped", x.now() is not None and until(lambda: all(gone(s) for s in stalled), 2 * WAIT))
x.close()
x = opened(after=1)
got = x.now()
ok(
    "who comes too late for some is told how many",
    got[0][1] == "lost"
    and int(got[0][2]) == got[0][0] - 1
    and numbers(got) == list(range(got[0][0], got[-1][0] + 1)),
    got[:3],
)
x.close()
for s in stalled:
    s.close()

# ---- the ends of the agent and of the process

many[0].close()
s = opened()
s.now()
c.end(0, signal.SIGKILL)
ok("it ends with the agent", until(lambda: s.message() is None))
s.close()
x = Stream()
ok("none without it", x.status == 503 and "no events" in x.file.read().decode(), x.status)
x.close()
c.start(0)
x = opened(after=s.last)
ok("again with it", x.headers["Content-Type"] == "text/event-stream" and x.now() is not None)
# The agent may take our command before that of the process: again with each sign of life, until it
# is heard.
happen()
ok("what it tells", x.until(lambda y: is_threshold(y) or happen()) is not None)
ok(
    "SIGTERM ends all",
    (saw := m.end()) == 0 and until(lambda: x.message() is None) and x.file.read(1) == b"",
    saw,
)
done()
