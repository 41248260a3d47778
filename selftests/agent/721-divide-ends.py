#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl divide: it ends, with all that it started, whatever its commands, its hosts and its agent
do; and leaves nothing."""

import os, resource, signal, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from commands import EHCTL
from ktap import done, ok
from wait import WAIT, until

c = Cluster(2)
top = tempfile.mkdtemp(prefix="ehs-divide-ends-", dir=c.dir)
tmp = os.path.join(top, "tmp")
os.mkdir(tmp)


def start(*words, command="divide", **more):
    """ehctl divide, not waited for; its temporary files have a directory of their own."""
    env = {**os.environ, "TMPDIR": tmp, **more.pop("env", {})}
    return c.popen(0, [EHCTL, command, *words], cwd=top, env=env, **more)


def outcome(p, limit=WAIT):
    try:
        out, err = p.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        p.kill()
        return None, "", "it does not end"
    return p.returncode, out, err


def divide(*words, **more):
    return outcome(start(*words, **more), 2 * WAIT)


def program(folder, text):
    """A cat of its own, first in PATH; and a directory of its own, as it runs beside others."""
    path = os.path.join(top, folder, "cat")
    os.mkdir(os.path.dirname(path))
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, 0o755)
    return {
        "PATH": f"{os.path.dirname(path)}:{os.environ['PATH']}",
        "TMPDIR": os.path.dirname(path),
    }


def pids(name):
    try:
        return [int(line) for line in open(os.path.join(top, name)).read().split()]
    except FileNotFoundError:
        return []


def alive(pid):
    try:
        return "sleep" in open(f"/proc/{pid}/cmdline").read()
    except (FileNotFoundError, ProcessLookupError):
        return False


def kept(name):
    """A command that says who it is and does not end."""
    return f"echo $$ >>{top}/{name}; exec sleep 1000"


def ends(name, p, want):
    got = outcome(p)
    ok(f"{name}: it ends", got[0] == want, got)
    ok(
        f"{name}: and what it has started",
        until(lambda: not any(alive(pid) for pid in pids(name))),
        pids(name),
    )


ok("agents", c.start_all(), c.log(0))

# hosts whose cat does not end, or is slower with what follows than with the first byte; they take
# their time
stuck = start(
    "--size",
    "6",
    "--cmd",
    "echo {first}",
    "--slots",
    "1",
    "--hosts",
    "n0",
    env=program("bin-stuck", f"#!/bin/sh\n/bin/cat\n{kept('stuck')}\n"),
)
late = start(
    "--size",
    "60",
    "--cmd",
    "seq {first} {last}",
    "--slots",
    "1",
    "--hosts",
    "n1",
    "--quiet",
    "--combine",
    "wc -l",
    env=program(
        "bin-late",
        (
            "#!/usr/bin/python3 -IS\nimport os, time\nfor i in range(1 << 30):\n"
            "    b = os.read(0, 65536)\n    if not b:\n        break\n"
            "    time.sleep(0.7 if 0 < i < 6 else 0)\n    os.write(1, b)\n"
        ),
    ),
)

# ^C
p = start(
    "--size",
    "100",
    "--cmd",
    f"if [ {{count}} -lt 5 ]; then echo $$ >>{top}/first; sleep 0.2; else {kept('parts')}; fi",
    "--probe",
    "1",
    "--slots",
    "1",
)
ok(
    "parts run",
    until(lambda: sum(map(alive, pids("parts"))) >= 2 or p.poll() is not None),
    pids("parts"),
)
p.send_signal(signal.SIGINT)
ends("parts", p, 130)
p = start("--size", "4", "--cmd", "echo {first}", "--combine", kept("combine"), "--hosts", "n0")
ok("the command of --combine runs", until(lambda: pids("combine") or p.poll() is not None))
p.send_signal(signal.SIGINT)
ends("combine", p, 130)
p = start(
    "--size",
    "4",
    "--cmd",
    "head -c 1000000 /dev/zero; : {first}",
    "--combine",
    kept("full"),
    "--hosts",
    "n0",
)
ok("the command of --combine does not read", until(lambda: pids("full") or p.poll() is not None))
p.send_signal(signal.SIGTERM)
ends("full", p, 143)
ok("nothing is left in the directory for temporary files", not os.listdir(tmp), os.listdir(tmp))

# the agent stands still
p = start("--size", "8", "--cmd", f": {{first}}; {kept('still')}", "--slots", "1", "--hosts", "n0")
ok("a part runs", until(lambda: pids("still") or p.poll() is not None))
c.agents[0].send_signal(signal.SIGSTOP)


def asks():
    """Whether it has a connection to the agent, which does not answer."""
    try:
        return any(
            "socket:" in os.readlink(f"/proc/{p.pid}/fd/{fd}")
            for fd in os.listdir(f"/proc/{p.pid}/fd")
        )
    except FileNotFoundError:
        return False


ok("it asks the agent, which stands still", until(asks))
p.send_signal(signal.SIGINT)
ends("still", p, 130)
c.agents[0].send_signal(signal.SIGCONT)
ok("the agent goes on", c.all_up(range(2)))

# SIGKILL
p = start("--size", "8", "--cmd", f": {{first}}; {kept('killed')}", "--slots", "1")
ok(
    "a part on each host runs",
    until(lambda: sum(map(alive, pids("killed"))) == 2 or p.poll() is not None),
    pids("killed"),
)
p.kill()
ends("killed", p, -signal.SIGKILL)
for folder in os.listdir(tmp):
    if folder.startswith("ehctl-divide-"):
        subprocess.run(["rm", "-r", os.path.join(tmp, folder)], check=True)


# nobody reads the messages
def unread(*words, command="divide"):
    r, w = os.pipe()
    os.close(r)
    p = start(*words, command=command, stderr=w, stdout=w)
    os.close(w)
    return outcome(p)[0]


status = unread("--size", "5", "--cmd", "exit 1; {first}", "--hosts", "n0")
ok(
    "nobody reads the messages of divide",
    status == 1 and not os.listdir(tmp),
    (status, os.listdir(tmp)),
)
status = unread("--make", "--hosts", "n0", "--", "nosuch", command="dag")
ok(
    "nobody reads the messages of dag",
    status and status > 0 and not os.listdir(tmp),
    (status, os.listdir(tmp)),
)

# before what follows leaves n1 no place
status, out, err = outcome(stuck)
ok(
    "a host where a command does not end is not used",
    status == 1 and "n0 is not used" in err and until(lambda: not any(map(alive, pids("stuck")))),
    (status, err),
)
status, out, err = outcome(late)
ok(
    "a host that is late after the first byte is used",
    (status, out, err) == (0, "60\n", ""),
    (status, out, err),
)

# more parts than descriptors
status, out, err = divide(
    "--size",
    "600",
    "--cmd",
    "seq {first} {last}",
    "--slots",
    "16",
    "--hosts",
    "n0",
    "--combine",
    "wc -l",
    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)),
)
ok("more parts than descriptors", (status, out) == (0, "600\n"), (status, out, err))

# more parts at a time than a node takes
go, said = os.path.join(top, "go"), os.path.join(top, "said")
with open(said, "w") as f:
    p = start(
        "--size",
        "140",
        "--cmd",
        f"while [ ! -e {go} ]; do sleep 0.2; done; echo {{count}}",
        "--slots",
        "70",
        "--hosts",
        "n1",
        "--quiet",
        "--combine",
        "awk '{n += $1} END {print n}'",
        stderr=f,
    )
ok(
    "more parts at a time than a node takes: some wait",
    until(lambda: "some parts wait" in open(said).read() or p.poll() is not None),
)
open(go, "w").close()
status, out, _ = outcome(p)
err = open(said).read()
ok(
    "and start later, which is said once",
    (status, out, err.count("some parts wait"), err.count("other hosts")) == (0, "140\n", 1, 0),
    (status, out, err),
)
done()
