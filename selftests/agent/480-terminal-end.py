#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Terminals of another node that end: hung up, in script(1), of other users and sessions, with an
agent that is lost; and what they cost."""

import os, pty, re, signal, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import environment
from ktap import done, must, ok
from terminal import AWAY, PROMPT, PYTHON, Shell, at_work, c, end, only, play, program, tasks, work
from wait import until


def in_script(sh):
    sh.line(f"""script -qc "$R {PYTHON} what.py" /dev/null""")
    sh.start("""script -qc "$R sh up.sh cat" /dev/null""", "pid ")
    pid = int(sh.wait("\r\n"))
    if not until(lambda: at_work(pid)):
        return "it is not at work"
    sh.type("x\n")
    sh.wait("x\r\nx\r\n")
    sh.type("\x04")
    sh.wait(PROMPT)


program(
    "hangup.py",
    """
import errno, os, signal, sys, threading
hung = threading.Event()
out = open(sys.argv[1], "w", 1)
signal.signal(signal.SIGHUP, lambda *_: hung.set())
signal.siginterrupt(signal.SIGHUP, False)
print("up", flush=True)
try:
    while data := os.read(0, 100):
        pass
    print("read ends", file=out)
except OSError as error:
    # the kernel's answer to a program that was reading; to one that reads later it is the end
    print("read ends" if error.errno == errno.EIO else error, file=out)
try:
    os.write(1, b"x")
except OSError as error:
    print("write", errno.errorcode[error.errno], file=out)
print("HUP" if hung.wait(10) else "no HUP", file=out)
print("done", file=out)
""",
)
if not only or "the terminal is hung up" in only:
    hung = {}
    for name, prefix in ("here", ""), ("away", AWAY):
        # The leader of its session, to whom the kernel itself sends the signal.
        with c.net.enter(0):
            pid, master = pty.fork()
            if not pid:
                environment.default_signals()
                words = f"{prefix} {PYTHON} {work}/hangup.py {work}/hung-{name}".split()
                os.execv(words[0], words)
        text = b""
        while b"up\r\n" not in text:
            text += os.read(master, 100)
        os.close(master)
        said = lambda: open(f"{work}/hung-{name}").read()
        must("it has said what it met", until(lambda: "done" in said()), said())
        hung[name] = sorted(open(f"{work}/hung-{name}").read().split("\n"))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    ok("the terminal is hung up", hung["here"] == hung["away"] and "done" in hung["here"], hung)
play("in script(1)", in_script, needs="/usr/bin/script")

shell = Shell(AWAY)
shown = shell.line(f"setpriv --reuid 2001 --regid 2001 --clear-groups $R {PYTHON} what.py")
ok("another user's terminal is his own there", "/dev/pts/ True True True" in shown, shown)
shown = shell.line(f"echo typed | setsid -w $R sh -c 'cat; tty'")
ok("another session's terminal is none", shown == "typed\nnot a tty\n", shown)

# The memory it takes: of the agents for a task, of a stub.
memory = [c.memory(i) for i in range(2)]
for _ in range(20):
    shell.line("$R sleep 1000 & sleep 0")
ok(
    "20 tasks with terminals",
    until(lambda: len(tasks()) == 20 and all(t["state"] == "running" for t in tasks())),
    len(tasks()),
)
grown = [(c.memory(i) - memory[i]) / 20 for i in range(2)]
stubs = c.call(0, ["pgrep", "-x", "ehstub", "-s", str(shell.pid)], stderr=None).stdout.split()
sizes = [int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{p}/status").read())[1]) for p in stubs]
ok(
    f"{grown[0]:.1f} and {grown[1]:.1f} KiB of the agents for a task with a terminal (at most 32)",
    (saw := max(grown)) <= 32,
    saw,
)
ok(
    f"{max(sizes or [0])} KiB for its stub (at most 1024)",
    len(sizes) == 20 and max(sizes) <= 1024,
    sizes,
)
shell.line("kill $(jobs -p); wait")
ok("no guest is left", until(lambda: not tasks()), tasks())

# Whoever is lost: the terminal is as before.
before = shell.line("stty -a")
for lost in 1, 0:
    shell.start(f"$R {PYTHON} raw.py", "\nb\r\n")
    c.end(lost, signal.SIGKILL)
    shell.wait("killed")
    shell.wait(PROMPT)
    ok(
        f"agent {lost} is lost in raw mode: modes are as before",
        shell.line("stty -a") == before,
        bytes(shell.seen[-2000:]),
    )
    c.start(lost)
    ok("it is back", c.all_up(range(2)), c.log(lost)[-2000:])
    ok(
        "tasks run there again",
        until(lambda: "well" in shell.line("$R echo well")),
        bytes(shell.seen[-2000:]),
    )
shell.close()

end()
done()
