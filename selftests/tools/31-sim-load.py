#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl sim: service times, plots and progress."""

import os, pty, shutil, sys
import xml.etree.ElementTree as ElementTree

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from simulator import EHCTL, TRACE, figures, refused, sim, trace, work

# ---- service times ----

LOAD = {
    "version",
    "policy",
    "topology",
    "arrivals",
    "runs",
    "seed",
    "rho",
    "service",
    "discipline",
    "cpus",
    "speeds",
    "transfer_cost",
    "stale",
    "hot",
    "hold",
    "response",
    "slowdown",
    "service_mean",
    "busy",
    "fairness",
    "transfers_per_task",
    "declined_per_task",
    "credits_per_task",
    "held_per_task",
    "overdue_per_task",
    "threshold_changes",
    "messages_per_task",
    "messages_by_level",
    "messages",
    "seconds",
    "arrivals_per_second",
    "bytes_per_node",
}
TIMES = ["p50", "p90", "p95", "p99", "p999", "max"]
means = {}
for policy in "local", "two", "eta", "eta1", "hint", "jiq", "idle", "shared":
    d = figures("--load", "0.8", "--policy", policy, "--arrivals", "100000")
    own = {"busiest_controller_per_task"} if policy == "idle" else set()
    ok(
        f"{policy}: all members are there",
        set(d) == LOAD | own
        and d["policy"] == policy
        and d["speeds"] == []
        and isinstance(d["messages"], list)
        and len(d["messages_by_level"]) == 2,
        d,
    )
    r = [d["response"][k] for k in TIMES]
    ok(
        f"{policy}: percentiles grow",
        r == sorted(r)
        and 0.95 < d["response"]["mean"] < 6
        and abs(d["service_mean"] - 1) < 0.02
        and 0.75 < d["busy"] < 0.85
        and 0 < d["fairness"] <= 1,
        d,
    )
    ok(
        f"{policy}: messages add up",
        abs(sum(m["per_task"] for m in d["messages"]) - d["messages_per_task"]) < 1e-9
        and (d["messages_per_task"] > 0) == (policy not in ("local", "shared")),
        d,
    )
    means[policy] = d["response"]["mean"]
ok(
    "free processors first is nearly as good as one queue",
    means["shared"] < means["idle"] < 1.05 < means["hint"] < means["eta"] < means["local"],
    means,
)
a, b = figures("--load", "0.9", "--policy", "idle", "--seed", "7"), figures(
    "--load", "0.9", "--policy", "idle", "--seed", "7"
)
for x in a, b:
    del x["seconds"], x["arrivals_per_second"]
ok("a seed repeats its run with service times", a == b and a["arrivals"] == 400000, f"{a}\n{b}")
ok(
    "at most three messages about credits for a task at any controller",
    0 < a["busiest_controller_per_task"] <= 3,
    a,
)
d = figures(
    "--load",
    "0.5",
    "--policy",
    "local",
    "--service",
    trace("# seconds\n1\n\n3 # long\n", "times"),
    "--speeds",
    "1,2.5",
    "--cpus",
    "2",
    "--discipline",
    "queue",
    "--runs",
    "2",
    "--arrivals",
    "50000",
)
ok(
    "a file of service times",
    d["service"] == "times"
    and d["speeds"] == [1, 2.5]
    and d["cpus"] == 2
    and d["discipline"] == "queue"
    and abs(d["service_mean"] - 1) < 0.02
    and d["response"]["sd"] > 0,
    d,
)
r = sim(
    "--load",
    "0.9",
    "--policy",
    "idle",
    "--arrivals",
    "20000",
    "--hot",
    "4",
    "--stale",
    "0.1",
    "--service",
    "pareto",
)
ok(
    "text of it",
    r.returncode == 0 and b"response / mean service time" in r.stdout and not r.stderr,
    r,
)
refused("a bad service time", 2, "bad:2: ", "--load", "0.5", "--service", trace("1\n0\n", "bad"))
refused("two in a line", 2, "bad:1: ", "--load", "0.5", "--service", trace("1 2\n", "bad"))
refused(
    "no service times",
    2,
    "there is no service time in it",
    "--load",
    "0.5",
    "--service",
    trace("#\n", "bad"),
)
refused("an absent file", 2, "No such file", "--load", "0.5", "--service", "absent")
refused(
    "more work than hot nodes can do alone",
    1,
    "more work",
    "--load",
    "0.5",
    "--policy",
    "local",
    "--hot",
    "4",
)
for bad in (
    ["--load", "1"],
    ["--load", "0"],
    ["--load", "x"],
    ["--load", "0.5", "--policy", "eta2"],
    ["--policy", "idle"],
    ["--cpus", "2"],
    ["--stale", "0.1"],
    ["--hold", "1"],
    ["--load", "0.5", "--hold", "1"],
    ["--speeds", "1"],
    ["--load", "0.5", "--speeds", "1,0"],
    ["--load", "0.5", "--speeds", ""],
    ["--load", "0.5", "--cpus", "65"],
    ["--load", "0.5", "--hot", "65"],
    ["--load", "0.5", "--release", "0.5"],
    ["--load", "0.5", "--messages"],
    ["--load", "0.5", "--topology", "3,7"],
    ["--load", "0.5", "--service", ""],
    ["--load", "0.5", "--threshold", "1"],
    ["--load", "0.5", "--plot", "x.svg"],
):
    refused(" ".join(bad), 2, "", *bad, "--json")

# ---- plots ----

if shutil.which("gnuplot"):
    r = sim("--runs", "5", "--plot", "a plot's.svg", "--json")
    shape = (
        ElementTree.parse("a plot's.svg").getroot().tag if os.path.exists("a plot's.svg") else ""
    )
    ok("figure 3", r.returncode == 0 and not r.stderr and shape.endswith("svg"), r)
    with open("a plot's.svg", encoding="utf-8") as f:
        text = f.read()
    ok("with all its curves", all(c in text for c in ("ETA<", "ETA1", "ETA2, t=1", "ETA2, t=4")))
    r = sim("--trace", trace(TRACE), "--plot", "t.svg", "--policy", "hint")
    ok("of a trace", r.returncode == 0 and "hint" in open("t.svg", encoding="utf-8").read(), r)
else:
    ok("figure 3", False, "gnuplot is missing; packaging/deps test installs it")
refused("a plot where there is no directory", 1, "No such file", "--plot", "absent/a.svg")
refused("without gnuplot", 1, "apt-get install gnuplot-nox", "--plot", "b.svg", env={"PATH": work})
ok("leaves no file", not os.path.exists("b.svg"))


def fake_gnuplot(says):
    os.makedirs("fake", exist_ok=True)
    with open("fake/gnuplot", "w") as f:
        f.write(f"#!/bin/sh\n{says}\n")
    os.chmod(f.name, 0o755)
    return {"PATH": f"{os.path.realpath('fake')}:/usr/bin:/bin"}


with open("kept.svg", "w") as f:
    f.write("mine")
os.mkfifo("fifo")
for name, does, says in (
    ("none", None, "gnuplot-nox"),
    ("one that fails", "exit 3", "status 3"),
    ("half a picture", "echo '<svg><desc>some</desc>'", "not drawn all"),
):
    env = fake_gnuplot(does) if does else {"PATH": work}
    for there in "kept.svg", "fifo":
        refused(f"{name}: {there}", 1, says, "--plot", there, env=env)
    ok(
        f"{name}: both are still there",
        open("kept.svg").read() == "mine" and os.path.exists("fifo"),
        os.listdir(),
    )
    refused(f"{name}: a file that was not there", 1, says, "--plot", "b.svg", env=env)
    ok(f"{name}: is not left", not os.path.exists("b.svg"))
whole = fake_gnuplot("echo '<svg><desc>some</desc></svg>'")
os.symlink("/dev/full", "full")
refused("a full disk", 1, "No space left", "--plot", "full", env=whole)
ok("leaves the name", os.path.islink("full"))
r = sim("--plot", "kept.svg", env=whole)
ok(
    "the picture takes the place of another",
    r.returncode == 0 and open("kept.svg").read() == "<svg><desc>some</desc></svg>\n",
    r,
)

# ---- progress ----


def on_terminal(*arguments):
    """What it writes to a terminal as standard error."""
    pid, fd = pty.fork()
    if not pid:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
        os.execv(EHCTL, ["ehctl", "sim", *arguments])
    text = b""
    try:
        while piece := os.read(fd, 4096):
            text += piece
    except OSError:
        pass
    os.waitpid(pid, 0)
    return text


text = on_terminal("--arrivals", "3000000")
ok(
    "progress on a terminal",
    b"running" in text and b"%" in text and text.endswith(b"\r\x1b[K"),
    text,
)
text = on_terminal("--load", "0.9", "--arrivals", "3000000")
ok(
    "also with service times",
    b"running" in text and b"%" in text and text.endswith(b"\r\x1b[K"),
    text,
)
r = sim("--arrivals", "1000000")
ok("none in a pipe", r.returncode == 0 and not r.stderr, r.stderr)

os.chdir("/")
shutil.rmtree(work)
done()
