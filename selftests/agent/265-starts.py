#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""POST /v1/start, as a member that lies uses it: what a job brings with its request for a place is
kept within bounds, checked against what the place was asked for, and gone with its stream."""

import json, os, signal, struct, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from bodies import place
from cluster import Cluster
from frames import FRAME
from ktap import done, must, ok
from netns import address
from player import LIMITS, TRAITS, job
from wait import until

WAITING = 256  # docs/protocol.md: streams of a node that wait for their place
JOB = job(b"true", path=os.path.realpath(b"/bin/true"))
NOTHING_NAMED = struct.pack("<II", FRAME["FRAME_NAMED"], 0)

c = Cluster(2, "heartbeat = 20000\nheadroom = 0\nlease = 10000")
c.start(0)


def member():
    h = http2.Client(http2.connect(c.net, 1, address(0), os.path.join(c.dir, "cert"), "n1"))
    assert h.hello(node=c.code(1)) == 200
    return h


def frame(kind, said):
    said = json.dumps(said).encode() if isinstance(said, dict) else said
    return struct.pack("<II", FRAME[kind], len(said)) + said


def start(k, **more):
    """A request for place `k`."""
    return frame(
        "FRAME_START",
        place(f"{c.code(1)}:{k}", **more),
    )


def caller(uid=0, groups=0):
    return frame(
        "FRAME_CALLER",
        struct.pack("<IIIiII", uid, 0, 2**32 - 1, 0, 0, groups)
        + b"\xff" * 8 * LIMITS
        + bytes(8 * TRAITS + 4 * groups),
    )


def away():
    """All of a task whose program is missing here."""
    return [start(1, path="/nowhere"), caller(), job(b"true", path=b"/nowhere"), NOTHING_NAMED]


def told(*frames):
    """The status of the stream, and {kind: what was said} until it ended."""
    status, said = http2.Client.request(h, "POST", "/v1/start", b"".join(frames), end=False)
    got, names = {}, {number: name for name, number in FRAME.items()}
    while len(said) >= 8:
        number, length = struct.unpack("<II", said[:8])
        got[names[number]], said = said[8 : 8 + length], said[8 + length :]
    return status, {
        kind: json.loads(x) if kind == "FRAME_ADMISSION" else x[8:].decode()
        for kind, x in got.items()
    }


def places():
    """Guests and reservations, as the agent counts them."""
    return c.ask(0, {"command": "guests", "node": c.code(0)}).get("guests")


def streams():
    """Streams of the member that are open, as the agent counts them."""
    return sum(one["streams"] for one in c.status(0)["quotas"]["peers"] if one["host"] == "n1")


h = member()
saw = told(*away())
ok(
    "a place that is not granted is answered, and the stream ends",
    saw[1].get("FRAME_ADMISSION", {}).get("reason") == "files-differ",
    saw,
)
saw = told(start(2, only_on=["absent"]))
ok(
    "so is one that is refused before its job",
    saw[1].get("FRAME_ADMISSION", {}).get("reason") == "labels",
    saw,
)
saw = told(start(3), caller(uid=1000), JOB, frame("FRAME_NAMED", b""))
ok(
    "the job of another user than the place is refused",
    "its user is not the user of the reservation" in saw[1].get("FRAME_REFUSED", ""),
    saw,
)
saw = told(frame("FRAME_START", {"token": "0" * 32}), caller(), JOB)
ok(
    "a token that nobody gave is refused",
    "its reservation has expired" in saw[1].get("FRAME_REFUSED", ""),
    saw,
)
saw = told(start(4), caller(), frame("FRAME_JOB", struct.pack("<I", 0xFFFF) * 25))
ok(
    "a job of a version that is not known is refused",
    "upgrade ehsched there" in saw[1].get("FRAME_REFUSED", ""),
    saw,
)
for what, frames in (
    ("a caller before the request", [caller()]),
    ("a job before the request", [JOB]),
    ("two requests", [start(5), start(6)]),
    ("two callers", [start(7), caller(), caller()]),
    ("a request that is no JSON", [frame("FRAME_START", b"x")]),
    ("a caller that is cut", [start(8), frame("FRAME_CALLER", b"x" * 20)]),
    (
        "a caller of more groups than come",
        [
            start(9),
            frame(
                "FRAME_CALLER",
                struct.pack("<IIIiII", 0, 0, 0, 0, 0, 9) + bytes(8 * (LIMITS + TRAITS)),
            ),
        ],
    ),
    ("a request of more bytes than one has", [struct.pack("<II", FRAME["FRAME_START"], 1 << 20)]),
):
    status, said = told(*frames)
    ok(
        f"{what}: the stream ends",
        not {"FRAME_ATTACHED", "FRAME_REFUSED"} & set(said),
        (status, said),
    )
# Without its launcher the node starts no end, and mounts nothing. The member does not end the
# stream.
for k, view, named in (
    (20, "shared", [NOTHING_NAMED]),
    (21, "auto", [NOTHING_NAMED]),
    (22, "home", []),
):
    c.launchers[0].send_signal(signal.SIGSTOP)
    status, said = told(start(k, view=view), caller(), JOB, *named, frame("FRAME_GONE", b""))
    ok(
        f"view {view}: a stub has gone before there is an end: the stream ends",
        status == 200 and "FRAME_ATTACHED" not in said,
        (status, said),
    )
    c.launchers[0].send_signal(signal.SIGCONT)
    saw = told(*away())  # is answered behind it
    ok(
        "and nothing begins",
        until(lambda: places() == 0) and not c.tasks(0),
        (places(), saw),
    )
ok("none of them holds a place", until(lambda: places() == 0), places())
ok(
    "a stream whose job was refused is dropped when its home does not end it",
    until(lambda: streams() == 0),
    streams(),
)


# Its launcher ends between the place and the job: the end that the next one starts has to tell what
# it sees, too.
def say(*frames):
    h.s.sendall(b"".join(http2.frame(http2.DATA, 0, h.stream, x) for x in frames))


def hear(*kinds):
    """What the agent says on the stream, until it has said one of these."""
    said, names = b"", {number: name for name, number in FRAME.items()}
    while True:
        kind, _, stream, payload = h.next()
        said += payload if (kind, stream) == (http2.DATA, h.stream) else b""
        at, found = 0, []
        while at + 8 <= len(said):
            number, length = struct.unpack("<II", said[at : at + 8])
            found, at = found + [names[number]], at + 8 + length
        if at == len(said) and set(kinds) & set(found):
            return found, said


h.stream += 2
h.s.sendall(
    http2.frame(http2.HEADERS, http2.END_HEADERS, h.stream, http2.headers("POST", "/v1/start"))
)
say(start(30), caller())
must("it has a place", until(lambda: places() == 1), places())
log = len(c.log(0))
c.launch(0)
must(
    "its launcher has ended, and another one is there",
    until(lambda: "ehlaunch has ended" in c.log(0)[log:] and c.launches(0)),
    c.log(0)[log:],
)
say(JOB, NOTHING_NAMED)
saw = hear("FRAME_ATTACHED", "FRAME_REFUSED")
ok("the next launcher starts its end, which tells what it sees", "FRAME_ATTACHED" in saw[0], saw)

h.s.close()
h = member()
for k in range(WAITING):
    h.stream += 2
    h.s.sendall(
        http2.frame(http2.HEADERS, http2.END_HEADERS, h.stream, http2.headers("POST", "/v1/start"))
    )
status = h.request("POST", "/v1/start", b"", end=False)[0]
ok(f"{WAITING} may wait for their place, and no more", status == 503, status)
other = member()
status = other.request("GET", "/v1/roster")[0]
ok("requests of the same node are answered beside them", status == 200, status)
h.s.close()
h = other
ok("they end with their connection", until(lambda: told(*away())[1].get("FRAME_ADMISSION")), status)
done()
