#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of root that work on what others give them: ehlaunch on descriptors, ehlook in the files
of users."""

import glob, os, signal, socket, struct, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from fuse import CLONE_NEWNS, Silent
from ktap import done, ok, skip, skip_all
from launcher import FLAG, Launcher, start, status
from mounts import MS_BIND, libc, mount
from proc import children, send, state
from tree import BUILD
from wait import WAIT, until

if os.geteuid() or not os.path.exists("/dev/fuse"):
    skip_all("needs root and /dev/fuse")
users.add()
NS_GET_USERNS, NS_GET_NSTYPE = 0xB701, 0xB703
work = tempfile.mkdtemp(prefix="ehs-foreign-")
os.chmod(work, 0o755)

# ---- ehlaunch: a file that says that it is a namespace ----

l = Launcher()


def has():
    """The descriptors of ehlaunch; it may close what came a moment later."""
    return sorted(os.listdir(f"/proc/{l.process.pid}/fd"))


theirs = os.open("/proc/self/ns/user", os.O_RDONLY)
for number in 3, 4, 5, 6, 7:
    lies = Silent(work, ioctls={NS_GET_NSTYPE: CLONE_NEWNS, NS_GET_USERNS: number})
    before = has()
    fd = os.open(f"{work}/prog", os.O_RDONLY)
    answer = l.ask(start(2002, 2002, "eht2", flags=FLAG["LAUNCH_VIEW"]), [fd])
    os.close(fd)
    ok(
        f"a file that names descriptor {number}: it is refused, and none is closed",
        answer and answer[0] == "LAUNCH_FOREIGN" and l.lives() and until(lambda: has() == before),
        (answer, before, has()),
    )
    lies.end()
holds = Silent(work)
fd = os.open(f"{work}/prog", os.O_RDONLY)
holds.silence(flush=True)
answer = l.ask(start(2002, 2002, "eht2", flags=FLAG["LAUNCH_VIEW"]), [fd])
ok("a file of a file system that does not answer", answer and answer[0] == "LAUNCH_FOREIGN", answer)
ok("which is asked when the file is closed", holds.asked())
for name in "the next one", "and the one after it":
    answer = l.ask(start(2002, 2002, "eht2"))
    ok(f"{name} is served meanwhile", answer and answer[0] == "LAUNCH_READY", answer)
holds.end()
try:
    os.close(fd)
except OSError:
    pass  # the file system has gone
ok("nothing is left open", l.drop() and until(lambda: has() == before), has())
far = socket.create_server(("127.0.0.1", 0))
near = socket.create_connection(far.getsockname())
near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 1000))
near.setblocking(False)
try:
    while True:
        near.send(bytes(1 << 16))
except BlockingIOError:
    pass
fd = near.detach()
answer = l.ask(start(2002, 2002, "eht2", flags=FLAG["LAUNCH_VIEW"]), [fd])
os.close(fd)
ok("a socket that would linger", answer and answer[0] == "LAUNCH_FOREIGN", answer)
answer = l.ask(start(2002, 2002, "eht2"))
ok("the next one is served", answer and answer[0] == "LAUNCH_READY", answer)
far.close()
answer = l.ask(start(2002, 2002, "eht2", flags=FLAG["LAUNCH_VIEW"]), [theirs])
ok("a namespace of another kind", answer[0] == "LAUNCH_FOREIGN", answer)
answer = l.ask(start(2002, 2002, "eht2"))
ok("the next one is served", answer[0] == "LAUNCH_READY" and l.drop(), answer)
l.stop()

# ---- ehlook: what a user may do to it while it has his rights ----

LOOK = os.path.join(BUILD, "bin", "ehlook")


def looker(*words):
    """It, or what starts it, and a socket to it."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    p = subprocess.Popen(words, close_fds=False, preexec_fn=lambda: os.dup2(its.fileno(), 3))
    its.close()
    ours.settimeout(WAIT)
    return p, ours


# A database of users whose module is in a program that asks for one: it writes down who that was.
# It has an existing one's name, and place, as no environment comes so far.
asked = f"{work}/asked"
open(asked, "w").close()
os.chmod(asked, 0o666)
with open(f"{work}/module.c", "w") as f:
    f.write(
        "#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\nstatic void"
        f' __attribute__((constructor)) who(void)\n{{ int fd = open("{asked}", O_WRONLY |'
        ' O_APPEND); dprintf(fd, "%u %u\\n", (unsigned)getuid(), (unsigned)geteuid()); close(fd);'
        " }\n"
    )
module = next(
    (
        path
        for path in glob.glob("/lib/*/libnss_hesiod.so.2") + glob.glob("/lib*/libnss_hesiod.so.2")
    ),
    None,
)
if module:
    users.put(
        "/etc/nsswitch.conf",
        "passwd: hesiod files\ngroup: hesiod files\ninitgroups: hesiod files\n",
    )
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", f"{work}/module.so", f"{work}/module.c"], check=True
    )
    mount(f"{work}/module.so", module, flags=MS_BIND)
    subprocess.run(["getent", "passwd", "eht2"], stdout=subprocess.DEVNULL, check=True)
    ok(
        "a program that asks for a user loads the module of this host",
        open(asked).read() == "0 0\n",
        open(asked).read(),
    )
    os.truncate(asked, 0)
look, ours = looker(LOOK)


def ask(path, uid=users.TWO, socket=ours):
    socket.send(struct.pack("@IIIiQ4096s4096s", 1, 0, uid, 0, 1 << 30, b"/", path.encode()))


def answer():
    """Errors of directory and program."""
    return struct.unpack_from("@ii", ours.recv(1 << 16))


def found(path, uid=users.TWO):
    ask(path, uid)
    return answer()


def tries(what):
    """Whether the user may do that to it."""
    pid = os.fork()
    if not pid:
        try:
            os.setgroups([])
            os.setgid(users.TWO)
            os.setuid(users.TWO)
            what(look.pid)
            os._exit(1)
        except PermissionError:
            os._exit(0)
        except BaseException:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


os.mkdir(f"{work}/root", 0o700)
os.mkdir(f"{work}/mine", 0o700)
os.chown(f"{work}/mine", users.TWO, users.TWO)
for at in "root", "mine":
    with open(f"{work}/{at}/file", "w") as f:
        f.write("text")
    os.chmod(f"{work}/{at}/file", 0o644)
ok("it finds what the user may read", (saw := found(f"{work}/mine/file")) == (0, 0), saw)
ok(
    "and not what he may not enter",
    found(f"{work}/root/file") == (0, 13),
    found(f"{work}/root/file"),
)
if module:
    ok(
        "for that no process of root has loaded the module",
        "\n" in (saw := open(asked).read()) and "0" not in saw.split(),
        saw,
    )
    libc.umount2(module.encode(), 2)
else:
    skip(
        "for that no process of root has loaded the module", "this host has no module of that kind"
    )
ok("nor another user's", (saw := found(f"{work}/mine/file", users.ONE)) == (0, 13), saw)
ok(
    "nor what only its capabilities would let him see",
    found("/proc/1/exe") == (0, 13),
    found("/proc/1/exe"),
)
ok(
    "nor, for root, what is no program",
    found(f"{work}/root/file", 0) == (0, 13),
    found(f"{work}/root/file", 0),
)
os.mkdir(f"{work}/group", 0o750)
os.chown(f"{work}/group", 0, 6)
with open(f"{work}/group/file", "w") as f:
    f.write("text")
os.chmod(f"{work}/group/file", 0o644)
ok("the user is in all groups of its own", (saw := found(f"{work}/group/file")) == (0, 0), saw)
ok(
    "and another one in none of them",
    (saw := found(f"{work}/group/file", users.THREE)) == (0, 13),
    saw,
)
ok("nor has one without a name any", (saw := found(f"{work}/group/file", 54321)) == (0, 13), saw)
for uid in (*range(2101, 2111), users.TWO):
    saw = found(f"{work}/mine/file", uid)
ok("one that was asked for before others is found again", saw == (0, 0), saw)
os.chmod(f"{work}/root/file", 0o744)
ok("it is root again", (saw := found(f"{work}/root/file", 0)) == (0, 0), saw)

# It has changed its ids, waits for a request or in a directory, and its socket stays: it ends with
# whoever has started it.
os.mkdir(f"{work}/quiet")
quiet = Silent(f"{work}/quiet")
for at in "mine/file", "quiet/prog":
    keeper, to = looker("/bin/sh", "-c", f"{LOOK} & wait")
    ask(f"{work}/mine/file", socket=to)
    to.recv(1 << 16)
    kept = children(keeper.pid)[0]
    if at.startswith("quiet"):
        quiet.silence()
        ask(f"{work}/{at}", socket=to)
        ok("one waits in a directory", quiet.asked(), status(kept)["State"])
    keeper.kill()
    keeper.wait(WAIT)
    if at.startswith("quiet"):
        quiet.end()  # the kernel waits for an answer to what was asked
    ok(
        f"it ends with its keeper ({at})",
        until(lambda kept=kept: state(kept) == "gone"),
        state(kept),
    )
    send(kept, signal.SIGKILL)
    to.close()

os.mkdir(f"{work}/silent")
fs = Silent(f"{work}/silent")
fs.silence()
ask(f"{work}/silent/prog")
ok(
    "it waits in a directory, with the rights of the user",
    fs.asked() and status(look.pid)["Uid"].split()[3] == str(users.TWO),
    status(look.pid)["Uid"],
)
caps = status(look.pid)["CapEff"]
ok("without a capability", int(caps, 16) == 0, caps)
for name, what in (
    ("a signal", lambda pid: os.kill(pid, signal.SIGSTOP)),
    ("its priority", lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19)),
    ("its policy", lambda pid: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))),
    ("its processors", lambda pid: os.sched_setaffinity(pid, [min(os.sched_getaffinity(pid))])),
):
    ok(f"the user cannot change {name}", tries(what))
fs.end()
answer()
ok("the next one gets an answer", (saw := found(f"{work}/mine/file")) == (0, 0), saw)
ours.close()
ok("it ends with its agent", (saw := look.wait(WAIT)) == 0, saw)
subprocess.run(["rm", "-r", work], check=True)
done()
