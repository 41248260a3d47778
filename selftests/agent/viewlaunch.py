# SPDX-License-Identifier: GPL-2.0-or-later
"""ehlaunch as an agent sees it that asks for views: requests, answers, and what it keeps."""

import array, ctypes, os, socket, struct, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import skip_all
from mounts import CLONE_NEWNS, libc
from proc import running, stat
from tree import BUILD, TOP
from wait import WAIT, until

if os.geteuid() or not os.path.exists("/dev/fuse"):
    skip_all("needs root and /dev/fuse")
USER, NAME, OTHER = 2001, "eha", 2002
NAMES = """
    LAUNCH_VERSION LAUNCH_START LAUNCH_MOUNT LAUNCH_FILES LAUNCH_READY LAUNCH_REQUEST
    LAUNCH_FOREIGN LAUNCH_ACCOUNT LAUNCH_CGROUP LAUNCH_OVER LAUNCH_STAY LAUNCH_VIEW
    sizeof(struct)launch_stay offsetof(struct)launch_stay,token LAUNCH_USER_MAX VIEW_TREES_MAX
    EHS_PATH_MAX sizeof(struct)launch_start offsetof(struct)launch_start,flags
    offsetof(struct)launch_start,uid offsetof(struct)launch_start,gid
    offsetof(struct)launch_start,loginuid offsetof(struct)launch_start,user
    offsetof(struct)launch_start,id
""".split()


def layout():
    """Numbers of the C headers, from the compiler."""
    words = [name.replace(")", " ") + ")" if "(" in name else name for name in NAMES]
    text = (
        "#include <stdio.h>\n#include <stddef.h>\n#include <linux/ehsched.h>\n"
        '#include "wire/launch.h"\n#include "wire/view.h"\nint main(void) {'
        + "".join(f'printf("%lu\\n", (unsigned long)({w}));' for w in words)
        + "}"
    )
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(
            ["cc", "-Iuapi", "-Ilib", "-x", "c", "-", "-o", f"{d}/layout"],
            cwd=TOP,
            input=text,
            text=True,
            check=True,
        )
        out = subprocess.run([f"{d}/layout"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(zip(NAMES, map(int, out.split())))


N = layout()
READY, REQUEST, FOREIGN = N["LAUNCH_READY"], N["LAUNCH_REQUEST"], N["LAUNCH_FOREIGN"]
NEWS = struct.Struct("Iii")  # stage, error, pid
VIEW_CONNECT = 2


class Launcher:
    def __init__(self, *arguments):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)

        def place():
            os.dup2(theirs.fileno(), 3)
            os.closerange(4, 300)

        self.process = subprocess.Popen(
            [os.path.join(BUILD, "bin", "ehlaunch"), *arguments], preexec_fn=place, close_fds=False
        )
        theirs.close()

    def send(self, data, *fds):
        """Returns our end for the answer."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(WAIT)
        self.send_raw(data, theirs.fileno(), *fds)
        theirs.close()
        return ours

    def send_raw(self, data, *fds):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([data], rights)

    def ask(self, data, *fds):
        """Stage and error of the answer; None: there is none."""
        with self.send(data, *fds) as news:
            return answer(news)[:2]

    def end(self):
        self.socket.close()
        self.process.wait(WAIT)


def answer(news):
    """Stage, error, descriptors."""
    data, rights, flags, address = news.recvmsg(64, socket.CMSG_SPACE(32 * 4))
    fds = array.array("i")
    for level, kind, content in rights:
        fds.frombytes(content)
    return (*NEWS.unpack(data)[:2], list(fds)) if data else (None, None, list(fds))


def head(kind, version=None):
    return struct.pack("II", N["LAUNCH_VERSION"] if version is None else version, N[kind])


def user(name):
    return os.fsencode(name).ljust(N["LAUNCH_USER_MAX"], b"\0")


def texts(*paths):
    return b"".join(os.fsencode(p) + b"\0" for p in paths)


def stay(token="", limit=0):
    """How it outlives this program, its agent."""
    text = bytearray(N["sizeof(struct)launch_stay"])
    struct.pack_into("I", text, 0, limit)
    at = N["offsetof(struct)launch_stay,token"]
    text[at : at + len(token)] = token.encode()
    return bytes(text)


def mount(paths, uid=USER, name=NAME, zero=0, ntrees=None, tail=None, stays=None):
    return (
        head("LAUNCH_MOUNT")
        + struct.pack("IIIi", zero, len(paths) if ntrees is None else ntrees, uid, 0)
        + user(name)
        + (stays or stay())
        + (texts(*paths) if tail is None else tail)
    )


def files(path, uid=USER, name=NAME, zero=0, tail=None, stays=None):
    return (
        head("LAUNCH_FILES")
        + struct.pack("IIi", zero, uid, 0)
        + user(name)
        + (stays or stay())
        + (texts(path) if tail is None else tail)
    )


starts = [0]


def start(uid=USER, guest=None, view=True):
    """An end in a view."""
    q = bytearray(N["sizeof(struct)launch_start"])
    q[:8] = head("LAUNCH_START")
    for field, value in (
        ("flags", N["LAUNCH_VIEW"] if view else 0),
        ("uid", uid),
        ("gid", uid),
        ("loginuid", 0xFFFFFFFF),
    ):
        struct.pack_into("I", q, N[f"offsetof(struct)launch_start,{field}"], value)
    starts[0] += 1
    for field, text in ("user", NAME if uid == USER else "ehb"), (
        "id",
        guest or f"0.1:{starts[0]}",
    ):
        at = N[f"offsetof(struct)launch_start,{field}"]
        q[at : at + len(text)] = text.encode()
    return bytes(q)


def children(pid, name):
    return [
        child for child, (its, _, parent, *_) in running() if its == name and int(parent) == pid
    ]


def below(launcher, name):
    """Processes of this name that its keepers have started."""
    return [p for k in children(launcher.process.pid, "ehkeep") for p in children(k, name)]


def gone(pid):
    s = stat(pid)
    return not s or s[1] == "Z"


class View:
    """A view of this host's own root, and of `work`, of the user."""

    def __init__(self, launcher, paths):
        self.servers, self.controls, theirs = [], [], []
        for path in paths:
            a, b = socket.socketpair()
            control, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.servers.append(
                subprocess.Popen([os.path.join(BUILD, "bin", "ehfiles"), path], stdin=its)
            )
            socket.send_fds(control, [struct.pack("II", 0, VIEW_CONNECT)], [b.fileno()])
            self.controls.append(control)
            its.close()
            b.close()
            theirs.append(a)
        before = below(launcher, "ehview")
        self.news = launcher.send(mount(paths), *[s.fileno() for s in theirs])
        for s in theirs:
            s.close()
        self.stage, self.error, self.fds = answer(self.news)
        self.view = [p for p in below(launcher, "ehview") if p not in before]

    def close(self):
        for fd in self.fds:
            os.close(fd)
        self.fds = []
        for control in self.controls:
            control.close()
        self.news.close()

    def ended(self):
        return until(lambda: all(gone(p) for p in self.view)) and all(
            s.wait(WAIT) is not None for s in self.servers
        )


def inside(ns, what):
    """What a process in the namespace finds."""
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(r)
        try:
            if libc.setns(ns, CLONE_NEWNS):
                raise OSError(ctypes.get_errno(), "setns")
            os.write(w, str(what()).encode())
        except Exception as e:  # the parent shows it
            os.write(w, repr(e).encode())
        os._exit(0)
    os.close(w)
    out = b""
    while more := os.read(r, 65536):
        out += more
    os.close(r)
    os.waitpid(pid, 0)
    return out.decode()


def flags():
    """Mounts of a view that lack nosuid or, outside of /dev, nodev."""
    bad = []
    for line in open("/proc/self/mountinfo"):
        where, options = line.split()[4:6]
        wanted = {"nosuid"} if where == "/dev" or where.startswith("/dev/") else {"nosuid", "nodev"}
        if not wanted <= set(options.split(",")):
            bad.append(line)
    return "".join(bad)
