#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the journal is told of tasks with `audit`, at home and on the executor; and that nobody
waits for it."""

import os, re, select, signal, socket, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import netns
from cluster import Cluster, USER
from ktap import done, ok
from tree import BUILD, TOP
from wait import WAIT

EHCTL = os.path.join(BUILD, "bin", "ehctl")
JOURNAL = "/run/systemd/journal/socket"
netns.own_run({"ehsched": USER, "systemd": 0, "systemd/journal": 0})
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.bind(JOURNAL)
os.chmod(JOURNAL, 0o666)  # as systemd has it
c = Cluster(
    2, "heartbeat = 1000\ncapacity = 1000\nthreshold = 1000\nthreshold-floor = 1000\naudit = true\n"
)
ok("two agents", c.start_all(), c.log(0) + c.log(1))
with open(os.path.join(TOP, "docs/operations.md")) as f:
    IDS = dict(re.findall(r"^\| `([0-9a-f]{32})` \| (\w[\w ]*) \|", f.read(), flags=re.M))
ok("five kinds of entries are documented", len(IDS) == 5, IDS)


def entries(n):
    """The next n entries, by what the document calls them; fewer if they do not come."""
    got = []
    while len(got) < n and select.select([journal], [], [], WAIT)[0]:
        lines = journal.recv(65536).decode()
        fields = dict(line.split("=", 1) for line in lines.removesuffix("\n").split("\n"))
        got.append((IDS.get(fields["MESSAGE_ID"], "?"), fields))
    return dict(got)


def forget():
    """What the journal has been told by now is not looked at."""
    while select.select([journal], [], [], 0)[0]:
        journal.recv(65536)


r = c.ehctl(0, "exec", "n1", "--", "sh", "-c", "exit 3", uid=1000)
told = entries(4)
ok(
    "a task away has four entries",
    r.returncode == 3 and set(told) == {"away", "ended", "guest", "guest ended"},
    (r, told),
)
away, ended, guest, over = (
    told.get(what, {}) for what in ("away", "ended", "guest", "guest ended")
)
ok(
    "each names the task, its user and both nodes",
    len({t.get("EHSCHED_TASK") for t in told.values()}) == 1
    and all(
        (
            t["EHSCHED_UID"],
            t["EHSCHED_HOME"],
            t["EHSCHED_EXECUTOR"],
            t["PRIORITY"],
            t["SYSLOG_IDENTIFIER"],
        )
        == ("1000", "0.0", "0.1", "6", "ehagent")
        for t in told.values()
    )
    and away["EHSCHED_TASK"].startswith("0.0:"),
    told,
)
ok(
    "and who says so",
    away["EHSCHED_NODE"] == ended["EHSCHED_NODE"] == "0.0"
    and guest["EHSCHED_NODE"] == over["EHSCHED_NODE"] == "0.1",
    told,
)
ok(
    "the user by name",
    {t["EHSCHED_USER"] for t in told.values()} == {away["EHSCHED_USER"]}
    and not away["EHSCHED_USER"].isdigit(),
    told,
)
ok(
    "the program and the reason",
    away["EHSCHED_PROGRAM"].endswith("/sh")
    and away["EHSCHED_REASON"] == "explicit"
    and guest["EHSCHED_PROGRAM"] == "sh",
    told,
)
ok(
    "how it ended",
    ended["EHSCHED_EXIT"] == over["EHSCHED_EXIT"] == "3"
    and "EHSCHED_EXIT" not in away
    and "EHSCHED_EXIT" not in guest,
    told,
)
ok(
    "a sentence for people",
    away["EHSCHED_TASK"] in away["MESSAGE"] and "runs on 0.1" in away["MESSAGE"],
    away,
)

r = c.ehctl(0, "exec", "n1", "--", "sh", "-c", "kill -KILL $$")
told = entries(4)
ok(
    "a signal",
    told["ended"]["EHSCHED_SIGNAL"] == told["guest ended"]["EHSCHED_SIGNAL"] == "9"
    and "EHSCHED_EXIT" not in told["ended"],
    told,
)
r = c.ehctl(0, "exec", "--auto", "--", "true")
told = entries(1)
ok(
    "one that stays",
    set(told) == {"stays"}
    and told["stays"]["EHSCHED_EXECUTOR"] == "0.0"
    and told["stays"]["EHSCHED_REASON"] == "not-sender",
    told,
)
evil = os.path.join(c.dir, "x\nEHSCHED_USER=nobody\nMESSAGE=lie\x1b[31m")
os.symlink("/bin/true", evil)
r = c.ehctl(0, "exec", "n1", "--", evil)
told = entries(4)
ok(
    "no name of a program makes fields of its own",
    len(told) == 4
    and all(
        t.get("EHSCHED_USER") == "root" and "lie" not in t["MESSAGE"][:3] for t in told.values()
    )
    and told["away"]["EHSCHED_PROGRAM"].endswith("x?EHSCHED_USER=nobody?MESSAGE=lie?[31m"),
    told,
)

# nobody reads: its queue fills, and tasks go on
codes = [c.ehctl(0, "exec", "n1", "--", "sh", "-c", f"exit {k}").returncode for k in range(12)]
with open("/proc/sys/net/unix/max_dgram_qlen") as f:
    queue = int(f.read())
while "cannot write to the journal" not in c.log(0) and len(codes) < 4 * queue + 20:
    codes.append(c.ehctl(0, "exec", "n1", "--", "sh", "-c", f"exit {len(codes) % 7}").returncode)
ok(
    "a journal that does not read holds nothing up",
    codes[:12] == list(range(12)) and "cannot write to the journal" in c.log(0),
    (queue, codes),
)
forget()
c.ehctl(0, "exec", "n1", "--", "true")
told = entries(4)
ok(
    "the next entry says how many were lost",
    any(int(t.get("EHSCHED_ENTRIES_LOST", "0")) > 0 for t in told.values()),
    told,
)
journal.close()
os.unlink(JOURNAL)
ok(
    "without a journal tasks go on",
    (saw := c.ehctl(0, "exec", "n1", "--", "sh", "-c", "exit 4").returncode) == 4,
    saw,
)

journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.bind(JOURNAL)
os.chmod(JOURNAL, 0o666)  # as systemd has it
for i in range(2):
    c.conf(
        i, settings="heartbeat = 1000\ncapacity = 1000\nthreshold = 1000\nthreshold-floor = 1000\n"
    )
    c.agents[i].send_signal(signal.SIGHUP)
ok("a reload", all(c.logged(i, "is now in effect") for i in range(2)))
forget()  # the end of the task before, which the executor may have told the new journal
r = c.ehctl(0, "exec", "n1", "--", "true")
ok("switches it off", r.returncode == 0 and not select.select([journal], [], [], 0)[0], r)
ok("no sanitizer has reported", not c.reports(), c.reports())
done()
