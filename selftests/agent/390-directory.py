#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A name service that does not answer holds up no agent: what it is asked for is not known until it
has answered, and who is known already is still known."""

import glob, json, os, shutil, signal, subprocess, sys, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
import http2, proc, users
from cluster import Cluster
from ktap import done, must, ok, skip_all
from mounts import MS_BIND, mount
from netns import address
from wait import until

HOME, THERE = 1, 0
DEAD_S = 25  # for which it does not answer; an agent has to be far faster than that
NEW = 3500  # a user whom only that service knows

module = next(
    iter(glob.glob("/lib/*/libnss_hesiod.so.2") + glob.glob("/lib*/libnss_hesiod.so.2")), None
)
if not module or not shutil.which("gcc"):
    skip_all("no libnss_hesiod.so.2 to put another in its place, or no gcc")
c = Cluster(2, "heartbeat = 20000")
dead = os.path.join(c.dir, "dead")
with open(f"{c.dir}/module.c", "w") as f:
    f.write(
        f"""#include <nss.h>
#include <pwd.h>
#include <grp.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>
#define MODULE(name) enum nss_status _nss_hesiod_##name
static enum nss_status wait_for_it(void)
{{
    for (int i = 0; i < {DEAD_S * 20} && !access("{dead}", F_OK); i++) usleep(50000);
    return NSS_STATUS_NOTFOUND;
}}
static enum nss_status fill(struct passwd *pw)
{{
    *pw = (struct passwd){{ "ehnew", "x", {NEW}, {NEW}, "", "/", "/bin/sh" }};
    return NSS_STATUS_SUCCESS;
}}
MODULE(getpwuid_r)(uid_t uid, struct passwd *pw, char *text, size_t size, int *err)
{{ wait_for_it(); return uid == {NEW} ? fill(pw) : NSS_STATUS_NOTFOUND; }}
MODULE(getpwnam_r)(const char *name, struct passwd *pw, char *text, size_t size, int *err)
{{ wait_for_it(); return strcmp(name, "ehnew") ? NSS_STATUS_NOTFOUND : fill(pw); }}
MODULE(getgrgid_r)(gid_t gid, struct group *gr, char *text, size_t size, int *err)
{{ return wait_for_it(); }}
MODULE(getgrnam_r)(const char *name, struct group *gr, char *text, size_t size, int *err)
{{ return wait_for_it(); }}
MODULE(initgroups_dyn)(const char *user, gid_t group, long *n, long *size, gid_t **all, long most,
                       int *err)
{{ return wait_for_it(); }}
MODULE(gethostbyname4_r)(const char *name, void **all, char *text, size_t size, int *err,
                         int *herr, int *ttl)
{{ *herr = HOST_NOT_FOUND; return wait_for_it(); }}
"""
    )
users.put("/etc/nsswitch.conf", "passwd: files hesiod\ngroup: files hesiod\nhosts: files hesiod\n")
subprocess.run(
    ["gcc", "-shared", "-fPIC", "-o", f"{c.dir}/module.so", f"{c.dir}/module.c"], check=True
)
os.chmod(c.dir, 0o755)
mount(f"{c.dir}/module.so", module, flags=MS_BIND)
must("two agents", c.start_all(), c.log(0) + c.log(1))
peer = http2.Client(
    http2.connect(c.net, HOME, address(THERE), os.path.join(c.dir, "cert"), f"n{HOME}")
)
peer.hello(node=c.code(HOME))
asked = 0


def reserve(uid, user):
    """What a member is told when it asks for a place, and how long that took."""
    global asked
    asked += 1
    began = time.monotonic()
    answer = peer.request(
        "POST",
        "/v1/reserve",
        {
            "id": f"{c.code(HOME)}:{asked}",
            "command": "x",
            "path": "/bin/true",
            "uid": uid,
            "user": user,
            "size": 1000,
            "program": {},
            "cwd": {"path": "/"},
        },
    )
    return json.loads(answer[1]).get("reason"), time.monotonic() - began


def names():
    """The doctor's line about it."""
    return next(
        (
            check
            for check in c.ask(THERE, {"command": "doctor"})["checks"]
            if check["name"] == "names"
        ),
        None,
    )


ok("a user is known", reserve(2001, "eht1")[0] == "files-differ", c.log(THERE))
ok("doctor has nothing to say", not names(), names())
open(dead, "w").close()
ok("a user who was known is known", reserve(2001, "eht1")[0] == "files-differ", c.log(THERE))
got = [reserve(4000 + n, "nobody-knows") for n in range(8)]
# the member has used up its part of the loop's time with the first
ok(
    "users of whom there is no answer are not known",
    got[0][0] == "unknown-user"
    and all(reason in ("unknown-user", "refused") for reason, took in got),
    got,
)
ok(
    f"of which each is refused in far less than {DEAD_S} s",
    sum(took for reason, took in got) < DEAD_S,
    got,
)
began = time.monotonic()
status = c.status(THERE)
ok(
    "the agent goes on",
    "nodes" in status and time.monotonic() - began < DEAD_S / 4,
    time.monotonic() - began,
)
reserve(4100, "nobody-knows")
said = names()
ok("doctor says so", said and said["level"] == "warning" and "do not answer" in said["what"], said)
ok(
    "the log, too",
    c.logged(THERE, "name services of this host .* do not answer in time"),
    c.log(THERE),
)


def hosts():
    """What doctor --pairs says of names of hosts, and how long it took."""
    began = time.monotonic()
    r = c.ehctl(HOME, "doctor", "--pairs", "--json")
    found = sorted(
        check["what"]
        for p in json.loads(r.stdout)["pairs"]
        for check in p["checks"]
        if check["name"] == "name"
    )
    return found, time.monotonic() - began


got, took = hosts()
ok(
    "doctor --pairs does not wait for names of hosts",
    got
    == [
        f"n{b}: not looked up, as the name services of n{a} do not answer in time"
        for b, a in ((0, 1), (1, 0))
    ]
    and took < DEAD_S / 2,
    (got, took),
)
again, took = hosts()
ok("nor when it asks again", again == got and took < DEAD_S / 2, (again, took))
os.unlink(dead)
ok(
    "when it answers, hosts are looked up",
    until(lambda: hosts()[0] == ["n0 does not know the name n1", "n1 does not know the name n0"]),
    hosts(),
)
ok(
    "when it answers, its users are known",
    until(lambda: reserve(NEW, "ehnew")[0] == "files-differ"),
    reserve(NEW, "ehnew"),
)
ok("doctor has nothing to say any more", until(lambda: not names()), names())

# ---- ehnames ----

pid = next(
    p for p in proc.children(c.agents[THERE].pid) if open(f"/proc/{p}/comm").read() == "ehnames\n"
)
for worker in proc.children(pid):
    proc.send(worker, signal.SIGKILL)
ok(
    "others ask in the place of those that were killed",
    until(lambda: reserve(2002, "eht2")[0] == "files-differ"),
    c.log(THERE),
)
proc.send(pid, signal.SIGKILL)
ok(
    "without it nobody is known",
    until(lambda: reserve(2003, "eht3")[0] == "unknown-user"),
    c.log(THERE),
)
ok(
    "the log says what to do",
    c.logged(THERE, "ehnames has ended: .* until the agent starts again"),
    c.log(THERE),
)
ok("but the agent goes on", "nodes" in c.status(THERE))
done()
