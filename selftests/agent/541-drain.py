#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl drain: who sees it, with reason and who; --wait until nothing is left."""

import json, os, pty, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster, shown_at
from ktap import done, ok
from tree import BUILD
from wait import WAIT, until

EHCTL = os.path.join(BUILD, "bin", "ehctl")
c = Cluster(2, "heartbeat = 1000\n")
ok("two agents", c.start_all(), c.log(0))


def start(i, *words, **how):
    return c.popen(i, [EHCTL, *words], **how)


def ehctl(i, *words):
    p = start(i, *words)
    out, err = p.communicate(timeout=WAIT)
    return p.returncode, out, err


def guest():
    p = start(0, "exec", "n1", "--", "sh", "-c", "echo; exec sleep 1000")
    p.stdout.readline()
    return p


def end(p):
    p.terminate()
    p.communicate()


def sent():
    """What is said of a task of n0 that is to run on n1."""
    return ehctl(0, "exec", "n1", "--", "true")


def drained(i, wanted=True):
    return until(lambda: c.status(i)["nodes"][1]["draining"] == wanted)


task = guest()
wait = start(0, "drain", "n1", "--wait", "--reason", "kernel upgrade")
ok("both nodes know that it drains", drained(0) and drained(1), (c.log(0), c.log(1)))
for i in 0, 1:
    node = c.status(i)["nodes"][1]
    ok(
        f"n{i}: why and who",
        node["drain"]["reason"] == "kernel upgrade"
        and node["drain"]["by"].endswith("@n0")
        and node["drain"]["since"].endswith("Z"),
        node,
    )
    ok(
        "and nothing about the other",
        (saw := c.status(i)["nodes"][0]["drain"]) is None,
        saw,
    )
    line = f"n1 drains: kernel upgrade ({node['drain']['by']})\n"
    for command in "status", "tree", "tasks":
        said = ehctl(i, command)
        ok(
            f"n{i}: {command}",
            said[0] == 0
            and line in said[1]
            and (command == "tasks" or said[1].count("DRAINING") == 1),
            said,
        )
    said = ehctl(i, "doctor")
    ok(
        f"n{i}: doctor",
        "DRAINING" in said[1] and "kernel upgrade" in said[1] and "note    drain n1" in said[1],
        said,
    )
said = ehctl(0, "exec", "n1", "--", "true")
ok(
    "who asks it for a place is told why not",
    said[0] == 1 and "node n1 is draining: kernel upgrade" in said[2],
    said,
)
left = c.ask(0, {"command": "guests", "node": "n1"})
ok(
    "what is left",
    left["guests"] == 1
    and left["oldest"]["command"] == "sh"
    and left["oldest"]["user"] == "root"
    and left["oldest"]["elapsed"] > 0
    and left["draining"],
    left,
)
ok(
    "not for everybody",
    "error" in (saw := c.ask(0, {"command": "guests", "node": "n1"}, uid=2001)),
    saw,
)
ok("--wait waits", (saw := wait.poll()) is None, saw)
end(task)
out, err = wait.communicate(timeout=WAIT)
ok(
    "until it is empty, and says nothing in a pipe",
    (wait.returncode, out, err) == (0, "", ""),
    (wait.returncode, out, err),
)
ok("undrain", ehctl(1, "undrain", "n1")[0] == 0 and drained(0, False) and drained(1, False))
said = ehctl(0, "status")
ok("nothing is said of it any more", "drain" not in said[1].lower(), said)

task = guest()
master, slave = pty.openpty()
wait = start(0, "drain", "n1", "--wait", stdin=slave, stdout=slave, stderr=slave)
os.close(slave)
shown, see = shown_at(master)
ok(
    "a terminal sees what is left",
    see(b"n1: 1 guest left (oldest 0:") and see(b"root: sh)"),
    bytes(shown),
)
end(task)
ok("and that it is empty", see(b"n1: empty after 0:") and see(b"ehctl undrain n1"), bytes(shown))
ok("done", (saw := wait.wait(WAIT)) == 0, saw)
os.close(master)
said = ehctl(1, "drain", "n1", "--wait", "--json", "--reason", "again")
document = json.loads(said[1])
ok(
    "--json",
    said[0] == 0
    and document["guests"] == 0
    and document["host"] == "n1"
    and document["drain"]["reason"] == "again"
    and document["seconds"] >= 0,
    said,
)
ok("a node of its own", (saw := ehctl(1, "undrain", "0.1")[0]) == 0, saw)

task = guest()
wait = start(0, "drain", "n1", "--wait")
ok("it drains", drained(1))
ehctl(1, "undrain", "n1")
out, err = wait.communicate(timeout=WAIT)
ok(
    "undrained meanwhile: an error",
    wait.returncode == 1 and "undrained" in err and not out,
    (wait.returncode, err),
)
wait = start(0, "drain", "n1", "--wait")
ok("it drains", drained(1))
c.end(1)
out, err = wait.communicate(timeout=WAIT)
ok(
    "its agent ends: an error",
    wait.returncode == 1 and err.startswith("ehctl drain: n1: "),
    (wait.returncode, err),
)
task.kill()
task.communicate()

# ---- with a limit, as packages are removed ----

c.start(1)
ok("it is back", drained(1, False) and c.all_up((0, 1)))
ok(
    "the task that was killed meanwhile has ended there, too",
    until(lambda: c.ask(1, {"command": "guests", "node": "n1"})["guests"] == 0),
    c.log(1),
)
task = guest()
said = ehctl(1, "drain", "n1", "--wait", "--limit", "0")
ok(
    "a limit of 0: what is left, at once",
    said == (1, "", "ehctl drain: n1: 1 guest left after 0 s\n"),
    said,
)
ok("it takes tasks again", ehctl(1, "undrain", "n1")[0] == 0 and drained(0, False))
said = ehctl(0, "drain", "n0", "--wait", "--limit", "0")
ok("a task that is away is no guest", said == (0, "", ""), said)
said = ehctl(0, "drain", "n0", "--wait", "--away", "--limit", "1")
ok(
    "--away waits for it, too",
    said == (1, "", "ehctl drain: n0: 0 guests and 1 task away left after 1 s\n"),
    said,
)
wait = start(0, "drain", "n0", "--wait", "--away", "--limit", "1000", "--reason", "service")
ok("as long as it runs", (saw := wait.poll()) is None, saw)
ok(
    "meanwhile none follows it",
    until(lambda: "node n0 keeps its tasks: it is draining: service (draining)" in sent()[2]),
    sent(),
)
end(task)
out, err = wait.communicate(timeout=WAIT)
ok("until it has ended", (wait.returncode, out, err) == (0, "", ""), (wait.returncode, out, err))
said = ehctl(0, "drain", "n0", "--wait", "--limit", "0")
ok(
    "drained without --away it sends tasks again",
    said[0] == 0 and (said := sent()) == (0, "", ""),
    said,
)
# the task of before is away until its stub has told the agent of its end
said = ehctl(0, "drain", "n0", "--wait", "--away", "--limit", str(WAIT))
ok("and none with it", said[0] == 0 and (said := sent())[0] == 1, said)
said = ehctl(0, "undrain", "n0")
ok("undrained it sends them, too", said[0] == 0 and (said := sent()) == (0, "", ""), said)
for words in (
    (),
    ("n0", "n1"),
    ("n0", "--reason"),
    ("n0", "--bad"),
    ("n0", "--away"),
    ("n0", "--limit", "5"),
    ("n0", "--wait", "--limit", "x"),
):
    said = ehctl(0, "drain", *words)
    ok(f"drain {' '.join(words)}: usage", said[0] == 2 and "usage: ehctl drain" in said[2], said)
done()
