#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The history: what is kept of tasks, who sees it, over restarts, kills and a full disk; `ehctl
history`, `ehctl why`."""

import contextlib, csv, datetime, glob, io, json, os, re, signal, sqlite3, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from console import terminal
from ktap import done, must, ok
from proc import descriptors, state
from tree import BUILD
from wait import until

EHCTL = os.path.join(BUILD, "bin", "ehctl")
c = Cluster(
    2,
    (
        "heartbeat = 1000\ncapacity = 1000\nthreshold = 1000\nthreshold-floor ="
        ' 1000\nhistory-arguments = 20\nhistory-group = "games"\n'
    ),
)
ok("two agents", c.start_all(), c.log(0) + c.log(1))
FILE = os.path.join(os.path.dirname(c.state(0)), "history.db")


def history(*words, **more):
    r = c.ehctl(0, "history", "--json", *words, **more)
    return json.loads(r.stdout)["tasks"] if r.returncode == 0 else r.stderr


def states():
    """Those of all tasks; [] if there is no answer."""
    found = history()
    return [x["state"] for x in found] if isinstance(found, list) else []


def writers(i=0):
    """The processes of node i's ehhist: the one that watches, and its child that writes."""

    def children(pid):
        return [int(p) for p in open(f"/proc/{pid}/task/{pid}/children").read().split()]

    of = [p for p in children(c.agents[i].pid) if open(f"/proc/{p}/comm").read() == "ehhist\n"]
    return of[0], (children(of[0]) + [None])[0]


def have_ended(of):
    """What wrote may still have the file when its agent is gone, and write into it."""
    must(
        "what writes has ended",
        until(lambda: all(p is None or state(p) in ("gone", "Z") for p in of)),
        of,
    )


def end():
    """Of node 0, with what writes."""
    of = writers()
    c.end(0)
    have_ended(of)


r = c.ehctl(0, "history")
ok(
    "nothing has run",
    r.returncode == 0
    and r.stdout.split()
    == [
        "ID",
        "START",
        "ELAPSED",
        "USER",
        "EXECUTOR",
        "EXIT",
        "CPU",
        "MEM",
        "REASON",
        "SESSION",
        "COMMAND",
    ]
    or not history(),
    r.stdout + r.stderr,
)
ok("and the list is one", history() == [], history())

# ---- what is kept

began = datetime.datetime.now(datetime.timezone.utc)
r = c.ehctl(
    0,
    "exec",
    "n1",
    "--",
    "sh",
    "-c",
    "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; echo done; exit 3",
)
ok("a task away", r.returncode == 3 and r.stdout == "done\n", r)
t = history()[0]
ok(
    "who, what, where, why",
    (
        t["user"],
        t["uid"],
        t["command"],
        t["program"].endswith("/sh"),
        t["home"],
        t["home_host"],
        t["executor"],
        t["executor_host"],
        t["reason"],
        t["state"],
        t["session"],
    )
    == ("root", 0, "sh", True, "0.0", "n0", "0.1", "n1", "explicit", "ended", None),
    t,
)
ok(
    "how it ended, and what it used",
    t["exit"] == 3
    and t["signal"] is None
    and t["cpu_user"] + t["cpu_system"] > 0
    and t["memory"] > 100000
    and t["bytes"] > 100
    and t["elapsed"] > 0,
    t,
)
started, ended = (
    datetime.datetime.fromisoformat(t[when].replace("Z", "+00:00")) for when in ("started", "ended")
)
ok(
    "when",
    began - datetime.timedelta(seconds=1)
    <= started
    <= ended
    <= datetime.datetime.now(datetime.timezone.utc),
    t,
)
ok("arguments are cut as configured", t["arguments"] == "-c 'i=0; while [ $i "[:20], t)
ok(
    "the other node's history has nothing of it",
    (saw := json.loads(c.ehctl(1, "history", "--json").stdout)["tasks"]) == [],
    saw,
)
r = c.ehctl(0, "exec", "n1", "--", "sh", "-c", "kill -TERM $$")
ok(
    "one that a signal killed",
    r.returncode in (143, -signal.SIGTERM)
    and history()[-1]["signal"] == 15
    and history()[-1]["exit"] is None,
    history(),
)
here = c.popen(
    0,
    [EHCTL, "run", "-n", "my build", "--", "sh", "-c", "echo; read x"],
    stdin=subprocess.PIPE,
    stderr=None,
    text=False,
)
here.stdout.readline()
mine = until(lambda: [t for t in history() if t["session"] == f"my-build.{here.pid}.0"])
ok(
    "one that stays here, with its session",
    [(t["executor"], t["state"], t["ended"]) for t in mine] == [("0.0", "here", None)],
    mine or history(),
)
t = mine[0] if mine else history()[-1]
here.communicate(b"\n")
ok(
    "its end",
    until(lambda: history()[-1]["state"] == "ended" and history()[-1]["elapsed"] > 0),
    history(),
)
r = c.ehctl(0, "exec", "0.7", "--", "true")
ok(
    "one for a node that is not there",
    r.returncode != 0
    and history()[-1]["state"] == "refused"
    and history()[-1]["reason"] == "unreachable",
    history()[-1:],
)
evil = os.path.join(c.dir, 'e\x1b[31mvil\nx"y,z')
os.symlink("/bin/true", evil)
r = c.ehctl(0, "exec", "n1", "--", evil)
ok(
    "a name with escapes",
    r.returncode == 0 and history()[-1]["program"].endswith('/e?[31mvil?x"y,z'),
    (r, history()[-1:]),
)

# ---- what is asked

every = history()
ok(
    "the newest are last",
    len(every) == 5 and [x["started"] for x in every] == sorted(x["started"] for x in every),
    every,
)
for words, wanted in (
    (["--failed"], [0, 1, 3]),
    (["--node", "n1"], [0, 1, 4]),
    (["--node", "0.0"], [2, 3]),
    (["--reason", "unreachable"], [3]),
    (["--session", "my-build"], [2]),
    (["--session", every[2]["session"]], [2]),
    (["--program", "sh"], [0, 1, 2]),
    (["--program", every[0]["program"]], [0, 1, 2]),
    (["--user", "root"], [0, 1, 2, 3, 4]),
    (["--user", "4711"], []),
    (["--since", "1h"], [0, 1, 2, 3, 4]),
    (["--until", "1h"], []),
    (["--since", every[3]["started"][:19] + "Z", "-n", "1"], [4]),
    (["-n", "2"], [3, 4]),
    (["-n", "0"], [0, 1, 2, 3, 4]),
):
    found = history(*words)
    ok(" ".join(words), found == [every[k] for k in wanted], found)
for words, why in (
    (["--since", "soon"], "no such time"),
    (["--user", "nobody-here"], "no such user"),
    (["--reason", "none-such"], "no such reason"),
    (["-n", "x"], "must be a number"),
    (["--csv", "--json"], "one of them"),
    (["more"], "more"),
):
    r = c.ehctl(0, "history", *words)
    ok(
        f"history {' '.join(words)} is refused",
        r.returncode == 2 and why in r.stderr and not r.stdout,
        r,
    )
r = c.ehctl(0, "history", "--csv", text=False)
rows = list(csv.DictReader(io.StringIO(r.stdout.decode(), newline="")))
ok(
    "CSV",
    r.returncode == 0
    and [x["id"] for x in rows] == [x["id"] for x in every]
    and r.stdout.endswith(b"\r\n")
    and rows[0]["exit"] == "3"
    and rows[4]["program"] == every[4]["program"]
    and b"\x1b" not in r.stdout,
    r.stdout,
)
r = c.ehctl(0, "history")
lines = r.stdout.splitlines()
ok(
    "the table",
    len(lines) == 6
    and " 3 " in lines[1]
    and "SIGTERM" in lines[2]
    and " refused " in lines[4]
    and "\x1b" not in r.stdout,
    r.stdout,
)
shown = terminal(*c.words(0, EHCTL, "history"), columns=80)
wide = [line for line in shown.splitlines() if len(re.sub(r"\x1b\[[0-9;]*m", "", line)) > 80]
ok("on a terminal it has 80 columns", "COMMAND" in shown and not wide, repr(shown))

# ---- who sees it

r = c.ehctl(0, "exec", "n1", "--", "true", uid=1000)
mine = history()[-1]
ok("a task of a user", mine["uid"] == 1000, (r, mine))
ok("its user sees it, and nothing else", history(uid=1000) == [mine], history(uid=1000))
ok("another one sees nothing", history(uid=1001) == [], history(uid=1001))
ok(
    "and may not ask for it",
    "history-group" in history("--user", "1000", uid=1001),
    history("--user", "1000", uid=1001),
)
ok("a member of the group sees all", len(history(uid=1001, gid=60)) == 6, history(uid=1001, gid=60))
ok("root sees all", (saw := history("--user", "1000")) == [mine], saw)
ok("nobody reads the file", os.stat(FILE).st_mode & 0o777 == 0o600, oct(os.stat(FILE).st_mode))

# ---- what lasts

ids = [x["id"] for x in history()]
end()
c.start(0)
ok(
    "all is there after a restart",
    until(lambda: c.up(0) == {"0.0", "0.1"}) and [x["id"] for x in history()] == ids,
    history(),
)
r = c.ehctl(0, "why", ids[0])
ok(
    "why of one that ended before",
    r.returncode == 0
    and "started on n1" in r.stdout
    and "exited with status 3" in r.stdout
    and "explicit" in r.stdout,
    r,
)
short = "n0:" + ids[0].split(":")[1][-8:]
ok(
    "and by fewer figures",
    c.ehctl(0, "why", short).stdout == r.stdout,
    (short, c.ehctl(0, "why", short)),
)
r = c.ehctl(0, "why", ids[0], uid=1001)
ok("not for others", r.returncode == 1 and "not known" in r.stderr, r)
r = c.ehctl(0, "why", "0.0:99999999")
ok("nor of what never was", r.returncode == 1 and "not known" in r.stderr, r)

task = c.popen(
    0,
    [EHCTL, "exec", "n1", "--", "sh", "-c", "echo; read x; exit 5"],
    stdin=subprocess.PIPE,
    stderr=None,
    text=False,
)
task.stdout.readline()
ok("one is away", history()[-1]["state"] == "away", history()[-1:])
of = writers()
c.again([0], signal.SIGKILL)
have_ended(of)
ok(
    "the agent is killed, and another one has its history",
    until(lambda: states() == ["ended", "ended", "ended", "refused", "ended", "ended", "away"]),
    history(),
)
ok(
    "and the task",
    until(lambda: [x["state"] for x in c.tasks(0)] == ["running"]),
)
task.communicate(b"\n")
t = history()[-1]
ok(
    "whose end is recorded, beside its start",
    (task.returncode, t["state"], t["exit"], t["reason"], len(history()))
    == (5, "ended", 5, "explicit", 7),
    history()[-2:],
)

# Its agent is away for longer than it waits, or somebody ends it meanwhile: the next agent cannot
# know how it ended.
task = c.popen(
    0,
    [EHCTL, "exec", "n1", "--", "sh", "-c", "echo; read x"],
    stdin=subprocess.PIPE,
    stderr=None,
    text=False,
)
task.stdout.readline()
must("another one is away", history()[-1]["state"] == "away", history()[-1:])
of = writers()
c.end(0, signal.SIGKILL)
have_ended(of)
task.kill()
task.communicate()
c.start(0)
t = history()[-1]
ok(
    "a task that does not come back is not away for ever",
    (t["state"], t["exit"], t["ended"]) == ("unknown", None, None),
    t,
)
r = c.ehctl(0, "why", t["id"])
ok("which why says", "no agent saw it" in r.stdout, r)
r = c.ehctl(0, "history")
ok("which the table says", " unknown " in r.stdout.splitlines()[-1], r.stdout)
must("both are up", until(lambda: c.up(0) == {"0.0", "0.1"}), c.log(0)[-2000:])
ok("its guest is ended there", c.ehctl(1, "cancel", t["id"]).returncode == 0)

watch, writer = writers()
os.kill(writer, signal.SIGKILL)
ok("what writes is killed", until(lambda: writers()[1] not in (writer, None)), c.log(0))
c.ehctl(0, "exec", "n1", "--", "false")
ok(
    "another one goes on",
    len(history()) == 9 and history()[-1]["exit"] == 1 and "killed by signal 9" in c.log(0),
    history()[-1:],
)
# Closed at once: the last to close it writes what it has not yet, however long the file has been
# another one.
with contextlib.closing(sqlite3.connect(FILE)) as db:
    saw = db.execute("PRAGMA integrity_check").fetchone()
ok("the file is whole", saw == ("ok",), saw)
status = dict(
    line.split(":\t", 1)
    for line in open(f"/proc/{writers()[1]}/status").read().splitlines()
    if ":\t" in line
)
ok(
    "what writes filters its system calls",
    status["Seccomp"] == "2" and status["NoNewPrivs"] == "1",
    status,
)
has = {what.replace(FILE, "history.db") for what in descriptors(writers()[1]).values()}
ok(
    "and has no other descriptors",
    has
    <= {
        "/dev/null",
        "socket",
        "history.db",
        "history.db-wal",
        "history.db-shm",
        os.path.join(c.dir, "n0.log"),
    },
    has,
)

# ---- when it cannot be written

end()
with open(FILE, "r+b") as f:
    f.write(b"no database" * 100)
for beside in glob.glob(FILE + "-*"):
    os.unlink(beside)
c.start(0)
ok(
    "a file that is no database is put aside",
    until(lambda: c.up(0) == {"0.0", "0.1"})
    and history() == []
    and os.path.exists(FILE + ".broken")
    and "a new one is created" in c.log(0),
    (history(), os.path.exists(FILE + ".broken"), c.log(0)[-1500:]),
)

end()
folder = os.path.dirname(FILE)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "none", folder], check=True)
try:
    c.start(0)
    ok(
        "on a small disk",
        until(lambda: c.up(0) == {"0.0", "0.1"})
        and c.ehctl(0, "exec", "n1", "--", "true").returncode == 0
        and len(history()) == 1,
        history(),
    )
    with open(os.path.join(folder, "full"), "wb", buffering=0) as f:
        try:
            while True:
                f.write(bytes(4096))
        except OSError:
            pass
    codes = [
        c.ehctl(0, "exec", "n1", "--", "sh", "-c", f"exit {k % 7}").returncode for k in range(40)
    ]
    told = re.findall(r"history: .*cannot .*", c.log(0))
    ok("the disk is full: tasks go on", codes == [k % 7 for k in range(40)], codes)
    ok(
        "one line of the log says so",
        until(lambda: len(re.findall(r"history: .*cannot .*", c.log(0))) == 1),
        told,
    )
    os.unlink(os.path.join(folder, "full"))

    def again():
        c.ehctl(0, "exec", "n1", "--", "true")
        return "can be written again" in c.log(0)

    ok(
        "with room it goes on",
        until(again) and isinstance(history(), list) and history()[-1]["exit"] == 0,
        c.log(0)[-2000:],
    )
    end()
finally:
    subprocess.run(["umount", folder], check=False)

# ---- its limits, and without it

c.start(0, c.conf(0, settings="heartbeat = 1000\nhistory-rows = 3\n"))
must("it is back", until(lambda: c.up(0) == {"0.0", "0.1"}), c.log(0)[-2000:])
for k in range(6):
    c.ehctl(0, "exec", "n1", "--", "sh", "-c", f"exit {k}")
ok("only so many rows are kept", [x["exit"] for x in history()] == [3, 4, 5], history())
ok("and no arguments, unless configured", all(x["arguments"] is None for x in history()), history())
with open(c.conf(0, settings="heartbeat = 1000\nhistory-rows = 1\n")):
    pass
r = c.ehctl(0, "reload")
c.ehctl(0, "exec", "n1", "--", "sh", "-c", "exit 9")
ok(
    "a reload changes that",
    r.returncode == 0 and [x["exit"] for x in history()] == [9],
    (r, history()),
)
end()
c.start(0, c.conf(0, settings="heartbeat = 1000\nhistory = false\n"))
must("it is back", until(lambda: c.up(0) == {"0.0", "0.1"}), c.log(0)[-2000:])
r = c.ehctl(0, "history")
ok(
    "without history it says so",
    r.returncode == 1
    and "keeps none" in r.stderr
    and c.ehctl(0, "exec", "n1", "--", "true").returncode == 0,
    r,
)
r = c.ehctl(0, "why", "0.0:99999999")
ok("and so does why", r.returncode == 1 and "keeps none" in r.stderr, r)
c.end(0)

# ---- a directory that is not there yet

conf, folder = c.conf(0), os.path.join(os.path.dirname(FILE), "new")
with open(conf) as f:
    text = f.read().replace(c.state(0), os.path.join(folder, "state"))
with open(conf, "w") as f:
    f.write(text)
c.start(0, conf)
must("it is back", until(lambda: c.up(0) == {"0.0", "0.1"}), c.log(0)[-2000:])
c.ehctl(0, "exec", "n1", "--", "true")
ok(
    "it is made, and the history is in it",
    states() == ["ended"] and os.path.exists(os.path.join(folder, "history.db")),
    (history(), c.log(0)[-2000:]),
)
ok("no sanitizer has reported", not c.reports(), c.reports())
done()
