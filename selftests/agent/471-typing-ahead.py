#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Pipelines on a terminal of another node, and what is typed while a program runs that does not
read it."""

import os, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done
from terminal import PROMPT, PYTHON, end, play, program, work


def pipeline(sh):
    sh.up("sleep 1000", after=" | cat")
    sh.type("\x03")
    sh.wait(PROMPT)
    sh.line("echo ${PIPESTATUS[@]}")
    sh.up("sleep 1000", before="", after=" | $R cat")
    sh.type("\x03")
    sh.wait(PROMPT)
    pid = sh.up("cat", after=" | $R sed -u s/^/=/")
    sh.type("x\n")
    sh.wait("=x\r\n")
    sh.stop()
    sh.resume(pid)
    sh.type("y\n")
    sh.wait("=y\r\n")
    sh.type("\x04")
    sh.wait(PROMPT)


def keys_of_another(sh):
    """The terminal is the task's input, too, but only the pager reads it."""
    sh.start("$R bash -c 'cat lines.txt; until [ -e go ]; do sleep 0.05; done' | less", "line 22")
    for key, shown in ((" ", "line 45"), (" ", "line 68"), ("g", "line 0")):
        sh.type(key)
        sh.wait(shown)
    sh.type("q")
    program("go", "")
    sh.wait(PROMPT)
    os.unlink(f"{work}/go")


def type_ahead(sh, seen):
    """A line and a half; the rest when the first has run."""
    sh.type("echo first\necho 12")
    sh.wait(seen)
    program("go", "")
    sh.wait("first\r\n")
    sh.type("345\n")
    sh.wait("12345\r\n")
    sh.wait(PROMPT)
    os.unlink(f"{work}/go")


def ahead(sh):
    """What is typed while a command runs that does not read it is the next one's."""
    sh.start("$R bash -c 'echo up; until [ -e go ]; do sleep 0.05; done'", "up\r\n")
    type_ahead(sh, "echo 12")


def ahead_taken(sh):
    """The same when it was given to the task already: it looks, and does not read."""
    sh.start(f"$R {PYTHON} looks.py", "up\r\n")
    type_ahead(sh, "seen\r\n")


def ahead_part(sh):
    """One line is read, the next ones are not."""
    sh.start(
        "$R bash -c 'echo up; until [ -e go ]; do sleep 0.05; done; read x; echo =$x'", "up\r\n"
    )
    sh.type("mine\necho first\necho second\n")
    sh.wait("second\r\n")
    program("go", "")
    sh.wait("=mine\r\n")
    sh.wait("first\r\n")
    sh.wait("second\r\n")
    sh.wait(PROMPT)
    os.unlink(f"{work}/go")


def at_once(sh):
    """A line that is typed as soon as the one before has ended is echoed: the terminal at home has
    the modes then."""
    rounds, echoed = 20, 0
    sh.start("$R bash --norc --noprofile -i", PROMPT)
    for i in range(rounds):
        before = len(sh.seen)
        sh.type("cat\n")
        sh.wait("cat\r\n")
        sh.type(f"line {i}\n")
        sh.wait(f"line {i}\r\n")
        sh.type("\x04")
        sh.wait(PROMPT)
        echoed += bytes(sh.seen[before:]).count(b"line %d" % i) == 2
    sh.start("exit", PROMPT)
    # Here bash may be slower than the keys. There it may be held up between the two.
    if "ehctl" in sh.line("echo $R") and echoed < rounds - 3:
        return f"{echoed} of {rounds} lines were echoed"


program(
    "looks.py",
    """
import os, select, time
print("up", flush=True)
select.select([0], [], [])
print("seen", flush=True)
while not os.path.exists("go"):
    time.sleep(0.05)
""",
)
play("pipelines", pipeline, compare=False)
play("a pager behind it gets its keys", keys_of_another, compare=False)
play("typed at once", at_once, compare=False)
play("typed ahead", ahead, compare=False)
play("typed ahead, and seen", ahead_taken, compare=False)
play("typed ahead, one line of it read", ahead_part, compare=False)
end()
done()
