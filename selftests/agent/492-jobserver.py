#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients of make's jobserver that are away, by `ehctl exec`: make with descriptors (4.3) and with
a FIFO (4.4), ninja, gcc. Whatever they do with tokens, and however they end, the make at home has
its number at its end. Two agents, no module."""

import os, signal, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, must, ok
from proc import parent, stat
from steps import at_once, step
from tree import BUILD
from wait import outcome, until

newer = subprocess.run(
    [os.path.join(sys.path[0], "newer")],
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
    check=False,
)
must("make 4.4 and ninja 1.13 are there", newer.returncode == 0, newer.stderr)
NEWER = newer.stdout.strip()
EHCTL = os.path.join(BUILD, "bin", "ehctl")
STYLES = {"descriptors": "/usr/bin/make", "FIFO": f"{NEWER}/make"}
JOBS = 4

c = Cluster(2, "heartbeat = 3000\njob-limit = 3000")
work = tempfile.mkdtemp(prefix="ehs-jobserver-", dir=c.dir)
os.chmod(c.dir, 0o755)
ok("two agents", c.start_all(), c.log(0) + c.log(1))

with open(f"{work}/client.py", "w") as f:
    f.write(
        '''import os, re, select, signal, sys, time
flags = os.environ["MAKEFLAGS"]
auth = re.findall(r"--jobserver-auth=(\\S+)", flags)[-1]
if auth.startswith("fifo:"):
    r = os.open(auth[5:], os.O_RDONLY)
    w = os.open(auth[5:], os.O_WRONLY)
    assert [*map(int, re.findall(r"--jobserver-auth=(\\d+),(\\d+)", flags)[-1])], flags
else:
    r, w = map(int, auth.split(","))
took = b""


def take():
    """As make 4.3 has it, which makes its descriptor one that does not wait."""
    while True:
        select.select([r], [], [])
        try:
            return os.read(r, 1)
        except BlockingIOError:
            pass


for what in sys.argv[1]:
    if what == "t":
        took += take()
    elif what == "g":
        os.write(w, took[-1:])
        took = took[:-1]
    elif what == "+":
        os.write(w, b"+")
    elif what == "?":       # what is put back is there at once, if nothing comes between
        for _ in range(50):
            os.write(w, took[-1:])
            os.set_blocking(r, False)
            try:
                os.read(r, 1)
                break
            except BlockingIOError:
                take()
        else:
            sys.exit("it never is")
    elif what == "k":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "s":
        print("here", flush=True)
        time.sleep(1000)
'''
    )


def start(make, recipes, view):
    """A make of this kind at home with these recipes, each a target, beside each other."""
    folder = tempfile.mkdtemp(dir=work)
    with open(f"{folder}/Makefile", "w") as f:
        f.write(
            f"X = {EHCTL} exec {view} 0.1 --\nCLIENT = $(X) python3 {work}/client.py\n"
            f"all: {' '.join(f't{i}' for i in range(len(recipes)))}\n"
            + "".join(f"t{i}:\n\t{recipe}\n" for i, recipe in enumerate(recipes))
        )
    return c.popen(
        0,
        [make, f"-j{JOBS}", "--no-print-directory", "-C", folder],
        start_new_session=True,
        env={
            "PATH": os.environ["PATH"],
            "LC_ALL": "C",
            "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
        },
        text=False,
    )


def run(*arguments):
    return outcome(start(*arguments))


def whole(got):
    """The make has succeeded, and says nothing of missing tokens: it counts them at its end."""
    return got[0] == 0 and "observer" not in got[2]


STEP = step(f"{work}/running", 0.3)
with open(f"{work}/sub.mk", "w") as f:
    f.write(f"all: a1 a2 a3 a4 a5 a6 a7 a8\na%:\n\t@{STEP}\n")
with open(f"{work}/build.ninja", "w") as f:
    f.write(f"rule step\n command = {STEP}\n" + "".join(f"build n{i}: step\n" for i in range(8)))
for i in range(6):
    with open(f"{work}/part{i}.c", "w") as f:
        f.write(
            "#include <stdio.h>\n"
            + (
                f"int main(void) {{ extern int f1(void); return f1() - 5; }}\n"
                if not i
                else (
                    f"extern int f{i + 1}(void);\nint f{i}(void) {{ return"
                    f" {'5' if i == 5 else f'f{i + 1}()'}; }}\n"
                )
            )
        )

for style, make in STYLES.items():
    for view in "", "--view home":
        name = f"{style}{view and ', view home'}"

        def is_whole(what, recipes):
            got = run(make, recipes, view)
            ok(f"{name}: {what}", whole(got), got)

        is_whole("tokens are taken and put back", ["+@$(CLIENT) tgtg"] * 3)
        is_whole("one that is put back is there at once", ["+@$(CLIENT) t?g"])
        is_whole("one is put back that another has taken", ["+@$(CLIENT) t; $(CLIENT) +"])
        is_whole("one is put back before another takes it", ["+@$(CLIENT) +; $(CLIENT) t"])
        is_whole("a task is killed with tokens", ["+@$(CLIENT) ttk; :", "+@$(CLIENT) tk; :"])
        is_whole(
            "a child of it has some, and puts them back",
            ["+@$(X) sh -c 'python3 " + work + "/client.py ttgg & wait'"],
        )
        for what in "killed", "lost":
            p = start(make, ["+@$(CLIENT) tts; :"], view)
            here = p.stdout.readline()
            guests = [t["pid"] for t in c.tasks(1)]
            ends = [pid if what == "killed" else parent(pid) for pid in guests]
            names = [stat(pid)[0] for pid in ends]
            for pid in ends:
                os.kill(pid, signal.SIGKILL)
            got = outcome(p)
            ok(
                f"{name}: a task is {what} there",
                here == b"here\n"
                and [n == "ehguest" for n in names] == [what == "lost"]
                and whole(got),
                (here, names, got),
            )

        far = {"make": "$(MAKE) -f ../sub.mk", "ninja": f"{NEWER}/ninja -C .. && rm ../.ninja_log"}
        if style != "FIFO":
            del far["ninja"]
        for client, recipe in far.items():
            alone = run(make, [f"+@$(X) {recipe}"], view)
            most = at_once(f"{work}/running")
            beside = run(make, [f"+@$(X) {recipe}", f"@{STEP}", f"@{STEP}"], view)
            more = at_once(f"{work}/running")
            ok(
                f"{name}: {client} has several jobs there, and never too many",
                whole(alone) and whole(beside) and 2 <= most <= JOBS and more <= JOBS,
                (most, alone, more, beside),
            )
        got = run(
            make,
            ["+@cd .. && MAKE=$(MAKE) $(X) gcc -O1 -flto=jobserver part*.c -o linked && ./linked"],
            view,
        )
        ok(f"{name}: so has gcc when it links", whole(got), got)

ok("agents are well", c.alive(0) and c.alive(1), c.log(0) + c.log(1))
left = lambda: c.tasks(1)
ok("no guest is left", until(lambda: not left()), left())
c.stop()
done()
