#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""As installed: agents run as a user of their own, and write only where their state is; ehlaunch
reads the rules of the site from the same file, as root."""

import json, os, re, signal, stat, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster, USER
from commands import AGENT, LAUNCH, STUB
from ktap import done, must, ok
from proc import words
from wait import WAIT, until

c = Cluster(2, apart=True)
ehctl = c.ehctl


def start(i):
    conf = os.path.join(c.etc(i), "agent.conf")
    with open(conf, "a") as f:
        f.write(
            f'state = "{c.state(i)}"\ncgroup = "{c.cgroup(i)}"\nstub = "{STUB}"\nlauncher ='
            f' "{c.launcher(i)}"\n'
        )
    c.start(i, conf)


r = ehctl(0, "init", "lab", "--dir", c.etc(0), "--host", "n0", "--topology", "2,1")
ok("init", r.returncode == 0, r)
start(0)
r = ehctl(0, "invite", "--json")
ok("an agent without rights invites", r.returncode == 0, (r, c.log(0)[-1500:]))
kept = os.path.join(os.path.dirname(c.state(0)), "invites.json")
ok(
    "what it keeps is its own, for nobody else",
    os.stat(kept).st_uid == USER and stat.S_IMODE(os.stat(kept).st_mode) == 0o600,
)
r = ehctl(1, "join", "--token", json.loads(r.stdout)["token"], "--dir", c.etc(1), "--host", "n1")
ok("join", r.returncode == 0, (r, c.log(0)[-1500:]))
found = {
    f: os.stat(os.path.join(c.etc(1), f)) for f in (".", "agent.conf", "n1.key", "n1.crt", "ca.crt")
}
ok(
    "the agent's group may read what it needs, and change nothing",
    {
        f: (s.st_uid, s.st_gid, stat.S_IMODE(s.st_mode))
        for f, s in found.items()
        if not f.endswith("crt")
    }
    == {".": (0, USER, 0o750), "agent.conf": (0, USER, 0o640), "n1.key": (0, USER, 0o640)}
    and all(stat.S_IMODE(s.st_mode) == 0o644 for f, s in found.items() if f.endswith("crt")),
    found,
)
start(1)
ok("both are members", c.all_up([0, 1]), c.log(1)[-1500:])
r = ehctl(1, "doctor")
ok(
    "doctor is content with certificate and key",
    all(re.search(rf"^ok +{what} ", r.stdout, re.M) for what in ("certificate", "key")),
    r,
)
RULES = r"^ok +ehlaunch +it enforces the rules of "
ok(
    "and says whose rules ehlaunch enforces",
    re.search(RULES + re.escape(c.etc(1)), r.stdout, re.M),
    r,
)

# ---- the rules of a site ----

conf = os.path.join(c.etc(1), "agent.conf")
with open(conf, "a") as f:
    f.write('view-own = { "/usr" }\nguest-memory = 512\nguest-deny-users = { "eht3", "@audio" }\n')


def options():
    return words(c.launchers[1].pid)


def ehagent(*given, **more):
    return subprocess.run(
        [AGENT, *given],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT,
        **more,
    )


first, before = c.launchers[1].pid, options()
r = ehagent("-t", "-c", conf)
by = dict(re.findall(r"^# enforced by (.*)\n((?:[^#].*\n)*)", r.stdout, re.M))
ok(
    "ehagent -t says which rules there are, and who enforces them",
    r.returncode == 0
    and len(by) == 3
    and {
        'view-own = { "/usr" }',
        "guest-memory = 512",
        "uid-min = 1000",
        'guest-deny-users = { "eht3", "@audio" }',
        "allow-users = { }",
    }
    <= set(by.get("ehlaunch, which the agent cannot overrule", "").splitlines()),
    r,
)
ok("ehlaunch has them not before a reload", options() == before and "512" not in before, options())
r = ehctl(1, "reload")
ok(
    "then it has",
    r.returncode == 0
    and until(
        lambda: "--guest-memory 512" in options() and "--guest-deny-user @audio" in options()
    ),
    (r, options(), c.log(1)[-1500:]),
)
ok(
    "and is the same process",
    c.launchers[1].poll() is None and c.launchers[1].pid == first,
    c.launchers[1].poll(),
)
ok("doctor says so", re.search(RULES, (r := ehctl(1, "doctor")).stdout, re.M), r)
with open(conf, "a") as f:
    f.write("guest-pids = 77\n")
c.end(1)
c.start(1, conf)
ok(
    "a new agent has it read them again",
    c.all_up([0, 1]) and until(lambda: "--guest-pids 77" in options()),
    (options(), c.log(1)[-1500:]),
)
os.kill(c.launchers[1].pid, signal.SIGKILL)
c.launch(1)
ok(
    "as one has that comes later",
    until(lambda: "--guest-pids 77" in options())
    and until(lambda: re.search(RULES, ehctl(1, "doctor").stdout, re.M)),
)

c.wrapped[1, "ehlaunch"] = LAUNCH
c.launch(1)
del c.wrapped[1, "ehlaunch"]
ok(
    "one that was started in another way is an error",
    until(
        lambda: re.search(
            (
                r"^error +ehlaunch +it enforces other rules than those of .*\n +fix: .*restart"
                r" ehlaunch"
            ),
            (r := ehctl(1, "doctor")).stdout,
            re.M,
        )
    ),
    ehctl(1, "doctor"),
)
r = ehctl(1, "reload")
ok(
    "and cannot be told",
    c.logged(
        1,
        "enforces other rules than those of .*: it was started with options of its own; restart it",
    ),
    (r, c.log(1)[-1500:]),
)

for what, path, mode in ("file", conf, 0o660), ("directory", c.etc(1), 0o770):
    was = stat.S_IMODE(os.stat(path).st_mode)
    os.chmod(path, mode)
    r = ehagent("--launch", "-c", conf)
    ok(
        f"a {what} that others can change has no rules for root",
        r.returncode == 2
        and "others than root can change it" in r.stderr
        and r.stderr.startswith(path),
        r,
    )
    os.chmod(path, was)
os.chown(c.etc(1), USER, 0)
os.chmod(c.etc(1), 0o1755)
r = ehagent("--launch", "-c", conf)
ok(
    "nor one in another's directory, whatever bit that has",
    r.returncode == 2 and r.stderr.startswith(c.etc(1) + ":"),
    r,
)
os.chown(c.etc(1), 0, USER)
os.chmod(c.etc(1), 0o750)

c.launch(1)
must(
    "one with the rules of the file is there again",
    until(lambda: "--guest-pids 77" in options()) and c.launches(1),
)
link = os.path.join(c.dir, "link.conf")
os.symlink(conf, link)
c.launch(1, link)
must(
    "the agent is connected to it", until(lambda: re.search(RULES, ehctl(1, "doctor").stdout, re.M))
)
ok(
    "a link is followed once",
    until(lambda: f"--configuration {os.path.realpath(conf)} " in options()) and c.launches(1),
    options(),
)
with open(conf, "a") as f:
    f.write("guest-pids = 78\n")
os.chmod(conf, 0o660)
r = ehctl(1, "reload")
ok(
    "a file that ehlaunch would refuse is not given to it",
    r.returncode == 0 and c.logged(1, "ehlaunch keeps the rules that it has: .*others than root"),
    (r, c.log(1)[-1500:]),
)
ok(
    "and it goes on with the rules that it has",
    "--guest-pids 77" in options() and c.launches(1) and c.launchers[1].poll() is None,
    options(),
)
os.chmod(conf, 0o640)
r = ehctl(1, "reload")
ok(
    "when it is root's again, it is",
    r.returncode == 0 and until(lambda: "--guest-pids 78" in options()),
    (r, options()),
)
with open(conf, "a") as f:
    f.write("guest-pids = many\n")
r = ehagent("--launch", "-c", conf)
ok(
    "one that is wrong neither",
    r.returncode == 2 and re.match(re.escape(conf) + r":\d+: ", r.stderr),
    r,
)
ok("the agents end", all(c.end(i) == 0 for i in range(2)))
done()
