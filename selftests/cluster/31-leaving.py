#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The module and ehlaunch say the same of a process that wants to leave: each is asked about the
same ones, ehlaunch when the module has gone. What only one of them sees is in docs/security.md."""

import json, os, subprocess, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import confinement
from ktap import done, ok, skip, skip_all
from wait import WAIT, until

PIPE, NULL = subprocess.PIPE, subprocess.DEVNULL
if "EHS_SHARE" not in os.environ:
    skip_all("not on a node of the virtual cluster: make check T=cluster boots one")
os.chdir(os.environ["EHS_SHARE"])
PROBE = os.path.join(os.environ["EHS_BUILD"], "selftests/kmod/probe")
own, root = "/sys/fs/cgroup/ehs-leaving", "/run/ehs-leaving"


def module():
    said = subprocess.run(["ehctl", "status", "--json"], stdin=NULL, stdout=PIPE, check=True).stdout
    return json.loads(said)["nodes"][0]["module"]


def judged(before, by):
    """The reason for which it is refused; None: it leaves."""
    p = subprocess.run(
        [*by, "ehctl", "exec", "0.1", "--", "hostname"],
        stdin=NULL,
        stdout=PIPE,
        stderr=PIPE,
        text=True,
        preexec_fn=before,
        timeout=WAIT,
    )
    if (p.returncode, p.stdout) == (0, "n1\n"):
        return None
    return (
        p.stderr.strip().rpartition("(")[2].rstrip(")")
        if p.returncode == 1 and "may not leave" in p.stderr
        else p
    )


def another_root():
    os.chroot(root)
    os.chdir("/")


def all_ways():
    yield "an ordinary process", None, None, ()
    yield "another user", None, lambda: confinement.become(2001), ()
    for name, reason, before, by in confinement.ways():
        if reason:
            yield name, reason, before, by
        else:
            skip(name, "not with this kernel")
    yield "no_new_privs", "no-new-privs", confinement.no_new_privs, ()
    yield "another root directory", "namespace", another_root, ()
    yield "a cgroup of its own", None, lambda: confinement.enter(own), ()


def seen_by_module():
    """What docs/security.md says that ehlaunch cannot see."""
    yield "Landlock of root", "landlock", "landlock"
    yield "securebits", "capabilities", "securebits"
    yield "memory that never becomes executable", "confined", "mdwe"


def can(*words):
    return not subprocess.run([PROBE, *words], stdin=NULL, stderr=NULL).returncode


def compare(name, reason, before, by):
    got[name] = judged(before, by)
    ok(f"{name}, {who}: {reason or 'leaves'}", got[name] == reason, got[name])


subprocess.run(["mount", "-t", "securityfs", "securityfs", "/sys/kernel/security"], stderr=NULL)
os.makedirs(root, exist_ok=True)
for folder in "/", "/proc", "/run", "/dev":
    subprocess.run(["mount", "--bind", folder, root + folder], check=True)
os.mkdir(own)
answers = {}
for who in "the module", "ehlaunch":
    got = answers[who] = {}
    for way in all_ways():
        compare(*way)
    if (
        can("apparmor-load", "ehs-leaving", "--", "true")
        or who == "ehlaunch"
        and can("apparmor", "ehs-leaving", "--", "true")
    ):
        compare("a profile of AppArmor", "lsm", None, (PROBE, "apparmor", "ehs-leaving", "--"))
    else:
        skip("a profile of AppArmor", "not with this kernel")
    for name, reason, verb in seen_by_module():
        if can(verb, "--", "true"):
            said = judged(None, (PROBE, verb, "--"))
            ok(
                f"{name}, {who}: {reason if who == 'the module' else 'leaves'}",
                said == (reason if who == "the module" else None),
                said,
            )
        else:
            skip(f"{name}, {who}", "not with this kernel")
    if who == "the module":
        ok(
            "the module goes",
            until(lambda: not subprocess.run(["rmmod", "ehsched"], stderr=NULL).returncode)
            and until(lambda: not module()),
        )
# with a program, and so last
if confinement.may(confinement.forbid_devices, own):
    compare("a cgroup with a BPF program", "cgroup-bpf", lambda: confinement.enter(own), ())
else:
    skip("a cgroup with a BPF program", "not with this kernel")
ok(
    "the module comes",
    not subprocess.run(["insmod", os.environ["EHS_MODULE"]]).returncode and until(module),
)
who, got = "the module", answers["the module"]
compare("a cgroup with a BPF program", "cgroup-bpf", lambda: confinement.enter(own), ())
ok("both say the same", answers["the module"] == answers["ehlaunch"], answers)
for folder in "/dev", "/run", "/proc", "/":
    subprocess.run(["umount", root + folder], check=True)
until(lambda: not subprocess.run(["rmdir", own, root], stderr=NULL).returncode)
done()
