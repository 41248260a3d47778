#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long home and executor wait for tasks that are, or were, stopped: a day, or job-limit; and
for ends that are."""

import json, os, signal, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import STUB
from ktap import done, must, ok
from proc import parent, state
from wait import WAIT, until

c = Cluster(2, "heartbeat = 1000\njob-limit = 10000", apart=True)
NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE
file = os.path.join(os.path.dirname(c.state(0)), "stopped.json")
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def start():
    """A task that does nothing, and its process there."""
    p = c.popen(
        0,
        [STUB, "@0.1", "/bin/sh", "sh", "-c", "echo $$; exec sleep 1000"],
        stderr=None,
        text=False,
    )
    return p, int(p.stdout.readline())


def freeze():
    p, there = start()
    p.send_signal(signal.SIGSTOP)
    must("its task is stopped, too", until(lambda: state(there) == "T"), state(there))
    return p, there


def end(p):
    p.kill()
    p.wait(WAIT)


def states(node=1):
    try:
        return sorted(t["state"] for t in c.tasks(node))
    except (OSError, EOFError):
        return None


def kept():
    with open(file) as f:
        return json.load(f)["stopped"]


# A stub is stopped while the executor's agent is replaced: the next one knows that, and hears when
# it goes on.
p, there = freeze()
must("the executor knows", until(lambda: states() == ["stopped"]), states())
c.again([1], signal.SIGKILL)
must("its next agent, too", until(lambda: states() == ["stopped"]), states())
p.send_signal(signal.SIGCONT)
ok("and that it goes on", until(lambda: states() == ["running"]), states())
end(p)

# It has gone on for long enough: the executor knows, and waits for job-limit. So does home, for an
# executor that does not answer.
must("one that ended is not kept", until(lambda: kept() == []), kept())
(p, there), (stays, stays_there) = freeze(), freeze()
must("they are kept", until(lambda: {e["pid"] for e in kept()} == {p.pid, stays.pid}), kept())
p.send_signal(signal.SIGCONT)
ok("one that goes on is not", until(lambda: [e["pid"] for e in kept()] == [stays.pid]), kept())
p.send_signal(signal.SIGSTOP)
ok(
    "until it is stopped again",
    until(lambda: {e["pid"] for e in kept()} == {p.pid, stays.pid}),
    kept(),
)
must("and so is its task", until(lambda: state(there) == "T"), state(there))
p.send_signal(signal.SIGCONT)
until(lambda: [e["pid"] for e in kept()] == [stays.pid])
c.agents[1].send_signal(signal.SIGSTOP)
must("the executor's agent does not answer", until(lambda: c.up(0) == {c.code(0)}), c.up(0))
end(p)
end(stays)
away = lambda: next(n["tasks"]["away"] for n in c.status(0)["nodes"] if n["code"] == c.code(0))
ok(
    "home gives up one that ran, and not the stopped one",
    until(lambda: away() < 2) and away() == 1,
    away(),
)
c.agents[1].send_signal(signal.SIGCONT)
ok(
    "whose executor is told when it is back",
    until(lambda: state(stays_there) == "gone" and away() == 0),
    (state(stays_there), away()),
)

# The day of one whose stub does not come begins once, however often the agent does.
p, there = freeze()
must("it is kept", until(lambda: [e["pid"] for e in kept()] == [p.pid]), kept())
first = kept()[0]
c.again([0], signal.SIGKILL)
ok(
    "the next agent keeps since when it is waited for",
    until(lambda: kept()[0].get("left", 0) > first["began"]),
    kept(),
)
second = kept()
c.again([0], signal.SIGKILL)
c.again([0], signal.SIGTERM)
third = kept()  # `left` is of two clocks in ms, of which each agent takes the difference
ok(
    "and so does the one after that",
    [{**e, "left": 0} for e in third] == [{**e, "left": 0} for e in second]
    and abs(third[0]["left"] - second[0]["left"]) < 50,
    (third, second),
)


def begin(*entries):
    """An agent of home finds these."""
    c.end(0)
    with open(file) as f:
        text = json.load(f)
    text["stopped"] = entries
    with open(file, "w") as f:
        json.dump(text, f)
    c.start(0)


later, old = ({**second[0], "left": second[0]["left"] + hours * 3600 * 1000} for hours in (1, -25))
begin(later, {**old, "token": "another"})
ok(
    "one of a time to come begins now, and stays when the agent has dropped one of a day ago",
    until(lambda: [e["token"] for e in kept()] == [later["token"]])
    and kept()[0]["left"] <= time.time() * 1000,
    kept(),
)
begin(old)
ok("also if its stub is there", until(lambda: kept() == []), kept())
must("both are up", c.all_up(range(2)), c.log(0)[-2000:])
p.send_signal(signal.SIGCONT)
ok(
    "a stub that comes later goes on all the same",
    until(lambda: states(0) == ["running"]),
    states(0),
)
end(p)

# ehguest stands still and takes nothing, all windows are full, and the stub is killed: that is told
# beside what waits.
feeds = [subprocess.Popen(["cat", "/dev/zero"], stdout=PIPE) for _ in range(2)]
p = c.popen(
    0,
    [STUB, "@0.1", "/bin/sh", "sh", "-c", "echo $$; cat <&9 >/dev/null & cat >/dev/null; wait"],
    close_fds=False,
    preexec_fn=lambda: os.dup2(feeds[1].stdout.fileno(), 9),
    stdin=feeds[0].stdout,
    stderr=None,
    text=False,
)
for f in feeds:
    f.stdout.close()
there = int(p.stdout.readline())


def moved():
    return sum(int(open(f"/proc/{f.pid}/io").read().split("wchar: ")[1].split()[0]) for f in feeds)


def stands():
    """Whether nothing has moved since the last looks."""
    seen.append(moved())
    return len(seen) > 10 and len(set(seen[-10:])) == 1


seen = []
must("it reads", until(lambda: moved() > 10 << 20), moved())
os.kill(parent(there), signal.SIGSTOP)
must("until it stands still", until(stands), seen[-10:])
end(p)
for f in feeds:
    end(f)
ok(
    "a stub is killed whose ehguest stands still: its task ends",
    until(lambda: state(there) == "gone"),
    (state(there), c.log(0)[-2000:]),
)
ok("and home is done with it", until(lambda: away() == 0), away())

# It is killed a bounded time after that was told first, however often agents of home tell it again.
p, there = freeze()
must("it is kept", until(lambda: [e["pid"] for e in kept()] == [p.pid]), kept())
with open(file) as f:
    text = f.read()
os.kill(parent(there), signal.SIGSTOP)
c.end(0, signal.SIGKILL)
end(p)


def tell():
    """An agent of home tells that the stub has gone. Whether the task has ended."""
    if 0 in c.agents:
        c.end(0)
    with open(file, "w") as f:
        f.write(text)
    c.start(0)
    until(lambda: kept() == [] or state(there) == "gone")
    return state(there) == "gone"


ok(
    "it is told again, and its task ends all the same",
    until(tell),
    (state(there), c.log(1)[-2000:]),
)

# A task ends when its stub takes no output, which is then stopped: the executor keeps what is left
# for longer than job-limit.
with open(c.confs[1]) as f:
    text = f.read()
with open(c.confs[1], "w") as f:
    f.write(text.replace("job-limit = 10000", "job-limit = 1000"))
c.ask(1, {"command": "reload"})
# 320 KiB are on their way: a window, and the pipe of the stub. 64 KiB more are in the pipe of the
# task.
LEFT = 344 << 10
p = c.popen(
    0,
    [STUB, "@0.1", "/bin/sh", "sh", "-c", f"echo $$; exec head -c {LEFT} /dev/zero"],
    bufsize=0,
    stderr=None,
    text=False,
)
there = int(p.stdout.readline())
must(
    "it ends, and not its stub",
    until(lambda: state(there) == "gone") and p.poll() is None,
    (state(there), p.poll()),
)
p.send_signal(signal.SIGSTOP)
must("and is kept", until(lambda: [e["pid"] for e in kept()] == [p.pid]), kept())
other, other_there = start()  # the executor has heard by then
os.kill(parent(other_there), signal.SIGSTOP)
c.end(0, signal.SIGKILL)
ok(
    "one that runs is killed when home does not come",
    until(lambda: state(other_there) == "gone"),
    c.log(1)[-2000:],
)
c.start(0)
p.send_signal(signal.SIGCONT)
out, _ = p.communicate(timeout=WAIT)
ok(
    "all output of the other comes, and how it ended",
    (p.returncode, len(out)) == (0, LEFT),
    (p.returncode, len(out), c.log(1)[-2000:]),
)
end(other)
done()
