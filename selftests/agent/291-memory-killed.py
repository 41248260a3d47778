#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that the kernel kills because memory is short: it is reported as that, more is expected
of the next one, and with guest-oom-score it goes before the executor's own tasks. The executor is
in a cgroup with 300 MiB, whose kernel really kills."""

import os, re, signal, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from commands import EHCTL
from ktap import done, ok, skip_all
from small import Small, enter, says, words
from wait import WAIT, until

if os.geteuid():
    skip_all("only root can make cgroups")
BASE = (
    'load-index = "tasks"\nthreshold-floor = 20\nthreshold = 20\nheartbeat = 1000\ntime-limit ='
    " 10000\nlearn = true\n"
)
c = Small(2, BASE, [1], 300)
if not c.small[1]:
    skip_all("no memory controller can be used on this machine")


def begin(first, more, mark=""):
    return c.popen(
        0, [EHCTL, "exec", "0.1", "--", *words(first, more, mark)], cwd="/", stdin=subprocess.PIPE
    )


def go(p):
    p.stdin.write("\n")
    p.stdin.flush()


c.start(
    1,
    c.conf(
        1,
        settings=(
            f'{BASE}memory = "{c.small[1]}"\nheadroom = 16\nmemory-pressure = 0\nguest-oom-score ='
            " 900\n"
        ),
    ),
)
c.start(0)
ok("two agents, one with little memory", c.all_up(range(2)), c.log(1))

# A task of the executor's own. The guest is killed when it has as much, and would be spared as the
# smaller one.
owners = subprocess.Popen(
    enter(c.small[1], *words(150)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)
ok("a task of its owner has half of it", says(owners))
p = begin(30, 250)
ok("a guest begins with little", says(p), c.log(1)[-2000:])


def its_pid():
    """The PID of the guest, once it has started."""
    last = c.why(0, p)["steps"][-1]["what"]
    return last.startswith("started") and int(last.split()[-1])


score = open(f"/proc/{until(its_pid)}/oom_score_adj").read()
ok("the kernel is to kill it first", score == "900\n", score)
go(p)
out, err = p.communicate(timeout=WAIT)
ok(
    "it takes more than there is, and is killed",
    p.returncode == -signal.SIGKILL and not out,
    (p.returncode, out, err),
)
ok("the owner's task goes on", (saw := owners.poll()) is None, saw)
ok(
    "why says that memory was short",
    until(lambda: c.why(0, p)["reason"] == "starved"),
    (c.why(0, p), c.log(1)[-2000:]),
)
said = c.why(0, p)
ok(
    "on which node",
    any(s["what"] == "killed because memory was short on n1" for s in said["steps"])
    and "memory was short there" in said["text"],
    said,
)
p = begin(30, 0)
out, err = p.communicate("\n", timeout=WAIT)
ok(
    "so much is not given to the next one",
    p.returncode == 1 and "n1: " in err and "MiB expected" in err,
    (p.returncode, err),
)

# --retry: at home there is enough. All that the first run had open is there for the second one, its
# input from the start.
given = os.path.join(c.dir, "given")
with open(given, "w") as f:
    f.write("a line\n")


def again(*more, stdin=None):
    with c.net.enter(0), open(given) as file:
        p = subprocess.Popen(
            [EHCTL, "exec", "--auto", "--all", "--retry", "--", *more],
            stdin=stdin or file,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            text=True,
        )
    return p


p = again(*words(10, 270, "# again"))
out, err = p.communicate(timeout=WAIT)
ok(
    "with --retry it is run again at home",
    p.returncode == 0
    and out == "\n\n\n"
    and re.fullmatch(
        r"ehsched: n1 had too little memory for this task \(0\.0:\d+\); it is run again here\n", err
    ),
    (p.returncode, out, err),
)
ok(
    "why says so",
    until(
        lambda: c.why(0, p)["reason"] == "starved" and "run again at home" in c.why(0, p)["text"]
    ),
    c.why(0, p),
)
p = again(*words(10, 270, "# twice"), stdin=subprocess.PIPE)
ok("one that has read its input", says(p))
out, err = p.communicate("\n", timeout=WAIT)
ok(
    "is not",
    p.returncode == -signal.SIGKILL and not out and "not run again: its standard input" in err,
    (p.returncode, out, err),
)
p = again(
    "sh", "-c", "echo begun; exec >&-; echo on >&2; read line; echo $line >&2; exec sleep 1000"
)
ok(
    "its output ends when it closes it, while it runs on",
    p.stdout.read() == "begun\n"
    and [p.stderr.readline() for _ in range(2)] == ["on\n", "a line\n"]
    and p.poll() is None,
)
p.kill()
p.communicate(timeout=WAIT)
owners.stdin.close()
owners.wait(WAIT)
p = begin(30, 0)
out, err = p.communicate("\n", timeout=WAIT)
ok("which has it when the owner's task has ended", p.returncode == 0, (err, c.why(0, p)))
p = begin(30, 0, "#")
ok("another program", says(p), c.why(0, p))
os.kill(int(c.why(0, p)["steps"][-1]["what"].split()[-1]), signal.SIGKILL)
p.communicate(timeout=WAIT)
said = until(lambda: p.returncode == -signal.SIGKILL and c.why(0, p))
q = begin(10, 0, "##")
q.communicate("\n", timeout=WAIT)
ok(
    "one that somebody kills is not one of these",
    said["reason"] == "explicit" and c.why(0, p)["reason"] == "explicit",
    c.why(0, p),
)
ok("no report of a sanitizer", not c.reports(), c.reports())
done()
