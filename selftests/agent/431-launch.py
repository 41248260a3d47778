#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehlaunch decides, whatever its agent says: this is an agent that was taken over. Each request is
refused, or what it asks for is reduced to what the site permits, and the next one is served."""

import atexit, ctypes, errno, os, pwd, random, resource, struct, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from environment import own_name
from ktap import done, must, ok, skip, skip_all
from launcher import FLAG, KIND, NONE, START, Launcher, head, kill, start, status
from proc import descriptors
from seed import new_seed
from wait import until

if os.geteuid():
    skip_all("only root can start processes of others")
users.add()
libc = ctypes.CDLL(None, use_errno=True)
FILES = 7  # RLIMIT_NOFILE
SEED = new_seed()
chance = random.Random(SEED)


def lower():
    resource.setrlimit(resource.RLIMIT_NOFILE, (1000, 5000))


def lowest():
    """Just one more than those that it begins with, until it raises the limit itself."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5000))


l = Launcher(before=lower)


def good(**more):
    return start(2002, 2002, "eht2", **more)


def served(packet=None):
    """A good request starts an end of that user; all are ended again."""
    answer = l.ask(packet or good())
    if not answer or answer[0] != "LAUNCH_READY":
        return False, answer
    uids = status(answer[2])["Uid"].split()
    return uids == ["2002"] * 4 and l.drop(), (answer, uids)


def refused(name, answer, stage, error=None):
    ok(
        name,
        answer and answer[0] == stage and (error is None or answer[1] == error) and l.lives(),
        answer,
    )
    ok(f"{name}: the next one is served", *served())


ok("a user of this host is served", *served())

# ---- whose process it is ----

for how in "", " again, who is known now":
    answer = l.ask(good(groups=[42, 5, 0, 6, 7777, 2002, 3000]))
    s = status(answer[2])
    ok(
        f"only the groups that the user has here{how}",
        s["Groups"].split() == ["5", "6", "2002"],
        s["Groups"],
    )
    ok(
        f"no capability{how}",
        all(int(s[f"Cap{c}"], 16) == 0 for c in ("Inh", "Prm", "Eff", "Amb")),
        s,
    )
    l.drop()
answer = l.ask(good())
ok("none of those that the task has dropped", status(answer[2])["Groups"].split() == [], answer)
for gid, has in (2002, 2002), (5, 5), (0, 2002), (42, 2002), (2001, 2002), (0xFFFFFFFF, 2002):
    answer = l.ask(start(2002, gid, "eht2"))
    ok(
        f"primary group {gid}",
        status(answer[2])["Gid"].split() == [str(has)] * 4,
        status(answer[2])["Gid"],
    )
l.drop()
many = [n + 10000 for n in range(65536 - 1)] + [6]
answer = l.ask(start(2001, 2002, "eht1", groups=many))
ok(
    "65536 groups of a user in a thousand",
    status(answer[2])["Groups"].split() == ["6", "40000"],
    answer,
)
l.drop()

refused("root", l.ask(start(0, 0, "root")), "LAUNCH_RULES")
refused("root under another name", l.ask(start(0, 0, "eht1")), "LAUNCH_RULES")
daemon = pwd.getpwuid(1).pw_name
refused("a user of the system", l.ask(start(1, 1, daemon)), "LAUNCH_RULES")
refused("another's name for it", l.ask(start(1, 1, "eht1")), "LAUNCH_RULES")
refused("nobody", l.ask(start(65534, 65534, "nobody")), "LAUNCH_RULES")
refused("the number that is none", l.ask(start(0xFFFFFFFF, 0, "eht1")), "LAUNCH_RULES")
refused(
    "the name of one, the number of another", l.ask(start(2001, 2001, "eht2")), "LAUNCH_UNKNOWN"
)
refused("that of a user of the system", l.ask(start(2002, 2002, daemon)), "LAUNCH_UNKNOWN")
refused("that of root", l.ask(start(2001, 2001, "root")), "LAUNCH_UNKNOWN")
refused("a name that nobody has", l.ask(start(2001, 2001, "ehs-no-such")), "LAUNCH_UNKNOWN")
for name in "", "2001", "--help", "-s", "+", "../x", "a b", "a:b", "a\nb", "x" * 64:
    refused(f"the name {name!r:.12}", l.ask(start(2001, 2001, name)), "LAUNCH_REQUEST")

# ---- what it may have ----

ask = dict(
    nice=-20,
    oom=-1000,
    rlimits={FILES: (1 << 20, 1 << 20), 13: (40, 40), 14: (99, 99)},
    traits={
        "JOB_POLICY": os.SCHED_FIFO,
        "JOB_PRIORITY": 50,
        "JOB_IOPRIO": 1 << 13,
        "JOB_OOM_SCORE": 0,
        "JOB_CAP_INHERITABLE": NONE,
        "JOB_CAP_AMBIENT": NONE,
        "JOB_SECUREBITS": 0x2F,
    },
)


def limits(pid):
    """The hard ones, by name."""
    return {
        line[:25].strip(): line[47:67].strip()
        for line in open(f"/proc/{pid}/limits").read().splitlines()[1:]
    }


def had(pid):
    return {
        "nice": os.getpriority(os.PRIO_PROCESS, pid),
        "policy": os.sched_getscheduler(pid),
        "oom": int(open(f"/proc/{pid}/oom_score_adj").read()),
        "io": libc.syscall(252, 1, pid) >> 13,
        "files": limits(pid)["Max open files"],
        "real time": limits(pid)["Max realtime priority"],
        "caps": status(pid)["CapPrm"],
        "ambient": status(pid)["CapAmb"],
    }


answer = l.ask(good(**ask))
got = had(answer[2])
nothing = "0" * 16
ok(
    "priorities and limits of the host stay",
    got
    == {
        "nice": 0,
        "policy": os.SCHED_OTHER,
        "oom": 0,
        "io": 2,
        "files": "5000",
        "real time": limits("self")["Max realtime priority"],
        "caps": nothing,
        "ambient": nothing,
    },
    got,
)
l.drop()
for name, policy in (
    ("RR", os.SCHED_RR),
    ("DEADLINE", 6),
    ("7", 7),
    ("too wide", 1 << 32 | os.SCHED_FIFO),
):
    answer = l.ask(
        good(
            traits={
                "JOB_POLICY": policy,
                "JOB_PRIORITY": 1,
                "JOB_RUNTIME": 10**6,
                "JOB_DEADLINE": 10**9,
                "JOB_PERIOD": 10**9,
            }
        )
    )
    ok(f"policy {name}", os.sched_getscheduler(answer[2]) == os.SCHED_OTHER, answer)
for name, policy in ("BATCH", os.SCHED_BATCH), ("IDLE", os.SCHED_IDLE):
    answer = l.ask(good(traits={"JOB_POLICY": policy}, nice=7))
    ok(
        f"policy {name} and nice stay",
        (os.sched_getscheduler(answer[2]), os.getpriority(os.PRIO_PROCESS, answer[2]))
        == (policy, 7),
        answer,
    )
l.drop()
answer = l.ask(good())
ok("no_new_privs as the job says", status(answer[2])["NoNewPrivs"] == "0", answer)
l.drop()
null = os.open("/dev/null", os.O_RDWR)
refused("a view that is none", l.ask(good(flags=FLAG["LAUNCH_VIEW"]), [null]), "LAUNCH_FOREIGN")

# ---- what is not a request ----

ok(
    "it says first which versions of requests it takes",
    l.versions == (FLAG["LAUNCH_OLDEST"], FLAG["LAUNCH_VERSION"]),
    l.versions,
)
for version in 0, FLAG["LAUNCH_OLDEST"] - 1, FLAG["LAUNCH_VERSION"] + 1, 0xFFFFFFFF:
    answer = l.ask(struct.pack("@I", version) + good()[4:])
    refused(f"version {version}", answer, "LAUNCH_REQUEST")
    ok("as a version that it does not take", answer and answer[1] == errno.EPROTONOSUPPORT, answer)
refused("an unknown kind", l.ask(head(len(KIND)) + good()[8:]), "LAUNCH_REQUEST")
refused("a kind far away", l.ask(head(0xFFFFFFFF) + good()[8:]), "LAUNCH_REQUEST")
for size in 0, 1, 7, 8, START.size - 1, START.size + 1, START.size + 4, 100000:
    if size:
        refused(f"{size} bytes", l.ask((good() + bytes(100000))[:size]), "LAUNCH_REQUEST")
for n in 1, 65536, 65537, 0x40000000, 0xFFFFFFFF:
    refused(f"{n} groups that are not there", l.ask(good(ngroups=n)), "LAUNCH_REQUEST")
for id in (
    "",
    "..",
    "../x",
    "0.1",
    "0.1:",
    ":1",
    "0.1:x",
    "0.1:1/",
    "0.1:../x",
    "0..1:1",
    ".0:1",
    "0.1:1.",
    "0.1:1:1",
    "0.1:" + "1" * 60,
    "x",
):
    refused(f"the ID {id!r:.12}", l.ask(good(id=id)), "LAUNCH_REQUEST")
    refused(f"to kill {id!r:.12}", l.ask(kill(id), end=False), "LAUNCH_REQUEST")
refused("to kill with a byte more", l.ask(kill("0.1:1") + b"\0", end=False), "LAUNCH_REQUEST")
refused("to kill with a descriptor more", l.ask(kill("0.1:1")), "LAUNCH_REQUEST")
refused("unknown flags", l.ask(good(flags=1 << 31)), "LAUNCH_REQUEST")
refused("without the socket of the end", l.ask(good(), end=False), "LAUNCH_REQUEST")
refused("a descriptor too many", l.ask(good(), [null]), "LAUNCH_REQUEST")
refused("sixteen", l.ask(good(), [null] * 14), "LAUNCH_REQUEST")
refused("a view that is not there", l.ask(good(flags=FLAG["LAUNCH_VIEW"])), "LAUNCH_REQUEST")
l.send(good())
ok("without any descriptor: nobody can be told", l.lives())
ok("and the next one is served", *served())

# ---- anything ----


def nulls():
    """How many descriptors of it are of /dev/null, as those of the packets are."""
    found = 0
    for fd in os.listdir(f"/proc/{l.process.pid}/fd"):
        try:
            found += os.readlink(f"/proc/{l.process.pid}/fd/{fd}") == "/dev/null"
        except FileNotFoundError:
            pass
    return found


before = nulls()
for i in range(10000):
    packet = chance.randbytes(chance.randrange(1, 2000))
    if chance.random() < 0.5:
        packet = head(chance.randrange(len(KIND) + 1)) + packet
    l.send(packet, [null] * chance.randrange(6))
ok("10000 packets of chance", *served())
ok("it has kept no descriptor of them", until(lambda: nulls() == before), (before, nulls()))

allowed, wrong, started = {str(g) for g in users.TWOS_GROUPS}, [], 0
for i in range(1000):
    packet = bytearray(good(groups=[5, 6]))
    for _ in range(chance.randrange(1, 4)):
        at = chance.choice([chance.randrange(8, 24), chance.randrange(24, len(packet))])
        packet[at] = chance.choice([0, 1, 2, 0x7F, 0x80, 0xFF, chance.randrange(256)])
    answer = l.ask(bytes(packet))
    if answer and answer[0] == "LAUNCH_READY":
        started += 1
        s = status(answer[2])
        if (
            s["Uid"].split() != ["2002"] * 4
            or not set(s["Gid"].split() + s["Groups"].split()) <= allowed
            or any(int(s[f"Cap{c}"], 16) for c in ("Inh", "Prm", "Eff", "Amb"))
            or had(answer[2])["nice"] < 0
            or os.sched_getscheduler(answer[2])
            not in (os.SCHED_OTHER, os.SCHED_BATCH, os.SCHED_IDLE)
        ):
            wrong.append((i, answer, s))
        l.drop()
ok(
    f"1000 good packets with changed bytes, of which {started} start: none has more",
    started and not wrong,
    wrong[:3],
)
ok("and it serves", *served())
l.stop()
ok("it ends with its agent", l.process.returncode == 0, l.process.returncode)

l = Launcher(before=lowest)
ok("it begins with few descriptors, and serves", *served())
l.stop()

# ---- a site that permits more ----

l = Launcher("--allow-root", "--uid-min", "2002", "--allow-user", daemon, before=lower)
answer = l.ask(start(0, 0, "root", groups=[3, 4], **ask))
got, s = had(answer[2]), status(answer[2])
raises = (
    int(status("self")["CapEff"], 16) >> 24 & 1
)  # CAP_SYS_RESOURCE, which root in a container may not have
ok(
    "allow-root: root may all",
    (got["nice"], got["policy"], got["oom"], got["files"])
    == (-20, os.SCHED_FIFO, *((-1000, str(1 << 20)) if raises else (0, "5000")))
    and s["Groups"].split() == ["3", "4"],
    (got, s),
)
answer = l.ask(start(2002, 2002, "eht2", groups=[42], **ask))
got = had(answer[2])
ok(
    "but not who is not root",
    (got["nice"], got["policy"], got["oom"], got["files"], status(answer[2])["Groups"].split())
    == (0, os.SCHED_OTHER, 0, "5000", []),
    got,
)
answer = l.ask(start(1, 1, daemon))
ok(
    "allow-user: a user of the system",
    answer[0] == "LAUNCH_READY" and status(answer[2])["Uid"].split() == ["1"] * 4,
    answer,
)
ok("uid-min", (saw := l.ask(start(2001, 2001, "eht1"))[0]) == "LAUNCH_RULES", saw)
ok("under that name no other", (saw := l.ask(start(2, 2, daemon))[0]) == "LAUNCH_UNKNOWN", saw)
l.drop()
l.stop()

# ---- an end that has just begun ----

# On one processor, and nice, an end has done nothing for itself when its launcher is killed.
everywhere = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(everywhere)})
began = []
for _ in range(20):
    l = Launcher()
    l.ask(good(nice=19))
    l.process.kill()
    l.process.wait()
    began += l.ends
    l.ends = []
os.sched_setaffinity(0, everywhere)


def waits(pid):
    """For its job: it is asleep, and leads a session."""
    return (
        os.path.exists(f"/proc/{pid}") and status(pid)["State"][0] == "S" and os.getsid(pid) == pid
    )


ok(
    "ends outlive a launcher that is killed when they have begun",
    until(lambda: all(waits(pid) for _, pid in began)),
    [pid for _, pid in began if not waits(pid)],
)
for s, _ in began:
    s.close()
ok(
    "and end with their agent",
    until(lambda: not any(os.path.exists(f"/proc/{pid}") for _, pid in began)),
)

# ---- cgroups ----

mounts = [
    m for m in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup") if os.path.exists(f"{m}/cgroup.procs")
]
root = f"{mounts[0]}/{own_name()}-launch" if mounts else ""
if mounts:
    os.mkdir(root)  # fails where this is read-only: no test that cannot fail
    guest = f"{root}/guest"
    atexit.register(
        lambda: [
            os.rmdir(f"{root}{part}")
            for part in ("/guest", "/managed", "/all", "")
            if os.path.exists(root + part)
        ]
    )

    def guests():
        return sorted(d for d in os.listdir(guest) if os.path.isdir(f"{guest}/{d}"))

    def members(id):
        return [int(pid) for pid in open(f"{guest}/{id}/cgroup.procs").read().split()]

    l = Launcher(
        "--cgroup", root, "--guest-pids", "17", "--guest-memory", "64", "--guest-cpu", "150"
    )
    ok("it begins when the directories are there", l.began == (0, 0, 0) and guests() == [], l.began)
    answer = l.ask(good(id="0.1:7"))
    ok(
        "a guest has a directory",
        guests() == ["0.1:7"] and members("0.1:7") == [answer[2]],
        (answer, guests()),
    )
    for file, controller, limit in (
        ("pids.max", "pids", "17"),
        ("memory.max", "memory", str(64 << 20)),
        ("cpu.max", "cpu", "150000 100000"),
    ):
        if controller in open(f"{guest}/cgroup.controllers").read().split():
            got = open(f"{guest}/0.1:7/{file}").read().strip()
            ok(f"with {file}", got == limit, got)
        else:
            skip(f"with {file}", "this machine's cgroup 2 has no such controller")
    again = l.ask(good(id="0.1:7"))
    ok(
        "an ID that is in use is refused, and its guest goes on",
        again[0] == "LAUNCH_CGROUP" and members("0.1:7") == [answer[2]],
        again,
    )
    refused("a user that is refused", l.ask(start(0, 0, "root", id="0.1:8")), "LAUNCH_RULES")
    refused("one that is unknown", l.ask(start(2001, 2001, "eht2", id="0.1:8")), "LAUNCH_UNKNOWN")
    ok("nothing is left of the others", until(lambda: guests() == []), guests())
    for n in range(3):
        l.ask(good(id=f"0.{n}:9"))
    ok("to kill one", (saw := l.ask(kill("0.1:9"), end=False)[0]) == "LAUNCH_READY", saw)
    ok(
        "ends it, and no other",
        until(lambda: guests() == ["0.0:9", "0.2:9"]) and members("0.0:9") and members("0.2:9"),
        guests(),
    )
    again = l.ask(kill("0.1:9"), end=False)
    ok("to kill one that is not there", again[:2] == ("LAUNCH_CGROUP", 2), again)
    l.drop()
    for n in range(2):
        l.ask(good(id=f"0.{n}:10"))

    # the next launcher goes on
    os.mkdir(f"{guest}/0.3:11")  # as of one that was killed before it could remove it
    ends, l.ends = l.ends, []
    l.process.kill()
    l.process.wait()
    l2 = Launcher("--cgroup", root)
    ok(
        "another one removes what is empty, and leaves the others alone",
        until(lambda: guests() == ["0.0:10", "0.1:10"]) and all(members(id) for id in guests()),
        guests(),
    )
    ok(
        "kills",
        l2.ask(kill("0.0:10"), end=False)[0] == "LAUNCH_READY"
        and until(lambda: guests() == ["0.1:10"]),
        guests(),
    )
    for s, _ in ends:
        s.close()
    ok("and removes what becomes empty", until(lambda: guests() == []), guests())
    for i in range(300):
        l2.ask(good(id="0.1:12"))
        for s, _ in l2.ends:
            s.close()
        l2.ends = []
        must(
            f"nothing is left of {i + 1} that end at once", until(lambda: guests() == []), guests()
        )
    ok("300 that end at once", until(lambda: guests() == []), guests())

    # of each guest it has a descriptor, which is nobody else's
    for n in range(80):
        answer = l2.ask(good(id=f"0.1:{100 + n}"))
    ok("80 guests", answer[0] == "LAUNCH_READY" and len(guests()) == 80, (answer, guests()))
    # the guest's end opens those below its socket again
    only = {0: "/dev/null", 1: "/dev/null", 2: "/dev/null", 3: "socket"}
    ok(
        "the last one has no descriptor of ehlaunch",
        until(lambda: descriptors(answer[2]) in (only, {**only, 4: "anon_inode"})),
        descriptors(answer[2]),
    )
    l2.drop()
    ok("and they end", until(lambda: guests() == []), guests())
    l2.stop()
else:
    skip("cgroups", "no cgroup 2 is mounted here")
done()
