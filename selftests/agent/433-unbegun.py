#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A stub is killed before its task has begun, at each step between home's request and GO. Nothing
runs, the executor waits for nobody, and home has no record of it. So it is when home waits no
longer for the answer."""

import contextlib, json, os, signal, socket, struct, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2, left
from cluster import Cluster
from commands import STUB
from frames import FRAME, frame
from ktap import done, must, ok
from netns import address
from proc import state
from wait import WAIT, until

SOON = 20  # seconds; by itself an executor's end waits ten minutes
PLAYED = 2  # the executor that this test plays
NAMES = {number: name for name, number in FRAME.items()}

c = Cluster(3, "heartbeat = 20000\njob-limit = 600000\nlease = 50000")
ran = os.path.join(c.dir, "ran")
c.start(0, c.conf(0, settings="heartbeat = 20000\njob-limit = 600000\nlease = 5000"))
c.start(1)
ok("two agents", c.all_up([0, 1]), c.log(0) + c.log(1))


def start(node=1):
    """A stub whose task would say that it ran."""
    return c.popen(
        0,
        [STUB, f"@{c.code(node)}", "/bin/sh", "sh", "-c", f"echo >>{ran}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def counted(i, what):
    """Guests or tasks away, as node i counts them."""
    return c.ask(i, {"command": "guests", "node": c.code(i)})[what]


def asked():
    """A stub whose request the executor has, and cannot answer: without its launcher no end begins
    there, which tells what it sees."""
    c.launchers[1].send_signal(signal.SIGSTOP)
    p = start()
    must("it is asked for", until(lambda: counted(1, "guests") == 1), c.log(1)[-2000:])
    return p


def go_on():
    c.launchers[1].send_signal(signal.SIGCONT)


def unread():
    """Bytes of the network that home has not taken yet."""
    with open(f"/proc/{c.agents[0].pid}/net/tcp") as f:
        return sum(int(line.split()[4].split(":")[1], 16) for line in f.readlines()[1:])


def end(p):
    p.kill()
    p.wait(WAIT)


def freeze_home():
    """Home stands still, and has taken all that was sent to it."""

    def still():
        c.agents[0].send_signal(signal.SIGSTOP)
        if until(lambda: state(c.agents[0].pid) == "T") and not unread():
            return True
        c.agents[0].send_signal(signal.SIGCONT)
        return False

    must("home stands still", until(still), unread())


def steps(p):
    """Those of its task, as home knows them."""
    r = c.ehctl(0, "why", "--timing", str(p.pid), "--json")
    return [s["step"] for s in json.loads(r.stdout)["timing"]["steps"]] if r.returncode == 0 else []


def settled(name):
    def over():
        return not (
            counted(1, "guests")
            or counted(0, "away")
            or c.tasks(0)
            or c.tasks(1)
            or "ehguest" in left.processes(c).values()
            or left.folders(c, 1)
        )

    ok(
        name,
        until(over, SOON) and not os.path.exists(ran),
        (
            counted(1, "guests"),
            counted(0, "away"),
            c.tasks(0),
            c.tasks(1),
            left.processes(c),
            left.folders(c, 1),
            c.log(1)[-1000:],
        ),
    )


end(asked())
ok(
    "killed before the executor has answered: home is done",
    until(lambda: counted(0, "away") == 0, SOON),
    c.tasks(0),
)
ok("and so is the executor", until(lambda: counted(1, "guests") == 0, SOON), c.tasks(1))
go_on()
settled("and nothing begins there later")

# Home sees the end of the stub first, and behind that the answer.
p = asked()
freeze_home()
end(p)
go_on()
must(
    "the executor answers",
    until(lambda: unread() and c.tasks(1) and c.tasks(1)[0]["pid"]),
    (unread(), c.tasks(1)),
)
c.agents[0].send_signal(signal.SIGCONT)
settled("killed when it has answered, and home has not heard that: both are done")

p = asked()
p.send_signal(signal.SIGSTOP)
go_on()
must("home has the answer", until(lambda: "linked" in steps(p)), steps(p))
end(p)
settled("killed when the executor's end is there, before GO: both are done")

# ---- what home says, to an executor that is played ----

heard = []  # of each stream of a job, what kinds of frames it has brought


def answer(body):
    if body and "cluster" in body:
        return {
            "cluster": "test",
            "node": c.code(PLAYED),
            "version": 1,
            "boot_id": "x",
            "capacity": 1000,
            "protocol": {"min": 1, "max": 3},
            "time": int(time.time() * 1000),
        }
    return {}


def kinds(said):
    """Of whole frames; none, if it is a request of JSON."""
    found = []
    while len(said) >= 8 and said[:1] != b"{":
        kind, length = struct.unpack("<II", said[:8])
        found, said = found + [NAMES[kind]], said[8 + length :]
    return found


class Executor(http2.Server):
    """`grants`: it gives each job a place, `breaks`: and then closes the connection."""

    grants = breaks = False

    def serve(self, s):
        with self.context.wrap_socket(s, server_side=True) as s:
            h = http2.Served(s)
            try:
                while True:
                    h.turn(answer, lambda said: self.hear(h, said))
            except (EOFError, OSError, ValueError):  # also at the end of a stream, which is no JSON
                pass
            # What was written is not lost, as it would be if something unread were left.
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_WR)
                while s.recv(65536):
                    pass

    def hear(self, h, said):
        its = kinds(said)
        heard.append(its)
        if its[-1:] == ["FRAME_NAMED"] and self.grants:
            stream = next(k for k, v in h.bodies.items() if v is said)
            h.say(
                stream,
                frame(
                    "FRAME_ADMISSION",
                    json.dumps({"token": "x" * 32, "lease": 10000, "view": "shared"}).encode(),
                ),
            )
            h.write()
            if self.breaks:
                raise EOFError("broken")
        return frame("FRAME_ATTACHED", b"") if its == ["FRAME_ATTACH"] else None


played = Executor(c.net, PLAYED, address(PLAYED), os.path.join(c.dir, "cert"), "n2", answer)
WHOLE = ["FRAME_START", "FRAME_CALLER", "FRAME_JOB", "FRAME_NAMED"]


def sent():
    """A stub that is asked for there. Home may not be connected yet."""
    heard.clear()
    p = start(PLAYED)
    if until(lambda: WHOLE in heard or p.poll() is not None) and p.poll() is None:
        return p
    end(p)
    return None


end(must("it is asked for there", until(sent), heard))
ok(
    "a stub is killed that it is asked for: home says so",
    until(lambda: [*WHOLE, "FRAME_GONE"] in heard, SOON),
    heard,
)
played.grants = True
p = must("it is asked for again", until(sent), heard)
ok(
    "the executor's end does not come: home says that it waits no longer",
    until(lambda: [*WHOLE, "FRAME_GONE"] in heard, SOON),
    heard,
)
p.wait(WAIT)
played.breaks = True
p = must("it is asked for again", until(sent), heard)
# an answer ends what was heard of a stream
ok(
    "the connection breaks before it comes: home says so by another",
    until(lambda: ["FRAME_ATTACH"] in heard and ["FRAME_GONE"] in heard, SOON),
    heard,
)
p.wait(WAIT)
ok("home is done with all of them", until(lambda: counted(0, "away") == 0, SOON), c.tasks(0))
done()
