#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Two nodes, one of this version and one of the previous one: tasks go both ways, and go on while
each node becomes the other version; where the previous one has no credits for free processors,
thresholds decide. EHS_SEED=N repeats a run; `make check-upgrade` does it with eight."""

import hashlib, os, random, signal, struct, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2, users
from frames import FRAME, frame, read_exactly
from ktap import done, ok, skip
from mixed import NEW, OLD, PIPE, Echo, Mixed
from netns import address
from seed import new_seed
from wait import WAIT, until

seed = new_seed()
dice = random.Random(seed)
c = Mixed(
    [NEW, OLD],
    (
        'heartbeat = 1000\njob-limit = 30000\nview-own = { "/usr" }\nload-index = "tasks"\ncapacity'
        " = 1\nthreshold = 2\nthreshold-floor = 2\nthreshold-length = 1\ntime-limit = 10000"
    ),
)
work = tempfile.mkdtemp(dir=c.dir)
os.chmod(work, 0o777)
user = users.ONE
large = os.path.join(work, "large")
with open(large, "wb") as f:
    f.write(dice.randbytes(300000))
with open(large, "rb") as f:
    digest = hashlib.sha256(f.read()).hexdigest()
fuse = os.path.exists("/dev/fuse")


def logs():
    return "\n".join(f"n{i} ({c.which[i]}): {c.log(i)[-1200:]}" for i in range(2))


def task(i, *options):
    """A task of node i on the other one: bytes in, bytes out, a status, a file."""
    data = dice.randbytes(dice.randrange(100000, 300000))
    script = f"sha256sum {large} >&2; cat | sha256sum; readlink /proc/self/ns/net; exit 7"
    got = c.run(
        i,
        "exec",
        *options,
        c.code(1 - i),
        "--",
        "/bin/sh",
        "-c",
        script,
        input=data,
        uid=user if options else 0,
    )
    with c.net.enter(1 - i):
        there = os.readlink("/proc/self/ns/net")
    want = f"{hashlib.sha256(data).hexdigest()}  -\n{there}\n".encode()
    return got == (7, want, f"{digest}  {large}\n".encode()), (got, want, logs())


def crowded(i):
    """What why says of the first task of node i that does not stay, while those before it run."""
    with c.net.enter(1 - i):
        there = os.readlink("/proc/self/ns/net")
    tasks = []
    for _ in range(8):
        p = c.ctl(
            i,
            "exec",
            "--auto",
            "--",
            "/bin/sh",
            "-c",
            "readlink /proc/self/ns/net; read x",
            stdin=PIPE,
        )
        tasks.append(p)
        if p.stdout.readline().decode().strip() == there:
            break
    said = c.ask(i, {"command": "why", "id": str(tasks[-1].pid)})
    for p in tasks:
        p.communicate()
    until(lambda: not any(n["load"] for n in c.status(i)["nodes"]))
    return (
        said.get("reason"),
        said.get("executor"),
        len(tasks),
        [s["what"] for s in said.get("steps", [])],
    )


def by_thresholds(i):
    got = crowded(i)
    # not the second, as a credit would; what the controller has granted may still count beside what
    # came of it
    ok(
        f"a crowd of the {c.which[i]} version: thresholds send what is too much",
        got[:2] == ("auto", c.code(1 - i))
        and got[2] in (4, 5)
        and ("no credit: the thresholds decide" in got[3]) == (c.which[i] == NEW),
        (got, logs()),
    )


ok("both are up", c.start_all(), logs())
said = until(lambda: c.doctor(0, "version 0.1"))
ok(
    "doctor notes that the other host has an earlier version",
    said
    and said["level"] == "note"
    and "an earlier ehsched" in said["what"]
    and "protocol 1" in said["what"],
    said,
)
for i in range(2):
    ok(f"a task from the {c.which[i]} version to the {c.which[1 - i]} one", *task(i))
    if fuse:
        ok("and one that sees home's files", *task(i, "--view", "home"))
    else:
        skip("and one that sees home's files", "no /dev/fuse")

for i in range(2):
    by_thresholds(i)

# What a newer version may say, both take: members that they do not know.
for i in range(2):
    other = http2.Client(http2.connect(c.net, 1 - i, address(i), f"{c.dir}/cert", f"n{1 - i}"))
    hello = {
        "cluster": "test",
        "node": c.code(1 - i),
        "address": f"{address(1 - i)}:7411",
        "version": 1,
        "boot_id": "x",
        "capacity": 1,
        "time": 0,
        "users": "",
        "roster": 0,
        "later": {"more": [1]},
    }
    got = other.request(
        "POST",
        "/v1/hello",
        {**hello, "protocol": {"min": 1, "max": 999, "later": 1}, "release": "9.9"},
    )
    ok(
        f"the {c.which[i]} version takes a hello with members that it does not know",
        got[0] == 200,
        got,
    )
    roster = {
        "topology": {"n": 2, "l": 1, "later": 1},
        "version": 0,
        "later": True,
        "roster": [
            {
                "code": c.code(j),
                "host": f"n{j}",
                "address": f"{address(j)}:7411",
                "version": 0,
                "later": "x",
            }
            for j in range(2)
        ],
    }
    got = other.request("POST", "/v1/roster", roster)
    ok("such a roster", got[0] == 200, got)
    got = other.request(
        "POST",
        "/v1/control",
        {
            "type": "leave",
            "level": 1,
            "later": [],
            "rule": {"epoch": 1, "load": 0, "capacity": 1, "later": 0},
        },
    )
    ok("and such a message", got[0] in (200, 204), got)
    if c.which[i] == NEW:
        other = http2.Client(http2.connect(c.net, 1 - i, address(i), f"{c.dir}/cert", f"n{1 - i}"))
        got = other.request("POST", "/v1/hello", {**hello, "protocol": {"min": 998, "max": 999}})
        ok(
            "a peer that is too new is refused, with a text",
            got[0] == 403 and b"upgrade n0, which is too old" in got[1],
            got,
        )
        ok(
            "which is in the log",
            c.logged(i, r"refused 0\.1 \(n1\): upgrade n0, which is too old"),
            logs(),
        )
ok("they are up again", c.all_up(range(2)), logs())

# A stub of a newer version than the agent, as between the two steps of an upgrade.
with c.connect(0) as s:
    s.sendall(frame("FRAME_JOB", struct.pack("<I", 99) + bytes(500)))
    number, length = struct.unpack("<II", read_exactly(s, 8))
    said = read_exactly(s, length)
ok(
    "a stub with a job of a newer version is told so",
    number == FRAME["FRAME_REFUSED"] and b"newer version" in said,
    (number, said),
)

# Each becomes the other version while tasks run both ways.
echoes = [Echo(c, i, 1 - i, dice, work) for i in range(2)]
if fuse:
    echoes += [Echo(c, i, 1 - i, dice, work, "--view", "home", uid=user) for i in range(2)]
for e in echoes:
    e.step()
ok("tasks run", not any(e.wrong for e in echoes), [e.wrong for e in echoes])
for i, which in dice.sample([(0, OLD), (1, NEW)], 2) + dice.sample([(0, NEW), (1, OLD)], 2):
    status = c.change(i, which)
    for e in echoes:
        e.step()
    ok(
        f"n{i} is the {which} version now: its tasks go on",
        not status and not any(e.wrong for e in echoes),
        (status, [e.wrong for e in echoes], logs()),
    )
ok("both are up", c.all_up(range(2)), logs())
for e in echoes:
    e.finish()
ok(
    "each ends as it should, having run once",
    not any(e.wrong for e in echoes),
    ([e.wrong for e in echoes], logs()),
)
for i, which in enumerate((OLD, NEW)):
    c.change(i, which)
ok("the previous version leads", c.all_up(range(2)), logs())
for i in range(2):
    by_thresholds(i)

# What a node spoke before it ended says nothing of what it speaks now. Home stands still, so that
# it asks before it hears.
c.change(0, NEW)
c.change(1, NEW)
ok(
    "both are the new version",
    c.all_up(range(2)) and c.run(0, "exec", c.code(1), "--", "/bin/true")[0] == 0,
    logs(),
)
home = c.agents[0]
c.end(1)
home.send_signal(signal.SIGSTOP)
c.which[1] = OLD
c.launch(1)
c.start(1)
p = c.ctl(0, "exec", c.code(1), "--", "/bin/echo", "there")
until(lambda: "unix_stream" in open(f"/proc/{p.pid}/wchan").read() or p.poll() is not None)
home.send_signal(signal.SIGCONT)
out, err = p.communicate(timeout=WAIT)
ok(
    "the first task for a node that was taken back to the previous version runs there",
    (p.returncode, out, err) == (0, b"there\n", b""),
    (p.returncode, out, err, logs()),
)
done()
