#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is asked of all nodes: `ehctl tasks --all`, `ehctl watch --all`, and who is told what. 0.1.1
has a certificate and lies."""

import json, os, queue, signal, subprocess, sys, threading

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2
from cluster import Cluster
from commands import EHCTL
from frames import frame, read_frame
from ktap import done, must, ok
from netns import address
from users import ONE, TWO
from wait import WAIT, until

SETTINGS = 'heartbeat = 1000\nload-index = "tasks"\nthreshold-floor = 20.0\nguests = 50\n'
HONEST = range(6)
c = Cluster(8, SETTINGS, topology="1,3")
for i in HONEST:
    c.start(i)
must("six agents, in groups of two", c.all_up(HONEST), c.log(0))
os.chmod(c.dir, 0o755)
running = []


def of_user(i, uid, *words):
    """The command that runs these words of ehctl on node i as a user."""
    become = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if uid else []
    return c.words(i, *become, EHCTL, *words)


def start(i, *words, uid=0):
    p = subprocess.Popen(
        of_user(i, uid, *words, "--", "sh", "-c", "echo; read x"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    p.stdout.readline()
    running.append(p)
    return p


def end(p, how=b"\n"):
    p.communicate(how)
    running.remove(p)


def ehctl(i, *words, uid=0):
    return subprocess.run(
        of_user(i, uid, *words),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT,
    )


def whole(i, uid=0):
    r = ehctl(i, "tasks", "--all", "--json", uid=uid)
    return json.loads(r.stdout) if r.returncode == 0 else r.stderr


def of(i, uid=0):
    """Home, executor and user of each."""
    return sorted((t["home"], t["executor"], t["user"]) for t in whole(i, uid)["tasks"])


# ---- tasks

ok("none yet", whole(3)["tasks"] == [] == whole(3)["refused"] and not whole(3)["more"], whole(3))
away = start(4, "exec", "n1")
here = start(5, "run", "-n", "at home", uid=ONE)
other = start(2, "exec", "n5", uid=TWO)
every = sorted(
    [(c.code(4), c.code(1), "root"), (c.code(5), c.code(5), "eht1"), (c.code(2), c.code(5), "eht2")]
)
for i in HONEST:
    ok(f"all tasks from n{i}, each once", of(i) == every, of(i))
t = next(t for t in whole(3)["tasks"] if t["user"] == "root")
ok(
    "with names, and what the executor knows",
    (t["home_host"], t["executor_host"], t["command"]) == ("n4", "n1", "sh")
    and until(lambda: next(t for t in whole(3)["tasks"] if t["user"] == "root")["memory"] > 10000),
    t,
)
t = next(t for t in whole(0)["tasks"] if t["user"] == "eht1")
ok(
    "with the session that only home knows",
    t["session"].startswith("at-home.") and t["pid"] == here.pid,
    t,
)
ok(
    "a user sees their own",
    [of(3, uid) for uid in (ONE, TWO, 4711)] == [every[2:], every[:1], []],
    (of(3, ONE), of(3, TWO), of(3, 4711)),
)
text = ehctl(3, "tasks", "--all").stdout
ok("as a table", len(text.splitlines()) == 4 and "eht2" in text and " n2 " in text, text)
ok(
    "this node's alone, without --all",
    json.loads(ehctl(3, "tasks", "--json").stdout)["tasks"] == [],
)

# ---- why

t = next(t for t in whole(3)["tasks"] if t["user"] == "eht2")
r = json.loads(ehctl(2, "why", t["id"], "--json").stdout)
ok(
    "why of one of another home",
    r["reason"] == "explicit"
    and r["steps"]
    and (saw := json.loads(ehctl(3, "why", t["id"], "--json").stdout)) == r,
    (r, saw),
)
ok(
    "by its short ID, with the host",
    (saw := ehctl(3, "why", "n2:" + t["short"].split(":")[1]).stdout)
    == ehctl(2, "why", t["id"]).stdout
    != "",
    saw,
)
ok(
    "of a guest, on its executor",
    (saw := json.loads(ehctl(5, "why", t["id"], "--json").stdout)) == r,
    (r, saw),
)
pid = next(
    t for t in json.loads(ehctl(5, "tasks", "--json").stdout)["tasks"] if t["user"] == "eht2"
)["pid"]
ok(
    "by its process there",
    (saw := json.loads(ehctl(5, "why", str(pid), "--json").stdout)) == r,
    (r, saw),
)
ok("its user may ask", ehctl(3, "why", t["id"], uid=TWO).returncode == 0)
r = ehctl(3, "why", t["id"], uid=ONE)
ok(
    "nobody else",
    r.returncode == 1
    and not r.stdout
    and "its home n2 tells nothing of it: it is another user's" in r.stderr,
    r,
)
r = json.loads(ehctl(3, "why", "--timing", t["id"], "--json").stdout)
ok(
    "with its steps",
    {step["node_host"] if "node_host" in step else step["host"] for step in r["timing"]["steps"]}
    == {"n2", "n5"},
    r,
)
ended = start(2, "exec", "n5", uid=TWO)
before = next(x for x in whole(3)["tasks"] if x["user"] == "eht2" and x["id"] != t["id"])
end(ended)
ok(
    "of one that has ended",
    until(
        lambda: (r := ehctl(3, "why", before["id"], uid=TWO)).returncode == 0
        and "exited with status 0" in r.stdout
    ),
    ehctl(3, "why", before["id"], uid=TWO),
)
for long in "é" * 200, "x" * 127, "x" * 128, c.code(2) + ":" + "1" * 200:
    r = ehctl(3, "why", long)
    ok(
        f"of none, {len(long.encode())} bytes: {long[:9]}",
        r.returncode in (1, 2)
        and ("longer than an ID can be" if len(long.encode()) > 127 else "not known") in r.stderr,
        r,
    )
r = ehctl(3, "why", c.code(2) + ":1234567")
ok(
    "of none",
    r.returncode == 1 and "not known on this node; its home n2 tells nothing of it" in r.stderr,
    r,
)
c.end(2)
c.start(2)
ok(
    "of one that ended before its home's agent was started",
    until(lambda: c.up(3) == {c.code(i) for i in HONEST})
    and ehctl(3, "why", before["id"]).stdout.startswith(before["id"]),
    ehctl(3, "why", before["id"]),
)
ok("nor is that for others", ehctl(3, "why", before["id"], uid=ONE).returncode == 1)

# ---- events


class Watch:
    """Lines of an `ehctl watch`."""

    def __init__(self, i, *words, uid=0):
        self.p = subprocess.Popen(
            of_user(i, uid, "watch", *words),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.queue = queue.Queue()
        self.lines = []
        threading.Thread(
            target=lambda: [self.queue.put(line) for line in self.p.stdout], daemon=True
        ).start()

    def take(self):
        while not self.queue.empty():
            self.lines.append(self.queue.get())
        return self.lines

    def saw(self, *parts):
        return until(lambda: any(all(part in line for part in parts) for line in self.take()))

    def end(self):
        self.p.send_signal(signal.SIGINT)
        return self.p.communicate()[1]


def told(watch, event):
    """What was told of events with this name."""
    return [e for e in map(json.loads, watch.take()) if e["event"] == event]


words = "--event", "finish"
texts, documents, ones, programs, nodes, own = watches = [
    Watch(3, "--all", *words),
    Watch(3, "--all", "--json"),
    Watch(3, "--all", *words, uid=ONE),
    Watch(3, "--all", *words, "--program", "true"),
    Watch(3, "--all", *words, "--node", "n5"),
    Watch(4, "--event", "finish", "--user", "eht1"),
]
# An event of just before is told, too, so a few of these are seen by each.


def mark():
    for i, uid in (4, ONE), (0, 0):
        ehctl(i, "exec", "n5", "--", "true", uid=uid)
    return all(w.take() for w in watches)


must("each has begun", until(mark), [w.take() for w in watches])
for script, shown in ("exit 9", "exit 9"), ("kill -9 $$", "killed by SIGKILL"):
    ehctl(0, "exec", "n1", "--", "sh", "-c", script)
    ok(f"{script}: shown as {shown}", texts.saw(" n0 ", " sh", "n1", shown, "root"), texts.take())
ok(
    "in JSON, too",
    until(
        lambda: [
            (e["self"], e["self_host"], e["exit"], e["signal"])
            for e in told(documents, "finish")
            if e["command"] == "sh"
        ]
        == [(c.code(0), "n0", 9, None), (c.code(0), "n0", None, 9)]
    ),
    told(documents, "finish"),
)
finished = told(documents, "finish")
ok("each once", len(finished) == len({e["id"] for e in finished}), finished)
ok("in order", (saw := [e["id"] for e in finished if e["self"] == c.code(0)]) == sorted(saw), saw)
ok(
    "a user is told of their own",
    ones.take() and all("eht1" in line for line in ones.lines),
    ones.lines,
)
ok("of a program", all(" true" in line for line in programs.take()), programs.lines)
ok("of a node", nodes.take() and all("n5" in line for line in nodes.lines), nodes.lines)
ok("of a user, at one node", all("eht1" in line for line in own.take()), own.lines)
for w in watches:
    w.end()
r = ehctl(3, "watch", "--all", "more")
ok("wrong usage", r.returncode == 2 and "more" in r.stderr, r)

# ---- those that do not answer, or do not tell


def liar(to):
    """A connection of n7 to another node."""
    one = http2.Client(http2.connect(c.net, 7, address(to), os.path.join(c.dir, "cert"), "n7"))
    assert one.hello(node=c.code(7)) == 200
    return one


right = {"what": "tasks", "from": c.code(7), "uid": 0, "user": "root", "all": True, "below": 0}

member = liar(4)
os.kill(c.agents[5].pid, signal.SIGSTOP)
# Each of these waits for n5, so all are under way at once.
many = [c.connect(3, uid) for uid in [ONE] * 10 + [TWO]]
for s in many:
    s.sendall(frame("FRAME_REQUEST", b'{"command": "tasks", "all": true}'))
for _ in range(18):
    member.send("POST", "/v1/survey", {**right, "below": 1})
got = member.statuses(18)
ok("a node has 16 such questions at a time", got == [200] * 16 + [503] * 2, got)
said = [read_frame(s)[1] for s in many]
for s in many:
    s.close()
ok(
    "a user has eight",
    sum("too many such questions" in x.get("error", {}).get("why", "") for x in said[:10]) == 2
    and sum("tasks" in x for x in said[:10]) == 8,
    said,
)
ok("which is nothing to another user", "tasks" in said[10], said[10])
r = ehctl(3, "tasks", "--all")
ok(
    "a node that hangs is named",
    r.returncode == 0 and "no answer from" in r.stderr and "n5" in r.stderr,
    r,
)
ok(
    "what the others know is there",
    {(t["home"], t["executor"]) for t in whole(3)["tasks"]}
    == {(c.code(2), c.code(5)), (c.code(4), c.code(1))},
    whole(3),
)
os.kill(c.agents[5].pid, signal.SIGCONT)
ok("and it is back", until(lambda: of(3) == every), of(3))
id = next(t for t in whole(1)["tasks"] if t["home"] == c.code(4))["id"]
os.kill(c.agents[4].pid, signal.SIGSTOP)
r = ehctl(1, "why", id)
ok(
    "why of a guest whose home hangs",
    r.returncode == 0
    and "guest of another node" in r.stdout
    and "Why it left its home is not known here; its home n4 does not answer." in r.stdout,
    r,
)
r = ehctl(3, "why", id)
ok(
    "nobody else knows",
    r.returncode == 1 and "not known on this node; its home n4 does not answer" in r.stderr,
    r,
)
os.kill(c.agents[4].pid, signal.SIGCONT)
ok(
    "it is back, too",
    until(lambda: of(3) == every and c.up(4) == {c.code(i) for i in HONEST}),
    (of(3), c.up(4)),
)
c.conf(1, settings=SETTINGS + 'guest-deny-nodes = { "n3" }\n')
ok("n1 takes no guests of n3", c.ask(1, {"command": "reload"}) == {"version": 1})
r = ehctl(3, "tasks", "--all")
ok(
    "it tells n3 nothing, and why",
    "n1 tells nothing" in r.stderr and "guest-deny-nodes" in r.stderr,
    r,
)
r = ehctl(4, "tasks", "--all")
ok("others are told", "n1" not in r.stderr, r)
c.conf(1, settings=SETTINGS + 'guest-deny-users = { "eht2" }\n')
ok("n1 takes no guests of a user", c.ask(1, {"command": "reload"}) == {"version": 1})
mine, root = start(1, "run", uid=TWO), start(1, "run")
ok(
    "an operator elsewhere does not see that user's tasks there",
    {t["user"] for t in whole(3)["tasks"] if t["home"] == c.code(1)} == {"root"},
    whole(3),
)
ok(
    "an operator there does",
    {t["user"] for t in whole(1)["tasks"] if t["home"] == c.code(1)} == {"root", "eht2"},
    whole(1),
)
end(mine)
end(root)

# ---- a member that lies

known = None


def ask(**question):
    """Status and answer of n1, which n7 asks. A connection that has become idle is made again."""
    global known
    for again in True, False:
        try:
            known = known or liar(1)
            return known.request("POST", "/v1/survey", question)
        except (EOFError, OSError):
            known = None
            if not again:
                raise


wrong = [
    {"what": "secrets"},
    {"what": 7},
    {"what": None},
    {"from": "x"},
    {"from": "0.9"},
    {"from": None},
    {"uid": -1},
    {"uid": "0"},
    {"uid": 1 << 32},
    {"user": 7},
    {"user": None},
]
for change in wrong:
    saw = ask(**{**right, **change})
    ok(f"wrong: {change}", saw[0] == 400, saw)
for change in (
    {"below": -5},
    {"below": 1 << 40},
    {"below": "x"},
    {"id": 7},
    {"id": ":"},
    {"id": "x" * 300 + ":"},
    {"since": "x"},
    {"limit": -1},
    {"all": 7},
):
    for what in "tasks", "history", "events", "why":
        saw = ask(**{**right, "what": what, **change})
        ok(f"strange: {what} {str(change)[:30]}", saw[0] == 200, saw)
task, root = start(1, "exec", "n2", uid=TWO), start(1, "exec", "n2")
for what in "tasks", "history", "events":
    saw = ask(**{**right, "what": what, "since_ms": 1 << 40})
    ok(
        f"{what} of a user who may be a guest there",
        saw[0] == 200 and b'"user":"root"' in saw[1],
        saw,
    )
id = next(t["id"] for t in whole(1)["tasks"] if t["user"] == "eht2")
for change in {}, {"all": False, "uid": TWO, "user": "eht2"}:
    saw = ask(**{**right, "what": "why", "id": id, **change})
    ok(
        f"why of a task of a user who is no guest there: not even for {change}",
        saw[0] == 200 and b"explicit" not in saw[1] and b"sh" not in saw[1].replace(b"short", b""),
        saw,
    )
for change in {}, {"all": False, "uid": TWO, "user": "eht2"}, {"from": c.code(4)}:
    for what in "tasks", "history", "events":
        saw = ask(**{**right, "what": what, "since_ms": 1 << 40, **change})
        ok(
            f"{what} of a user who is no guest there: not even for {change}",
            saw[0] == 200
            and b'"items":' in saw[1]
            and b"eht2" not in saw[1]
            and str(TWO).encode() not in saw[1],
            saw,
        )
end(task)
end(root)
for i in HONEST:
    ok(f"n{i} lives", c.alive(i), c.log(i))

for p in list(running):
    end(p)
ok("all have ended", until(lambda: whole(3)["tasks"] == []), whole(3))
done()
