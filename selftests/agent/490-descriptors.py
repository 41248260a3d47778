#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What shells and make give to tasks beside descriptors 0 to 2, by `ehctl exec`; two agents, no
module."""

import os, shutil, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from cluster import Cluster
from ktap import done, ok
from steps import at_once, step
from tree import BUILD
from wait import WAIT, outcome, until

c = Cluster(2, "heartbeat = 3000\njob-limit = 3000")
work = tempfile.mkdtemp(prefix="ehs-descriptors-", dir=c.dir)
os.chmod(c.dir, 0o755)
EHCTL = os.path.join(BUILD, "bin", "ehctl")
X = f"{EHCTL} exec 0.1 --"
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def start(script, **more):
    with c.net.enter(0):
        return subprocess.Popen(
            ["bash", "-c", script],
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C", "X": X, "EHCTL": EHCTL},
            start_new_session=True,
            **more,
        )


def run(script, limit=WAIT, **more):
    return outcome(start(script, **more), limit)


def is_same(name, script):
    """With $X and without it; it is in a directory of its own each time."""
    seen = []
    for how in "env", X:
        folder = os.path.join(work, "case")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        got = run(f"cd case; X='{how}'; {script}")
        seen.append(
            (
                got,
                {
                    n: open(os.path.join(folder, n)).read()
                    for n in sorted(os.listdir(folder))
                    if os.path.isfile(os.path.join(folder, n))
                },
            )
        )
    ok(name, seen[0] == seen[1], f"here: {seen[0]}\naway: {seen[1]}\n{c.log(1)}")


is_same("a process substitution", "$X cat <(echo hi)")
is_same("two of them", "$X diff <(seq 5) <(seq 2 6); echo $?")
is_same(
    "one that is written to",
    "exec 5> >(cat >out); p=$!; $X sh -c 'echo x >&5; echo y >/dev/fd/5'; exec 5>&-; wait $p",
)
is_same("a here-document under another number", "$X cat /dev/fd/5 5<<E\ntext\nE\n")
is_same(
    "a lock that flock(1) takes for the shell",
    "exec 9>lock; $X flock 9; flock -n lock true; echo $?; exec 9>&-; flock -n lock true; echo $?",
)
is_same("a log", "exec 5>log; $X sh -c 'echo x >&5'; $X sh -c 'echo y >&5'; echo z >&5")
is_same(
    "a log that is appended to",
    "echo old >log; exec 5>>log 6>&1; $X sh -c 'echo x >&5; echo six >&6'; echo y >&5",
)
is_same(
    "a coprocess",
    (
        'coproc cat; echo line >&${COPROC[1]}; $X bash -c "read x <&${COPROC[0]}; echo got \\$x;'
        ' echo more >&${COPROC[1]}"; read y <&${COPROC[0]}; echo $y'
    ),
)
is_same(
    "what a configure script does",
    (
        'exec 5>>config.log 6>&1 7<&0 </dev/null; for i in 1 2 3; do $X sh -c "exec >&5 2>&5; echo'
        ' checking $i; echo result $i >&6"; done'
    ),
)
is_same("the rest of a file", "seq 5 >f; ($X sed 2q; cat) <f")
is_same("grep into its own input", "printf '1\\n2\\n' >out; $X grep 1 out >>out; echo $?")
is_same(
    "dd into its output",
    "printf 0123456789 >f; echo -n xyz | $X dd bs=1 seek=4 conv=notrunc status=none 1<>f",
)
is_same("wc", "seq 10 >f; $X wc <f; $X wc -c <f")
is_same("a full device", "$X echo x >/dev/full; echo $?")
is_same("a directory as input", "mkdir d; $X cat <d; echo $?")
is_same("an output without a reader", "$X sh -c 'echo x; echo $? >&2' >/dev/full")
is_same(
    "tasks that write at one offset",
    '(for i in 1 2 3 4; do $X sh -c "echo $i; echo $i" & done; wait) >out; sort out; rm out',
)
is_same(
    "what is closed stays closed",
    "touch f; $X bash -c 'ls /proc/$$/fd' 7<f 8>&-; $X bash -c 'ls /proc/$$/fd' 33>g <&-",
)

# ---- what cannot be carried ----

odd = "import os,sys; os.dup2(os.eventfd(0), 7); os.execvp(sys.argv[1], sys.argv[1:])"
code, out, err = run(f"python3 -c '{odd}' $X true")
ok(
    "a node that is named: refused, and why",
    code == 1 and "descriptor 7" in err and "kernel" in err,
    (code, err),
)
with c.net.enter(0):
    here = os.readlink("/proc/self/ns/net")
with c.net.enter(1):
    there = os.readlink("/proc/self/ns/net")
code, out, err = run(f"python3 -c '{odd}' $EHCTL exec --auto -- readlink /proc/self/ns/net")
ok(
    "the hierarchy chooses: it runs here",
    (code, out, err) == (0, here + "\n", ""),
    (code, out, err),
)
code, out, err = run(f"python3 -c '{odd}' $EHCTL run -- readlink /proc/self/ns/net")
ok("a session without the module: here, too", (code, out) == (0, here + "\n"), (code, out, err))
code, out, err = run("$X readlink /proc/self/ns/net 7< <(true)")
ok("and with a pipe it is away", (code, out, err) == (0, there + "\n", ""), (code, out, err))


os.mkdir(f"{work}/closed", 0o700)
os.chmod(work, 0o755)
for name, flags in ("an empty log", 0), ("a log that is appended to", os.O_APPEND):
    for path in f"{work}/roots", f"{work}/closed/roots":
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | flags, 0o600)
        code, out, err = run(
            f"exec 5>&{fd} {fd}>&-; $X sh -c 'readlink /proc/self/ns/net; echo x >&5'; echo y >&5",
            pass_fds=[fd],
            **users.as_user(users.THREE),
        )
        os.close(fd)
        text = open(path).read()
        ok(
            (
                f"{name} that its user cannot open ({os.path.relpath(path, work)}): it is away, and"
                " its bytes come"
            ),
            (code, out, err, text) == (0, there + "\n", "", "x\ny\n"),
            (code, out, err, text),
        )
code, out, err = run("exec 9>locked; flock 9; $X true")
ok("a file that the caller has locked", code == 1 and "locked" in err, (code, err))

# ---- make ----

STEP = step("running", 0.2)
with open(f"{work}/sub.mk", "w") as f:
    f.write(f"all: a1 a2 a3 a4 a5 a6\na%:\n\t@{STEP}\n")
with open(f"{work}/top.mk", "w") as f:
    f.write(
        "all: far near\nfar:\n\t+$(X) make --no-print-directory -f sub.mk\n"
        f"near: b1 b2 b3\nb%:\n\t@{STEP}\n"
    )

code, out, err = run("make -f top.mk -j3")
ok("tokens of make: no error", code == 0 and "jobserver" not in err, (code, out, err))
top = at_once(f"{work}/running")
ok("never more than -j", 1 < top <= 3, top)

TAKE = (
    "import os, re; r, w = map(int, re.findall(r'auth=(\\d+),(\\d+)',"
    " os.environ['MAKEFLAGS'])[-1])\n"
)
with open(f"{work}/take.py", "w") as f:
    f.write(TAKE + "print(os.read(r, 1)); os.write(w, b'+')\n")
with open(f"{work}/hold.py", "w") as f:
    f.write(
        TAKE + "import select, sys, time\nselect.select([r], [], [])\nprint('may',"
        " flush=True)\ntime.sleep(1000)\n"
    )
FIFO = (
    "mkfifo fifo; (sleep 1000 <>fifo) & keep=$!; until [ -e /proc/$keep/fd/0 ] && ["
    ' /proc/$keep/fd/0 -ef fifo ]; do :; done; printf ++ >fifo; export MAKEFLAGS=" -j3'
    ' --jobserver-auth=fifo:$PWD/fifo"; '
)
LEFT = (
    "exec 8<>fifo; kill $keep; rm fifo; n=0; while read -t 0 -u 8 && read -r -N 1 -u 8 t; do"
    " n=$((n+1)); done; echo left $n"
)
code, out, err = run(FIFO + "$X python3 take.py; " + LEFT)
ok("a FIFO of tokens: home's", (code, out, err) == (0, "b'+'\nleft 2\n", ""), (code, out, err))
code, out, err = run(
    FIFO + "coproc $X python3 hold.py; read may <&${COPROC[0]}; kill -9 $!; wait $!; " + LEFT
)
ok(
    "a token that was given to a killed stub is at most one",
    code == 0 and out in ("left 1\n", "left 2\n"),
    (code, out, err),
)
code, out, err = run(
    FIFO + "coproc $X python3 hold.py; read may <&${COPROC[0]}; kill $!; wait $!; " + LEFT
)
ok(
    "a killed task gives back what it has not read",
    code == 0 and out == "left 2\n",
    (code, out, err),
)

ok("agents are well", c.alive(0) and c.alive(1), c.log(0) + c.log(1))
left = lambda: c.tasks(1)
ok("no guest is left", until(lambda: not left()), left())
c.stop()
done()
