#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What an agent keeps, and ehlaunch: an agent reads the files that the previous version wrote, and
the other way round; sets aside what a newer one wrote; and works with an ehlaunch of the other
version, or says which of the two is too old."""

import json, os, re, socket, struct, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import USER
from ktap import done, must, ok
from mixed import NEW, OLD, Mixed
from wait import until

c = Mixed([NEW, NEW], "heartbeat = 1000")
c.settings += f'\nauthority-key = "{c.dir}/cert/ca.key"'
c.joins[1] = [0]


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        return b""


def put(path, text):
    with open(path, "wb") as f:
        f.write(text)
    os.chown(path, USER, USER)


def start(i):
    """What node i logs from its start on."""
    size = len(c.log(i))
    c.start(i, ready=False)
    said = lambda: c.log(i)[size:]
    must(
        "it starts, or ends",
        until(lambda: "ready: node" in said() or c.agents[i].poll() is not None),
        said(),
    )
    return said()


# ---- the roster ----

c.start(0)
c.start(1)
state = c.state(1)
saved = until(lambda: read(state))
ok("the roster is saved, with its format", saved and json.loads(saved).get("format") == 1, saved)
for writer, reader in (NEW, OLD), (OLD, NEW):
    if c.which[1] != writer:
        c.end(1)
        c.which[1] = writer
        start(1)
    c.end(1)
    os.unlink(state)
    start(1)
    ok(
        f"the {writer} version saves it",
        until(lambda: b'"roster"' in read(state)),
        c.log(1)[-1000:],
    )
    # Until node 0 has its signed entry it would know a host that cannot sign only if that joined
    # again.
    must("they know each other", c.all_up(range(2)), c.log(0)[-1000:] + c.log(1)[-1000:])
    c.end(1)
    c.end(0)
    c.which[1] = reader
    log = start(1)  # nobody is there whom it could ask
    ok(
        f"the {reader} version has its place from that file",
        "using the code this host had before" in log
        and "ready: node 0.1 of cluster test" in log
        and ": ignored" not in log,
        log,
    )
    start(0)
    ok("they find each other", c.all_up(range(2)), c.log(0)[-1000:] + c.log(1)[-1000:])

later = json.loads(read(state))
later.update(format=7, later={"more": 1})
later = json.dumps(later).encode()
c.end(1)
put(state, later)
log = start(1)
ok("a file of a newer version is kept under another name", read(f"{state}.format-7") == later, log)
ok(
    "which is said",
    re.search(
        (
            r"state: written by a newer version of ehsched, in format 7.* It is kept as"
            r" .*state\.format-7"
        ),
        log,
    ),
    log,
)
ok(
    "and the members tell the place again",
    "ready: node 0.1" in log and until(lambda: json.loads(read(state) or b"{}").get("format") == 1),
    (log, read(state)),
)

# ---- invitations ----

made = c.ask(0, {"command": "invite", "seconds": 600})
invites = os.path.join(os.path.dirname(c.state(0)), "invites.json")
kept = json.loads(read(invites) or b"{}")
ok(
    "invitations are saved, with their format",
    "token" in made and kept.get("format") == 1 and len(kept["open"]) == 1,
    (made, kept),
)
c.end(0)
old = {"open": kept["open"], "given": []}
put(invites, json.dumps(old).encode())
start(0)
c.ask(0, {"command": "invite", "seconds": 600})
ok(
    "those that the previous version has saved are open",
    len(json.loads(read(invites))["open"]) == 2,
    read(invites),
)
c.end(0)
later = json.dumps({**old, "format": 2}).encode()
put(invites, later)
log = start(0)
ok(
    "those of a newer version are kept under another name",
    read(f"{invites}.format-2") == later and "invites.json.format-2" in log,
    log,
)
ok("both are up", c.all_up(range(2)), log)

# ---- ehlaunch ----

for agent, launcher in (NEW, OLD), (OLD, NEW):
    c.mixed[1, "ehlaunch"] = launcher
    c.change(1, agent)
    ok("both are up", c.all_up(range(2)), c.log(1)[-2000:])
    got = c.run(0, "exec", "0.1", "--", "sh", "-c", "readlink /proc/self/ns/net; exit 5")
    with c.net.enter(1):
        there = os.readlink("/proc/self/ns/net")
    ok(
        f"an agent of the {agent} version has ehlaunch of the {launcher} one start a task",
        got[:2] == (5, f"{there}\n".encode()),
        (got, c.log(1)[-2000:]),
    )

c.mixed.clear()
c.which[1] = NEW


class Liar:
    """In the place of node 1's ehlaunch: says to each who connects that it takes these requests. An
    agent that does not take it for its own asks again when it has something to ask."""

    def __init__(self, oldest, newest):
        self.words = struct.pack("@IiiII", 0, 0, 0, oldest, newest)
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        self.s.bind(c.launcher(1))
        os.chown(c.launcher(1), USER, USER)
        self.s.listen()

    def until(self, what):
        """Waits until what() is true, and meanwhile answers."""

        def look():
            try:
                with self.s.accept()[0] as s:
                    s.send(self.words)
            except (BlockingIOError, ConnectionError):
                pass
            return what()

        return until(look)


for oldest, newest, who in (8, 9, "this agent"), (1, 4, "ehlaunch"), (6, 4, None):
    c.end(1)
    os.unlink(c.launcher(1))
    size = len(c.log(1))
    liar = Liar(oldest, newest)
    c.start(1, ready=False)
    said = f"upgrade {who}, which is too old" if who else "ehlaunch does not tell valid versions"
    ok(
        f"an ehlaunch that takes requests {oldest} to {newest}: {said}",
        liar.until(lambda: said in c.log(1)[size:]),
        c.log(1)[size:],
    )
    ok(
        "and the agent runs without it",
        liar.until(lambda: "ready: node" in c.log(1)[size:]),
        c.log(1)[size:],
    )
    liar.s.close()
c.change(1, NEW)
# A node is up before its ehlook is, if ehlaunch comes late.
ok(
    "with one that fits tasks start again",
    until(lambda: c.run(0, "exec", "0.1", "--", "sh", "-c", "exit 6")[0] == 6),
    c.log(1)[-2000:],
)
done()
