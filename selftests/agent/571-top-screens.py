#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ehctl top` in a terminal (tmux): whole screens, keys, sizes, and how it leaves the terminal,
whatever ends it."""

import difflib, os, re, signal, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok
from users import TWO
from wait import WAIT, until

c = Cluster(3, 'heartbeat = 1000\nload-index = "tasks"\nthreshold-floor = 20.0\n')
ok("three agents", c.start_all(), c.log(0))
os.chmod(c.dir, 0o755)


class Terminal:
    """One of tmux, with a shell on node 0."""

    def __init__(self, name, columns=80, rows=24, locale="C.UTF-8"):
        self.socket = os.path.join(c.dir, f"{name}.tmux")
        env = [
            f"LC_ALL={locale}",
            "TERM=screen",
            "PS1=ready> ",
            f"PATH={os.path.dirname(EHCTL)}:{os.environ['PATH']}",
        ]
        c.call(
            0,
            [
                "env",
                *env,
                "tmux",
                "-u",
                "-S",
                self.socket,
                "-f",
                "/dev/null",
                "new-session",
                "-d",
                "-x",
                str(columns),
                "-y",
                str(rows),
                "env",
                *env,
                "bash",
                "--norc",
                "--noprofile",
            ],
            check=True,
            stdout=None,
            stderr=None,
        )
        self.tmux("set-option", "status", "off")
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))
        self.sees("ready>")

    def tmux(self, *words):
        return subprocess.run(
            ["tmux", "-u", "-S", self.socket, *words],
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WAIT,
        ).stdout

    def screen(self):
        return self.tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def sees(self, text):
        return until(lambda: text in "\n".join(self.screen()))

    def is_plain(self):
        """Not the second screen, and with a cursor."""
        return self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").strip() == "0 1"

    def settings(self):
        """What stty says of it, by a command typed at it."""
        self.type("clear; stty -g", "Enter")
        found = until(
            lambda: next((ln for ln in self.screen() if re.fullmatch("[0-9a-f:]{20,}", ln)), None)
        )
        return found

    def end(self):
        subprocess.run(
            ["tmux", "-S", self.socket, "kill-server"], check=False, stderr=subprocess.DEVNULL
        )


def steady(line):
    """A line without what is never the same twice: times, usage, numbers of tasks, why one stayed.
    Their columns stay."""
    line = re.sub(r"^ (TASK|0\.\d:\d+) +", lambda m: f" {m[1][:4]:5}", line)
    for pattern, mark in (
        (r"\d\d:\d\d:\d\d", "T"),
        (r" +(\d+|-)%", "%"),
        (r"(not-sender|no-receiver) +", "R"),
        (r" +\d+:\d\d(\.\d+)?(?= |$)", "t"),
        (r" +\d+(\.\d+)?[KMG](?= |$)", "M"),
    ):
        line = re.sub(pattern, lambda m: mark * len(m[0]), line)
    return line.rstrip()


start = c.popen(
    0,
    [
        EHCTL,
        "run",
        "-n",
        "linux build",
        "--",
        EHCTL,
        "exec",
        "n1",
        "--",
        "sh",
        "-c",
        "echo; exec sleep 1000",
    ],
    stderr=None,
    text=False,
)
start.stdout.readline()
other = c.popen(
    1,
    [
        "setpriv",
        f"--reuid={TWO}",
        f"--regid={TWO}",
        "--clear-groups",
        EHCTL,
        "exec",
        "n2",
        "--",
        "sh",
        "-c",
        "echo; exec sleep 1000",
    ],
    cwd="/",
    stderr=None,
    text=False,
)
other.stdout.readline()
c.ehctl(0, "drain", "n0", "--reason", "kernel upgrade", check=True, stdout=None, stderr=None)
must(
    "both run where it is shown",
    until(
        lambda: [
            (n["tasks"]["guest"], n["tasks"]["away"], n["draining"]) for n in c.status(0)["nodes"]
        ]
        == [(0, 1, True), (1, 1, False), (1, 0, False)]
    ),
    c.status(0),
)


def same(name, terminal, wanted):
    """The screen is that one, but for what steady() takes out."""
    wanted = [line.rstrip() for line in wanted.strip("\n").split("\n")]
    ok(
        name,
        until(lambda: [steady(line) for line in terminal.screen()] == wanted),
        "\n".join(difflib.ndiff(wanted, [steady(x) for x in terminal.screen()])),
    )


KEYS = "[t]asks [h]istory [w]hy [d]rain [k]ill [s]ort [/]filter [q]uit [?]"
t = Terminal("one")
before = t.settings()
t.type("ehctl top --delay 0.5", "Enter")
same(
    "80 columns",
    t,
    f"""
 n0: 3 of 3 nodes up, 1 draining                                        TTTTTTTT
 HOST     STATE    LOAD         /THRESH LOCAL GUESTS AWAY  CPU  MEM
 n0     * DRAINING ██▌          1.0/2.0     1      0    1%%%%%%%%%% kernel upgr…
 n1       ok       ██▌          1.0/2.0     0      1    1%%%%%%%%%%
 n2       ok       ██▌          1.0/2.0     0      1    0%%%%%%%%%%

 SESSION                  USER     HOME        HERE  AWAY  ELAPSED
 linux-build              root     n0             0     1ttttttttt

 TASK USER     HOME     EXECUTOR STATE    ELAPSED     CPU   MEM COMMAND
 0.0: root     n0       n1       runningtttttttttttttttttMMMMMM sh
 0.1: eht2     n1       n2       runningtttttttttttttttttMMMMMM sh

 execs here: 0.0/s{chr(10) * 9}
{KEYS}""",
)
t.type("s", "s", "s", "s")
ok("sorted by name", t.sees("by name"), t.screen())
t.type("s", "/")
ok("a filter is asked for", t.sees("only what has this text in it:"), t.screen())
t.type("EHT2", "Enter")
same(
    "what has it",
    t,
    f"""
 n0: 3 of 3 nodes up, 1 draining, only "EHT2"                           TTTTTTTT
 HOST     STATE    LOAD         /THRESH LOCAL GUESTS AWAY  CPU  MEM

 SESSION                  USER     HOME        HERE  AWAY  ELAPSED
 linux-build              root     n0             0     1ttttttttt

 TASK USER     HOME     EXECUTOR STATE    ELAPSED     CPU   MEM COMMAND
 0.1: eht2     n1       n2       runningtttttttttttttttttMMMMMM sh

 execs here: 0.0/s{chr(10) * 13}
{KEYS}""",
)
t.type("Down", "w")
ok(
    "why of a task of another home",
    t.sees("home n1, executor n2") and t.sees("any key goes back"),
    t.screen(),
)
t.type("x", "/", "Escape")
ok("Escape leaves the filter", t.sees('only "EHT2"'), t.screen())
t.type("/", "C-u", "Enter")
ok("an empty one is none", until(lambda: "only" not in t.screen()[0]), t.screen())
t.type("/", "0.1", "Enter")
ok(
    "a code that no line shows is not in it",
    until(
        lambda: (s := "\n".join(t.screen()))
        and 'only "0.1"' in s
        and " 0.1:" in s
        and "\n n1 " not in s
    ),
    t.screen(),
)
t.type("Escape")
ok(
    "without a question Escape ends the filter",
    until(lambda: "only" not in t.screen()[0]),
    t.screen(),
)
for text, shows in ("DRAINING", " n0 "), ("linux-b", " 0.0:"), ("kernel up", " n0 "):
    t.type("/", text, "Enter")
    ok(
        f"what has {text}",
        until(
            lambda: f'only "{text}"' in t.screen()[0]
            and any(line.startswith(shows) for line in t.screen()[1:])
        ),
        t.screen(),
    )
    t.type("Escape")
t.type("/", "xyz", "Enter")
ok("what nothing has", t.sees('nothing here has "xyz" in it'), t.screen())
t.type("Escape", "End", "k")
ok("cancel: it asks", t.sees("(sh)? [y/n]"), t.screen())
t.tmux("resize-window", "-x", "30", "-y", "24")
ok(
    "an answer has room on a narrow one",
    until(lambda: t.screen()[-1].endswith("… [y/n]")),
    t.screen(),
)
t.type("n")
t.tmux("resize-window", "-x", "80", "-y", "24")
ok("no is no", t.sees(KEYS), t.screen())
t.type("k")
t.sees("[y/n]")
t.type("y")
ok(
    "a message that is too long for a line has more of them",
    t.sees("any key goes back")
    and t.screen()[0].startswith("ehctl cancel: ")
    and " ".join(t.screen()[:2]).endswith("each ends at its home or where it runs"),
    t.screen(),
)
t.type("x")
t.type("h")
same(
    "what has run",
    t,
    f"""
 n0: 3 of 3 nodes up, 1 draining                                        TTTTTTTT
 START       USER     HOME     EXECUTOR ELAPSED EXIT    REASON        COMMAND
 TTTTTTTT    eht2     n1       n2             - away    explicit      sh
 TTTTTTTT    root     n0       n1             - away    explicit      sh
 TTTTTTTT    root     n0       n0             - here    RRRRRRRRRRRRRRehctl{chr(10) * 18}
{KEYS}""",
)
t.type("h", "t")
ok(
    "nodes only",
    until(lambda: not any("TASK" in line for line in t.screen())) and t.sees("n2"),
    t.screen(),
)
t.type("t", "t")

# ---- sizes, and without UTF-8

t.tmux("resize-window", "-x", "110", "-y", "30")
ok("a wide one shows more", t.sees("kernel upgrade (root@n0)"), t.screen())
t.tmux("resize-window", "-x", "40", "-y", "8")
ok(
    "a narrow one less",
    until(
        lambda: len(t.screen()) == 8
        and t.screen()[7].startswith("[t]asks")
        and "n0: 3 of 3" in t.screen()[0]
    ),
    t.screen(),
)
t.type("End")
ok("the last line comes into sight", t.sees("0.1:"), t.screen())
t.type("Home")
ok("and the first", until(lambda: t.screen()[1].startswith(" n0")), t.screen())
t.tmux("resize-window", "-x", "80", "-y", "24")
ok("and back", t.sees("execs here"), t.screen())
t.type("q")
ok(
    "quit leaves the terminal as it was",
    t.sees("ready>") and until(t.is_plain) and t.settings() == before,
    t.screen(),
)
t.type("clear; TERM=linux ehctl top", "Enter")
must("without a second screen", t.sees(KEYS), t.screen())
t.type("q")
ok(
    "the prompt does not overwrite the keys",
    t.sees("ready>") and t.screen()[-1].rstrip() == "ready>",
    t.screen(),
)
plain = Terminal("plain", locale="C")
plain.type("ehctl top", "Enter")
ok(
    "without UTF-8 in ASCII",
    plain.sees("##  ") and "\n".join(plain.screen()).isascii(),
    plain.screen(),
)
plain.end()

# ---- whatever ends it


def top():
    """The process of it in the terminal: the shell's only child."""
    shell = t.tmux("display-message", "-p", "#{pane_pid}").strip()
    return next(iter(open(f"/proc/{shell}/task/{shell}/children").read().split()), None)


for how in "C-c", "TERM", "INT", "HUP", "QUIT", "SEGV", "ABRT", "C-z":
    t.type("clear; ehctl top --delay 0.5", "Enter")
    must("it is on the second screen", t.sees("execs here") and not t.is_plain(), t.screen())
    if how.startswith("C-"):
        t.type(how)
    else:
        os.kill(int(top()), getattr(signal, f"SIG{how}"))
    ok(
        f"{how} leaves the terminal as it was",
        until(lambda: t.is_plain() and "ready>" in "\n".join(t.screen()))
        and t.settings() == before,
        t.screen(),
    )
t.type("fg", "Enter")
ok("it goes on after a stop", t.sees("execs here") and not t.is_plain(), t.screen())
pid = top()
t.end()
ok("it ends with its terminal", until(lambda: not os.path.exists(f"/proc/{pid}")), pid)

# ---- what it costs

many = [
    c.popen(0, [EHCTL, "run", "--", "sleep", "1000"], stdout=None, stderr=None) for _ in range(200)
]
must("200 tasks", until(lambda: len(c.tasks(0)) > 200))


def used():
    """Seconds of a processor, by agent 0."""
    return int(open(f"/proc/{c.agents[0].pid}/schedstat").read().split()[0]) / 1e9


began, idle = time.monotonic(), used()
time.sleep(3)
idle = (used() - idle) / (time.monotonic() - began)
t = Terminal("cost")
t.type("ehctl top --delay 0.2", "Enter")
must("it looks", t.sees("running"), t.screen())
began, busy = time.monotonic(), used()
time.sleep(8)
busy = (used() - busy) / (time.monotonic() - began)
ok("an agent has at most 1 % of a processor to do for it", idle < busy < idle + 0.01, (idle, busy))
t.end()
for p in many:
    p.kill()
    p.wait()

# ---- a node that does not answer

t = Terminal("two")
t.type("ehctl top --delay 0.5", "Enter")
must("it looks", t.sees("execs here"), t.screen())
os.kill(c.agents[2].pid, signal.SIGSTOP)
ok("one that does not say what it has", t.sees("1 silent"), t.screen())
waits = []
for _ in range(5):
    began = time.monotonic()
    t.type("?")
    t.sees("A bar is the load")
    waits.append(time.monotonic() - began)
    t.type("x")
    t.sees("execs here")
ok("keys do not wait for it", min(waits) < 0.5, waits)
os.kill(c.agents[2].pid, signal.SIGCONT)
ok("and it is back", until(lambda: "silent" not in t.screen()[0]), t.screen())
os.kill(c.agents[0].pid, signal.SIGSTOP)
ok(
    "an own agent that hangs: it says so",
    t.sees(" s, before that 3 of 3 nodes up")
    and t.screen()[0].startswith(" n0: no answer for ")
    and t.sees("the agent does not answer"),
    t.screen(),
)
t.type("x")
ok("that is no message that a key replaces", t.sees("s, before that 3 of 3"), t.screen())
os.kill(c.agents[0].pid, signal.SIGCONT)
ok(
    "until an answer comes",
    until(lambda: t.screen()[0].startswith(" n0: 3 of 3") and t.screen()[-1] == KEYS),
    t.screen(),
)
c.end(0)
ok("without an agent it says so", t.sees("cannot connect to the agent"), t.screen())
t.type("x")
ok(
    "and how long",
    t.sees(" s, before that 3 of 3 nodes up") and t.sees("cannot connect to the agent"),
    t.screen(),
)
c.start(0)
ok("and goes on with the next one", t.sees(KEYS), t.screen())
t.end()
for p in start, other:
    p.terminate()
    p.communicate()
done()
