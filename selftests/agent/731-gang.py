#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl gang: hosts are occupied while a job runs and free afterwards, however it ends; nobody has
another gang's."""

import json, os, re, signal, sys, threading, time

sys.path.append(os.path.join(sys.path[0], "../lib"))
from frames import frame, read_frame
from gangs import LONG, Gangs
from ktap import done, ok
from wait import WAIT, until

NODES = range(7)
c = Gangs(7, topology="2,2")
os.chmod(c.top, 0o755)
spent = os.path.join(c.top, "spent")  # nanoseconds of processors, as cpuacct.usage has them
with open(spent, "w", encoding="utf-8") as f:
    f.write("0\n")
for i in NODES:
    c.start(
        i,
        (
            c.conf(i, settings=f'heartbeat = 1000\nusage = "{spent}"\ncapacity = 1.0')
            if i == 4
            else None
        ),
    )
ok("seven agents in two groups", c.all_up(NODES), c.log(0)[-2000:])

# ---- a job ----

mark = os.path.join(c.top, "mark")
status, out, err = c.gang(
    5, "--model", c.three, "--slowdown", "fair", "--json", "--", c.starter, f"hostname -I >>{mark}"
)
told = json.loads(out) if out else {}
ok(
    "a job on the hosts that the model chooses",
    status == 0 and told.get("count") == 3 and len(set(told["hosts"])) == 3,
    (status, out, err),
)
ran = (
    sorted(f"n{int(a.split('.')[3]) - 1}" for a in open(mark).read().split())
    if os.path.exists(mark)
    else []
)
ok("a part ran on each of them", ran == sorted(told.get("hosts", [])), (ran, told, err))
ok(
    "predicted and real seconds",
    told.get("predicted", 0) > 0 and told.get("real", 0) > 0 and told.get("status") == 0,
    told,
)
ok(
    "all hosts were asked, and said how busy they are",
    sorted(o["host"] for o in told["offered"]) == [f"n{i}" for i in NODES]
    and all(0 <= o["utilization"] <= 1 for o in told["offered"]),
    told,
)
used = [o["utilization"] for o in sorted(told["offered"], key=lambda o: o["utilization"])]
ok(
    "the least used are taken",
    sorted(o["utilization"] for o in told["offered"] if o["host"] in told["hosts"]) == used[:3],
    told,
)
c.free("they are free when it has ended")
status, out, err = c.gang(0, "--model", c.all, "--least", "7", "--", c.starter, "true")
ok(
    "as text",
    status == 0 and re.search(r"7 of 7 free hosts: [\d.]+ s; predicted: [\d.]+ s", err),
    (status, out, err),
)
status, out, err = c.gang(
    3,
    "--model",
    c.all,
    "--hosts",
    "n1,n6",
    "--least",
    "2",
    "--",
    "sh",
    "-c",
    (
        "echo {count} {ranks} {hosts}; cat {hostfile} {rankfile} $HYDRA_HOST_FILE $SLURM_HOSTFILE;"
        " exit 7"
    ),
)
order = re.match(r"2 2 (n\d),(n\d)\n", out)
a, b = order.groups() if order else ("", "")
ok(
    "hostfiles for Open MPI, MPICH and Slurm, and a rankfile; the command's exit status",
    status == 7
    and {a, b} == {"n1", "n6"}
    and out.split("\n", 1)[1] == f"{a} slots=1\n{b} slots=1\nrank 0={a} slot=S*\nrank"
    f" 1={b} slot=S*\n{a}:1\n{b}:1\n{a}\n{b}\n",
    (status, out, err),
)
status, out, err = c.gang(
    3,
    "--model",
    c.all,
    "--least",
    "2",
    "--most",
    "2",
    "--slots",
    "3",
    "--",
    "sh",
    "-c",
    "cat $HYDRA_HOST_FILE; wc -l <$SLURM_HOSTFILE",
)
ok(
    "--most, and several parts on each",
    status == 0 and re.fullmatch(r"n\d:3\nn\d:3\n6\n", out),
    (status, out, err),
)
status, out, err = c.gang(3, "--model", c.all, "--", "/nonexistent")
ok("a command that is not there", status == 127 and "/nonexistent" in err, (status, err))
c.free()

# ---- what a gang uses is not held against its hosts ----

for script in f"echo 60000000000 >{spent}; sleep 2", "true":
    status, out, err = c.gang(
        0, "--model", c.all, "--hosts", "n4", "--json", "--", "sh", "-c", script
    )
offered = json.loads(out)["offered"] if out else []
ok(
    "a host that was busy with a gang is as idle as before",
    [(o["host"], o["utilization"]) for o in offered] == [("n4", 0)],
    (offered, err),
)
c.free()

# ---- what is refused ----

status, out, err = c.gang(1, "--model", c.all, "--min-speedup", "100", "--", "true")
ok(
    "a speed-up that idle hosts do not have",
    status == 1 and "not 100 times as fast" in err,
    (status, err),
)
bad = c.model("bad", [])
for words, what in (
    (["--model", c.all], "a command"),
    (["--", "true"], "--model"),
    (["--model", bad, "--", "true"], "empty"),
    (["--model", "/none", "--", "true"], "/none"),
    (["--model", c.all, "--most", "0", "--", "true"], "--most"),
):
    status, out, err = c.gang(1, *words)
    ok(
        f"wrong usage: {' '.join(words[:1] + words[2:])}",
        status == 2 and out == "" and what in err,
        (status, out, err),
    )
status, out, err = c.gang(
    1, "--model", c.three, "--slowdown", "fair", "--least", "9", "--wait", "0", "--", "true"
)
ok(
    "more hosts than there are",
    status == 1 and "7 hosts are free, and 9 are needed" in err,
    (status, err),
)
status, out, err = c.gang(1, "--model", c.all, "--hosts", "n1,nix", "--", "true")
ok(
    "a host that nobody knows",
    status == 2 and "no host of the cluster is named nix" in err,
    (status, err),
)
c.free()

# ---- a user that only asks ----

NOBODY = 65534


def asks(i, uid=NOBODY, **more):
    """A connection that has asked for hosts."""
    s = c.connect(i, uid)
    s.sendall(frame("FRAME_REQUEST", json.dumps({"command": "gang", **more}).encode()))
    return s


c.agents[6].send_signal(signal.SIGSTOP)  # its answer is waited for
many = [asks(1, threshold=0) for _ in range(4)]
other = asks(1, 0, threshold=0)
told = [read_frame(s)[1] for s in [*many, other]]
c.agents[6].send_signal(signal.SIGCONT)
ok(
    "many requests of one user do not refuse another's",
    "hosts" in told[4] and "hosts" in told[0],
    told,
)
ok(
    "but its own, as something that passes",
    [(t.get("error") or {}).get("what") for t in told] == [None] * 2 + ["gang"] * 2 + [None]
    and not told[3]["error"]["usage"],
    told,
)
for s in [*many, other]:
    s.close()
ok(
    "all nodes answer again",
    until(lambda: len(c.ask(2, {"command": "gang"}).get("hosts", [])) == len(NODES)),
)
c.free()
idle = asks(1)
told = read_frame(idle)[1]
ok("one that does not take hosts is offered all", len(told.get("hosts", [])) == len(NODES), told)
c.free("but they do not wait for it for long")
told = c.ask(1, {"command": "gang"}, NOBODY)
ok(
    "it gets no others for a while",
    (told.get("error") or {}).get("what") == "gang" and not told["error"]["usage"],
    told,
)
status, out, err = c.gang(1, "--model", c.all, "--least", "7", "--wait", "0", "--", "true")
ok("another user of that node does", status == 0, err)
idle.close()
c.free()

# ---- learned from earlier runs ----

os.environ["XDG_STATE_HOME"] = os.path.join(c.top, "state")
# as long as on a machine where each host adds more than it saves beyond four
learn = [
    "--learn",
    "--slowdown",
    "fair",
    "--least",
    "1",
    "--json",
    "--",
    "sh",
    "-c",
    "sleep $(( 4 / {count} + {count} / 4 ))",
]
told = [json.loads(c.gang(1, *learn)[1] or "{}") for _ in range(3)]
ok(
    "--learn: first on all, then on half of them, with nothing predicted",
    [t.get("count") for t in told[:2]] == [7, 4]
    and [t.get("predicted") for t in told[:2]] == [None, None],
    told,
)
ok(
    "and then by what is known",
    (told[2].get("predicted") or 0) > 0 and 1 <= told[2]["count"] <= 7,
    told[2],
)
ok(
    "no seconds of hosts are said before",
    all(p["seconds"] is None for t in told[:2] for p in t["prefixes"])
    and all(p["seconds"] > 0 for p in told[2]["prefixes"]),
    told,
)
fewer = ["--learn", "--json", "--", "sh", "-c", "[ {count} -lt 7 ] || exec sleep 2"]
counts = [json.loads(c.gang(1, *fewer)[1] or "{}").get("count") for _ in range(3)]
ok("fewer are faster, but not far fewer than were tried", counts == [7, 4, 2], counts)
told = [
    json.loads(
        c.gang(1, "--learn", "--least", "3", "--most", "3", "--json", "--", "sleep", "0.3")[1]
        or "{}"
    )
    for _ in range(2)
]
ok(
    "the only number that is allowed is known after one run",
    [t.get("count") for t in told] == [3, 3]
    and told[0]["predicted"] is None
    and told[1]["predicted"] > 0.1,
    told,
)
status, out, err = c.gang(1, "--learn", "--model", c.all, "--", "true")
ok("a model and --learn at once", status == 2 and "--learn" in err, (status, err))
c.free()

# ---- two gangs at once ----

# One that asks while the other's hosts are still offered may be offered two, and would take them:
# so "--least"
three = [
    "--model",
    c.three,
    "--slowdown",
    "fair",
    "--least",
    "3",
    "--most",
    "3",
    "--wait",
    str(WAIT),
    "--json",
]
first = c.begin(0, *three, "--", c.starter, c.held("first"))
second = c.begin(6, *three, "--", c.starter, c.held("second"))
both = until(
    lambda: c.lines("first") == 3
    and c.lines("second") == 3
    or first.poll() is not None
    or second.poll() is not None,
    LONG,
)
wanted = sorted([(c.code(0), False)] * 3 + [(c.code(6), False)] * 3)
if not ok(
    "two gangs at the same time",
    both
    and first.poll() is None
    and second.poll() is None
    and until(lambda: sorted(c.leases().values()) == wanted),
    (
        c.lines("first"),
        c.lines("second"),
        c.parts(),
        c.leases(),
        [p.communicate() for p in (first, second) if p.poll() is not None],
    ),
):
    done()  # what follows needs them
status, out, err = c.gang(
    2, "--model", c.three, "--slowdown", "fair", "--least", "2", "--wait", "0", "--", "true"
)
ok(
    "a third finds one host, which is too few",
    status == 1 and "1 hosts are free" in err,
    (status, err),
)
waiter = c.begin(2, "--model", c.all, "--least", "7", "--wait", str(LONG), "--", "true")
ok(
    "one that waits asks again",
    until(lambda: any(offered for _, offered in c.leases().values())),
    c.leases(),
)
waiter.send_signal(signal.SIGTERM)
err = waiter.communicate(timeout=LONG)[1]
ok(
    "a signal ends one that waits, as it ends any program",
    waiter.returncode == 128 + signal.SIGTERM and "interrupted" in err,
    (waiter.returncode, err),
)
third = c.begin(
    2, "--model", c.three, "--slowdown", "fair", "--least", "2", "--wait", str(LONG), "--", "true"
)
shown = json.loads(c.ehctl(1, "status", "--json").stdout)
ok(
    "status --json shows who occupies a node",
    until(
        lambda: sum(
            bool(n.get("gangs")) for n in json.loads(c.ehctl(1, "status", "--json").stdout)["nodes"]
        )
        >= 6
    ),
    shown,
)
open(c.go, "w").close()
outs = [p.communicate(timeout=LONG) for p in (first, second)]
hosts = [set(json.loads(out)["hosts"]) if out else set() for out, err in outs]
ok(
    "no host was in both",
    first.returncode == second.returncode == 0
    and len(hosts[0]) == len(hosts[1]) == 3
    and not hosts[0] & hosts[1],
    outs,
)
out, err = third.communicate(timeout=LONG)
ok("who waits gets hosts when they are free", third.returncode == 0, err)
c.free()

# ---- more requests at once than an agent has room for ----

agent = c.agents[6]
agent.send_signal(signal.SIGSTOP)  # those that it is asked by wait for it
many = [
    c.begin(0, "--model", c.all, "--most", "1", "--wait", str(LONG), "--", "true") for _ in range(6)
]
early = until(lambda: any(p.poll() is not None for p in many), 1)
agent.send_signal(signal.SIGCONT)
outs = [(p.communicate(timeout=LONG)[1], p.returncode) for p in many]
ok(
    "those that are too many wait for their turn",
    not early and all(code == 0 for _, code in outs),
    (early, outs),
)
c.free()

# ---- ends that nobody planned ----

os.unlink(c.go)


p = c.begun("killed", 3)
p.kill()
p.communicate()
c.free("ehctl is killed: no lease is left")
ok("and nothing of the job", until(lambda: not c.parts()), c.parts())
for name, sig in (
    ("interrupted", signal.SIGINT),
    ("ended", signal.SIGTERM),
    ("disconnected", signal.SIGHUP),
):
    p = c.begun(name, 3)
    p.send_signal(sig)
    out, err = p.communicate(timeout=LONG)
    ok(
        f"{name}: ehctl says so",
        p.returncode == 128 + sig and "interrupted" in err,
        (p.returncode, err),
    )
    ok(f"{name}: nothing of the job is left", until(lambda: not c.parts()), c.parts())
    c.free(f"{name}: no lease is left")
script = ["--model", c.all, "--least", "3", "--wait", str(WAIT), "--", "sh", "-c"]
p = c.begin(3, *script, f"sh -c '{c.held('script')}'; :")
ok(
    "a script that starts another",
    until(lambda: c.lines("script") == 1 or p.poll() is not None, LONG) and p.poll() is None,
)
p.send_signal(signal.SIGTERM)
out, err = p.communicate(timeout=LONG)
ok(
    "both have ended before ehctl",
    p.returncode == 128 + signal.SIGTERM and not c.parts(),
    (p.returncode, err, c.parts()),
)
status, out, err = c.gang(
    3,
    *script,
    (
        f"setsid sh -c '{c.held('behind')}' >&- 2>&- & while [ ! -e {c.top}/behind ]; do sleep 0.1;"
        " done; exit 5"
    ),
)
ok("and what a command leaves behind", status == 5 and not c.parts(), (status, err, c.parts()))
c.free("and its hosts are free")

# ---- one gang after the other does not hide what else a host does ----

began, stop = time.monotonic(), threading.Event()


def work():
    """Takes one processor from now on."""
    while not stop.wait(0.05):
        with open(spent, "r+", encoding="utf-8") as f:  # never empty
            f.write(f"{60000000000 + int((time.monotonic() - began) * 1e9)}\n")


SAW = []


def seen():
    out = c.gang(1, "--model", c.all, "--hosts", "n4", "--json", "--", "true")[1]
    SAW.append(json.loads(out)["offered"][0]["utilization"] if out else None)
    return (SAW[-1] or 0) > 0.5


worker = threading.Thread(target=work)
worker.start()
ok("gangs one after the other do not hide other work", until(seen), SAW)
stop.set()
worker.join()
ok("and no file of any of them", not os.listdir(c.tmp), os.listdir(c.tmp))

ok("no report of a sanitizer", not c.reports(), c.reports())
done()
