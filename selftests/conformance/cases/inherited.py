# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program inherits over an exec. "probe state" prints all of it; each case changes one thing
before."""

import ctypes, os, resource, signal, struct
from suite import KERNEL, MODULE, case, program, sh

libc = ctypes.CDLL(None, use_errno=True)
prctl = libc.prctl


def call(*args):
    if libc.syscall(*args) < 0:
        raise OSError(ctypes.get_errno(), "syscall")


# Of a guest there are always these two: the end of ehguest is its end, and it is the leader of a
# group of its own.
ALWAYS = ("signal at the death", "leader of its session")
PDEATH = "the program must not outlive ehguest: PR_SET_PDEATHSIG is SIGKILL"


def inherits(name, before=None, known=None, filter=None, stays=None, where="everywhere", **more):
    """`filter`: beginnings of the lines that are compared; default: all but ALWAYS."""

    def play(s):
        task = s.start(s.probe, "state", before=before and (lambda: before(s)), **more)
        out, err = s.collect(task)
        for line in out.decode(errors="surrogateescape").replace(":\t", ": ").splitlines():
            if line.startswith(filter or ALWAYS) != (filter is None):
                field, _, value = line.partition(" ")
                s.see(field if field not in s.seen else line, line)
        s.see("stderr", err)
        s.see("end", task.wait())

    case(name, known=known, stays=stays, where=where)(play)


inherits("as it is")
inherits(
    "the signal at the death of its parent",
    filter=("signal at the death",),
    known={"signal": PDEATH},
)
inherits("the group", before=lambda s: os.setpgid(0, 0), filter=("leader of",))
inherits(
    "a group that others lead",
    filter=("leader of",),
    known={
        "leader": "it is in a group of its own there, so that signals to a group reach its children"
    },
)
inherits(
    "a session of its own",
    before=lambda s: os.setsid(),
    filter=("leader of",),
    known={
        "leader": (
            "the session is that of ehguest, its parent: a session of its own would orphan its"
            " group"
        )
    },
)

for mask in 0, 0o2, 0o27, 0o77, 0o777:
    inherits(f"umask {mask:03o}", lambda s, mask=mask: os.umask(mask))
for n in 1, 10, 19, -5, -20:
    inherits(f"nice {n}", lambda s, n=n: os.nice(n))

for name, value in (
    ("CPU", 5),
    ("FSIZE", 1 << 20),
    ("DATA", 1 << 30),
    ("STACK", 1 << 22),
    ("CORE", 0),
    ("RSS", 1 << 28),
    ("NPROC", 1000),
    ("NOFILE", 100),
    ("MEMLOCK", 1 << 16),
    ("AS", 1 << 31),
    ("SIGPENDING", 100),
    ("MSGQUEUE", 1000),
    ("NICE", 10),
    ("RTPRIO", 5),
    ("RTTIME", 10**6),
):
    number = getattr(
        resource,
        "RLIMIT_" + name,
        {"SIGPENDING": 11, "MSGQUEUE": 12, "NICE": 13, "RTPRIO": 14, "RTTIME": 15}.get(name),
    )
    inherits(
        f"limit {name}, soft and hard",
        lambda s, n=number, v=value: resource.setrlimit(n, (v // 2, v)),
    )

for name, policy, priority in (
    ("BATCH", os.SCHED_BATCH, 0),
    ("IDLE", os.SCHED_IDLE, 0),
    ("FIFO", os.SCHED_FIFO, 7),
    ("RR", os.SCHED_RR, 3),
):
    inherits(
        f"policy {name}",
        lambda s, p=policy, n=priority: os.sched_setscheduler(0, p, os.sched_param(n)),
    )
inherits(
    "policy FIFO, reset for its children",
    lambda s: os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(2)),
)
inherits(
    "one processor of several",
    lambda s: os.sched_setaffinity(0, [sorted(os.sched_getaffinity(0))[-1]]),
)
for name, ioprio in (
    ("real time 3", 1 << 13 | 3),
    ("best effort 6", 2 << 13 | 6),
    ("idle", 3 << 13 | 7),
):
    inherits(f"disk priority {name}", lambda s, p=ioprio: call(251, 1, 0, p))
inherits("timer slack", lambda s: prctl(29, 123456, 0, 0, 0))
inherits("no huge pages", lambda s: prctl(41, 1, 0, 0, 0))
inherits("personality: no random addresses", lambda s: libc.personality(0x0040000))
inherits("oom_score_adj", lambda s: open("/proc/self/oom_score_adj", "w").write("321"))
inherits("coredump_filter", lambda s: open("/proc/self/coredump_filter", "w").write("0x7"))
inherits("reaper of its descendants", lambda s: prctl(36, 1, 0, 0, 0))

inherits("login user", lambda s: open("/proc/self/loginuid", "w").write("2001"))
# without the module `ehctl exec NODE` refuses what is confined (selftests/agent/362-leaving.py)
inherits("no new privileges", lambda s: prctl(38, 1, 0, 0, 0), stays=KERNEL, where=MODULE)


def become(uid, gid, groups):
    def before(s):
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)

    return before


inherits("another user", become(2001, 2002, []))
inherits("another user with groups", become(2001, 2002, [5, 6, 2002, 40000]))
inherits("a user and a thousand groups", become(2001, 2002, list(range(3000, 4000))))
inherits("root with groups", become(0, 0, [3, 4, 5]))
inherits(
    "real and effective user are not the same",
    lambda s: os.setresuid(2001, 0, 0),
    stays=KERNEL,
    where=MODULE,
)


RULES = (
    "the executor decides: a nice value below 0 and real time are for root's tasks where allow-root"
    " is set"
)


def user_with(do):
    """A user to whom root has given something."""

    def before(s):
        do()
        become(2001, 2001, [])(s)

    return before


inherits("a user's nice value", user_with(lambda: os.nice(5)))
inherits(
    "a user's nice value below 0",
    user_with(lambda: os.setpriority(os.PRIO_PROCESS, 0, -5)),
    known={"policy": RULES},
)
inherits(
    "a user's policy BATCH",
    user_with(lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))),
)
inherits(
    "a user's policy FIFO",
    user_with(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(3))),
    known={"policy": RULES, "timer": "real time has no timer slack"},
)
inherits("a user's disk priority idle", user_with(lambda: call(251, 1, 0, 3 << 13 | 7)))
inherits(
    "a user's disk priority real time",
    user_with(lambda: call(251, 1, 0, 1 << 13 | 3)),
    known={"ioprio": RULES},
)
inherits(
    "groups that the user has not",
    become(2001, 2001, [7, 4999]),
    known={"uid": "a guest has only groups that its user has there"},
)


def drop_bounding(s):
    for cap in (5, 7, 12, 21):
        prctl(24, cap, 0, 0, 0)


def caps(effective, permitted, inheritable):
    header = struct.pack("<Ii", 0x20080522, 0)
    data = struct.pack(
        "<6I",
        effective & 0xFFFFFFFF,
        permitted & 0xFFFFFFFF,
        inheritable & 0xFFFFFFFF,
        effective >> 32,
        permitted >> 32,
        inheritable >> 32,
    )
    call(126, header, data)


def ambient(s):
    prctl(8, 1, 0, 0, 0)
    os.setresgid(2002, 2002, 2002)
    os.setresuid(2001, 2001, 2001)
    caps(1 << 10, 1 << 10, 1 << 10)
    prctl(47, 2, 10, 0, 0)


inherits("a capability taken out of the bounding set", drop_bounding, stays=KERNEL, where=MODULE)
inherits("an inheritable capability", lambda s: caps((1 << 41) - 1, (1 << 41) - 1, 1 << 13))
inherits("an ambient capability of a user", ambient, stays=KERNEL, where=MODULE)
inherits(
    "securebits: root is nobody special",
    lambda s: prctl(28, 0x3, 0, 0, 0),
    stays=KERNEL,
    where=MODULE,
)
inherits("securebits: locked", lambda s: prctl(28, 0x2F, 0, 0, 0), stays=KERNEL, where=MODULE)

inherits("blocked signals", lambda s: signal.pthread_sigmask(signal.SIG_BLOCK, [1, 10, 15, 34, 64]))
inherits("ignored signals", ignore=(1, 2, 13, 17, 34, 64))


def pending(s):
    signal.pthread_sigmask(signal.SIG_BLOCK, [10, 12])
    os.kill(os.getpid(), 10)


@case("a pending signal")
def still_pending(s):
    """It is there a moment after the start, when the stub has heard of that."""
    text = (
        "import signal; print(signal.sigtimedwait([10, 12], 20).si_signo);"
        " print(signal.sigtimedwait([12], 0))"
    )
    s.run("/usr/bin/python3", "-c", text, before=lambda: pending(s))


inherits(
    "an alarm",
    lambda s: signal.setitimer(signal.ITIMER_REAL, 1000),
    known={
        "timers": "the alarm goes on at home, in the stub; its signal is forwarded when it is over"
    },
)
inherits(
    "processor time timers",
    lambda s: signal.setitimer(signal.ITIMER_PROF, 1000),
    known={"timers": "the timer goes on at home and counts the stub's time: it does not fire"},
)
program(
    "an alarm that goes off after the exec",
    "/bin/sleep",
    "20",
    before=lambda: signal.setitimer(signal.ITIMER_REAL, 0.5),
)


@case("a deleted directory", stays="files-differ", where=MODULE)
def deleted(s):
    path = s.file("gone")
    os.mkdir(path)

    def enter():
        os.chdir(path)
        os.rmdir(path)

    s.sh("pwd; echo $?; ls -a; echo > new; echo $?", before=enter)


@case("a descriptor that is of use here only", stays=KERNEL, where=MODULE)
def above(s):
    s.run(
        "/bin/sh", "-c", "[ -e /proc/self/fd/7 ]; echo $?", before=lambda: os.dup2(os.eventfd(0), 7)
    )


@case("a seccomp filter", stays=KERNEL, where=MODULE)
def filtered(s):
    def confine():
        prctl(38, 1, 0, 0, 0)
        allow = (ctypes.c_ubyte * 8)(*struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000))
        program = struct.pack("<HxxxxxxQ", 1, ctypes.addressof(allow))
        prctl(22, 2, program, 0, 0)

    s.sh("grep Seccomp: /proc/self/status", before=confine)


@case("a root of its own", stays=KERNEL, where=MODULE)
def chrooted(s):
    s.run("/bin/pwd", before=lambda: (os.chroot("/usr"), os.chdir("/")))


sh(
    "limits hold: a file of more than RLIMIT_FSIZE",
    "ulimit -c 0; ulimit -f 4; dd if=/dev/zero of=big bs=1k count=20 2>/dev/null; echo $?",
)
sh(
    "limits hold: descriptors",
    (
        'ulimit -n 10; exec 2>/dev/null; python3 -c \'open("/"), [open("/dev/null") for _ in'
        " range(20)]'; echo $?"
    ),
)
program(
    "limits hold: processor time",
    "probe",
    "spend",
    "20000",
    "1",
    before=lambda: (
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
        resource.setrlimit(resource.RLIMIT_CPU, (1, 2)),
    ),
)
program(
    "limits hold: memory",
    "probe",
    "spend",
    "1",
    "500000",
    before=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 27, 1 << 27)),
)


# How the task ends is not compared: it writes into a pipe, and may have ended when the stub is at
# the limit.
@case("RLIMIT_FSIZE and a file as output")
def fsize(s):
    fd = os.open(s.write("out", b""), os.O_WRONLY)
    s.start(
        "/usr/bin/head",
        "-c",
        "20000",
        "/dev/zero",
        stdout=fd,
        stderr="null",
        before=lambda: (
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        ),
    ).wait()
