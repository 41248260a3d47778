#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of a site: which users' tasks run here, whose leave, which programs leave. Each with both
answers."""

import os, shutil, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import users
from cluster import Cluster
from commands import AGENT
from ktap import done, ok, skip_all
from launcher import Launcher, start
from tree import BUILD
from wait import WAIT, until

if os.geteuid():
    skip_all("only root can start processes of others")
EHCTL = os.path.join(BUILD, "bin", "ehctl")
WHERE = "readlink /proc/self/ns/net; id -u"
GROUP = "ehg3001"  # eht1 is in it, eht2 is not
NOT_THERE = "ehs-no-such-group"
BASE = "heartbeat = 1000\nthreshold-floor = 20.0\ntime-limit = 10000\n"
c = Cluster(2, BASE)
rules = 0


def room():
    """Nobody is overloaded, whatever else this machine does."""
    for i in 0, 1:
        c.ask(
            i,
            {
                "command": "set",
                "threshold": 20000,
                "length": 0,
                "load-index": "tasks",
                "time-limit": 10000,
            },
        )
    return until(lambda: all(n.get("threshold") == 20.0 for n in c.status(0)["nodes"]))


def rule(i, *lines):
    """Node i has these rules from now on, and no others."""
    global rules
    rules += 1
    c.conf(i, settings=BASE + "\n".join([*lines, f"history-age = {rules}"]))
    answer = c.ask(i, {"command": "reload"})
    ok(f"n{i}: {', '.join(lines) or 'no rule'}", answer == {"version": 1}, answer)


def become(uid):
    def it():
        if uid:
            os.initgroups(f"eht{uid - 2000}", uid)
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)

    return it


def run(uid, *words, program=("sh", "-c", WHERE)):
    p = c.popen(0, [EHCTL, "exec", *words, "--", *program], cwd="/", preexec_fn=become(uid))
    out, err = p.communicate(timeout=WAIT)
    return p.returncode, out, err, p.pid


def goes(name, uid, **how):
    got = run(uid, "n1", **how)
    ok(f"{name}: goes", got[:2] == (0, f"{far}\n{uid}\n"), got)


def refused(name, uid, reason, text, **how):
    """Where it is named it is refused; where it is not it runs at home; both have the reason."""
    got = run(uid, "n1", **how)
    ok(f"{name}: refused", got[0] == 1 and not got[1] and text in got[2], got)
    # else n1 may be no receiver just now, which is another reason to stay
    ok(f"{name}: there is room", room())
    got = run(uid, "--auto", "--all", **how)
    why = c.ask(0, {"command": "why", "id": str(got[3])})
    ok(f"{name}: runs at home", got[:2] == (0, f"{near}\n{uid}\n"), got)
    ok(f"{name}: {reason}", why.get("reason") == reason, why)
    return why


ok("two agents", c.start_all() and room(), c.log(0) + c.log(1))
with c.net.enter(0):
    near = os.readlink("/proc/self/ns/net")
with c.net.enter(1):
    far = os.readlink("/proc/self/ns/net")
goes("without rules", 2001)
goes("without rules, another", 2002)

# ---- the executor: whose tasks it takes ----

rule(1, 'guest-deny-users = { "eht1" }')
why = refused("denied by name", 2001, "guest-user", 'user eht1: "eht1" in guest-deny-users')
ok(
    "ehctl why: a sentence, and who refused",
    "guest-deny-users" in why["text"]
    and any("n1 refuses: guest-user" in s["what"] for s in why["steps"]),
    why,
)
goes("another", 2002)
rule(1, 'guest-deny-users = { "2001" }')
refused("denied by number", 2001, "guest-user", '"2001" in guest-deny-users')
goes("another", 2002)
rule(1, f'guest-deny-users = {{ "@{GROUP}" }}')
refused("denied by group", 2001, "guest-user", f'"@{GROUP}" in guest-deny-users')
goes("not in the group", 2002)
rule(1, f'guest-allow-users = {{ "@{GROUP}" }}')
goes("allowed by group", 2001)
refused("not in the group", 2002, "guest-user", "not in guest-allow-users")
rule(1, 'guest-allow-users = { "@3001", "eht2" }', 'guest-deny-users = { "eht2" }')
goes("allowed by the number of a group", 2001)
refused("denied and allowed", 2002, "guest-user", '"eht2" in guest-deny-users')
rule(1, f'guest-deny-users = {{ "@{NOT_THERE}" }}')
refused("a group that is not known denies all", 2002, "guest-user", "not known there")
rule(1, f'guest-allow-users = {{ "@{NOT_THERE}", "eht2" }}')
goes("and allows nobody: by name", 2002)
refused("and allows nobody", 2001, "guest-user", "not in guest-allow-users")
rule(1, 'guest-allow-users = { "eht1" }')
refused("root is not excepted", 0, "guest-user", "user root: not in guest-allow-users")
rule(1, 'guest-allow-users = { "root" }')
goes("nor kept out", 0)
rule(1)
goes("the rules are gone", 2001)

# ---- home: whose tasks leave ----

rule(0, 'away-deny-users = { "eht1" }')
refused("kept by name", 2001, "away-user", 'n0 keeps tasks of its user: "eht1" in away-deny-users')
goes("another", 2002)
rule(0, f'away-allow-users = {{ "@{GROUP}" }}')
goes("allowed by group", 2001)
refused("not in the group", 2002, "away-user", "not in away-allow-users")
rule(0, 'away-allow-users = { "eht1" }', f'away-deny-users = {{ "@{GROUP}" }}')
refused("denied and allowed", 2001, "away-user", f'"@{GROUP}" in away-deny-users')

# ---- home: which programs leave ----

tools = os.path.join(c.dir, "tools")
os.mkdir(tools)
os.chmod(c.dir, 0o755)
for name in "one", "two", "twofold":
    with open(os.path.join(tools, name), "w") as f:
        f.write(f"#!/bin/sh\n{WHERE}\n")
    os.chmod(f.name, 0o755)
os.symlink("one", os.path.join(tools, "link"))


def tool(name):
    return {"program": (name if name.startswith("/") else os.path.join(tools, name),)}


rule(0, f'away-deny-programs = {{ "{tools}/one" }}')
refused(
    "a program", 2001, "away-program", f'"{tools}/one" in away-deny-programs'[:60], **tool("one")
)
refused("by a link", 2001, "away-program", "n0 keeps its program", **tool("link"))
refused(
    "by a way round",
    2001,
    "away-program",
    "n0 keeps its program",
    **tool(f"{tools}/../tools/./one"),
)
goes("another", 2001, **tool("two"))
shutil.copy(os.path.join(tools, "one"), os.path.join(tools, "copy"))
goes("a copy is another program", 2001, **tool("copy"))
rule(0, f'away-deny-programs = {{ "{tools}/" }}')
refused("a directory", 2001, "away-program", "away-deny-programs", **tool("two"))
goes("another directory", 2001)
rule(0, f'away-deny-programs = {{ "{tools}/two" }}')
goes("not all that begins so", 2001, **tool("twofold"))
rule(0, f'away-allow-programs = {{ "{tools}" }}', f'away-deny-programs = {{ "{tools}/two" }}')
goes("allowed by directory", 2001, **tool("one"))
refused("denied and allowed", 2001, "away-program", "away-deny-programs", **tool("two"))
refused("not allowed", 2001, "away-program", "not in away-allow-programs")
refused(
    "not by a way round",
    2001,
    "away-program",
    "not in away-allow-programs",
    program=(f"{tools}{'/..' * tools.count('/')}/bin/sh", "-c", WHERE),
)
rule(0, 'away-allow-programs = { "/" }')
goes("all are below /", 2001)

# ---- a file with an error ----

for line, text in (
    ('away-deny-programs = { "tools" }', "not an absolute path"),
    ('guest-deny-users = { "@" }', "is not USER"),
    ('away-allow-programs = { "/a/../b" }', 'has ".", ".."'),
):
    conf = c.conf(0, settings=line)
    number = open(conf).read().splitlines().index(line) + 1
    p = subprocess.run([AGENT, "-t", "-c", conf], capture_output=True, text=True)
    ok(
        f"ehagent -t: {line}",
        p.returncode == 2 and p.stderr.startswith(f"{conf}:{number}: ") and text in p.stderr,
        p,
    )
    answer = c.ask(0, {"command": "reload"})
    ok("a reload keeps what was", "error" in answer and f":{number}: " in str(answer), answer)
goes("as before", 2001)

# ---- what may be misspelt ----


def doctor():
    return [
        (d["level"], d["what"])
        for d in c.ask(0, {"command": "doctor"})["checks"]
        if d["name"] == "rules"
    ]


rule(
    0,
    'guest-deny-users = { "eht1", "ehs-nobody", "2001", "@2001" }',
    f'guest-allow-users = {{ "@{GROUP}" }}',
)
ok(
    "doctor: a user that is not known",
    doctor()
    == [("warning", "guest-deny-users: there is no user ehs-nobody here: it denies nobody")],
    doctor(),
)
rule(
    0,
    f'away-deny-users = {{ "@{NOT_THERE}" }}',
    f'owners = {{ "@{NOT_THERE}" }}',
    f'admin-group = "{NOT_THERE}"',
)
ok(
    "doctor: groups",
    doctor()
    == [
        ("warning", f"away-deny-users: there is no group {NOT_THERE} here: it denies everybody"),
        ("note", f"owners: there is no group {NOT_THERE} here: it allows nobody"),
        ("note", f"admin-group: there is no group {NOT_THERE} here: it allows nobody"),
    ],
    doctor(),
)
rule(0)
ok("doctor: nothing to say", doctor() == [], doctor())

# ---- an agent that was taken over: ehlaunch has rules of its own ----

l = Launcher("--guest-deny-user", f"@{GROUP}", "--guest-deny-user", "eht3")
for who, uid, wanted in (
    ("eht1", 2001, "LAUNCH_DENIED"),
    ("eht3", 2003, "LAUNCH_DENIED"),
    ("eht2", 2002, "LAUNCH_READY"),
):
    for how in "", ", again":
        answer = l.ask(start(uid, uid, who))
        ok(f"ehlaunch, {who}{how}", answer and answer[0] == wanted, answer)
        l.drop()
answer = l.ask(start(2001, 2001, "eht2"))
ok("another's name does not help", answer and answer[0] == "LAUNCH_UNKNOWN", answer)
l = Launcher("--guest-allow-user", f"@{GROUP}")
for who, uid, wanted in ("eht1", 2001, "LAUNCH_READY"), ("eht2", 2002, "LAUNCH_DENIED"):
    answer = l.ask(start(uid, uid, who))
    ok(f"ehlaunch allows some, {who}", answer and answer[0] == wanted, answer)
    l.drop()
l = Launcher("--guest-deny-user", f"@{NOT_THERE}")
answer = l.ask(start(2002, 2002, "eht2"))
ok("ehlaunch: a group that is not known", answer and answer[0] == "LAUNCH_DENIED", answer)
l = Launcher("--allow-root", "--guest-deny-user", "root")
answer = l.ask(start(0, 0, "eht2"))
ok("ehlaunch: root", answer and answer[0] == "LAUNCH_DENIED", answer)

# ---- a directory service that does not answer: groups are left out of what a user has, and nothing
# says so ----

NUMBER, NO_NUMBER = "@3001", "@64999"  # GROUP; nobody's
rule(0, f'away-deny-users = {{ "{NO_NUMBER}" }}')
refused("home: a number that is no group's", 2002, "away-user", f'"{NO_NUMBER}" in away-deny-users')
ok(
    "doctor: it denies everybody",
    doctor()
    == [
        ("warning", f"away-deny-users: there is no group {NO_NUMBER[1:]} here: it denies everybody")
    ],
    doctor(),
)
p = c.ehctl(0, "exec", "n1", "--", "true", user=64998, group=64998, extra_groups=[], cwd="/")
ok("home: a user without a name is refused by any group", p.returncode and NO_NUMBER in p.stderr, p)
rule(0)


def asks(*services):
    """Users, groups and the groups of a user come from these services from now on."""
    users.put(
        "/etc/nsswitch.conf",
        "".join(
            f"{what}: {service}\n"
            for what, service in zip(("passwd", "group", "initgroups"), services)
        ),
    )


def denied(name, item, uid, who):
    """By both ends, which have this rule alone."""
    rule(0, f'away-deny-users = {{ "{item}" }}')
    got = run(uid, "n1")
    ok(f"home: {name}", got[0] == 1 and f'"{item}" in away-deny-users' in got[2], got)
    answer = Launcher("--guest-deny-user", item).ask(start(uid, uid, who))
    ok(f"ehlaunch: {name}", answer and answer[0] == "LAUNCH_DENIED", answer)


asks("files", "files", "ehs-dead")
for item in NUMBER, f"@{GROUP}":
    denied(f"{item} has the user, whose groups are not known", item, 2001, "eht1")
    rule(0, f'away-deny-users = {{ "{item}" }}')
    goes(f"{item} does not have another", 2002)
asks("files", "ehs-dead", "ehs-dead")
for item in NUMBER, f"@{GROUP}":
    denied(
        f"{item} is not known", item, 2003, "eht3"
    )  # what was said of another is good for a minute
done()
