#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl dag --make: what make would run is run by a plan, and make itself finds nothing to add."""

import json, os, re, shutil, signal, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
import compared
from clock import in_order, wall_clock
from cluster import Cluster
from commands import EHCTL
from compared import older, put, ran
from ktap import done, ok
from proc import state
from wait import WAIT, until

PARTS = 8
# 8 sources, objects and checks; a generated header; a library made by a make below; what make has
# of special cases
MAKEFILE = """\
PARTS := 1 2 3 4 5 6 7 8
export WORD = of-$@
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DELETE_ON_ERROR:
.PHONY: all clean checks sub
all: prog.txt checks loud.txt sub both.a both.b last.txt hidden.txt it's%25.txt
prog.txt: FLAG = special
prog.txt: $(PARTS:%=obj/%.o) | made
	@echo "$(FLAG) $$WORD" >$@.part
	: a line that goes \\
	on 'and on'
	cat $^ >>$@.part && \\
	    mv $@.part $@
obj/%.o: src/%.c gen.h | obj
	@{ echo $$WORD; cat $< gen.h; } | cksum >$@
	echo $@ >>ran
gen.h: src/gen
	cp $< $@
	echo $@ >>ran
obj made:
	mkdir $@
checks: $(PARTS:%=check%)
check%: obj/%.o
	-@test -e nowhere
	@[[ -s $< ]] && touch $@
	+@true
	$(if $(WORD),,echo never)
loud.txt: loud.mid
	tr a-z A-Z <$< >$@
%.mid: %.c
	cp $< $@
%.a %.b: %.c
	cp $< $*.a; cp $< $*.b
sub:
	$(MAKE) -C sub NAME='a b'
it's%25.txt:
	@echo "$@" >"$@"
hidden.txt: hidden.mk
	@m=make; $$m -f $< >$@ && sed -i "/directory/d" $@
last.txt: sub prog.txt
	cat sub/lib.txt prog.txt | wc -l >$@
"""
SUB = """\
lib.txt: one two
	cat one two >$@; echo '$(NAME)' >>$@
	echo $@ >>../ran
one two:
	echo $@ $(CURDIR) | sed 's,/.*/,,' >$@
	echo $@ >>../ran
"""

HIDDEN = """\
SHELL = /bin/bash
all: one two
one two:
	@[[ -n $@ ]] && echo hidden $@
"""

c = Cluster(4)
top = tempfile.mkdtemp(prefix="ehs-dag-", dir=c.dir)
run = tempfile.mkdtemp(prefix="ehs-")  # a short path, for a socket
# without SHELL, as services run: make exports its own then
env = {**os.environ, "XDG_STATE_HOME": os.path.join(top, "state"), "XDG_RUNTIME_DIR": run}
env.pop("SHELL", None)


def tree(path):
    return compared.tree(path, "make.journal")


def folder(name):
    path = os.path.join(top, name)
    os.makedirs(path + "/src")
    os.makedirs(path + "/sub")
    for i in range(1, PARTS + 1):
        put(path, f"src/{i}.c", f"part {i}\n")
    put(path, "src/gen", "generated\n")
    put(path, "loud.c", "quiet\n")
    put(path, "both.c", "both\n")
    put(path, "Makefile", MAKEFILE)
    put(path, "sub/Makefile", SUB)
    put(path, "hidden.mk", HIDDEN)
    older(path)
    return path


def start(path, *words, tool="--make"):
    return c.popen(0, [EHCTL, "dag", tool, "--slots", "2", "--json", *words], env=env, cwd=path)


def dag(path, *words):
    p = start(path, *words)
    out, err = p.communicate(timeout=4 * WAIT)
    return p.returncode, json.loads(out) if out.strip() else {"tasks": [], "hosts": []}, err


def make(path, *words):
    return subprocess.run(
        ["make", "-j2", *words],
        cwd=path,
        capture_output=True,
        text=True,
        env={k: v for k, v in env.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")},
    )


def stale(path):
    """What make would make again, with the reason and the times that it goes by."""
    said = make(path, "-n", "--debug=b").stdout
    why = re.findall(r"Prerequisite '.* newer .*", said)
    times = {
        os.path.relpath(os.path.join(at, n), path): (
            os.stat(os.path.join(at, n)).st_mtime_ns % 10**12
        )
        for at, _, names in os.walk(path)
        for n in names
    }
    return (
        {n for n in re.findall(r"Must remake target '(.*?)'", said)}
        - {"all", "checks", "sub", "last.txt"},
        why,
        times,
    )


ok("agents", c.start_all(), c.log(0))
mine, other = folder("mine"), folder("other")
ahead = wall_clock()
reference = make(other)
status, told, err = dag(mine)
tasks = {t["task"]: t for t in told["tasks"]}
ok("a makefile is made", reference.returncode == 0 and status == 0, (reference.stderr, status, err))
ok("what it made is what make makes", tree(mine) == tree(other), (tree(mine), tree(other)))
ok("each recipe ran once", ran(mine) == ran(other) and os.path.exists(mine + "/ran"))
ok(
    "each line was a task: here, and of the make below",
    "gen.h" in tasks
    and "prog.txt (2)" in tasks
    and "it's%25.txt" in tasks
    and "sub/one" in tasks
    and len(tasks) > 30
    and all(t["state"] == "done" for t in tasks.values()),
    tasks,
)
ok(
    "a make that a recipe hides is one task",
    tasks.get("hidden.txt", {}).get("state") == "done"
    and "hidden one" in open(mine + "/hidden.txt").read(),
)
ok("several hosts had some", sum(h["tasks"] > 0 for h in told["hosts"]) > 1, told["hosts"])
real = {n: t["real"] for n, t in tasks.items() if t["real"]}
ok(
    "the plan knows the prerequisites",
    all(
        tasks[a]["predicted"]["finish"] <= tasks[b]["predicted"]["start"] + 1e-6
        for a, b in [
            ("gen.h", "obj/1.o"),
            ("obj/8.o", "prog.txt"),
            ("obj/3.o", "check3"),
            ("sub/one", "sub/lib.txt"),
            ("sub/lib.txt", "last.txt"),
            ("prog.txt (3)", "last.txt"),
            ("loud.mid", "loud.txt"),
        ]
    ),
    tasks,
)

# With a clock that is set back meanwhile make takes what is new for old, here and there.
set_back = wall_clock() < ahead - 1e-4 or not in_order(top)
left = stale(mine)
ok("make itself finds nothing to do but what is phony", not left[0] or set_back, left)
again = dag(mine)
ok("a second run ends well", again[0] == 0, again)
made = [t["task"] for t in again[1]["tasks"]]
notes = ran(mine)
ok(
    "nor does it",
    made == ["last.txt"] and again[1].get("done") == 1 and notes == [] or set_back,
    (made, again[1].get("done"), notes, again, left),
)
ok("as make", make(other).returncode == 0 and (ran(other) == [] or set_back))
ok("it changes nothing", tree(mine) == tree(other), (tree(mine), tree(other)))
ok("and make has nothing to add", "up to date" in (saw := make(mine, "prog.txt").stdout), saw)
for path in mine, other:
    put(path, "src/3.c", "changed\n")
    put(path, "src/gen", "generated again\n")
status, told, err = dag(mine)
make(other)
expected = ran(other)
ok(
    "a changed source: what make makes again",
    status == 0 and "gen.h" in expected and ran(mine) == expected and tree(mine) == tree(other),
    (status, err, expected),
)

for path in mine, other:
    put(path, "src/5.c", "broken\n")
    put(path, "Makefile", MAKEFILE.replace("	@{ echo", "	@! grep broken $< && { echo"))
    os.utime(path + "/src/1.c")
status, told, err = dag(mine)
reference = make(other, "-k")
states = {t["task"]: t["state"] for t in told["tasks"]}
broken = tree(mine), tree(other), ran(mine), ran(other)
ok(
    "a recipe that fails: what depends on it is not run, all else is",
    status == 1
    and reference.returncode == 2
    and broken[0] == broken[1]
    and broken[2] == broken[3]
    and states.get("obj/5.o") == "failed"
    and states.get("prog.txt") == states.get("last.txt") == "not-run"
    and states.get("obj/1.o") == "done",
    (status, states, err, reference.stderr, broken),
)
ok(
    "it is said which, where and how, and what was not run",
    re.search(r"obj/5\.o failed on n\d: exit status 1", err)
    and re.search(r"not run because of it: (.*)", err)
    and "prog.txt" in re.search(r"not run because of it: (.*)", err)[1]
    and "Error 1" in err,
    err,
)
for path in mine, other:
    put(path, "src/5.c", "repaired\n")
status, told, err = dag(mine)
ok(
    "once it is repaired, the rest is made",
    status == 0 and make(other).returncode == 0 and tree(mine) == tree(other),
    err,
)

# arguments of make
status, told, err = dag(top, "--", "-C", "mine", "-W", "src/2.c", "obj/2.o", "WORD=mine")
ok(
    "make gets its own arguments",
    status == 0
    and [t["task"] for t in told["tasks"]] == ["obj/2.o", "obj/2.o (2)"]
    and "obj/2.o" in ran(mine),
    (status, told, err),
)
p = subprocess.run([EHCTL, "dag", "--make", "--ninja"], capture_output=True, text=True)
ok("one tool at a time", p.returncode == 2 and "not both" in p.stderr, p.stderr)
status, told, err = dag(mine, "no-such-target")
ok(
    "make itself says what it cannot make",
    status == 1 and "No rule to make target" in err and told["tasks"] == [],
    (status, err),
)
put(top, "Makefile", "all: ;\n\t@echo 'a\n")
status, told, err = dag(top)
ok(
    "a command that its shell refuses",
    status == 1 and "make has failed" in err or "failed on" in err,
    (status, err),
)

# the SHELL that commands see
SHELLS = (
    "SHELL := /bin/sh\n%s\nall: here below\nhere:\n\t@echo $${SHELL-none} >>$@\nbelow:\n\t@$(MAKE)"
    " -C sub\n"
)
for value in None, "/bin/sh", "/bin/bash":
    env.pop("SHELL", None)
    if value:
        env["SHELL"] = value
    # nobody can tell a plain `export` from what makes do with variables of their command line
    for export in ["", "export SHELL", "export"][: 3 if value else 2]:
        seen = []
        for tool in dag, make:
            path = os.path.join(top, "shells")
            shutil.rmtree(path, ignore_errors=True)
            os.makedirs(path + "/sub")
            put(path, "Makefile", SHELLS % export)
            put(path, "sub/Makefile", "all:\n\t@echo $${SHELL-none} >>below\n")
            result = tool(path)
            seen.append({n: open(os.path.join(path, n)).read() for n in ("here", "sub/below")})
            if tool is dag:
                planned = sorted(t["task"] for t in result[1]["tasks"])
        ok(
            f"SHELL {value}, makefile with '{export}': as with make",
            seen[0] == seen[1] and planned == ["here", "sub/all"],
            (seen, planned),
        )

# ^C, and a host that leaves
gate = os.path.join(top, "gate")
slow = os.path.join(top, "slow")
os.mkdir(slow)
put(
    slow,
    "Makefile",
    ".ONESHELL:\nN := $(shell seq -s ' ' 1 20)\nall: $(N)\n$(N):\n\t@echo $$$$ >>began\n\tuntil ["
    " -e %s ]\n\tdo sleep 0.02\n\tdone\n\techo $@ >>ran; touch $@\n".replace("%s", gate),
)
SLOTS = 2 * 4  # of all hosts


def began():
    """Process ids of all recipes that have begun."""
    path = slow + "/began"
    return {int(pid) for pid in open(path).read().split()} if os.path.exists(path) else set()


def running():
    """Of those that have not ended. What waits for its turn to begin has the same words, but is
    none."""
    return {pid for pid in began() if state(pid) not in ("gone", "Z")}


p = start(slow)
ok("recipes run", until(lambda: running() or p.poll() is not None))
status, told, err = dag(slow)
ok("one run at a time", status == 1 and "another run uses it" in err, (status, err))
p.send_signal(signal.SIGINT)
out, err = p.communicate(timeout=WAIT)
ok(
    "^C ends make and its recipes",
    p.returncode == 130 and "interrupted" in err and until(lambda: not running()),
    (p.returncode, err),
)
# kill -9: what runs ends, nothing more starts, and the same command continues behind it
p = start(slow)
ok(
    "recipes run", until(lambda: len(running()) == SLOTS or p.poll() is not None), running()
)  # so no start is under way
killed = p  # what it started still has its pipes
p.kill()
p.wait(timeout=WAIT)
before = began()
p = start(slow, "--resume")
said = p.stderr.readline()
ok(
    "ehctl is killed: what runs goes on, and --resume waits for it",
    "waiting for the tasks of an earlier run" in said
    and began() == before
    and len(running()) == SLOTS,
    (said, began(), before, running()),
)
open(gate, "w").close()
out, err = p.communicate(timeout=4 * WAIT)
ended = open(slow + "/ran").read().split()
ok(
    "and then all is made, each once",
    p.returncode == 0 and sorted(ended) == sorted(str(i) for i in range(1, 21)),
    (p.returncode, ended, err),
)
for name in [*ended, "ran", "began"]:
    os.unlink(os.path.join(slow, name))
ok(
    "the killed one has left the directory of its socket, no other",
    len(os.listdir(run)) == 1,
    os.listdir(run),
)
shutil.rmtree(os.path.join(run, os.listdir(run)[0]))
os.unlink(gate)

p = start(slow, "--grace", "0.5")
ok(
    "recipes run everywhere",
    until(lambda: len(running()) == SLOTS or p.poll() is not None),
    running(),
)
c.end(3, signal.SIGKILL)
open(gate, "w").close()
out, err = p.communicate(timeout=4 * WAIT)
made = set(ran(slow))
ok(
    "a host that dies: all is made by the others",
    p.returncode == 0 and made == {str(i) for i in range(1, 21)},
    (p.returncode, made, err),
)
ok("nothing is left behind", until(lambda: not os.listdir(run)), os.listdir(run))
os.rmdir(run)
done()
