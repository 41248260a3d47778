#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Configuration of a running agent: refusals, reload, a second agent, the end."""

import fcntl, os, re, signal, socket, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import agent_socket
from cluster import Cluster
from commands import AGENT
from frames import frame, read_frame
from ktap import done, ok
from tree import BUILD
from wait import WAIT, until

c = Cluster(2)
good = c.conf(0)
text = open(good).read()


def check(conf):
    r = subprocess.run([AGENT, "-t", "-c", conf], capture_output=True, text=True)
    return r.returncode, r.stderr


def threshold():
    return c.status(0)["nodes"][0]["threshold"]


def reload(new, expect):
    before = len(c.log(0))
    open(good, "w").write(new)
    c.agents[0].send_signal(signal.SIGHUP)
    return until(lambda: re.search(expect, c.log(0)[before:]))


def ehctl(*words):
    return c.call(0, [os.path.join(BUILD, "bin", "ehctl"), *words])


ok("a good configuration passes -t", check(good) == (0, ""), check(good))
ok("a missing file: exit 2", (saw := check("/nonexistent")[0]) == 2, saw)
bad = os.path.join(c.dir, "bad.conf")
for line, what in (
    (3, 'topology = "x"'),
    (5, 'certificate = "/nonexistent"'),
    (10, "heartbeat = soon"),
):
    lines = text.splitlines()
    lines[line - 1] = what
    open(bad, "w").write("\n".join(lines) + "\n")
    code, errors = check(bad)
    ok(f"{what}: exit 2 with file:line", code == 2 and errors.startswith(f"{bad}:{line}: "), errors)
open(bad, "w").write(text.replace("n0.key", "n1.key"))
code, errors = check(bad)
ok("another's key: exit 2 with file:line", code == 2 and errors.startswith(f"{bad}:6: key"), errors)
open(bad, "w").write(text.replace('log = "debug"', 'log = "info debug:nets"'))
code, errors = check(bad)
ok(
    "an area of the log that does not exist: exit 2",
    code == 2 and 'log: "nets" is not an area; areas are base, net, ' in errors,
    errors,
)
open(bad, "w").write(text.replace('host = "n0"', 'host = "nx"'))
ok("a certificate of another host: exit 2", (saw := check(bad)[0]) == 2, saw)
r = subprocess.run([AGENT, "-x"], capture_output=True)
ok("an unknown option: exit 2", r.returncode == 2)

c.start(0, good)
ok("an agent whose peer is absent runs", c.alive(0), c.log(0))
second = c.conf(1, peers=[1])
moved = open(second).read().replace("10.77.0.2", "10.77.0.1")
open(second, "w").write(moved)
r = subprocess.run(
    ["ip", "netns", "exec", c.net.name(0), AGENT, "-c", second],
    capture_output=True,
    text=True,
    timeout=WAIT,
)
ok(
    "a second agent on a node says so and ends",
    r.returncode == 1 and "another agent" in r.stderr,
    r.stderr,
)
ok("the first one lives on", c.alive(0))

ok(
    "a bad configuration is refused on reload",
    reload("cluster = nonsense {\n", "reload: rejected"),
    c.log(0),
)
ok("with file:line in the log", re.search(re.escape(good) + r":1: ", c.log(0)))
ok("and the agent keeps running", c.alive(0))
ok(
    "another node code is refused on reload",
    reload(text.replace('node = "0.0"', 'node = "0.1"'), "node cannot change"),
    c.log(0),
)
with c.connect(0) as watch:
    watch.sendall(frame("FRAME_REQUEST", b'{"command":"watch"}'))
    threshold()  # answered after the watch was taken
    ok("a good one is taken", reload(text + "threshold = 7.5\n", "is now in effect"), c.log(0))
    ok("its threshold is in force", threshold() == 7.5, threshold())
    seen = {}
    while seen.get("event") != "threshold":
        number, seen = read_frame(watch)
    ok("and announced to those who watch", seen["threshold"] == 7.5 and seen["node"] == "0.0", seen)
before = len(c.log(0))
open(good, "w").write("cluster = nonsense {\n")
r = ehctl("reload")
ok(
    "ehctl reload fails with the reason, and the log has it",
    r.returncode == 1
    and f"{good}:1: " in r.stderr
    and re.search(re.escape(good) + ":1: ", c.log(0)[before:]),
    r.stderr + c.log(0)[before:],
)
open(good, "w").write(text.replace('node = "0.0"', 'node = "0.1"'))
r = ehctl("reload")
ok(
    "also if only a restart could change it",
    r.returncode == 1 and "node cannot change" in r.stderr,
    r.stderr,
)
open(good, "w").write(text + "threshold = 8.5\n")
r = ehctl("reload")
ok(
    "else it is in force when ehctl ends",
    r.returncode == 0 and threshold() == 8.5,
    (r.stderr, threshold()),
)
ok(
    "an area is logged though the others are not",
    reload(
        text.replace('log = "debug"', 'log = "error debug:base"') + "threshold = 6.5\n",
        "now in effect",
    ),
    c.log(0),
)
before = len(c.log(0))
open(good, "w").write(
    text.replace('log = "debug"', 'log = "debug warning:base"') + "threshold = 5.5\n"
)
c.agents[0].send_signal(signal.SIGHUP)
ok(
    "and not, though the others are",
    until(lambda: threshold() == 5.5) and "now in effect" not in c.log(0)[before:],
    c.log(0)[before:],
)
ok(
    "a peer can be taken out",
    reload(re.sub('peer "0.1".*', "", text), "is now in effect") and len(c.up(0)) == 1,
    c.log(0),
)
ok(
    "and put in again",
    reload(text, "is now in effect") and c.start(1) and c.all_up([0, 1]),
    f"{c.log(0)}--- the peer's:\n{c.log(1)}",
)
ok(f"an idle agent has at most 16 MiB ({c.memory(0)} KiB)", (saw := c.memory(0)) <= 16384, saw)
while c.agents[0].poll() is None:
    c.agents[0].send_signal(signal.SIGTERM)
ok("SIGTERM ends it with status 0, also when more come while it ends", (saw := c.end(0)) == 0, saw)

# what a service manager is told
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
    manager.bind(os.path.join(c.dir, "notify"))
    os.chmod(os.path.join(c.dir, "notify"), 0o666)
    manager.settimeout(WAIT)

    def told(what):
        """Waits for a message that begins so."""
        while not (message := manager.recv(4096)).startswith(what):
            pass
        return message

    os.environ.update(NOTIFY_SOCKET=os.path.join(c.dir, "notify"), WATCHDOG_USEC="100000")
    c.start(0, good)
    for name in "NOTIFY_SOCKET", "WATCHDOG_USEC":
        del os.environ[name]
    ok("the manager is told that it is ready", (saw := told(b"READY=1")) == b"READY=1", saw)
    ok(
        "and again and again that it goes round",
        (saw := [told(b"WATCHDOG") for _ in range(3)]) == [b"WATCHDOG=1"] * 3,
        saw,
    )
    reload("cluster = nonsense {\n", "reload: rejected")
    status = told(b"STATUS=").decode()
    ok(
        "that a reload was refused, in one line",
        status.startswith("STATUS=Reload refused: ") and good in status and "\n" not in status,
        status,
    )
    reload(text, "is now in effect")
    ok("that one was not", (saw := told(b"STATUS=").decode()) == f"STATUS={good} is in effect", saw)
    ok("it ends as before", (saw := c.end(0)) == 0, saw)

# as a child does of an agent that was killed
with c.net.enter(0), socket.socket(socket.AF_UNIX) as s:
    held = open(agent_socket.path(s) + ".lock")
fcntl.flock(held, fcntl.LOCK_EX)
before = len(c.log(0))
c.start(0, good, ready=False)
waits = until(lambda: "local socket: in use" in c.log(0)[before:])
held.close()
ok(
    "an agent waits for the socket of one before it",
    waits and until(lambda: "ready: node 0.0" in c.log(0)[before:]),
    c.log(0)[before:],
)
done()
