#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Job control on a terminal of another node: signals of keys, stopping, background, a shell's own
jobs."""

import os, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done
from terminal import PROMPT, PYTHON, c, end, play, program, state, work
from wait import until

program("handler.sh", "trap 'echo no' INT; echo up; while read x; do echo $x; done\n")


def interrupt(sh):
    sh.up("sleep 1000")
    sh.type("\x03")
    sh.wait(PROMPT)
    sh.line("echo $?; ulimit -c 0")
    sh.up("sleep 1000")
    sh.type("\x1c")
    sh.wait(PROMPT)
    sh.line("echo $?")
    pid = sh.up("bash handler.sh")
    sh.wait("up\r\n")
    # bash looks for signals before it reads, and while it waits: not between
    if not until(lambda: state(pid) == "S"):
        return f"it does not read: {state(pid)}"
    sh.type("\x03")
    sh.wait("no\r\n")
    sh.type("after\n")
    sh.wait("after\r\nafter\r\n")
    sh.type("\x04")
    sh.wait(PROMPT)


def stop(sh):
    pid = sh.up("sleep 1000")
    sh.stop()
    if not until(lambda: state(pid) == "T"):
        return f"^Z: {state(pid)}"
    sh.line("jobs")
    sh.line("bg")
    if not until(lambda: state(pid) == "S"):
        return f"bg: {state(pid)}"
    sh.line("jobs")
    sh.resume(pid)
    sh.stop()
    sh.resume(pid)
    sh.type("\x03")
    sh.wait(PROMPT)
    sh.line("echo $?; jobs")


program(
    "child.py",
    """
import signal, subprocess
signal.signal(signal.SIGINT, signal.SIG_DFL)
child = subprocess.Popen(["sleep", "1000"])
print("child", child.pid, flush=True)
child.wait()
""",
)


def stop_group(sh):
    """A child of the task is in its group: it stops, goes on and ends with it."""
    pid = sh.up(f"{PYTHON} child.py")
    sh.wait("child ")
    child = int(sh.wait("\r\n"))
    sh.stop()
    if not until(lambda: state(child) == "T"):
        return f"^Z: its child is {state(child)}"
    sh.resume(pid)
    if not until(lambda: state(child) == "S"):
        return f"fg: its child is {state(child)}"
    sh.type("\x03")
    sh.wait(PROMPT)
    if not until(lambda: state(child) in ("gone", "Z")):
        return f"^C: its child is {state(child)}"


def background(sh):
    """Reading and setting modes in the background stop a task."""
    sh.start("$R sh up.sh cat &", "pid ")
    pid = int(sh.wait("\r\n"))
    sh.line("")
    if not until(lambda: "Stopped" in sh.line("jobs")):
        return "cat does not stop"
    sh.resume(pid)
    sh.type("line\n")
    sh.wait("line\r\nline\r\n")
    sh.type("\x04")
    sh.wait(PROMPT)
    sh.line("$R stty -echo &")
    if not until(lambda: "Stopped" in sh.line("jobs")):
        return "stty does not stop"
    sh.start("fg", "-echo\r\n")
    sh.wait(PROMPT)
    if "-echo" not in sh.line("stty -a"):
        return "stty -echo did nothing"
    sh.line("stty echo")


def shell_there(sh):
    """A shell with jobs of its own there."""
    sh.start("$R bash --norc --noprofile -i", PROMPT)
    pid = sh.up("cat", before="")
    sh.type("inner\n")
    sh.wait("inner\r\ninner\r\n")
    sh.stop()
    sh.resume(pid)
    sh.type("\x03")
    sh.wait(PROMPT)
    sh.start("exit", "exit\r\n")
    sh.wait(PROMPT)


def tostop(sh):
    sh.line("stty tostop")
    sh.line("$R sh -c 'until [ -e go ]; do sleep 0.05; done; echo late' & sleep 0")
    program("go", "")
    if not until(lambda: "Stopped" in sh.line("jobs")):
        return "writing in the background does not stop it"
    sh.line("stty -tostop")
    sh.start("fg", "late\r\n")
    sh.wait(PROMPT)
    os.unlink(f"{work}/go")


def jobs_gone(sh):
    """The shell tells of a job's end with the first prompt after it has heard of it. A SIGCHLD that
    comes while bash shows another job's news is heard only with the next child's."""
    return until(lambda: not sh.line("/bin/true; jobs"))


def family(sh):
    """`kill` of a job is for its group, and so for its children."""
    for number, command in enumerate(("kill %1", "kill -INT %1", "kill -KILL %1")):
        pid = sh.up(f"{PYTHON} child.py")
        sh.wait("child ")
        child = int(sh.wait("\r\n"))
        sh.stop()
        sh.line(command)
        if number < 2:
            sh.line("fg")
        if not jobs_gone(sh):
            return f"{command}: the job stays"
        for one in child, pid:
            if not until(lambda: state(one) in ("gone", "Z")):
                return f"{command}: {one} of {pid} and its child {child} is {state(one)}"


def shown(sh):
    """A stopped task is shown as such, on both nodes."""

    def states():
        return [[t["state"] for t in c.tasks(i)] for i in range(2)]

    def are(state):
        return not away or until(lambda: states() == [[state], [state]])

    away = "ehctl" in sh.line("echo $R")
    pid = sh.up("sleep 1000")
    sh.stop()
    if not are("stopped"):
        return f"^Z: {states()}"
    sh.resume(pid)
    if not are("running"):
        return f"fg: {states()}"
    sh.stop()
    sh.line("bg")
    if not are("running"):
        return f"bg: {states()}"
    # of this stop the stub is not told
    sh.line("kill -STOP %1")
    if not are("stopped"):
        return f"kill -STOP: {states()}"
    sh.line("kill -CONT %1")
    if not are("running"):
        return f"kill -CONT: {states()}"
    sh.line("kill %1")
    if not jobs_gone(sh):
        return "kill: the job stays"


def by_name(sh):
    pid = sh.up("sleep 1000")
    sh.stop()
    sh.line("kill %1")
    sh.line("fg")
    if not until(lambda: state(pid) in ("gone", "Z")) or not jobs_gone(sh):
        return "kill %1 does not end it"
    sh.start("$R sh -c 'kill -STOP $$; echo again'", "Stopped")
    sh.wait(PROMPT)
    sh.start("fg", "again\r\n")
    sh.wait(PROMPT)


play("^C, ^\\, a handler", interrupt)
play("^Z, jobs, bg, fg", stop)
play("children stop and go on with it", stop_group, compare=False)
play("reading and stty in the background", background, compare=False)
play("an interactive shell there", shell_there, compare=False)
play("stty tostop", tostop, compare=False)
play("kill of a job: its children, too", family, compare=False)
play("a stopped task is shown as stopped", shown, compare=False)
play("kill %1, kill -STOP", by_name, compare=False)
end()
done()
