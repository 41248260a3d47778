#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What confines a process at home would not confine its task on another node: so it stays, by each
way to leave. One that names a node is refused, and told why; one that goes by itself runs here, and
`ehctl why` has the reason."""

import atexit, os, struct, subprocess, sys, threading

sys.path.append(os.path.join(sys.path[0], "../lib"))
import confinement
from cluster import Cluster, removed
from commands import EHCTL, STUB
from confinement import become, enter, no_new_privs
from frames import FRAME, read_exactly
from ktap import done, ok, skip
from player import job
from wait import WAIT, until

PIPE, NULL = subprocess.PIPE, subprocess.DEVNULL
WHERE = "readlink /proc/self/ns/net; exec readlink /proc/self"
NEWNET = 0x40000000

c = Cluster(2, "time-limit = 10000\nheartbeat = 1000\nno-new-privs = true\nthreshold-floor = 20.0")
os.chmod(c.dir, 0o755)
ok("two agents", c.start_all(), c.log(0) + c.log(1))
near, far = (os.readlink(f"/proc/{c.agents[i].pid}/ns/net") for i in range(2))


def run(*words, before=None):
    p = c.call(0, words, preexec_fn=before)
    where, pid = (p.stdout.split("\n") + ["", ""])[:2]
    return p.returncode, where, pid, p.stderr


def placed(*words, before):
    """What a task says that the hierarchy is asked for, and why it is where it is. On a busy
    machine a node may be lost for a while."""
    for _ in range(10):
        got = run(*words, before=before)
        why = c.ask(0, {"command": "why", "id": got[2]})
        if why.get("reason") not in ("no-receiver", "no-controller", "unreachable"):
            break
        until(lambda: all(node["state"] == "receiver" for node in c.status(0)["nodes"]))
    return got, why


def leaves(name, before=None):
    got = run(EHCTL, "exec", "0.1", "--", "sh", "-c", WHERE, before=before)
    ok(f"{name}: leaves by ehctl exec NODE", got[:2] == (0, far), got)
    got, why = placed(STUB, "@all", "/bin/sh", "sh", "-c", WHERE, before=before)
    ok(f"{name}: leaves by a stub, wherever it can", got[:2] == (0, far), (got, why))


def stays(name, reason, before=None, by=()):
    """By all ways. `by`: the command that starts it."""
    for how, words in ("ehctl exec NODE", [EHCTL, "exec", "0.1", "--", "sh"]), (
        "a stub",
        [STUB, "@0.1", "/bin/sh", "sh"],
    ):
        code, where, _, err = run(*by, *words, "-c", WHERE, before=before)
        ok(
            f"{name}: refused to {how}",
            (code, where) == (1, "")
            and "0.1: its process may not leave this node: " in err
            and err.endswith(f" ({reason})\n"),
            (code, where, err),
        )
    for how, words in (
        ("ehctl exec --auto", [EHCTL, "exec", "--auto", "--all", "--", "sh"]),
        ("ehctl run", [EHCTL, "run", "--all", "--", "sh"]),
        ("a stub, wherever it can", [STUB, "@all", "/bin/sh", "sh"]),
    ):
        got, why = placed(*by, *words, "-c", WHERE, before=before)
        ok(
            f"{name}: stays by {how}, and why says so",
            (got[0], got[1], why.get("reason")) == (0, near, reason)
            and any(step["what"].startswith("may not leave: ") for step in why["steps"]),
            (got, why),
        )


leaves("an ordinary process")
leaves("one of another user", lambda: become(2001))
for name, reason, before, by in confinement.ways():
    if reason:
        stays(name, reason, before, by)
    else:
        skip(f"{name}: stays", "not on this machine")
if confinement.landlock():
    stays("no_new_privs, where there is Landlock", "no-new-privs", no_new_privs)
else:
    leaves("no_new_privs, where it may go", no_new_privs)
    got = run(
        EHCTL,
        "exec",
        "0.1",
        "--",
        "grep",
        "^NoNewPrivs:.*1",
        "/proc/self/status",
        before=no_new_privs,
    )
    ok("and it has that there", got[0] == 0, got)
root = os.path.join(c.dir, "root")
os.mkdir(root)
for folder in "/", "/proc", "/run":
    subprocess.run(["mount", "--bind", folder, root + folder], check=True)
stays("another root directory", "namespace", lambda: (os.chroot(root), os.chdir("/")))
subprocess.run(["umount", "-l", root], check=True)

# ---- its cgroup ----


def made(path):
    os.mkdir(path)
    atexit.register(lambda: until(lambda: removed(path)))
    return path


if os.path.isdir(c.cgroup(0)):
    own = made(c.cgroup(0) + "-own")
    leaves("a cgroup of its own", lambda: enter(own))
    if confinement.may(confinement.forbid_devices, own):
        stays("a cgroup with a BPF program", "cgroup-bpf", lambda: enter(own))
    else:
        skip("a cgroup with a BPF program: stays", "this kernel has none")
else:
    skip("a cgroup with a BPF program: stays", "no cgroup 2")
devices = "/sys/fs/cgroup/devices"
if os.path.exists(f"{devices}/cgroup.procs"):
    legacy = made(os.path.join(devices, os.path.basename(c.cgroup(0))))
    stays("a list of devices of cgroup 1", "confined", lambda: enter(legacy))
else:
    skip("a list of devices of cgroup 1: stays", "no cgroup 1")

# ---- a program that plays a stub ----


def asked(before, aside=None):
    """The number and the text of the answer to a client that has done that between its connection
    and its job; or `aside`, in a second thread."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        os.chdir("/")
        with c.net.enter(0), c.connect(0) as s:
            if aside:
                confined, over = threading.Event(), threading.Event()
                threading.Thread(
                    target=lambda: (aside(), confined.set(), over.wait()), daemon=True
                ).start()
                confined.wait(WAIT)
            before()
            s.sendall(job(b"true", path=b"/bin/true"))
            kind, length = struct.unpack("<II", read_exactly(s, 8))
            os.write(writer, struct.pack("<I", kind) + read_exactly(s, length))
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as f:
        said = f.read()
    os.waitpid(pid, 0)
    return struct.unpack("<I", said[:4])[0] if len(said) >= 4 else None, said[12:]


def refused(name, reason, before=lambda: None, aside=None):
    got = asked(before, aside)
    ok(name, got[0] == FRAME["FRAME_REFUSED"] and got[1].endswith(f"({reason})".encode()), got)


got = asked(lambda: None)
ok("an ordinary client is not refused", got[0] not in (None, FRAME["FRAME_REFUSED"]), got)
refused(
    "one that has gone into another network namespace is",
    "namespace",
    lambda: confinement.unshare(NEWNET),
)
refused("one with a thread that is confined is", "confined", aside=confinement.filtered)
refused(
    "root that has given up capabilities is", "capabilities", lambda: confinement.capable(1 << 10)
)

# ---- nobody can say it ----

c.launchers[0].kill()
c.launchers[0].wait()
code, where, _, err = run(EHCTL, "exec", "0.1", "--", "sh", "-c", WHERE)
ok(
    "without ehlaunch nobody leaves",
    (code, where) == (1, "") and err.endswith(" (unseen)\n"),
    (code, where, err),
)
c.launch(0)
ok(
    "with the next one all do",
    until(lambda: run(EHCTL, "exec", "0.1", "--", "sh", "-c", WHERE)[:2] == (0, far)),
    c.log(0)[-1000:],
)
done()
