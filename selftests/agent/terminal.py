# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs on a terminal behave on another node as they do here: two agents, no module. Each story
is played at the prompt of two interactive shells, with $R empty (here) and with `ehctl exec` in it
(there); both terminals must show the same bytes. Words of the command line are the names of the
stories to play; without any all are played."""

import fcntl, os, pty, re, select, signal, struct, sys, tempfile, termios, time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import environment
from cluster import Cluster
from ktap import ok, skip
from tree import BUILD
from wait import WAIT, until


# A machine that is busy with other tests may stand still for a second: nobody is lost for that.
c = Cluster(2, "heartbeat = 3000\njob-limit = 3000")
work = tempfile.mkdtemp(prefix="ehs-tty-", dir=c.dir)
os.chmod(c.dir, 0o755)
os.chmod(work, 0o777)
PROMPT = b"<ready> "
PYTHON = "/usr/bin/python3"
AWAY = f"{BUILD}/bin/ehctl exec 0.1 --"
only = sys.argv[1:]


def program(name, text):
    with open(f"{work}/{name}", "w") as f:
        f.write(text)


def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Shell:
    """An interactive shell on a terminal of its own, in node 0's namespace."""

    def __init__(self, prefix="", rows=24, columns=80):
        with c.net.enter(0):
            self.pid, self.master = pty.fork()
            if not self.pid:
                environment.default_signals()
                set_size(0, rows, columns)
                os.chdir(work)
                os.environ.update(
                    R=prefix,
                    PS1=PROMPT.decode(),
                    TERM="xterm",
                    LC_ALL="C.UTF-8",
                    HISTFILE="",
                    PATH=f"{BUILD}/bin:{os.environ['PATH']}",
                    LESSHISTFILE="-",
                    INPUTRC="/dev/null",
                )
                os.environ.pop("PROMPT_COMMAND", None)
                os.execv("/bin/bash", ["bash", "--norc", "--noprofile", "-i"])
        self.seen = bytearray()  # all that was shown
        self.at = 0  # up to here it was waited for
        self.wait(PROMPT)
        self.line("bind 'set enable-bracketed-paste off'")

    def read(self):
        if select.select([self.master], [], [], 0.01)[0]:
            try:
                self.seen += os.read(self.master, 65536)
            except OSError:
                pass

    def wait(self, what):
        """Waits until that is shown behind what was waited for before; returns all in between."""
        what = what.encode() if isinstance(what, str) else what
        end = time.monotonic() + WAIT
        while (found := self.seen.find(what, self.at)) < 0:
            if time.monotonic() > end:
                raise TimeoutError(f"no {what!r} in {bytes(self.seen[self.at:])!r}")
            self.read()
        text = bytes(self.seen[self.at : found])
        self.at = found + len(what)
        return text

    def type(self, keys):
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def start(self, command, shown):
        """A command that shows this first."""
        self.type(command + "\n")
        self.wait(command + "\r\n")
        return self.wait(shown)

    def up(self, *words, before="$R ", after=""):
        """A program that is up, and the terminal its: its pid."""
        command = before + "sh up.sh " + " ".join(words) + after
        self.start(command, "pid ")
        pid = int(self.wait("\r\n"))
        if not until(lambda: at_work(pid)):
            raise TimeoutError(f"{words} is not at work")
        return pid

    def resume(self, pid):
        """`fg`, and it is at work again."""
        self.start("fg", "\r\n")
        if not until(lambda: at_work(pid)):
            raise TimeoutError("it does not go on")

    def stop(self):
        self.type("\x1a")
        self.wait("Stopped")
        self.wait(PROMPT)

    def line(self, command):
        """A command, and what it shows up to the next prompt."""
        return self.start(command, PROMPT).decode(errors="replace").replace("\r\n", "\n")

    def modes(self):
        return termios.tcgetattr(self.master)

    def foreground(self):
        """The terminal's foreground process group."""
        return os.tcgetpgrp(self.master)

    def close(self):
        os.close(self.master)
        os.kill(self.pid, signal.SIGHUP)
        if not until(lambda: os.waitpid(self.pid, os.WNOHANG)[0]):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def stat(pid):
    """State, parent, group, session, terminal, its foreground group."""
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["gone"] + ["0"] * 10


def state(pid):
    return stat(pid)[0]


def at_work(pid):
    """Its terminal is its own (where it is), and it waits."""
    s = stat(pid)
    return s[0] == "S" and s[2] == s[5] and "up.sh" not in open(f"/proc/{pid}/cmdline").read()


def play(name, story, compare=True, needs=None, **options):
    """The same story here and there."""
    if only and name not in only:
        return
    if needs and not os.path.exists(needs):
        skip(name, f"no {needs}")
        return
    shown = []
    for prefix in "", AWAY:
        shell = Shell(prefix, **options)
        try:
            problem = story(shell)
            left = shell.line("echo end")
            if left != "end\n" and not problem:
                problem = f"at the end: {left!r}"
            if problem:
                ok(name, False, f"{'away' if prefix else 'here'}: {problem}\n{bytes(shell.seen)!r}")
                return
        except (TimeoutError, OSError) as error:
            ok(name, False, f"{'away' if prefix else 'here'}: {error!r}\n{bytes(shell.seen)!r}")
            return
        finally:
            shell.close()
        shown.append(re.sub(rb"pid \d+", b"pid N", shell.seen))
    ok(name, not compare or shown[0] == shown[1], f"here: {shown[0]!r}\naway: {shown[1]!r}")


def tasks(node=1):
    return [t for t in c.tasks(node) if t["executor"] == f"0.{node}"]


def end():
    """No guest is left, and both agents are well."""
    ok("no guest is left", until(lambda: not tasks()), tasks())
    for i in range(2):
        ok(f"agent {i} is well", c.alive(i), c.log(i))


# ---- programs of more than one test ----

program("up.sh", 'echo pid $$\nexec "$@"\n')
program("lines.txt", "".join(f"line {n}\n" for n in range(100)))
program(
    "what.py",
    """
import os, sys, termios
ttys = [n for n in range(3) if os.isatty(n)]
print([os.isatty(n) for n in range(3)], *[os.get_terminal_size(n) for n in ttys])
n = ttys[0]
name = os.ttyname(n)
print(name[:9], os.stat(name).st_uid == os.getuid(), os.tcgetpgrp(n) == os.getpgrp(),
      os.open("/dev/tty", os.O_RDWR) > 2)
modes = termios.tcgetattr(n)
modes[3] &= ~0o200000
print(modes)
""",
)

program(
    "raw.py",
    r"""
import os, sys, termios, tty
old = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"raw: a\nb\r\n")
while (key := os.read(0, 100)) != b"q":
    os.write(1, b"%r\n\r" % key)
os.write(1, b"down\n")
termios.tcsetattr(0, termios.TCSADRAIN, old)
os.write(1, b"cooked\n")
""",
)
ok("two agents", c.start_all(), c.log(0) + c.log(1))
