#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The harness itself: second tries, guests, what is left, interrupts."""

import fcntl, os, re, shutil, signal, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
sys.path.append(os.path.join(sys.path[0], "../runner"))
from ktap import done, ok
from proc import children
from wait import until

# ---- a tree of programs that pass and fail ----

TOP = os.path.realpath(os.path.join(sys.path[0], "../.."))
work = tempfile.mkdtemp(prefix="ehs-run-")
os.makedirs(f"{work}/selftests/vm")
shutil.copy(f"{TOP}/selftests/run", f"{work}/selftests/run")
for name in "runner", "lib":
    shutil.copytree(f"{TOP}/selftests/{name}", f"{work}/selftests/{name}")
shutil.copy(f"{TOP}/selftests/lib.mk", f"{work}/selftests/lib.mk")

# nobody waits for the real limits
with open(f"{work}/selftests/runner/attempt.py", "r+") as f:
    text = f.read()
    for name, value in ("KILL_AFTER", "1"), ("GRACE", "0.5"), ("MIB", "1"):
        text = re.sub(rf"(?m)^{name} = \S+", f"{name} = {value}", text)
    f.seek(0)
    f.write(text)
    f.truncate()


def script(path, text):
    os.makedirs(os.path.dirname(f"{work}/selftests/{path}"), exist_ok=True)
    with open(f"{work}/selftests/{path}", "w") as f:
        f.write("#!/bin/bash\n" + text)
    os.chmod(f.name, 0o755)


def write(path, text):
    with open(f"{work}/selftests/{path}", "w") as f:
        f.write(text)


def directory(name, settings, **programs):
    for program, text in programs.items():
        script(f"{name}/{program}.sh", text)
    write(
        f"{name}/Makefile",
        f"TEST_PROGS := {' '.join(p + '.sh' for p in programs)}\ninclude ../lib.mk\n",
    )
    write(f"{name}/settings", settings)


ONCE = f"[ -e {work}/$0.tried ] || {{ mkdir -p {work}/$(dirname $0); touch {work}/$0.tried; "
FLAKY = (
    ONCE
    + 'echo "ok 1 a"; echo "not ok 2 b is there # got: 3"; echo 1..2; exit 1; }; echo "ok 1 a";'
    ' echo "ok 2 b is there"; echo 1..2\n'
)
GOOD = 'echo "ok 1 a"; echo "ok 2 b"; echo 1..2\n'
BAD = 'echo "ok 1 a"; echo "not ok 2 never"; echo 1..2; exit 1\n'


pids = []  # of runs


def start(*words, **env):
    p = subprocess.Popen(
        [f"{work}/selftests/run", *words],
        env={**os.environ, "EHS_BUILD": "build", **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    pids.append(p.pid)
    return p


def run(*words, **env):
    """(exit status, lines)"""
    for name in os.listdir(work):
        if name == "build" or name.endswith("selftests.tried"):
            shutil.rmtree(f"{work}/{name}")
    subprocess.run(["find", work, "-name", "*.tried", "-delete"], check=True)
    p = start(*words, **env)
    out, _ = p.communicate()
    return p.returncode, out.splitlines()


def has(lines, pattern):
    return any(re.search(pattern, line) for line in lines)


directory("good", "parallel=yes\n", good=GOOD, skips='echo "1..0 # SKIP no machine"; exit 4\n')
status, lines = run("good")
ok("all pass", status == 0 and lines[-1] == "2 passed, 0 failed, 1 skipped", lines)
ok("what was skipped is said", "# skipped: good/skips.sh: no machine" in lines, lines)
ok("the plan counts programs", "1..2" in lines and has(lines, r"^ok 2 - "), lines)
ok("a part says that it begins", has(lines, r"^# \d+ s: good begins, 2 programs"), lines)
ok("the slowest are named", has(lines, r"^# slow: .*good/good.sh"), lines)
status, lines = run("--list", "good")
ok("names can be asked for", status == 0 and lines == ["good/good.sh", "good/skips.sh"], lines)
for words, env, said in (
    (["gone"], {}, "run: gone: no directory of tests"),
    (["--list", "good/x"], {}, "run: good/x: no test has a name that begins so"),
    (["good"], {"EHS_LANES": "x"}, "run: EHS_LANES=x: not a number of lanes"),
):
    status, lines = run(*words, **env)
    ok(f"refused: {said}", status == 2 and lines == [said], lines)
p = subprocess.run(
    [f"{TOP}/selftests/flakes", "-n", "0", "unit"],
    stdin=subprocess.DEVNULL,
    capture_output=True,
    text=True,
)
ok("no rounds are refused", p.returncode == 2 and "one at least" in p.stderr, p.stderr)

directory("flaky", "parallel=yes\n", flaky=FLAKY, good=GOOD)
status, lines = run("flaky")
ok(
    "flaky: passes at the second try",
    status == 0 and lines[-1] == "4 passed, 0 failed, 0 skipped",
    lines,
)
ok(
    "it is named with its check",
    lines[-2]
    == "# flaky: flaky/flaky.sh: b is there # got: 3 (first output: build/flaky/flaky-flaky.sh)",
    lines,
)
with open(f"{work}/build/flaky/flaky-flaky.sh") as f:
    ok("its first output is kept", "not ok 2 b is there" in f.read())
status, lines = run("flaky", EHS_STRICT="1")
ok(
    "EHS_STRICT: flaky is failed",
    status == 1 and lines[-1] == "4 passed, 1 failed, 0 skipped",
    lines,
)

directory(
    "crash", "", crash=ONCE + 'echo "not ok 1 no agent has crashed"; echo 1..1; exit 1; }\n' + GOOD
)
status, lines = run("crash")
ok(
    "a crash is not excused by a second try",
    status == 1 and has(lines, "^# failed: crash/crash.sh: flaky: no agent has crashed$"),
    lines,
)

directory(
    "again",
    "parallel=yes\n",
    late=ONCE + "exit 124; }\n" + GOOD,
    four=ONCE + "echo gone; exit 4; }\n" + GOOD,
    skips=ONCE + 'echo "not ok 1 a is there"; echo 1..1; exit 1; }\necho "1..0 # SKIP b"; exit 4\n',
)
status, lines = run("again", EHS_STRICT="1")
ok(
    "EHS_STRICT: so is one that skips then",
    status == 1 and lines[-1] == "4 passed, 3 failed, 1 skipped",
    lines,
)
ok(
    "exit status 4 alone is no skip, and what it said last is shown",
    has(lines, "^# failed: again/four.sh: flaky: exit status 4, no plan: gone$"),
    lines,
)
ok(
    "a program with the status of timeout(1) was not late",
    has(lines, "^# failed: again/late.sh: flaky: exit status 124, no plan$"),
    lines,
)
ok(
    "with the check that failed first",
    has(lines, "^# failed: again/skips.sh: flaky: a is there$"),
    lines,
)
build = f"{work}/build-file"
open(build, "w").close()
status, lines = run("flaky", EHS_BUILD=build)
ok(
    "output that cannot be kept: one line says so",
    status == 0
    and has(lines, r"^# flaky: .*\(first output: not kept: .*: Not a directory\)")
    and not has(lines, "Traceback"),
    lines,
)

# Each ends itself, or is ended, at the first try.
directory(
    "ends",
    "timeout=1\nparallel=yes\n",
    **{
        name: ONCE + text + "; }\n" + GOOD
        for name, text in {
            "ignores": "trap '' TERM; while :; do sleep 0.1; done",
            "stops": "kill -STOP $PPID; sleep 100",
            "much": "yes",
            "line": "head -c 900000 /dev/zero | tr '\\0' x; exit 1",
        }.items()
    },
)
status, lines = run("ends")
for name, why in (
    ("ignores", "not done after 1 s"),
    ("stops", "not done after 1 s"),
    ("much", "more than 1 MiB of output"),
    ("line", "exit status 1, no plan: x{200}"),
):
    ok(f"why it failed: {name}", has(lines, f"^# flaky: ends/{name}.sh: {why} "), lines)
ok(
    "a line is cut",
    os.path.getsize(f"{work}/build/flaky/ends-line.sh") < 200000,
    os.path.getsize(f"{work}/build/flaky/ends-line.sh"),
)

directory(
    "lanes",
    "parallel=yes\n",
    **{
        f"t{n}": f"mkdir {work}/alone || exit 1; sleep 0.2; rmdir {work}/alone\n{GOOD}"
        for n in range(3)
    },
)
status, lines = run("lanes", EHS_LANES="1")
ok(
    "one lane has one program after another",
    status == 0 and not has(lines, "failed at first"),
    lines,
)
directory("lost", "", killed="kill -KILL $(ps -o ppid= $PPID); sleep 100\n", last=GOOD)
status, lines = run("lost")
ok(
    "a lane that ends is said, with its program",
    status == 1
    and lines[-1] == "a lane has ended while it ran lost/killed.sh"
    and lines[-2] == "0 passed, 0 failed, 0 skipped"
    and not has(lines, "Traceback"),
    lines,
)

directory(
    "bad",
    "timeout=1\n",
    bad=BAD,
    hangs=GOOD + "sleep 100\n",
    dies=GOOD + "kill -KILL $$\n",
    last=GOOD,
)
status, lines = run("bad")
ok(
    "what fails twice is failed",
    status == 1 and lines[-1] == "7 passed, 3 failed, 0 skipped",
    lines,
)
ok("with its check", "#   not ok 2 never" in lines, lines)
ok("and how to repeat it", "#   again: make check T=bad/bad.sh" in lines, lines)
ok("one that hangs is ended", has(lines, r"^# failed: bad/hangs.sh: not done after 1 s"), lines)
ok("one that is killed has failed", has(lines, r"^# failed: bad/dies.sh: exit status"), lines)

directory(
    "seed",
    "",
    seed='s=${EHS_SEED:-$RANDOM}; echo "# EHS_SEED=$s"\n'
    + ONCE
    + f"echo $s >{work}/seed; "
    + BAD.strip()
    + "; }\n"
    + f'[ $s = $(cat {work}/seed) ]; echo "$([ $? = 0 ] || echo "not ")ok 1 the same seed"; echo'
    " 1..1\n",
)
status, lines = run("seed")
ok(
    "the second try has the seed of the first",
    status == 0 and lines[-1].startswith("1 passed"),
    lines,
)

# ---- guests ----

script(
    "vm/cluster",
    f"""until [ "$1" = -- ]; do shift; done; shift
echo boots >>{work}/boots
"$@"; s=$?
if [ -e {work}/complains ]; then echo "cluster: kernel log of guest 0:"; echo BUG; exit 1; fi
if [ -e {work}/dies ]; then echo "cluster: no end in its console"; exit 1; fi
exit $s
""",
)
directory("kmod", "guest=--bare\n", good=GOOD, flaky=FLAKY, last=GOOD)


def boots():
    with open(f"{work}/boots") as f:
        n = len(f.readlines())
    os.unlink(f.name)
    return n


status, lines = run("kmod")
ok(
    "a guest's program has a second try in a fresh guest",
    status == 0 and lines[-1] == "6 passed, 0 failed, 0 skipped" and boots() == 2,
    lines,
)
ok("and is named", has(lines, r"^# flaky: kmod/flaky.sh: b is there"), lines)
ok("the guest has a result", has(lines, r"^ok \d - kmod \(guest\)"), lines)
directory(
    "kmod",
    "guest=--bare\n",
    good=GOOD,
    crash=ONCE + "kill -KILL $PPID $(ps -o ppid= $PPID); sleep 1; }\n" + GOOD,
    last=GOOD,
)
status, lines = run("kmod")
ok(
    "what a guest that ended did not come to is run again",
    status == 0 and lines[-1] == "6 passed, 0 failed, 0 skipped" and boots() == 2,
    lines,
)
ok("and said", has(lines, r"^# flaky: kmod/last.sh: the guest ended before it began"), lines)
directory("kmod", "guest=--bare\n", good=GOOD, bad=BAD)
open(f"{work}/dies", "w").close()
status, lines = run("kmod")
ok(
    "a guest that fails besides its programs has failed",
    status == 1
    and lines[-1] == "3 passed, 2 failed, 0 skipped"
    and has(lines, r"^# failed: kmod \(guest\): cluster: no end"),
    lines,
)
os.unlink(f"{work}/dies")
boots()
open(f"{work}/complains", "w").close()
directory("kmod", "guest=--bare\n", good=GOOD)
status, lines = run("kmod")
ok(
    "a kernel that complains gets no second try",
    status == 1 and lines[-1] == "2 passed, 1 failed, 0 skipped" and boots() == 1,
    lines,
)
ok("it is said", has(lines, r"^# failed: kmod \(guest\): its kernel complained"), lines)
os.unlink(f"{work}/complains")

# ---- what is left ----

LEAVES = {
    "process": """setsid sleep 1000 </dev/null >/dev/null 2>&1 &
mkfifo $TMPDIR/p; exec 5<>$TMPDIR/p; (exec -a "" cat <&5 >/dev/null 2>&1) &""",
    "file": "echo x >$TMPDIR/a-file",
    "soon": "(sleep 0.2) >/dev/null 2>&1 &",
}
if not os.geteuid():
    LEAVES[
        "namespace"
    ] = "mkdir -p /run/netns; >/run/netns/$EHS_NAME-0; unshare --net=/run/netns/$EHS_NAME-0 true"
    LEAVES["mount"] = "mkdir $TMPDIR/m; mount -t tmpfs none $TMPDIR/m"
    LEAVES["bind"] = f'mkdir "$TMPDIR/a b"; mount --bind {work}/source "$TMPDIR/a b"'
os.mkdir(f"{work}/source")
open(f"{work}/source/file", "w").close()
if not os.geteuid():
    cgroups = next(
        (
            m
            for m in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
            if os.path.exists(f"{m}/cgroup.procs")
        ),
        None,
    )
    if cgroups:
        LEAVES["cgroup"] = (
            f"mkdir -p {cgroups}/$EHS_NAME-0/in; sleep 1000 </dev/null >/dev/null 2>&1 & echo $!"
            f" >{cgroups}/$EHS_NAME-0/in/cgroup.procs"
        )
directory(
    "left",
    "parallel=yes\n",
    skips="echo x >$TMPDIR/a-file; echo '1..0 # SKIP no machine'; exit 4\n",
    **{name: f"{text}\n{GOOD}" for name, text in LEAVES.items()},
)


def remains():
    """What has the name of a program of these runs; others run beside this test."""
    with open("/proc/self/mountinfo") as f:
        found = re.findall(r"/(ehs\d+x[^/ ]*)", f.read())
    for folder in tempfile.gettempdir(), "/run/netns", "/sys/fs/cgroup", "/sys/fs/cgroup/unified":
        found += os.listdir(folder) if os.path.isdir(folder) else []
    return {n for n in found if any(n.startswith(f"ehs{pid}x") for pid in pids)}


status, lines = run("left")
for name in LEAVES:
    if name == "soon":
        ok(
            "a process that is about to end is not left",
            has(lines, r"^ok \d+ - left/soon.sh"),
            lines,
        )
    else:
        what = {
            "process": "process \\d+: sleep 1000",
            "namespace": "network namespace",
            "bind": "mount .*/a b$",
        }.get(name, name)
        ok(
            f"{name}: the program has failed",
            has(lines, rf"^# failed: left/{name}.sh: left {what}|left/{name}.sh: left process"),
            lines,
        )
ok(
    "a process without a command line is seen",
    has(lines, r"^#   # left: process \d+: \(no command line\)$"),
    lines,
)
ok(
    "a program that skips and leaves something has failed",
    has(lines, "^# failed: left/skips.sh: left file"),
    lines,
)
status, there = run("--here", "left/skips.sh")
ok(
    "in a guest, too",
    status == 1 and has(there, "^not ok 1 - left/skips.sh # .* s of processor time: left file"),
    there,
)
ok("the files of a mount's source stay", os.path.exists(f"{work}/source/file"))
ok("and nothing is there any more", not remains(), remains())

# ---- interrupts ----

directory(
    "long",
    "parallel=yes\n",
    bad=BAD,
    long=f'trap "touch {work}/ended; exit 1" TERM; echo $$ >{work}/pid; sleep 100 & wait\n',
)
for number in signal.SIGINT, signal.SIGTERM, signal.SIGKILL:
    p = start("long")
    begun = until(
        lambda: os.path.exists(f"{work}/pid") and open(f"{work}/pid").read().endswith("\n")
    )
    for line in p.stdout:
        if line.startswith("# failed at first"):
            break
    p.send_signal(number)
    out, _ = p.communicate(timeout=60)
    ok(
        f"{number.name}: what runs is ended",
        begun and until(lambda: os.path.exists(f"{work}/ended")),
        out,
    )
    ok(
        f"{number.name}: its status",
        p.returncode == (-number if number == signal.SIGKILL else 128 + number),
        p.returncode,
    )
    lines = out.splitlines()
    if number != signal.SIGKILL:
        ok(
            f"{number.name}: what has failed is said",
            lines[-4:-1]
            == [
                "# failed at first: long/bad.sh: never",
                "# not done: 2 programs",
                "0 passed, 0 failed, 0 skipped",
            ]
            and lines[-1] == "interrupted",
            lines,
        )
    for name in "pid", "ended":
        if os.path.exists(f"{work}/{name}"):
            os.unlink(f"{work}/{name}")

# A run does not wait for timeout(1) that is stopped.
directory("stopped", "", stopped=f"kill -STOP $PPID; touch {work}/pid; sleep 100\n")
p = start("stopped")
begun = until(lambda: os.path.exists(f"{work}/pid"))
p.send_signal(signal.SIGTERM)
out, _ = p.communicate(timeout=20)
ok("a test that stops its timeout is ended", begun and p.returncode == 128 + signal.SIGTERM, out)
os.unlink(f"{work}/pid")


def named(run):
    """Processes with the name of a program of that run."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if f"EHS_NAME=ehs{run}x".encode() in f.read():
                    found.append(pid)
        except OSError:
            pass
    return found


# A run whose process is not seen, as in another PID namespace, holds a lock; nobody else's files
# are touched. in a folder of their own: others run beside this test
top = f"{work}/tmp"
os.mkdir(top)
gone = subprocess.Popen("true")
gone.wait()
for kind in "x0", "1x0", "2x0":
    os.mkdir(f"{top}/ehs{gone.pid}{kind}")
lock = os.open(f"{top}/ehs{gone.pid}x0", os.O_RDONLY)
fcntl.flock(lock, fcntl.LOCK_SH)
if not os.geteuid():
    os.chown(f"{top}/ehs{gone.pid}1x0", 1, 1)
    # it goes below a mount that stays, and its source keeps its files
    subprocess.run(["mount", "--bind", f"{work}/source", f"{top}/ehs{gone.pid}2x0"], check=True)
    script("../bin/umount", "exit 32\n")
    status, lines = run("good", TMPDIR=top, PATH=f"{work}/bin:{os.environ['PATH']}")
    ok(
        "a mount that stays is said, with its folder",
        status == 0
        and has(
            lines,
            (
                rf"^# what .*process {gone.pid}2\) left was removed, but not mount .*unmounted, but"
                r" not folder"
            ),
        ),
        lines,
    )
    ok("and what is below it stays", os.path.exists(f"{work}/source/file"))
    os.unlink(f"{work}/bin/umount")
status, lines = run("good", TMPDIR=top)
ok(
    "a run that holds its lock is let alone",
    status == 0 and os.path.isdir(f"{top}/ehs{gone.pid}x0"),
    lines,
)
ok("so is another user's", os.geteuid() or os.path.isdir(f"{top}/ehs{gone.pid}1x0"), lines)
ok(
    "what nobody holds is removed",
    not os.path.exists(f"{top}/ehs{gone.pid}2x0") and os.path.exists(f"{work}/source/file"),
    lines,
)
os.close(lock)
# a process may have the number of an earlier run
p = subprocess.run(
    ["sh", "-c", f'mkdir "{top}/ehs$$x0" && exec {work}/selftests/run good'],
    stdin=subprocess.DEVNULL,
    env={**os.environ, "EHS_BUILD": "build", "TMPDIR": top},
    capture_output=True,
    text=True,
)
ok(
    "also that of a run with this one's number",
    p.returncode == 0 and "left was removed" in p.stdout,
    p.stdout + p.stderr,
)

# All of a run is killed, and the next removes what that has left.
directory("killed", "", killed="\n".join(LEAVES.values()) + f"\necho $$ >{work}/pid; sleep 1000\n")
p = start("killed")
begun = until(lambda: os.path.exists(f"{work}/pid"))
p.send_signal(signal.SIGSTOP)  # its lanes first: they would clear what there is
for pid in children(p.pid):
    os.kill(pid, signal.SIGKILL)
p.kill()
p.wait()
ok("a run that was killed has left something", begun and remains() and named(p.pid), named(p.pid))
status, lines = run("good")
ok(
    "the next run passes",
    status == 0 and has(lines, rf"^# what an earlier run \(process {p.pid}\) left was removed"),
    lines,
)
ok("and has removed that", not remains(), remains())
ok("with its processes", not named(p.pid), named(p.pid))

shutil.rmtree(work)
done()
