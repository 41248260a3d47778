#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tokens of ehctl run --jobserver: a FIFO, or a pipe for make 4.3; they are whole whatever is
killed, and what a build does wrong with them is told of; how the command is run."""

import os, re, shutil, signal, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from build import Build, slots
from cluster import Cluster
from commands import EHCTL
from ktap import done, must, ok
from wait import WAIT, until

NODES, PROCESSORS = 3, 2
ALL = slots(NODES * PROCESSORS, NODES)
c = Cluster(NODES, f'capacity = {PROCESSORS}\nload-index = "tasks"\n')
work = tempfile.mkdtemp(prefix="ehs-jobs-")
os.chmod(work, 0o755)
make = subprocess.run(["make", "--version"], stdout=subprocess.PIPE, text=True).stdout
OLD = tuple(map(int, re.search(r"GNU Make (\d+)\.(\d+)", make).groups())) < (4, 4)


def run(*words, home=0, env=None):
    p = c.ehctl(home, "run", *words, env=env and {**os.environ, **env})
    return p.returncode, p.stdout, p.stderr


ok("three agents", c.start_all(), c.log(0) + c.log(1) + c.log(2))

# ---- how the command is run ----

code, out, err = run("--jobserver", "--", "sh", "-c", "echo $MAKEFLAGS; exit 7")
ok("exit status", code == 7 and err == "", (code, out, err))
ok(
    "make 4.3 gets descriptors, a later one a FIFO",
    re.search(
        r"--jobserver-auth=\d+,\d+$" if OLD else r"--jobserver-auth=fifo:/\S+/tokens$", out.strip()
    ),
    out,
)
code, out, err = run("--jobserver", "--", "sh", "-c", "kill -TERM $$")
ok("death by a signal", code in (-signal.SIGTERM, 128 + signal.SIGTERM) and err == "", (code, err))
code, out, err = run(
    "--jobserver", "--", "sh", "-c", "echo $MAKEFLAGS", env={"MAKEFLAGS": "k -- A=b"}
)
ok("MAKEFLAGS of before stays", re.fullmatch(r"k -j --jobserver-auth=\S+ -- A=b", out.strip()), out)
code, out, err = run(
    "--jobserver",
    "--",
    "sh",
    "-c",
    "echo $MAKEFLAGS",
    env={"MAKEFLAGS": " -j3 --jobserver-auth=8,9"},
)
ok(
    "a jobserver of before stays, too",
    out.strip() == "-j3 --jobserver-auth=8,9" and "already" in err,
    (out, err),
)
code, out, err = run("--jobserver=moon", "--", "true")
ok("an unknown scope is refused", code == 2 and "jobserver" in err, (code, err))
code, out, err = run("--jobserver-style", "smoke", "--", "true")
ok("an unknown style is refused", code == 2 and "jobserver-style" in err, (code, err))

code, out, err = run("--report", "--jobserver", "--", "sh", "-c", "exit 4")
ok("with a report", code == 4 and "ended after" in err and "tokens" not in err, (code, err))
with open(f"{work}/flags.mk", "w") as f:
    f.write("all:\n\t@echo '$(MAKEFLAGS)'\n")
for words in ("-j",), ("--jobs",), ("-s", "-j", "all"), ():
    code, out, err = run("--jobserver", "--", "make", *words, "-f", f"{work}/flags.mk")
    ok(
        " ".join(("make", *words)) + " takes part",
        code == 0 and err == "" and "--jobserver-auth=" in out,
        (out, err),
    )
code, out, err = run("--jobserver", "--", "make", "-j", "3", "-f", f"{work}/flags.mk")
ok(
    "make -j 3 has its own number, and says so",
    code == 0 and "-j3" in out and "-j3 forced" in err,
    (out, err),
)

p = c.popen(
    0,
    [
        EHCTL,
        "run",
        "--jobserver",
        "--",
        "sh",
        "-c",
        "trap 'echo asked; exit 3' TERM; echo; while :; do sleep 0.1; done",
    ],
    stderr=None,
)
p.stdout.readline()
p.terminate()
ok(
    "a signal reaches the command",
    p.communicate(timeout=WAIT)[0] == "asked\n" and p.returncode == 3,
    p.returncode,
)

# ---- a FIFO ----

with open(f"{work}/client.py", "w") as f:
    f.write(
        """import os, re, sys, time
path = re.search(r'--jobserver-auth=fifo:(\\S+)', os.environ['MAKEFLAGS'])[1]
fd = os.open(path, os.O_RDWR)
print(path, flush=True)
had = os.read(fd, int(sys.argv[1]))
while len(had) < int(sys.argv[1]):
    had += os.read(fd, int(sys.argv[1]) - len(had))
if sys.argv[2] == "kill":
    os.kill(os.getpid(), 9)
os.write(fd, b'+' * int(sys.argv[2]))
"""
    )


def client(takes, gives):
    code, out, err = run(
        "--jobserver=cluster",
        "--jobserver-style",
        "fifo",
        "--",
        "python3",
        f"{work}/client.py",
        str(takes),
        str(gives),
    )
    return (
        code,
        err,
        not os.path.exists(out.strip()) and not os.path.exists(os.path.dirname(out.strip())),
    )


got = client(ALL - 1, ALL - 1)
ok("a FIFO has a token for each slot but the first", got == (0, "", True), got)
code, err, gone = client(3, 1)
ok(
    "tokens that are not put back are told of",
    code == 0 and gone and f"2 of {ALL - 1} tokens were not put back" in err,
    (code, err, gone),
)
code, err, gone = client(1, 3)
ok(
    "so are those that are too many",
    code == 0 and gone and "2 surplus tokens" in err,
    (code, err, gone),
)
code, err, gone = client(2, "kill")
ok(
    "and the FIFO is removed if the command is killed",
    code in (-9, 137) and gone and "2 of" in err,
    (code, err, gone),
)

# ---- kills ----

with open(f"{work}/kills.mk", "w") as f:
    f.write(
        "J := $(shell seq 150)\nall: $(J)\n$(J):\n\t@sh -c 'case $$(($@ * 7919 % 5)) in 0) kill -9"
        " $$$$;; 1) sleep 0.01; kill -9 $$$$;; 2) exit 3;; esac'\n"
    )
code, out, err = run("--jobserver=cluster", "--", "make", "-k", "-f", f"{work}/kills.mk")
killed = err.count("Killed")
ok("jobs are killed", code == 2 and killed >= 50, (code, killed))
ok("no token is missing or too many", "jobserver" not in err, err[-2000:])

# A make below the first one is killed with the tokens that it has taken.
TOP_JOBS, SUB_JOBS = " ".join(map(str, range(1, 20))), " ".join(map(str, range(20, 40)))


def two_makes(folder):
    job = f"sh -c 'echo $@ >>{folder}/log; read x <{folder}/go$@'\n"
    return {
        "top.mk": (
            f"J := {TOP_JOBS}\nall: sub $(J)\n$(J): 0\nsub:\n\t-@+echo $$$$ >{folder}/pid; exec"
            f" $(MAKE) -f sub.mk\n0 $(J):\n\t@{job}"
        ),
        "sub.mk": f"J := {SUB_JOBS}\nall: $(J)\n$(J):\n\t@{job}",
    }


b = Build(c, work, 0, 40, words=("make", "-f", "top.mk"), files=two_makes)
ok("a make below another one takes tokens", b.reaches(ALL), b.started())
os.kill(int(open(f"{b.folder}/pid").read()), signal.SIGKILL)
orphans = b.started()


def go(i):
    with open(f"{b.folder}/go{i}", "w") as fifo:
        fifo.write("\n")


go(0)
ok(
    "it is killed, and its tokens are made again",
    until(lambda: len(b.started()) == ALL + len(orphans), 3 * WAIT),
    b.started(),
)
for i in filter(None, orphans):
    go(i)
b.gone = len(orphans)
code, out, err = b.ends()
ok(
    "none is missing at the end",
    code == 0 and f"{ALL - 2} tokens were lost" in err and "put back" not in err,
    (code, err),
)

# ---- the processes behind a build ----


def behind(b):
    """The process between the makes and their tokens, a child of the keeper as the command is."""
    children = open(f"/proc/{b.p.pid}/task/{b.p.pid}/children").read().split()
    return next(int(p) for p in children if open(f"/proc/{p}/comm").read() == "ehctl\n")


def ended(pid):
    """Whether it has; a zombie has, too."""
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(") ")[2][0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


b = Build(c, work, 0, 60, style="pipe", stay=True)
must("it has all", b.reaches(ALL), b.running())
relay = behind(b)
os.kill(relay, signal.SIGKILL)
b.let_go(3)
ok(
    "what hands on the tokens is killed: it is started again",
    b.reaches(ALL) and behind(b) != relay,
    b.running(),
)
relay = behind(b)
b.p.kill()
must("the keeper has ended", until(lambda: ended(b.p.pid)))
b.let_go(3)
ok("the keeper is killed: the build goes on", b.reaches(ALL) and not ended(relay), b.running())
b.ends()
ok(
    "as far as its end, with no process left",
    until(lambda: ended(relay)) and b.whole(),
    b.started(),
)

b = Build(
    c,
    work,
    0,
    60,
    style="pipe",
    stay=True,
    words=(
        "sh",
        "-c",
        'setsid make "$@" >/dev/null 2>&1 & until [ -e $2/leave ]; do sleep 0.1; done; exit 3',
        "sh",
    ),
)
must("it has all", b.reaches(ALL), b.running())
open(f"{b.folder}/leave", "w").close()
b.p.communicate(timeout=WAIT)
b.let_go(3)
ok(
    "a make that is left behind by its command goes on",
    b.p.returncode == 3 and b.reaches(ALL),
    (b.p.returncode, b.running()),
)
open(f"{b.folder}/end", "w").close()


def left():
    while b.running():
        b.let_go()
    return b.whole()


ok("has its tokens to its end", until(left), b.started())

# ---- without agents ----

for i in range(NODES):
    c.end(i)
code, out, err = run(
    "--jobserver",
    "--jobserver-style",
    "fifo",
    "--",
    "python3",
    f"{work}/client.py",
    str(len(os.sched_getaffinity(0)) - 1),
    str(len(os.sched_getaffinity(0)) - 1),
)
ok(
    "without an agent: the processors here",
    code == 0 and "running it here" in err and "tokens" not in err,
    (code, err),
)
c.stop()
shutil.rmtree(work)
done()
