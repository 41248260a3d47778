#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ehrsh`, which takes the command line of ssh; two agents, no module."""

import os, pty, pwd, signal, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
import environment
from cluster import Cluster, shown_at
from ktap import done, ok
from netns import address
from tree import BUILD
from wait import WAIT, until

c = Cluster(2, "heartbeat = 3000\njob-limit = 3000", apart=True)
os.chmod(c.dir, 0o755)
work = tempfile.mkdtemp(prefix="ehs-rsh-", dir=c.dir)
os.chmod(work, 0o777)
NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE
RSH = os.path.join(BUILD, "bin", "ehrsh")
ME = pwd.getpwuid(os.geteuid())
HERE = "readlink /proc/self/ns/net"


def start(*words, node=0, before=lambda: None, **more):
    """The command, on a node; ^C must end it whatever started this test."""

    def prepare():
        environment.default_signals()
        before()

    with c.net.enter(node):
        return subprocess.Popen([RSH, *words], preexec_fn=prepare, **more)


def run(*words, input=None, **more):
    more.setdefault("stdin", NULL if input is None else PIPE)
    p = start(*words, **{"stdout": PIPE, "stderr": PIPE, "text": True, **more})
    try:
        out, err = p.communicate(input, WAIT)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        err = (err or "") + "(time-out)"
    return p.returncode, out, err


def gone(pid):
    return not os.path.exists(f"/proc/{pid}")


def place(node):
    with c.net.enter(node):
        return os.readlink("/proc/self/ns/net")


ok("two agents", c.start_all(), c.log(0) + c.log(1))
here, there = place(0), place(1)

# ---- HOST and CMD ----

for host in "n1", "N1", "0.1", address(1), f"{ME.pw_name}@n1":
    got = run(host, HERE)
    ok(f"the node as {host}", got == (0, there + "\n", ""), got)
for host in "n0", "localhost":
    got = run(host, HERE)
    ok(f"this node as {host}", got == (0, here + "\n", ""), got)
got = run("n1", "echo", "'two  blanks'", "$((1+2));", "echo", "*", ">", f"{work}/list;", "pwd")
ok(
    "the arguments are joined, and the shell there reads them",
    got == (0, f"two  blanks 3\n{ME.pw_dir}\n", ""),
    got,
)
ok("and its redirection", os.path.exists(f"{work}/list"))
got = run("n1", "--", "echo", "-n", "x")
ok("options behind the command are the command's", got == (0, "x", ""), got)
got = run("n1", f"{RSH} n0 {HERE}")
ok("an executor starts others", got == (0, here + "\n", ""), got)
got = run("n1", f"{RSH} localhost {HERE}")
ok("and itself", got == (0, there + "\n", ""), got)
got = run("n1", input="echo from $0; exit 4\n")
ok(
    "without a command: a login shell",
    got[:2] == (4, f"from -{os.path.basename(ME.pw_shell)}\n"),
    got,
)

# ---- what it finds ----

env = {
    "PATH": "/nowhere",
    "HOME": "/nowhere",
    "LC_TIME": "C",
    "OTHER": "1",
    "WANTED": "2",
    "MAKEFLAGS": "--jobserver-auth=3,4",
}
got = run("n1", "env", env=env)
names = dict(line.split("=", 1) for line in got[1].splitlines())
ok(
    "the environment of a login",
    {k: names.get(k) for k in ("HOME", "USER", "LOGNAME", "SHELL")}
    == dict(HOME=ME.pw_dir, USER=ME.pw_name, LOGNAME=ME.pw_name, SHELL=ME.pw_shell)
    and "/usr/bin" in names["PATH"],
    got,
)
ok(
    "with the locale, and nothing else of the caller's",
    names.get("LC_TIME") == "C" and not {"OTHER", "WANTED", "MAKEFLAGS", "TERM"} & set(names),
    got,
)
got = run(
    "-o", "SendEnv=WANT* X", '-oSetEnv=A=1 B="2 3"', "n1", "echo $WANTED $A $B $OTHER", env=env
)
ok("SendEnv and SetEnv", got == (0, "2 1 2 3\n", ""), got)
got = [
    run("-o", f"View={view}", "n1", "stat", "-f", "-c", "%T", "/") for view in ("shared", "home")
]
ok(
    "View: whose files it sees",
    got[0][0] == 0 and "fuse" not in got[0][1] and got[1] == (0, "fuseblk\n", ""),
    got,
)
with open(f"{work}/open", "w") as f:
    got = run("n1", "ls", "/proc/self/fd", pass_fds=[f.fileno()])
    ok("no descriptor of the caller beyond the first three", got == (0, "0\n1\n2\n3\n", ""), got)
got = run("n1", "cat; echo err >&2", input="in\n")
ok("standard input, output and error apart", got == (0, "in\n", "err\n"), got)
got = run("-n", "n1", "cat", input="in\n")
ok("-n: nothing to read", got == (0, "", ""), got)

# ---- how it ends ----

wrong = [n for n in (0, 1, 2, 3, 127, 200, 254, 255) if run("n1", f"exit {n}")[0] != n]
ok("the exit status", not wrong, wrong)
got = run("n1", "no-such-command")
ok(
    "a command that is not there: 127, as the shell says",
    got[0] == 127 and "no-such-command" in got[2],
    got,
)
for words, said in (
    (("n9", "true"), "n9: no such node"),
    (("0.7", "true"), "0.7: no such node"),
    (("", "true"), "not the name"),
    (("-l", "somebody-else", "n1", "true"), "somebody-else"),
    (("x@n1", "true"), "user x"),
    ((), "usage"),
    (("n1", "-l"), "-l"),
    (("-Z", "n1", "true"), "-Z"),
):
    got = run(*words)
    ok(
        f"255 and a message: {' '.join(words) or 'no arguments'}",
        got[0] == 255 and not got[1] and said in got[2],
        got,
    )
c.ask(1, {"command": "drain"})
got = run("n1", "true")
ok("255 and a message: a node that drains", got[0] == 255 and got[2].startswith("ehrsh: n1: "), got)
c.ask(1, {"command": "undrain"})
got = c.call("br", [RSH, "n1", "true"])
ok("255 and a message: no agent", got.returncode == 255 and got.stderr.startswith("ehrsh: "), got)

# ---- ssh's options ----

IGNORED = (
    ["-x"],
    ["-q"],
    ["-T"],
    ["-4"],
    ["-p", "22"],
    ["-p22"],
    ["-i", "key"],
    ["-F", "/none"],
    ["-o", "BatchMode=yes"],
    ["-oConnectTimeout 5"],
    ["-o", "StrictHostKeyChecking=no"],
    ["-C"],
    ["-a"],
    ["-v"],
    ["-e", "none"],
    ["-l", ME.pw_name],
    ["-l" + ME.pw_name],
    ["-o", f"User={ME.pw_name}"],
    ["-oForwardX11=no"],
    ["-M"],
    ["-S", "none"],
    ["-axqp", "22"],
)
for words in IGNORED:
    got = run(*words, "n1", "echo", "-n", "a")
    ok(f"{' '.join(words)} before the host", got == (0, "a", ""), got)
    got = run("n1", *words, "echo", "-n", "a")
    ok(f"{' '.join(words)} behind it", got == (0, "a", ""), got)
for words in (
    ["-f"],
    ["-N"],
    ["-X"],
    ["-Y"],
    ["-A"],
    ["-s"],
    ["-L", "1:a:2"],
    ["-R", "1"],
    ["-D", "1"],
    ["-W", "a:1"],
    ["-O", "exit"],
    ["-o", "RemoteCommand=x"],
    ["-o", "ForkAfterAuthentication=yes"],
    ["-o", "View=mine"],
    ["-oSetEnv=A"],
):
    got = run(*words, "n1", "touch", f"{work}/ran")
    ok(
        f"{' '.join(words)} is refused with a text",
        got[0] == 255 and got[2].startswith("ehrsh: -"),
        got,
    )
ok("and nothing was run", not os.path.exists(f"{work}/ran"))
got = run("-t", "n1", "tty", stdin=NULL)
ok(
    "-t without a terminal: said, and run",
    got[0] == 1 and "not a terminal" in got[2] and "not a tty" in got[1],
    got,
)

# ---- ends ----

p = start("n1", "sh -c 'sleep 1000 & echo $!; sleep 1000'; true", stdin=NULL, stdout=PIPE)
pid = int(p.stdout.readline())
p.send_signal(signal.SIGTERM)
ok(
    "a signal reaches what the shell waits for",
    p.wait(WAIT) == -signal.SIGTERM and until(lambda: gone(pid)),
    p.returncode,
)
p.stdout.close()
SLEEPS = "sleep 1000 & echo $!; setsid sleep 1000 & echo $!; echo $$; wait"


def sleeping(**more):
    p = start("n1", SLEEPS, stdin=NULL, stdout=PIPE, **more)
    return p, [int(p.stdout.readline()) for _ in range(3)]


for sig in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL:
    p, pids = sleeping()
    p.send_signal(sig)
    p.stdout.close()
    ok(
        f"{sig.name} ends it, and all that it started there",
        until(lambda: all(map(gone, pids))) and p.wait(WAIT) == -sig,
        (pids, p.returncode),
    )
p, pids = sleeping(before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}))
p.send_signal(signal.SIGINT)
ok(
    "also if its starter has blocked the signal",
    p.wait(WAIT) == -signal.SIGINT and until(lambda: all(map(gone, pids))),
    p.returncode,
)
p.stdout.close()
p, pids = sleeping(stderr=PIPE)
c.end(1, signal.SIGKILL)
err = p.communicate(timeout=WAIT)[1].decode()
ok(
    "a connection that stays away: 255 and a message",
    p.returncode == 255 and "ehsched: " in err and "killed" not in err,
    (p.returncode, err),
)
ok("and over there it is gone, too", until(lambda: all(map(gone, pids))), pids)
c.start(1)
ok("the node is back", c.all_up(range(2)))

# ---- terminals ----


def terminal(*words):
    """The command as leader of a session with a terminal; its pid, the terminal's other side, what
    is shown."""
    with c.net.enter(0):
        pid, master = pty.fork()
        if not pid:
            environment.default_signals()
            os.closerange(3, 256)
            os.execv(RSH, [RSH, *words])
    return pid, master, shown_at(master)[1]


def ended(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


ASK = (
    "for i in 0 1 2; do test -t $i && echo yes$i || echo no$i; done; : >/dev/tty && echo has; echo"
    " go; exec sleep 1000"
)
for words, wanted in (
    (("n1", ASK), (b"no0", b"no1", b"no2", b"go")),
    (("-T", "n1", ASK), (b"no0", b"no1", b"no2", b"go")),
    (("-t", "n1", ASK), (b"yes0", b"yes1", b"yes2", b"has", b"go")),
    (("-tt", "n1", ASK), (b"yes0", b"yes1", b"yes2", b"has", b"go")),
):
    pid, master, see = terminal(*words)
    ok(f"a terminal with {words[0]}: {wanted[0].decode()}", all(see(w) for w in wanted))
    os.write(master, b"\x03")
    ok("^C ends it", (saw := ended(pid)) == -signal.SIGINT, saw)
    os.close(master)
pid, master, see = terminal("n1", "cat -E; echo over")
os.write(master, b"a line\n")
ok("without one, a line that is typed reaches the command", see(b"a line$"))
os.write(master, b"\x04")
ok("and ^D ends its input", see(b"over") and ended(pid) == 0)
os.close(master)
pid, master, see = terminal("n1")
os.write(master, b"tty && echo it is $((40+2))\n")
ok("a login shell has a terminal", see(b"it is 42"))
os.write(master, b"exit 7\n")
ok("and its status", (saw := ended(pid)) == 7, saw)
os.close(master)
done()
