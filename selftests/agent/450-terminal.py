#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program finds of its terminal on another node: size, modes, lines, and what it does with
them."""

import glob, os, re, signal, sys, termios

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from terminal import AWAY, PROMPT, PYTHON, Shell, c, end, play, program, set_size
from wait import until


def what(sh):
    sh.line(f"$R {PYTHON} what.py")
    sh.line(f"$R {PYTHON} what.py </dev/null")
    sh.line(f"$R {PYTHON} what.py 2>&1 >out; cat out")
    sh.line(f"echo | $R {PYTHON} what.py")
    sh.line(f"$R {PYTHON} what.py >out 2>out; cat out")
    there = sh.line("$R readlink /proc/self/ns/net >where; cmp -s where here && echo the same node")
    return there


with c.net.enter(0):
    here = os.readlink("/proc/self/ns/net")
play("terminals, their size and modes", what, rows=33, columns=101)
shell = Shell(AWAY)
ok(
    "it runs on the other node",
    here not in (saw := shell.line("$R readlink /proc/self/ns/net")),
    saw,
)
shell.close()

# ---- lines ----


def lines(sh):
    sh.up("cat -A")
    for text in "one", "two words", "t\x08three":
        sh.type(text + "\n")
        sh.wait("$\r\n")
    sh.type("part\x04")
    sh.wait("partpart")
    sh.type("\n")
    sh.wait("$\r\n")
    sh.type("\x04")
    sh.wait(PROMPT)
    sh.line("echo $?")


def paste(sh):
    """Lines that come at once are read one by one, and none is lost."""
    text = "".join(f"{n}\n" for n in range(200))
    sh.start(f"$R {PYTHON} reads.py", "go\r\n")
    sh.type(text + "\x04")
    shown = sh.wait("end of file\r\n")
    got = re.findall(rb"\((\d+)\)", shown)
    sh.wait(PROMPT)
    if got != [str(n).encode() for n in range(200)]:
        return f"read {got}"


program(
    "reads.py",
    r"""
import os
print("go", flush=True)
while data := os.read(0, 4096):
    print("(" + data.decode().replace("\n", ")"), flush=True)
print("end of file")
""",
)


def hidden(sh):
    sh.start("$R bash -c 'read -s -p secret: x; echo; echo got $x'", "secret:")
    if not until(lambda: not sh.modes()[3] & termios.ECHO):
        return "what is typed would be shown"
    sh.type("hush\n")
    sh.wait("got hush\r\n")
    sh.wait(PROMPT)


play("lines, a part of one, end of file", lines)
play("many lines at once", paste, compare=False)
play("read without echo", hidden)

# ---- modes ----


def raw(sh):
    before = sh.line("stty -a")
    sh.start(f"$R {PYTHON} raw.py", "\nb\r\n")
    for key, shown in (
        ("x", "b'x'"),
        ("\x03", r"b'\x03'"),
        ("\x1b[A", r"b'\x1b[A'"),
        ("\r", r"b'\r'"),
        ("\x04", r"b'\x04'"),
    ):
        sh.type(key)
        sh.wait(shown + "\n\r")
    sh.type("q")
    sh.wait(PROMPT)
    if sh.line("stty -a") != before:
        return f"modes before: {before}"


def viewer(sh):
    sh.start("$R less lines.txt", "line 22\r\n")
    sh.wait("lines.txt")
    sh.type(" ")
    sh.wait("line 45")
    sh.type("q")
    sh.wait(PROMPT)


def asleep(command):
    """That program waits, for a key."""
    for name in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(name, errors="replace") as f, open(
                name.replace("cmdline", "stat"), errors="replace"
            ) as stat:
                if f.read().split("\0")[:-1] == command and stat.read().rsplit(") ")[1][0] == "S":
                    return True
        except OSError:
            pass
    return False


def editor(sh):
    sh.line("cp lines.txt edited.txt")
    vi = ["vi", "-u", "NONE", "-n", "edited.txt"]
    sh.start("$R " + " ".join(vi), "edited.txt")
    # what it shows depends on which keys it has when it draws, so it gets one when it waits for it
    for shown, keys in (
        ("line 22", "ihello "),
        ("hello line 0" + 6 * "\b", "\x1b"),
        ("\b", "G"),
        ("6H99", ":wq\r"),
    ):
        sh.wait(shown)
        if not until(lambda: asleep(vi)):
            return "vi does not sleep"
        sh.type(keys)
    sh.wait(PROMPT)
    if "hello line 0\n" != sh.line("head -n 1 edited.txt"):
        return "not edited"


def pagers(sh):
    """Their input is a pipe, their keys come from the terminal."""
    sh.start("seq 1000 | $R less", "\r\n23\r\n")
    for key, shown in ((" ", "\r\n46\r\n"), ("G", "\r\n1000\r\n"), ("g", "M1\r\n")):
        sh.type(key)
        sh.wait(shown)
    sh.type("q")
    sh.wait(PROMPT)
    sh.start("seq 1000 | $R more", "--More--")
    for key, shown in ((" ", "\n46\r\n"), ("\r", "47")):
        sh.type(key)
        sh.wait(shown)
        sh.wait("--More--")
    sh.type("q")
    sh.wait(PROMPT)


def editor_of_input(sh):
    sh.start("seq 100 | $R vi -u NONE -n -", "22")
    sh.type("ihello \x1b")
    sh.wait("hello 1")
    sh.type(":w! piped.txt\r")
    sh.wait("written")
    sh.type(":q!\r")
    sh.wait(PROMPT)
    if "hello 1\n" != sh.line("head -n 1 piped.txt"):
        return "not edited"


# How a program is started of which none of 0 to 2 is the terminal.
APART = "</dev/null >out 2>&1"
program(
    "ask.py",
    """
import getpass
print("got", getpass.getpass("secret: "))
""",
)


def passwords(sh):
    for command in (
        f"$R {PYTHON} ask.py",
        f"$R {PYTHON} ask.py </dev/null",
        f"$R {PYTHON} ask.py {APART}",
        "$R bash -c 'read -s -p secret: x </dev/tty; echo; echo got $x' </dev/null",
        f"$R bash -c 'printf secret: >/dev/tty; read -s x </dev/tty; echo got $x' {APART}",
    ):
        sh.start(command, "secret:")
        if not until(lambda: not sh.modes()[3] & termios.ECHO):
            return f"{command}: its input is echoed"
        sh.type("hush\n")
        sh.wait(PROMPT)
        if "out" in command and sh.line("cat out") != "got hush\n":
            return f"{command} has not got it"


def apart(sh):
    """Keys, signals and job control of a program that has the terminal by its name only."""
    sh.start(f"$R sh -c 'echo up >/dev/tty; read x </dev/tty; echo $x' {APART}", "up\r\n")
    sh.type("typed\necho for the shell\n")
    sh.wait(PROMPT)
    sh.wait(PROMPT)
    if sh.line("cat out") != "typed\n":
        return "not read"
    sh.start(
        (
            '$R sh -c \'trap "echo int; exit 3" INT; echo up >/dev/tty; while :; do sleep 0.05;'
            f" done' {APART}"
        ),
        "up\r\n",
    )
    sh.type("\x03")
    sh.wait(PROMPT)
    sh.line("echo $?; cat out")
    sh.line(f"$R sh -c 'read x </dev/tty; echo $x' {APART} &")
    if not until(lambda: "Stopped" in sh.line("jobs")):
        return "reading in the background does not stop it"
    sh.start("fg", "")
    sh.type("later\n")
    sh.wait(PROMPT)
    if sh.line("cat out") != "later\n":
        return "not read after fg"


def prompt(sh):
    sh.start(f"$R {PYTHON} -q", ">>> ")
    sh.type("print(6*7)\n")
    sh.wait("\r\n42\r\n>>> ")
    sh.type("\x1b[A\x1b[D+1\n")
    sh.wait("\r\n43\r\n>>> ")
    sh.type('import time; print("go"); time.sleep(1000)\n')
    sh.wait("(1000)\r\ngo\r\n")
    if not until(lambda: asleep([PYTHON, "-q"])):
        return "python does not sleep"
    sh.type("\x03")
    sh.wait("KeyboardInterrupt\r\n")
    sh.wait(">>> ")
    sh.type("\x04")
    sh.wait(PROMPT)


def resize(sh):
    program(
        "size.py",
        """
import os, signal
signal.signal(signal.SIGWINCH, lambda *_: None)
signal.siginterrupt(signal.SIGWINCH, True)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
print(*os.get_terminal_size(), flush=True)
signal.sigwait([signal.SIGWINCH])
print(*os.get_terminal_size(), flush=True)
""",
    )
    sh.start(f"$R {PYTHON} size.py", "80 24\r\n")
    set_size(sh.master, 50, 132)
    sh.wait("132 50\r\n")
    sh.wait(PROMPT)


def killed(sh):
    before = sh.line("stty -a")
    sh.start(
        (
            f'$R {PYTHON} -c \'import os, tty; tty.setraw(0); print("pid", os.getpid(),'
            " flush=True); os.read(0, 1)'"
        ),
        "pid ",
    )
    os.kill(int(sh.wait("\n")), signal.SIGKILL)
    sh.wait("Killed")
    sh.wait(PROMPT)
    if sh.line("stty -a") != before:
        return f"modes before: {before}"


def kept(sh):
    sh.line("$R stty -ixon werase ^A")
    after = sh.line("stty -a")
    if "-ixon" not in after or "werase = ^A" not in after:
        return after
    sh.line("stty sane")


play("raw mode", raw)
play("less", viewer, needs="/usr/bin/less")
play("vi", editor, needs="/usr/bin/vi")
play("pagers of a pipe", pagers, compare=False, needs="/usr/bin/less")
play("vi of a pipe", editor_of_input, compare=False, needs="/usr/bin/vi")
play("passwords", passwords, compare=False)
play("no descriptor is the terminal", apart, compare=False)
play("python's prompt", prompt)
play("the window's size changes", resize)
play("killed in raw mode", killed, compare=False)
play("stty", kept)
end()
done()
