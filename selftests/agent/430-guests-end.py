#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Nothing of a guest is left when its end has gone, whoever is there to see to it: ehlaunch, the
next one, one without an agent, or the agent alone; and none of them is held up by another."""

import atexit, os, re, signal, socket, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from cluster import USER, Cluster, removed
from environment import own_name
from ktap import done, must, ok, skip_all
from launcher import Launcher, start
from proc import links, running, stat, state
from wait import WAIT, until

mounts = [
    m for m in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup") if os.path.exists(f"{m}/cgroup.procs")
]
if os.geteuid() or not mounts:
    skip_all("only root can start processes of others, and only where cgroup 2 is mounted")
users.add()
NOTE = "user.ehsched.end"
root = f"{mounts[0]}/{own_name()}-ends"
guests = f"{root}/guest"
rest = []  # what guests have started


@atexit.register
def end():
    for p in rest:
        p.kill()
        p.wait()
    until(lambda: not any(open(f"{at}/cgroup.procs").read() for at, _, _ in os.walk(root)))
    for at, _, _ in os.walk(root, topdown=False):
        os.rmdir(at)


def sleeper(folder):
    """A process in this cgroup, which is nobody's child there."""
    p = subprocess.Popen(
        ["sleep", "1000"],
        preexec_fn=lambda: open(f"{folder}/cgroup.procs", "w").write(str(os.getpid())),
    )
    rest.append(p)
    return p


def below(folder):
    """A cgroup that a guest of root has made in its own."""
    os.makedirs(f"{folder}/a/.b")
    os.mkdir(f"{folder}/c")
    return f"{folder}/a/.b"


class Guest:
    """An end that waits for its job, and what it would have started: in its cgroup, and in one
    below that."""

    def __init__(self, launcher, name):
        self.folder = f"{guests}/{name}"
        self.answer = launcher.ask(start(2002, 2002, "eht2", id=name))
        self.end = self.answer[2]
        must(
            f"{name} has a cgroup",
            self.answer[0] == "LAUNCH_READY" and os.path.isdir(self.folder),
            self.answer,
        )
        self.rest = [sleeper(self.folder), sleeper(below(self.folder))]

    def lives(self):
        return os.path.isdir(self.folder) and [p.poll() for p in self.rest] == [None, None]

    def over(self):
        """Waits until it is."""
        return until(
            lambda: not os.path.exists(self.folder)
            and [p.poll() for p in self.rest] == [-signal.SIGKILL] * 2
        )

    def left(self):
        return (
            state(self.end),
            [p.poll() for p in self.rest],
            [at for at, _, _ in os.walk(self.folder)],
        )


# ---- ehlaunch ----

l = Launcher("--cgroup", root)
g, other = Guest(l, "0.1:1"), Guest(l, "0.1:2")
os.kill(g.end, signal.SIGKILL)
ok("an end is killed: what it had started is, too, and its cgroups go", g.over(), g.left())
ok("of another guest nothing is", other.lives(), other.left())
g = Guest(l, "0.1:3")
for p in g.rest:
    p.kill()
    p.wait()
ok(
    "an end is alone: its cgroup stays",
    os.path.isdir(g.folder) and state(g.end) != "gone",
    g.left(),
)
l.drop()
ok(
    "its agent drops it: that goes, with those below",
    until(lambda: not os.path.exists(g.folder)),
    g.left(),
)
ok("the other's rest is killed as well", other.over(), other.left())

g = Guest(l, "0.1:4")
l.ask(start(2002, 2002, "eht2", id="0.1:5"))
ok(
    "a second end is refused a guest that is not in a view",
    l.ask(start(2002, 2002, "eht2", id="0.1:4"))[0] == "LAUNCH_CGROUP",
)
ok("and that guest goes on", g.lives(), g.left())


# ---- the next ehlaunch ----

lives, dies, unknown, reused = g, Guest(l, "0.1:6"), Guest(l, "0.1:7"), Guest(l, "0.1:8")
l.process.kill()
l.process.wait()
for one in dies, unknown:
    os.kill(one.end, signal.SIGKILL)
os.removexattr(unknown.folder, NOTE)
pid, began = os.getxattr(reused.folder, NOTE).split()
os.setxattr(reused.folder, NOTE, b"%s %d" % (pid, int(began) - 1))
former = l
l = Launcher("--cgroup", root)
ok(
    "ehlaunch was killed, and then an end: the next ehlaunch kills its rest",
    dies.over(),
    dies.left(),
)
ok("the number of an end is another process's: likewise", reused.over(), reused.left())
ok("the note says nothing: that guest goes on", unknown.lives(), unknown.left())
ok("one whose end is there goes on", lives.lives(), lives.left())
os.kill(lives.end, signal.SIGKILL)
ok("until its end is killed", lives.over(), lives.left())
for p in unknown.rest:
    p.kill()
    p.wait()
ok(
    "that without a note goes when it is empty",
    until(lambda: not os.path.exists(unknown.folder)),
    unknown.left(),
)

# ---- without an agent ----


def keepers():
    """ehlaunch of agents that have ended, for their guests."""
    return [
        pid
        for pid, (name, *_) in running()
        if name == "ehkeep-guests" and int(stat(pid)[4]) == session
    ]


g, third, other = Guest(l, "0.1:9"), Guest(l, "0.1:10"), Guest(l, "0.1:11")
session = l.process.pid
l.socket.close()
ok("the agent has gone: ehlaunch ends", l.process.wait(WAIT) == 0)
ok("and one process is left for its guests", until(lambda: len(keepers()) == 1), keepers())
keeper = keepers()
held = links(keeper[0]).values() if keeper else []
ok(
    "which has nothing open but cgroups and what it waits for",
    held and all(name.startswith((f"{root}/", "anon_inode:")) for name in held),
    held,
)
os.kill(g.end, signal.SIGKILL)
ok("an end is killed: its rest is", g.over(), g.left())
ok(
    "the others go on",
    third.lives() and other.lives() and keepers() == keeper,
    (other.left(), keepers()),
)
taker = Launcher("--cgroup", root)
ok("another ehlaunch is there: that process ends", until(lambda: not keepers()), keepers())
ok("and the guests go on", third.lives() and other.lives(), (third.left(), other.left()))
os.kill(third.end, signal.SIGKILL)
ok("the end of one of them is killed: its rest is", third.over(), third.left())
session = taker.process.pid
taker.socket.close()
ok("the agent of this one has gone: ehlaunch ends", taker.process.wait(WAIT) == 0)
ok("and one process is left again", until(lambda: len(keepers()) == 1), keepers())
former.drop()
l.drop()
ok(
    "the last one ends: so does the process",
    other.over() and until(lambda: not keepers()),
    (other.left(), keepers()),
)
ok(
    "no guest is left",
    os.listdir(guests) and not [d for d in os.listdir(guests) if os.path.isdir(f"{guests}/{d}")],
    os.listdir(guests),
)

# ---- the agent ----

c = Cluster(2, "job-limit = 1000", apart=False)  # its ehlaunch is the agent's child
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def launchers():
    return [pid for pid, s in running() if s[0] == "ehlaunch" and int(s[2]) == c.agents[1].pid]


first = must("the agent has an ehlaunch", until(launchers))
os.kill(first[0], signal.SIGKILL)
ok(
    "it is killed: the agent starts another one, though it has no use for it",
    until(lambda: launchers() and launchers() != first),
    (first, launchers(), c.log(1)[-1000:]),
)
folder = f"{c.cgroup(1)}/guest/0.0:1"
os.mkdir(folder)
p = sleeper(folder)
ok(
    "a process in the cgroup of a guest that the agent does not know: it is killed",
    until(lambda: p.poll() == -signal.SIGKILL),
    c.log(1)[-1000:],
)
removed(folder)  # unless its ehlaunch has found it when it began
stands = must("its ehlaunch", until(launchers))
os.kill(stands[0], signal.SIGSTOP)
must("it stands still", until(lambda: state(stands[0]) == "T"))
ok("the agent ends all the same", c.end(1) == 0, c.log(1)[-1000:])
ok("and that ehlaunch with it", until(lambda: state(stands[0]) == "gone"), state(stands[0]))
ok(
    "the agent says so",
    re.search(rf"ehlaunch \(process {stands[0]}\) does not end: killing it", c.log(1)),
    c.log(1)[-1000:],
)

# ---- an ehlaunch that is there, and never begins ----

c.stop()
c = Cluster(1, "job-limit = 1000", apart=True)
must("an agent", c.start(0) and until(lambda: c.answers(0)), c.log(0))
must("with an ehlaunch", os.path.isdir(f"{c.cgroup(0)}/guest"))
folders = [f"{c.cgroup(0)}/guest/0.0:{n}" for n in range(3)]
c.launchers.pop(0).kill()
os.unlink(c.launcher(0))
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
    s.bind(c.launcher(0))
    os.chown(c.launcher(0), 0, USER)
    os.chmod(c.launcher(0), 0o660)
    s.listen()
    for folder in folders:
        os.mkdir(folder)
    left = [sleeper(folder) for folder in folders]
    slowest, tries = 0, 0
    while tries < len(folders):
        began = time.monotonic()
        c.status(0)
        slowest = max(slowest, time.monotonic() - began)
        tries = c.log(0).count("cannot have it killed by ehlaunch")
    ok("what is to be killed cannot be: the agent says so", tries >= len(folders), tries)
    ok("and stands still for a second at most", slowest < 3, slowest)
os.unlink(c.launcher(0))
c.launch(0)
ok(
    "it begins: all is killed",
    until(lambda: [p.poll() for p in left] == [-signal.SIGKILL] * len(left)),
    c.log(0)[-1000:],
)
ok("and the cgroups are removed", until(lambda: not any(map(os.path.exists, folders))), folders)
done()
