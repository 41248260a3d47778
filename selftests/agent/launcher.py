# SPDX-License-Identifier: GPL-2.0-or-later
"""An agent that says to ehlaunch what it likes: packets as lib/wire/launch.h has them."""

import array, atexit, itertools, os, re, socket, struct, subprocess, sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tree import BUILD, TOP
from wait import WAIT, until

LAUNCH = os.path.join(BUILD, "bin", "ehlaunch")
HEADER = open(os.path.join(TOP, "lib/wire/launch.h")).read()
JOB = open(os.path.join(TOP, "lib/wire/job.h")).read()
RLIMITS = 16
NONE = (1 << 64) - 1


def enum(text, name):
    """Numbers of an enum by name; it begins with 0."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    body = text[text.index(f"enum {name} {{") :]
    names = re.findall(r"\b([A-Z][A-Z_]+)\b", body[body.index("{") : body.index("}")])
    return {n: i for i, n in enumerate(names)}


ids = itertools.count(1)


def flags(text):
    return {n: int(v) for n, v in re.findall(r"#define (LAUNCH_[A-Z_]+) (\d+)u", text)}


KIND, STAGE, TRAIT, FLAG = (
    enum(HEADER, "launch_kind"),
    enum(HEADER, "launch_stage"),
    enum(JOB, "job_trait"),
    flags(HEADER),
)
NAME = {number: name for name, number in STAGE.items()}
USER_MAX = int(re.search(r"LAUNCH_USER_MAX (\d+)", HEADER)[1])
ID_MAX = int(re.search(r"LAUNCH_ID_MAX (\d+)", HEADER)[1])
START = struct.Struct(f"@5I{USER_MAX}s{ID_MAX}sIIii{2 * RLIMITS + TRAIT['JOB_TRAITS']}Q")


def head(kind, version=FLAG["LAUNCH_VERSION"]):
    return struct.pack("@2I", version, KIND.get(kind, kind))


def start(
    uid,
    gid,
    user,
    groups=(),
    flags=0,
    loginuid=0xFFFFFFFF,
    nice=0,
    oom=0,
    rlimits=None,
    traits=None,
    ngroups=None,
    id=None,
):
    """A request for an end; traits by name. Each has an ID of its own."""
    id = f"0.1:{next(ids)}" if id is None else id
    numbers = [NONE] * (2 * RLIMITS)
    for which, (soft, hard) in (rlimits or {}).items():
        numbers[2 * which : 2 * which + 2] = soft, hard
    values = [0] * TRAIT["JOB_TRAITS"]
    known = {
        "JOB_TRAITS_KNOWN": 1,
        "JOB_OOM_SCORE": 1000,
        "JOB_CORE_FILTER": 0x33,
        "JOB_CAP_BOUNDING": NONE,
    }
    for name, value in {**known, **(traits or {})}.items():
        values[TRAIT[name]] = value
    fixed = START.pack(
        FLAG["LAUNCH_VERSION"],
        KIND["LAUNCH_START"],
        flags,
        uid,
        gid,
        user.encode(),
        id.encode(),
        len(groups) if ngroups is None else ngroups,
        loginuid,
        nice,
        oom,
        *numbers,
        *values,
    )
    return fixed + struct.pack(f"@{len(groups)}I", *groups)


def kill(id):
    return head("LAUNCH_KILL") + struct.pack(f"@{ID_MAX}s", id.encode())


def session(came, wish="", retry=0, leaves=0, view=0):
    """For the process at the other end of a socket that came `came` ticks after boot."""
    return head("LAUNCH_SESSION") + struct.pack(
        "@3IQ41s0Q", retry, leaves, view, came, wish.encode()
    )


def eligible(came):
    """Whether such a process may leave."""
    return head("LAUNCH_ELIGIBLE") + struct.pack("@Q", came)


class Launcher:
    def __init__(self, *arguments, before=None):
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # it is to be descriptor 3, whatever number it has here (dash takes those of one digit only)
        self.process = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec "$@" 3<&{its.fileno()} {its.fileno()}<&-',
                "bash",
                LAUNCH,
                *arguments,
            ],
            pass_fds=[its.fileno()],
            preexec_fn=before,
        )
        its.close()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        ours.settimeout(WAIT)
        self.socket = ours
        self.ends = []
        said = ours.recv(64)
        self.began, self.versions = struct.unpack("@Iii", said[:12]), struct.unpack(
            "@II", said[12:20]
        )
        atexit.register(self.stop)

    def send(self, packet, fds=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([packet], control)

    def ask(self, packet, more=(), end=True):
        """What ehlaunch answers: (stage, errno, pid), or None: nothing. An end that was started
        lives until drop()."""
        news, its_news = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours, its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with news, its_news, its_end:
            self.send(
                packet, [its_news.fileno()] + ([its_end.fileno()] if end else []) + list(more)
            )
            its_news.close()
            news.settimeout(WAIT)
            answer = news.recv(64)
        if not answer:
            ours.close()
            return None
        stage, error, pid = struct.unpack("@Iii", answer[:12])
        if stage == STAGE["LAUNCH_READY"] and pid:
            self.ends.append((ours, pid))
        else:
            ours.close()
        return NAME.get(stage, stage), error, pid

    def drop(self):
        """Ends the ends; they see that their agent has gone before there was a job."""
        pids = [pid for _, pid in self.ends]
        for s, _ in self.ends:
            s.close()
        self.ends = []
        return until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))

    def lives(self):
        return self.process.poll() is None

    def stop(self):
        self.drop()
        self.socket.close()
        self.process.wait(WAIT)


def status(pid):
    """/proc/PID/status by name."""
    return dict(
        line.split(":\t", 1)
        for line in open(f"/proc/{pid}/status").read().splitlines()
        if ":\t" in line
    )
