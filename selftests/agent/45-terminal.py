#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs on a terminal behave on another node as they do here: two agents, no module. Each story is played at the prompt
of two interactive shells, with $R empty (here) and with `ehctl exec` in it (there); both terminals must show the same bytes."""

import fcntl, os, pty, re, select, signal, struct, subprocess, sys, tempfile, termios, time
sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, ok
from tree import BUILD
from wait import WAIT, until

# A machine that is busy with other tests may stand still for a second: nobody is lost for that.
c = Cluster(2, "heartbeat = 3000")
work = tempfile.mkdtemp(prefix="ehs-tty-", dir=c.dir)
os.chmod(c.dir, 0o755)
os.chmod(work, 0o777)
PROMPT = b"<ready> "
PYTHON = "/usr/bin/python3"
AWAY = f"{BUILD}/bin/ehctl exec 0.1 --"
only = sys.argv[1:]     # names of stories; none: all


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
                set_size(0, rows, columns)
                os.chdir(work)
                os.environ.update(R=prefix, PS1=PROMPT.decode(), TERM="xterm", LC_ALL="C.UTF-8", HISTFILE="",
                                  PATH=f"{BUILD}/bin:{os.environ['PATH']}", LESSHISTFILE="-", INPUTRC="/dev/null")
                os.environ.pop("PROMPT_COMMAND", None)
                os.execv("/bin/bash", ["bash", "--norc", "--noprofile", "-i"])
        self.seen = bytearray()     # all that was shown
        self.at = 0                 # up to here it was waited for
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
        text = bytes(self.seen[self.at:found])
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


def play(name, story, compare=True, **options):
    """The same story here and there."""
    if only and name not in only:
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
    return [t for t in c.ask(node, {"command": "tasks"})["tasks"] if t["executor"] == f"0.{node}"]


ok("two agents", c.start_all(), c.log(0) + c.log(1))

program("up.sh", 'echo pid $$\nexec "$@"\n')

# ---- what it is ----

program("what.py", """
import os, sys, termios
print([os.isatty(n) for n in range(3)], *[os.get_terminal_size(n) for n in range(3) if os.isatty(n)])
n = [n for n in range(3) if os.isatty(n)][0]
name = os.ttyname(n)
print(name[:9], os.stat(name).st_uid == os.getuid(), os.tcgetpgrp(n) == os.getpgrp(), os.open("/dev/tty", os.O_RDWR) > 2)
modes = termios.tcgetattr(n)
modes[3] &= ~0o200000
print(modes)
""")


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
ok("it runs on the other node", here not in shell.line("$R readlink /proc/self/ns/net"))
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


program("reads.py", r"""
import os
print("go", flush=True)
while data := os.read(0, 4096):
    print("(" + data.decode().replace("\n", ")"), flush=True)
print("end of file")
""")


def hidden(sh):
    sh.start("$R bash -c 'read -s -p secret: x; echo; echo got $x'", "secret:")
    until(lambda: not sh.modes()[3] & termios.ECHO)
    sh.type("hush\n")
    sh.wait("got hush\r\n")
    sh.wait(PROMPT)


play("lines, a part of one, end of file", lines)
play("many lines at once", paste, compare=False)
play("read without echo", hidden)

# ---- job control ----


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
    sh.start("$R bash handler.sh", "up\r\n")
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


program("child.py", """
import signal, subprocess
signal.signal(signal.SIGINT, signal.SIG_DFL)
child = subprocess.Popen(["sleep", "1000"])
print("child", child.pid, flush=True)
child.wait()
""")


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


program("handler.sh", "trap 'echo no' INT; echo up; while read x; do echo $x; done\n")
play("^C, ^\\, a handler", interrupt)
play("^Z, jobs, bg, fg", stop)
play("children stop and go on with it", stop_group, compare=False)
play("reading and stty in the background", background, compare=False)
play("an interactive shell there", shell_there, compare=False)

# ---- modes ----

program("raw.py", r"""
import os, sys, termios, tty
old = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"raw: a\nb\r\n")
while (key := os.read(0, 100)) != b"q":
    os.write(1, b"%r\n\r" % key)
os.write(1, b"down\n")
termios.tcsetattr(0, termios.TCSADRAIN, old)
os.write(1, b"cooked\n")
""")


def raw(sh):
    before = sh.line("stty -a")
    sh.start(f"$R {PYTHON} raw.py", "\nb\r\n")
    for key, shown in (("x", "b'x'"), ("\x03", r"b'\x03'"), ("\x1b[A", r"b'\x1b[A'"), ("\r", r"b'\r'"), ("\x04", r"b'\x04'")):
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


def editor(sh):
    sh.line("cp lines.txt edited.txt")
    sh.start("$R vi -u NONE -n edited.txt", "edited.txt")
    sh.wait("line 22")
    sh.type("ihello \x1b")
    sh.wait("hello line 0")
    sh.type("G")
    sh.wait("6H99")
    sh.type(":wq\r")
    sh.wait(PROMPT)
    if "hello line 0\n" != sh.line("head -n 1 edited.txt"):
        return "not edited"


def prompt(sh):
    sh.start(f"$R {PYTHON} -q", ">>> ")
    sh.type("print(6*7)\n")
    sh.wait("\r\n42\r\n>>> ")
    sh.type("\x1b[A\x1b[D+1\n")
    sh.wait("\r\n43\r\n>>> ")
    sh.type('import time; print("go"); time.sleep(1000)\n')
    sh.wait("(1000)\r\ngo\r\n")
    sh.type("\x03")
    sh.wait("KeyboardInterrupt\r\n")
    sh.wait(">>> ")
    sh.type("\x04")
    sh.wait(PROMPT)


def resize(sh):
    program("size.py", """
import os, signal
signal.signal(signal.SIGWINCH, lambda *_: None)
signal.siginterrupt(signal.SIGWINCH, True)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
print(*os.get_terminal_size(), flush=True)
signal.sigwait([signal.SIGWINCH])
print(*os.get_terminal_size(), flush=True)
""")
    sh.start(f"$R {PYTHON} size.py", "80 24\r\n")
    set_size(sh.master, 50, 132)
    sh.wait("132 50\r\n")
    sh.wait(PROMPT)


def killed(sh):
    before = sh.line("stty -a")
    sh.start(f"$R {PYTHON} -c 'import os, tty; tty.setraw(0); print(\"pid\", os.getpid(), flush=True); os.read(0, 1)'", "pid ")
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


program("lines.txt", "".join(f"line {n}\n" for n in range(100)))
play("raw mode", raw)
if os.path.exists("/usr/bin/less"):
    play("less", viewer)
if os.path.exists("/usr/bin/vi"):
    play("vi", editor)
play("python's prompt", prompt)
play("the window's size changes", resize)
play("killed in raw mode", killed, compare=False)
play("stty", kept)

# ---- pipelines ----


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
    sh.start("$R bash -c 'echo up; until [ -e go ]; do sleep 0.05; done; read x; echo =$x'", "up\r\n")
    sh.type("mine\necho first\necho second\n")
    sh.wait("second\r\n")
    program("go", "")
    sh.wait("=mine\r\n")
    sh.wait("first\r\n")
    sh.wait("second\r\n")
    sh.wait(PROMPT)
    os.unlink(f"{work}/go")


program("looks.py", """
import os, select, time
print("up", flush=True)
select.select([0], [], [])
print("seen", flush=True)
while not os.path.exists("go"):
    time.sleep(0.05)
""")
play("pipelines", pipeline, compare=False)
play("a pager behind it gets its keys", keys_of_another, compare=False)
play("typed ahead", ahead, compare=False)
play("typed ahead, and seen", ahead_taken, compare=False)
play("typed ahead, one line of it read", ahead_part, compare=False)


# ---- the rest ----


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


def by_name(sh):
    pid = sh.up("sleep 1000")
    sh.stop()
    sh.line("kill %1")
    sh.line("fg")
    if not until(lambda: state(pid) in ("gone", "Z")):
        return "kill %1 does not end it"
    sh.start("$R sh -c 'kill -STOP $$; echo again'", "Stopped")
    sh.wait(PROMPT)
    sh.start("fg", "again\r\n")
    sh.wait(PROMPT)


def in_script(sh):
    sh.line(f"""script -qc "$R {PYTHON} what.py" /dev/null""")
    sh.start("""script -qc "$R sh up.sh cat" /dev/null""", "pid ")
    pid = int(sh.wait("\r\n"))
    until(lambda: at_work(pid))
    sh.type("x\n")
    sh.wait("x\r\nx\r\n")
    sh.type("\x04")
    sh.wait(PROMPT)


program("hangup.py", """
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
    # the kernel's answer to who was reading; to who reads later it is the end
    print("read ends" if error.errno == errno.EIO else error, file=out)
try:
    os.write(1, b"x")
except OSError as error:
    print("write", errno.errorcode[error.errno], file=out)
print("HUP" if hung.wait(10) else "no HUP", file=out)
print("done", file=out)
""")
if not only or "the terminal is hung up" in only:
    hung = {}
    for name, prefix in ("here", ""), ("away", AWAY):
        # The leader of its session, to whom the kernel itself sends the signal.
        with c.net.enter(0):
            pid, master = pty.fork()
            if not pid:
                words = f"{prefix} {PYTHON} {work}/hangup.py {work}/hung-{name}".split()
                os.execv(words[0], words)
        text = b""
        while b"up\r\n" not in text:
            text += os.read(master, 100)
        os.close(master)
        until(lambda: "done" in open(f"{work}/hung-{name}").read())
        hung[name] = sorted(open(f"{work}/hung-{name}").read().split("\n"))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    ok("the terminal is hung up", hung["here"] == hung["away"] and "done" in hung["here"], hung)
play("stty tostop", tostop, compare=False)
play("kill %1, kill -STOP", by_name, compare=False)
if os.path.exists("/usr/bin/script"):
    play("in script(1)", in_script)

shell = Shell(AWAY)
shown = shell.line(f"setpriv --reuid 2001 --regid 2001 --clear-groups $R {PYTHON} what.py")
ok("another user's terminal is his own there", "/dev/pts/ True True True" in shown, shown)
shown = shell.line(f"echo typed | setsid -w $R sh -c 'cat; tty'")
ok("another session's terminal is none", shown == "typed\nnot a tty\n", shown)

# The memory it takes: of the agents for a task, of a stub.
memory = [c.memory(i) for i in range(2)]
for _ in range(20):
    shell.line("$R sleep 1000 & sleep 0")
ok("20 tasks with terminals", until(lambda: len(tasks()) == 20 and all(t["state"] == "running" for t in tasks())), len(tasks()))
grown = [(c.memory(i) - memory[i]) / 20 for i in range(2)]
with c.net.enter(0):
    stubs = subprocess.run(["pgrep", "-x", "ehstub", "-s", str(shell.pid)], stdout=subprocess.PIPE, text=True).stdout.split()
sizes = [int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{p}/status").read())[1]) for p in stubs]
ok(f"{grown[0]:.1f} and {grown[1]:.1f} KiB of the agents for a task with a terminal (at most 32)", max(grown) <= 32)
ok(f"{max(sizes or [0])} KiB for its stub (at most 1024)", len(sizes) == 20 and max(sizes) <= 1024, sizes)
shell.line("kill $(jobs -p); wait")
ok("no guest is left", until(lambda: not tasks()), tasks())

# Whoever is lost: the terminal is as before.
before = shell.line("stty -a")
for lost in 1, 0:
    shell.start(f"$R {PYTHON} raw.py", "\nb\r\n")
    c.end(lost, signal.SIGKILL)
    shell.wait("killed")
    shell.wait(PROMPT)
    ok(f"agent {lost} is lost in raw mode: modes are as before", shell.line("stty -a") == before, bytes(shell.seen[-2000:]))
    c.start(lost)
    ok("it is back", c.all_up(range(2)))
    until(lambda: "well" in shell.line("$R echo well"))
shell.close()

ok("no guest is left", until(lambda: not tasks()), tasks())
for i in range(2):
    ok(f"agent {i} is well", c.alive(i), c.log(i))
done()
