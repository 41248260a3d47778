# SPDX-License-Identifier: GPL-2.0-or-later
"""Parents, children, daemons; many tasks; long ones."""

import os, signal
from scene import NULL, PIPE
from suite import case, sh


sh("children that go on after it: their output", "(sleep 0.3; echo late) & echo now")
sh(
    "children that go on after it: their files",
    (
        "(sleep 0.3; echo late >late) >/dev/null 2>&1 & echo now; "
        "until [ -s late ]; do sleep 0.1; done; cat late"
    ),
)
sh(
    "wait for all children",
    "for i in 1 2 3 4 5; do (exit $i) & done; for i in 1 2 3 4 5; do wait; done; echo $?",
)
sh(
    "a child's status",
    "(exit 9) & wait $!; echo $?; (kill -9 $(exec sh -c 'echo $PPID')) & wait $!; echo $?",
)
sh("a tree of processes", 'sh -c \'sh -c "sh -c \\"echo deep; exit 3\\""\'; echo $?')
sh("exec in turn", "exec sh -c 'exec sh -c \"exec echo same process\"'")
sh(
    "a hundred children",
    "i=0; while [ $i -lt 100 ]; do /bin/true & i=$((i+1)); done; wait; echo done",
)


@case("a daemon outlives the task")
def daemon(s):
    task = s.start(
        "/bin/sh",
        "-c",
        "setsid sh -c 'sleep 0.5; echo written >daemon' </dev/null >/dev/null 2>&1 & exit 0",
    )
    s.see("output", s.collect(task))
    s.see("end", task.wait())
    s.see("written", s.until(lambda: (s.content("daemon") or b"").endswith(b"\n")))


@case("a daemon that forks twice outlives the task")
def twice(s):
    text = (
        "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\nfd ="
        " os.open('/dev/null', os.O_RDWR)\nfor i in range(3): os.dup2(fd,"
        " i)\ntime.sleep(0.5)\nopen('daemon', 'w').write('written\\n')"
    )
    task = s.start("/usr/bin/python3", "-c", text)
    s.see("output", s.collect(task))
    s.see("end", task.wait())
    s.see("written", s.until(lambda: (s.content("daemon") or b"").endswith(b"\n")))


@case("a daemon that keeps the output open")
def holds(s):
    task = s.start(
        "/bin/sh", "-c", "setsid sh -c 'sleep 0.4; echo from the daemon' & echo from the task"
    )
    s.see("end", task.wait())
    s.see("output", s.collect(task))


@case("the parent dies: the task goes on")
def orphan(s):
    """It is a grandchild; its parent is gone before it writes."""
    middle = os.fork()
    if not middle:
        s.start(
            "/bin/sh",
            "-c",
            "echo up >up; sleep 0.5; echo went on >result",
            stdout=NULL,
            stderr=NULL,
        )
        s.until(lambda: s.content("up"))
        os._exit(0)
    os.waitpid(middle, 0)
    s.see("result", s.until(lambda: s.content("result")))


@case("the parent dies: the task that writes to it gets SIGPIPE")
def orphan_pipe(s):
    middle = os.fork()
    if not middle:
        s.start(
            "/bin/sh",
            "-c",
            (
                "trap 'echo by a signal >result; exit' PIPE; while :; do echo y || echo failed"
                " >result; done"
            ),
            stderr=NULL,
        )
        os._exit(0)
    os.waitpid(middle, 0)
    s.see(
        "result",
        s.until(lambda: (s.content("result") or b"").endswith(b"\n")) and s.content("result"),
    )


@case("a signal asked for at the parent's death comes")
def pdeathsig(s):
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    middle = os.fork()
    if not middle:
        s.start(
            "/bin/sh",
            "-c",
            "trap 'echo caught >caught; exit' USR1; echo up >up; while :; do sleep 0.1; done",
            stdout=NULL,
            stderr=NULL,
            before=lambda: prctl(1, signal.SIGUSR1, 0, 0, 0),
        )
        s.until(lambda: s.content("up"))
        os._exit(0)
    os.waitpid(middle, 0)
    s.see("caught", s.until(lambda: s.content("caught")))


@case("a task that ends before its parent waits")
def early(s):
    task = s.start("/bin/true", stdout=NULL, stderr=NULL)
    s.until(lambda: os.waitid(os.P_PID, task.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))
    s.see("end", task.wait())


@case("waitid() says the same")
def waitid(s):
    task = s.start("/bin/sh", "-c", "exit 300", stdout=NULL, stderr=NULL)
    r = os.waitid(os.P_PID, task.pid, os.WEXITED | os.WNOWAIT)
    s.see("waitid", (r.si_pid == task.pid, r.si_code, r.si_status, r.si_uid))
    s.see("end", task.wait())


@case("SIGCHLD reaches the parent once")
def sigchld(s):
    heard = []
    signal.signal(signal.SIGCHLD, lambda *_: heard.append(1))
    task = s.start("/bin/sh", "-c", "sleep 0.2", stdout=NULL, stderr=NULL)
    s.see("end", task.wait())
    s.see("heard", len(heard))


@case("forty tasks at once")
def forty(s):
    tasks = [s.start("/bin/sh", "-c", f"echo {i}; exit {i}") for i in range(40)]
    s.see("all", [(s.collect(t), t.wait()) for t in tasks])


def many(name, number, **more):
    @case(name, bound=60 if number < 1000 else 900, **more)
    def play(s):
        ends = {}
        # of some it is asked whether they were away: the agent remembers the last thousand
        for i in range(number):
            task = s.start("/bin/true", stdout=NULL, stderr=NULL)
            end = task.wait()
            ends[end] = ends.get(end, 0) + 1
            if i % 50:
                s.tasks.pop()
        s.see("ends", ends)


many("200 short tasks, one after the other", 200, where="native")
many("5000 short tasks, one after the other", 5000, long=True)


def silence(name, seconds, **more):
    @case(name, bound=seconds + 30, **more)
    def play(s):
        task = s.start(
            "/bin/sh",
            "-c",
            f"echo begins; sleep {seconds}; echo ends; read a; echo got $a",
            stdin=PIPE,
        )
        got = b""
        while b"ends" not in got:
            got += os.read(task.stdout, 100)
        os.write(task.stdin, b"after the silence\n")
        s.see("output", got + s.collect(task)[0])
        s.see("end", task.wait())


silence("two seconds of silence", 2, where="native")
silence("ten minutes of silence", 600, long=True)
