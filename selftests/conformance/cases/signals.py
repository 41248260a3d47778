# SPDX-License-Identifier: GPL-2.0-or-later
"""Signals to a task from outside; stops; groups."""

import ctypes, os, signal
from scene import NULL, PIPE, limit_core, signal_name
from suite import case

libc = ctypes.CDLL(None, use_errno=True)


def held(s, *words, **more):
    """A task that has said that it is up, in a group of its own: one that is not orphaned."""
    more.setdefault("before", lambda: (os.setpgid(0, 0), limit_core()))
    task = s.start(*(words or (s.probe, "hold")), stderr=NULL, **more)
    s.see("up", os.read(task.stdout, 3))
    return task


WAITS = ("/bin/sh", "-c", "echo up; exec sleep 60")

# killed by each signal whose default that is, and not by the others
for n in [n for n in range(1, 65) if n not in (19, 20, 21, 22, 32, 33)]:

    @case(f"{signal_name(n)} from outside")
    def outside(s, n=n):
        task = held(s, *WAITS)
        task.kill(n)
        if n in (signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH):
            task.kill(signal.SIGKILL)
        s.see("end", task.wait())


for n in 1, 2, 3, 10, 12, 13, 14, 18, 28, 34, 50, 64:

    @case(f"{signal_name(n)} is caught")
    def caught(s, n=n):
        task = held(s)
        task.kill(n)
        s.see("told", os.read(task.stdout, 100))
        task.kill(signal.SIGTERM)
        s.collect(task)
        s.see("end", task.wait())


class Value(ctypes.Union):
    _fields_ = [("number", ctypes.c_int), ("pointer", ctypes.c_void_p)]


@case("a signal with a value (sigqueue)")
def queued(s):
    task = held(s)
    for value in 4711, 4712, 4713:
        libc.sigqueue(task.pid, 40, Value(number=value))
    got = b""
    while got.count(b"\n") < 3:
        got += os.read(task.stdout, 200)
    s.see("told", got)
    task.kill(signal.SIGKILL)
    s.see("end", task.wait())


@case("five signals of one kind, queued ones")
def five(s):
    task = held(s)
    for _ in range(5):
        task.kill(41)
    got = b""
    while got.count(b"\n") < 5:
        got += os.read(task.stdout, 200)
    s.see("told", got)
    task.kill(signal.SIGKILL)
    s.see("end", task.wait())


for n in signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU:

    @case(f"{n.name}, SIGCONT, SIGTERM: what the parent is told")
    def stop(s, n=n):
        task = held(s, *WAITS)
        for _ in range(2):
            task.kill(n)
            task.wait(os.WUNTRACED | os.WCONTINUED)
            task.kill(signal.SIGCONT)
            task.wait(os.WUNTRACED | os.WCONTINUED)
        task.kill(signal.SIGTERM)
        task.wait(os.WUNTRACED)
        s.see("reports", task.reports)


@case("a task that stops itself and is continued")
def itself(s):
    task = s.start(
        "/bin/sh",
        "-c",
        "kill -STOP $$; read x; echo went on; exit 6",
        stdin=PIPE,
        before=lambda: os.setpgid(0, 0),
    )
    task.wait(os.WUNTRACED | os.WCONTINUED)
    task.kill(signal.SIGCONT)
    task.wait(os.WUNTRACED | os.WCONTINUED)
    # Only now: the kernel says of one that has ended no more that it was continued.
    os.write(task.stdin, b"\n")
    s.see("stdout", s.collect(task)[0])
    task.wait(os.WUNTRACED)
    s.see("reports", task.reports)


@case("killed while it is stopped")
def stopped_kill(s):
    task = held(s, *WAITS)
    task.kill(signal.SIGSTOP)
    task.wait(os.WUNTRACED)
    task.kill(signal.SIGKILL)
    task.wait(os.WUNTRACED)
    s.see("reports", task.reports)


@case("SIGTERM while it is stopped, then SIGCONT")
def stopped_term(s):
    task = held(s, *WAITS)
    task.kill(signal.SIGSTOP)
    task.wait(os.WUNTRACED)
    task.kill(signal.SIGTERM)
    s.see("ended before", task.wait(os.WNOHANG | os.WUNTRACED))
    task.kill(signal.SIGCONT)
    task.wait(0)
    s.see("reports", task.reports)


@case("SIGTSTP to an orphaned group does nothing")
def orphaned(s):
    task = s.start(*WAITS, before=os.setsid)
    os.read(task.stdout, 3)
    task.kill(signal.SIGTSTP)
    task.kill(signal.SIGTERM)
    s.see("end", [task.wait(os.WUNTRACED), task.reports])


@case("a stopped task does not write")
def silent(s):
    task = held(s, "/bin/sh", "-c", "echo up; while :; do echo y; done")
    task.kill(signal.SIGSTOP)
    task.wait(os.WUNTRACED)
    s.see("reports", task.reports)
    # what was under way comes; then nothing more
    import select

    while select.select([task.stdout], [], [], 1)[0]:
        os.read(task.stdout, 1 << 16)
    s.see("more", bool(select.select([task.stdout], [], [], 0.5)[0]))
    task.kill(signal.SIGKILL)
    s.see("end", task.wait())


@case("kill by group: the task and a member at home")
def group(s):
    first = held(s, *WAITS)
    second = held(s, *WAITS, before=lambda: os.setpgid(0, first.pid), away=False)
    os.killpg(first.pid, signal.SIGTERM)
    s.see("ends", [first.wait(), second.wait()])


@case("kill by group: two tasks")
def group_two(s):
    first = held(s, *WAITS)
    second = held(s, *WAITS, before=lambda: os.setpgid(0, first.pid))
    os.killpg(first.pid, signal.SIGHUP)
    s.see("ends", [first.wait(), second.wait()])


@case("kill by group: the children of the task, too")
def group_children(s):
    task = held(
        s,
        "/bin/sh",
        "-c",
        (
            'trap : TERM; sh -c \'trap "echo child; exit" TERM; echo up; while :; do sleep 0.05;'
            " done' & wait; wait; exit 3"
        ),
    )
    os.killpg(task.pid, signal.SIGTERM)
    import select

    s.see("child", os.read(task.stdout, 10) if select.select([task.stdout], [], [], 3)[0] else b"")
    task.kill(signal.SIGKILL)
    task.wait()  # where its child was told, too, it may have ended before


CHILDREN = (
    "/bin/sh",
    "-c",
    (
        "trap : TERM; sh -c 'trap \"echo child; exit\" TERM; echo up; while :; do sleep 0.05; done'"
        " & read x; exit 3"
    ),
)


@case("kill of the task alone: not its children")
def task_alone(s):
    task = held(s, *CHILDREN, stdin=PIPE)
    task.kill(signal.SIGTERM)
    try:
        os.write(task.stdin, b"\n")
    except BrokenPipeError:
        pass  # read of some shells ends with a signal that is trapped, so the task may have ended
    s.see("end", task.wait())
    import select

    s.see("child", bool(select.select([task.stdout], [], [], 1)[0]))
    os.killpg(task.pid, signal.SIGTERM)
    s.see("its group", s.collect(task)[0])


@case("kill by group: SIGKILL ends what holds its output")
def group_kill(s):
    task = held(s, *CHILDREN, stdin=PIPE)
    os.killpg(task.pid, signal.SIGKILL)
    s.see("stdout", s.collect(task)[0])
    s.see("end", task.wait())


@case("kill by group: a task that has ended, its children have not")
def group_ended(s):
    task = held(s, *CHILDREN, stdin=PIPE)
    os.write(task.stdin, b"\n")
    s.see("end", task.wait())
    os.killpg(task.pid, signal.SIGTERM)
    s.see("stdout", s.collect(task)[0])


@case("its group is empty when it has ended")
def group_empty(s):
    task = held(s, "/bin/sh", "-c", "echo up")
    s.see("end", task.wait())
    try:
        os.killpg(task.pid, 0)
        s.see("after", "there")
    except ProcessLookupError:
        s.see("after", "ESRCH")


@case("a value and a signal by group, one after the other")
def mixed(s):
    task = held(s)
    for value in 1, 2:
        libc.sigqueue(task.pid, 40, Value(number=value))
        os.killpg(task.pid, 40)
    got = b""
    while got.count(b"\n") < 4:
        got += os.read(task.stdout, 200)
    s.see("told", got)
    task.kill(signal.SIGKILL)
    s.see("end", task.wait())


@case(
    "a task that signals its parent",
    known={"heard": "there its parent is ehguest, and the process id is of that host"},
)
def parent(s):
    heard = []
    signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
    task = s.start(
        "/bin/sh", "-c", "kill -USR1 $PPID; exit 2", before=lambda: os.setresuid(2001, 2001, 2001)
    )
    s.collect(task)
    task.wait()
    task = s.start("/bin/sh", "-c", "echo $PPID")
    out = s.collect(task)[0]
    s.see("heard", int(out) == os.getpid())
    s.see("end", task.wait())


@case(
    "its process id is that of the parent's child",
    known={"own": "there it has a process id of that host; at home it is the stub's"},
)
def own_pid(s):
    task = s.start("/bin/sh", "-c", "echo $$")
    s.see("own", int(s.collect(task)[0]) == task.pid)
    s.see("end", task.wait())


@case("signal 0 and a task that has ended")
def gone(s):
    task = held(s, *WAITS)
    task.kill(0)
    task.kill(9)
    s.see("end", task.wait())
    try:
        task.kill(0)
        s.see("after", "there")
    except ProcessLookupError:
        s.see("after", "ESRCH")


@case("interrupted while it writes much")
def writing(s):
    task = s.start("/usr/bin/yes", stderr=NULL)
    got = 0
    while got < 1 << 20:
        got += len(os.read(task.stdout, 65536))
    task.kill(signal.SIGINT)
    s.collect(task)
    s.see("end", task.wait())


@case("killed while its input is full")
def full(s):
    task = held(s, *WAITS, stdin=PIPE)
    os.set_blocking(task.stdin, False)
    try:
        while True:
            os.write(task.stdin, b"x" * 65536)
    except BlockingIOError:
        pass
    task.kill(signal.SIGTERM)
    s.see("end", task.wait())
