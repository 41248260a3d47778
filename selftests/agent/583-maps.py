#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Users who have another name or number on the executor (user-map): whose processes their tasks are
there, who they cannot become, and whose the files are that they see. Node 1 has users of its own,
in an /etc/passwd of its own."""

import ctypes, os, pwd, re, signal, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from cluster import Cluster
from commands import LAUNCH
from ktap import done, ok, skip, skip_all
from launcher import Launcher, start, status
from tree import BUILD
from wait import WAIT, until

if os.geteuid():
    skip_all("only root can start processes of others")
users.add()
DAEMON = pwd.getpwuid(1).pw_name
PIPE, NULL = subprocess.PIPE, subprocess.DEVNULL

# ---- ehlaunch, whatever its agent says ----

l = Launcher(
    "--user-map",
    "eht1=eht2",
    "--user-map",
    f"eht3={DAEMON}",
    "--user-map",
    "ann=ehs-no-such",
    "--user-map",
    "bob=nobody",
    "--user-map",
    "eve=eht3",
    "--user-map",
    "eve=eht1",
    "--guest-deny-user",
    "eht3",
)


def is_user(name, launcher, packet, uid, groups=None):
    answer = launcher.ask(packet)
    if not answer or answer[0] != "LAUNCH_READY":
        ok(name, False, answer)
        return
    s = status(answer[2])
    got = s["Uid"].split(), s["Gid"].split(), s["Groups"].split()
    ok(name, got[:2] == ([str(uid)] * 4,) * 2 and (groups is None or got[2] == groups), got)
    ok(f"{name}: no capability", int(s["CapPrm"], 16) == 0, s)
    launcher.drop()


def refused(name, launcher, packet, stage):
    answer = launcher.ask(packet)
    ok(name, answer and answer[0] == stage, answer)


for uid in 2001, 2003, 77777, 1, 65534:
    is_user(
        f"number {uid} at home", l, start(uid, 0, "eht1", groups=[0, 42, 3001]), 2002, ["5", "6"]
    )
is_user("who is in no map, as before", l, start(2002, 2002, "eht2"), 2002)
refused("and with another number", l, start(2001, 2001, "eht2"), "LAUNCH_UNKNOWN")
refused("root with the name of one who is mapped", l, start(0, 0, "eht1"), "LAUNCH_RULES")
refused("the number that is none", l, start(0xFFFFFFFF, 0, "eht1"), "LAUNCH_RULES")
refused("to a user of the system", l, start(2003, 2003, "eht3"), "LAUNCH_RULES")
refused("to 65534", l, start(3000, 3000, "bob"), "LAUNCH_RULES")
refused("to one who is not known", l, start(3000, 3000, "ann"), "LAUNCH_UNKNOWN")
refused("to one who is denied: the first item counts", l, start(3000, 3000, "eve"), "LAUNCH_DENIED")
answer = l.ask(start(77777, 77777, "eht1", loginuid=77777))
try:
    login = open(f"/proc/{answer[2]}/loginuid").read()
except OSError:
    skip("audit's login user id", "this kernel has none")
else:
    ok("audit's login user id is not home's", login == "2002", login)
l.drop()

l = Launcher("--user-map", "*", "--user-map", "eht2=eht1", "--allow-root")
is_user("by name, with another number", l, start(77777, 77777, "eht1"), 2001)
is_user("the same number of another name", l, start(2001, 2001, "eht3"), 2003)
is_user("a name of its own counts before *", l, start(2002, 2002, "eht2"), 2001)
for name in "root", DAEMON, "nobody":
    refused(f"{name} by name", l, start(2001, 2001, name), "LAUNCH_RULES")
refused("an unknown name", l, start(2001, 2001, "ehs-no-such"), "LAUNCH_UNKNOWN")
for item in (
    "eht1=root",
    "eht1=0",
    "eht1=2002",
    "=eht1",
    "eht1=",
    "a=b=c",
    "**",
    "eht1",
    "@ci=eht1",
    "eht1=@ci",
    "a b=eht1",
    "",
):
    p = subprocess.run(
        [LAUNCH, "--user-map", item], stdin=NULL, stderr=PIPE, text=True, timeout=WAIT
    )
    ok(f"the item {item!r} is none", p.returncode == 2 and "usage" in p.stderr, p)

# ---- between hosts ----


class Hosts(Cluster):
    """Node 1 has users of its own, and perhaps a map."""

    map = ""

    def conf(self, i, **more):
        return super().conf(i, **{"settings": SETTINGS + (self.map if i == 1 else ""), **more})


SETTINGS = (
    "heartbeat = 1000\nthreshold-floor = 20.0\ntime-limit = 10000\nlink-idle ="
    " 60000\nguests-per-user = 1\n"
)
MAP = 'user-map = { "*", "eht2=ehsmith", "eht3=ehgone" }\n'
c = Hosts(2, SETTINGS)
os.chmod(c.dir, 0o755)
ONE, SMITH = 2101, 2001  # of node 1: eht1, and ehsmith with the number that eht1 has on node 0
with open(f"{c.dir}/passwd", "w") as f:
    f.write("".join(line for line in open("/etc/passwd") if not line.startswith("eht")))
    f.write(f"eht1:x:{ONE}:{ONE}::/tmp:/bin/sh\nehsmith:x:{SMITH}:{SMITH}::/tmp:/bin/sh\n")
c.wrap(1, f"mount --bind {c.dir}/passwd /etc/passwd", mounts=True)
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def begin(uid, *words, node="n1", home=0, view=None, **more):
    def become():
        with open(
            f"/proc/{c.agents[home].pid}/ns/mnt"
        ) as space:  # what is in another one does not leave
            if ctypes.CDLL(None).setns(space.fileno(), 0):
                os._exit(126)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)

    return c.popen(
        home,
        [
            os.path.join(BUILD, "bin", "ehctl"),
            "exec",
            *(["--view", view] if view else []),
            node,
            "--",
            *words,
        ],
        cwd="/",
        preexec_fn=become,
        **more,
    )


def run(*a, **more):
    out, err = (p := begin(*a, **more)).communicate(timeout=WAIT)
    return p.returncode, out, err


got = run(2001, "id", "-u")
ok(
    "numbers differ: it is refused",
    got[0] == 1 and "user 2001 is eht1 at home, ehsmith on node n1" in got[2],
    got,
)
c.map = MAP
c.conf(1)
answer = c.ask(1, {"command": "reload"})
ok("node 1 has a map", answer == {"version": 1}, answer)
got = run(2001, "id", "-un")
ok("the same name, another number", got[:2] == (0, "eht1\n"), got)
got = run(2001, "id", "-u")
ok("it is the number there", got[:2] == (0, f"{ONE}\n"), got)
got = run(2002, "id", "-un")
ok("another name", got[:2] == (0, "ehsmith\n"), got)
got = run(2003, "id", "-un")
ok(
    "a name that is unknown there",
    got[0] == 1
    and "user eht3 is ehgone on node n1 (user-map), which does not know that name" in got[2],
    got,
)
got = run(2002, "id", "-u", home=1, node="n0")
ok("a map is of the host that has it", got[0] == 1 and "unknown" in got[2], got)

# ---- a guest: who is it, who reaches it ----


def tasks(uid):
    return {t["id"] for t in c.ask(1, {"command": "tasks"}, uid=uid)["tasks"] if t["home"] == "0.0"}


SLEEPS = "echo $$; read line; echo got $line"
one = begin(2001, "sh", "-c", SLEEPS, stdin=PIPE)
pid = int(one.stdout.readline())
ok("it is a process of that user", status(pid)["Uid"].split() == [str(ONE)] * 4, status(pid))
ok("who sees it on the executor, and cancels it", len(tasks(ONE)) == 1, tasks(ONE))
ok("its number of home has nothing of it there", not tasks(SMITH), tasks(SMITH))
got = run(2001, "true")
ok("guests-per-user counts it", got[0] == 1 and "at most 1" in got[2], got)
other = run(
    2002, "sh", "-c", f"kill -9 {pid}; cat /proc/{pid}/environ; ls /proc/{pid}/root/; echo is $?"
)
ok(
    "the other user, who has the number of home, does not reach it",
    other[0] == 0 and re.fullmatch("is [12]\n", other[1]) and "not permitted" in other[2].lower(),
    other,
)
c.again([1], signal.SIGKILL)
ok("its agent is killed", c.all_up(range(2)), c.log(1))
ok("the next one knows it", until(lambda: len(tasks(ONE)) == 1) and not tasks(SMITH), tasks(0))
out, err = one.communicate("x\n", timeout=WAIT)
ok(
    "it goes on",
    (one.returncode, out) == (0, "got x\n"),
    (one.returncode, out, err, c.log(1)[-3000:]),
)

# ---- files of home ----

if not os.path.exists("/dev/fuse"):
    skip("views", "no /dev/fuse")
    done()
work = tempfile.mkdtemp(dir=c.dir)
os.chmod(work, 0o1777)
for name, uid in ("mine", 2001), ("theirs", ONE), ("third", 2003):
    with open(f"{work}/{name}", "w") as f:
        f.write(name)
    os.chown(f"{work}/{name}", uid, uid)
    os.chmod(f"{work}/{name}", 0o600)


def view(*words):
    return run(2001, *words, view="home")


got = view(
    "sh", "-c", f"id -u; cd {work}; stat -c %u mine theirs third; cat mine; cat theirs; cat third"
)
ok(
    (
        "in a view it is that user; what is its own at home is its own there, what has its number"
        " there is not"
    ),
    got[1] == f"{ONE}\n{ONE}\n2001\n2003\nmine" and got[2].lower().count("permission denied") == 2,
    got,
)
# protected_regular, of proc_sys_fs(5), looks at the owner that the executor's kernel is told
got = view(
    "sh",
    "-c",
    (
        f"cd {work}; echo more >> mine && echo new > new && chown {ONE} new && stat -c %u new &&"
        " test -O new && ! chown 2001 new"
    ),
)
ok(
    "it writes, and what it makes is its own, and is given to nobody",
    got[:2] == (0, f"{ONE}\n") and "not permitted" in got[2],
    got,
)
ok(
    "and its user's at home",
    os.stat(f"{work}/new").st_uid == os.stat(f"{work}/mine").st_uid == 2001,
    os.stat(f"{work}/new"),
)
got = run(2002, "sh", "-c", f"cat {work}/mine; id -u", view="home")
ok("another user's view is another one", got[:2] == (0, f"{SMITH}\n") and "denied" in got[2], got)
done()
