#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ehctl top`: what it shows, once and on a terminal, and what its keys do."""

import os, pty, re, signal, sys, unicodedata

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster, shown_at
from ktap import done, must, ok
from tree import BUILD
from wait import WAIT, until

EHCTL = os.path.join(BUILD, "bin", "ehctl")
# What else this machine does makes nobody a sender.
c = Cluster(3, 'heartbeat = 1000\nload-index = "tasks"\nthreshold-floor = 20.0\n')
ok("three agents", c.start_all(), c.log(0))


def ehctl(*words, **env):
    return c.ehctl(0, *words, env={**os.environ, "LC_ALL": "C.UTF-8", **env})


def drains(i):
    return c.status(0)["nodes"][i]["draining"]


def width(line):
    return sum(1 + (unicodedata.east_asian_width(x) in "WF") for x in line)


c.ehctl(0, "drain", "n2", "--reason", "a new disk", check=True, stdout=None, stderr=None)
must("n0 knows it", until(lambda: drains(2)))
must("n1 knows it", until(lambda: c.status(1)["nodes"][2]["draining"]))
task = c.popen(
    0,
    [EHCTL, "run", "-n", "build", "--all", "--", "sh", "-c", "echo; exec sleep 1000"],
    stderr=None,
    text=False,
)
task.stdout.readline()
tasks = lambda: c.status(0)["nodes"][1]["tasks"]
must("n1 has a guest", until(lambda: tasks()["guest"] == 1), tasks())

# ---- once ----

r = ehctl("top", "--once")
lines = r.stdout.splitlines()
ok("--once", r.returncode == 0 and not r.stderr, r)
ok("the head", re.match(r" n0: 3 of 3 nodes up, 1 draining .*\d\d:\d\d:\d\d$", lines[0]), lines[0])
ok(
    "each node",
    [next((w for w in ln.split() if w != "*"), "") for ln in lines[2:5]] == ["n0", "n1", "n2"],
    r.stdout,
)
ok(
    "its guests",
    re.match(r" n1 +\*? +\S+ .* \d+\.\d/\d+\.\d +\d+ +1 +0 +\d+% +\d+%$", lines[3]),
    lines[3],
)
wide = ehctl("top", "--once", COLUMNS="120").stdout.splitlines()
ok(
    "why it drains, and who wished it",
    re.match(r" n2 .*DRAINING .* a new disk \(root@n0\)$", wide[4]),
    ascii(wide[4]),
)
ok("its session", any(re.match(r" build +root +n0 +0 +1 +\d+:\d\d$", ln) for ln in lines), r.stdout)
ok(
    "the task",
    any(re.match(r" 0\.0:\d+ +root +n0 +n1 +running .* sh$", ln) for ln in lines),
    r.stdout,
)
ok("reasons", re.match(r" execs here: 1: \S+ 100%$", lines[-1]), lines[-1])
ok("no line is wider than a terminal", max(map(width, lines)) <= 80, r.stdout)
ok(
    "nothing that a terminal would obey",
    not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", r.stdout),
    r.stdout,
)
r = ehctl("top", "--once", LC_ALL="C")
ok("in ASCII", r.returncode == 0 and r.stdout.isascii(), r.stdout)
r = ehctl("top", "--once", COLUMNS="40")
ok("on a narrow one", max(map(width, r.stdout.splitlines())) <= 40, r.stdout)
r = ehctl("top")
ok("no terminal", r.returncode == 1 and "--once" in r.stderr, r)
for words in ("--delay", "0"), ("--twice",), ("--json",), ("word",):
    r = ehctl("top", *words)
    ok(
        f"wrong usage: {' '.join(words)}",
        r.returncode == 2 and not r.stdout and r.stderr.startswith("ehctl top: "),
        r,
    )

with c.net.enter(0):
    pid, master = pty.fork()
    if not pid:
        os.environ["TERM"] = "dumb"
        os.execv(EHCTL, ["ehctl", "top"])
shown, see = shown_at(master)
ok(
    "a terminal without places",
    see(b"is TERM right?")
    and os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    and shown.strip().count(b"\n") == 0,
    shown,
)
os.close(master)

# ---- on a terminal ----


def terminal(delay="0.2"):
    with c.net.enter(0):
        pid, master = pty.fork()
        if not pid:
            os.environ.update(TERM="xterm", LC_ALL="C.UTF-8", LINES="24", COLUMNS="80")
            os.execv(EHCTL, ["ehctl", "top", "--delay", delay])
    return pid, master, *shown_at(master)


pid, master, shown, see = terminal()
ok("nodes, tasks, keys", see(b"n2") and see(b"running") and see(b"[q]uit"), shown)
down = b"\x1bOB"
os.write(master, b"d")
ok("nothing is chosen", see(b"choose a node first"), shown)
os.write(master, down + b"d")
ok("drain: it asks", see(b"drain n0? It gets no new tasks. [y/n]"), shown)
os.write(master, b"n" + down + b"d")
ok("no is no", see(b"drain n1?") and not drains(0), shown)
os.write(master, b"y")
ok("then for a reason", see(b"reason, which all see"), shown)
before = shown.count(b"DRAINING")
os.write(master, b"lunch\n")
ok("drain", until(lambda: drains(1)) and see(b"lunch"), shown)
must("the picture has it", until(lambda: see(b"") and shown.count(b"DRAINING") > before), shown)
os.write(master, b"d")
ok("undrain: it asks", see(b"undrain n1?"), shown)
os.write(master, b"y")
ok("undrain", until(lambda: not drains(1)), shown)
os.write(master, down + down + b"w")
ok("why", see(b"any key goes back") and b"0.1" in shown, shown)
os.write(master, b" k")
ok("cancel: it asks", see(b"cancel task 0.0:") and see(b" (sh)? [y/n]"), shown)
os.write(master, b"y")
ok("cancel", task.wait(WAIT) != 0, task.returncode)
os.write(master, b"?")
ok("help", see(b"A bar is the load"), shown)
os.write(master, b" t")
os.write(master, b"q")
ok("quit", (saw := os.waitpid(pid, 0)[1]) == 0, saw)
os.close(master)

# Without an agent the last picture stays, and it says why.
pid, master, shown, see = terminal()
ok("another", see(b"3 of 3 nodes up"), shown)
c.end(0, signal.SIGKILL)
ok("the agent is gone", see(b"cannot connect to the agent"), shown)
os.kill(pid, signal.SIGINT)
os.waitpid(pid, 0)
ok("an interrupt ends it, and the terminal is as it was", see(b"\x1b[?1049l"), shown)
os.close(master)
r = ehctl("top", "--once")
ok(
    "--once without an agent",
    r.returncode == 1 and r.stderr.startswith("ehctl top: cannot connect") and not r.stdout,
    r,
)
task.stdout.close()
done()
