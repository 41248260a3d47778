# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds processes, cgroups, mounts of views and notes of stopped tasks that the agents of a Cluster
leave behind. While agents run, these are the ones of no task that an agent lists; when tasks and
then agents have ended, all that are there."""

import json, os, re, signal
from proc import running, send, stat, words
from wait import until

KEEPERS = {"ehkeep", "ehview", "ehfiles"}  # of a view: for job-limit they wait for the next agent
HOMES = {"ehstub", "ehctl", "ehrsh"}  # of tasks, at home
OURS = {"ehagent", "ehlaunch", "ehkeep-look", "ehlook", "ehguest", "ehwitness"} | KEEPERS | HOMES
PARTS = "guest", "managed", "all"


def read(path):
    """Empty if it has gone."""
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def number(path):
    """Of a namespace; None: it has gone."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


# ---- what there is ----


def named(cgroup):
    """Processes that have this path as a word of their command line: launchers, and what they have
    forked."""
    return [pid for pid, _ in running() if cgroup in read(f"/proc/{pid}/cmdline").split("\0")]


def processes(c):
    """{pid: name} of what is on the nodes: our programs, by network namespace or a word of their
    command line, and all in their cgroups; but not agents and launchers that are to run."""
    spaces = {number(f"/run/netns/{c.net.name(i)}") for i in range(c.n)}
    cgroups = {c.cgroup(i) for i in range(c.n)}
    tops = {os.path.basename(path) for path in cgroups}
    known = {
        os.getpid(),
        *(p.pid for p in (*c.agents.values(), *c.launchers.values()) if p.poll() is None),
    }
    found = {}
    for pid, its in running():
        inside = tops & {
            line.split(":", 2)[-1].split("/")[1]
            for line in read(f"/proc/{pid}/cgroup").splitlines()
        }
        if pid not in known and (
            inside
            or cgroups & set(read(f"/proc/{pid}/cmdline").split("\0"))
            or its[0] in OURS
            and number(f"/proc/{pid}/ns/net") in spaces
        ):
            found[pid] = its[0]
    return found


def is_in_view(pid):
    return " ehsched " in read(f"/proc/{pid}/mountinfo")


def shown(pid):
    its = stat(pid) or ["gone"] * 3
    cgroup = read(f"/proc/{pid}/cgroup").split("0::")[-1].strip()
    return (
        f"process {pid} ({its[0]}, {its[1]}{', in a view' if is_in_view(pid) else ''}), child of"
        f" {its[2]} ({words(its[2])[:60]}), in {cgroup}: {words(pid)[:200]}"
    )


def folders(c, i):
    """Paths of the directories of node i's guests and sessions."""
    paths = [os.path.join(c.cgroup(i), part) for part in PARTS]
    entries = [
        os.path.join(path, name)
        for path in paths
        if os.path.isdir(path)
        for name in os.listdir(path)
    ]
    return [path for path in entries if os.path.isdir(path)]


def all_folders(c):
    """Lines that describe them and what is in them."""
    found = []
    for path in (path for i in range(c.n) for path in folders(c, i)):
        events, inside = (
            " ".join(read(f"{path}/cgroup.{name}").split()) for name in ("events", "procs")
        )
        found.append(f"cgroup {path} ({events}; processes {inside or 'none'})")
    return found


def notes(c):
    """Files of the agents that have a task as stopped."""
    paths = [
        os.path.join(folder, "stopped.json")
        for folder, _, names in os.walk(c.dir)
        if "stopped.json" in names
    ]
    return [
        f"{path}: {read(path)}" for path in paths if json.loads(read(path) or "{}").get("stopped")
    ]


# ---- while agents run ----


def tasks(c):
    """{node: what its agent lists} of those that answer."""
    found = {}
    for i, agent in c.agents.items():
        if agent.poll() is None:
            try:
                found[i] = c.tasks(i)
            except (OSError, EOFError, ValueError, KeyError):
                pass
    return found


def strangers(c):
    """Stubs and guests that no agent lists, at nodes whose agent answers."""
    listed = tasks(c)
    known = {i: {task["id"] for task in rows} for i, rows in listed.items()}
    pids = {task["pid"] for rows in listed.values() for task in rows}
    spaces = {number(f"/run/netns/{c.net.name(i)}") for i in listed}
    found = [
        f"cgroup {path}"
        for i in listed
        for path in folders(c, i)
        if path.startswith(f"{c.cgroup(i)}/guest/") and os.path.basename(path) not in known[i]
    ]
    found += [
        shown(pid)
        for pid, name in processes(c).items()
        if name == "ehstub" and pid not in pids and number(f"/proc/{pid}/ns/net") in spaces
    ]
    return [f"of no task that an agent lists: {line}" for line in found]


def end_homes(c):
    """Ends what the test has left running, stubs and sessions, so that agents end the rest; and
    guests whose home or executor has no agent that could."""
    listed = tasks(c)
    codes = {c.code(i) for i in listed}
    lost = {task["id"] for rows in listed.values() for task in rows if task["home"] not in codes}
    for i in range(c.n):
        for path in folders(c, i):
            if (
                not path.startswith(f"{c.cgroup(i)}/guest/")
                or i not in listed
                or os.path.basename(path) in lost
            ):
                try:
                    with open(os.path.join(path, "cgroup.kill"), "w") as f:
                        f.write("1")
                except OSError:
                    pass
    for pid, name in processes(c).items():
        if name in HOMES:
            send(pid, signal.SIGKILL)


def ends(c):
    """Lines for the cgroups and processes that tasks have."""
    return all_folders(c) + [
        shown(pid) for pid, name in processes(c).items() if name in HOMES | {"ehguest"}
    ]


def hurry(c):
    """Tells agents to keep views for a second only, so that the keepers end."""
    if not KEEPERS & set(processes(c).values()):
        return
    for i in tasks(c):
        path = c.confs.get(i, os.path.join(c.dir, f"n{i}.conf"))
        text = re.sub(r"(?m)^job-limit *=.*", "", read(path))
        with open(path, "w") as f:
            f.write(text + "\njob-limit = 1000\n")
        c.ask(i, {"command": "reload"})


def anything(c):
    """When the agents have ended."""
    return all_folders(c) + [shown(pid) for pid in processes(c)] + notes(c)


def job_limit(c):
    """The longest of the agents', in seconds."""
    texts = (
        read(path)
        for path in (*c.confs.values(), *(os.path.join(c.dir, f"n{i}.conf") for i in range(c.n)))
    )
    given = [re.findall(r"(?m)^job-limit *= *(\d+)", text) for text in texts if text]
    return max((int(values[-1]) / 1000 if values else 60 for values in given), default=0)


def settled(what, c, more=0):
    """Waits until it finds nothing; returns what it has found last. `more`: seconds beyond
    c.bound."""
    found = []

    def look():
        found[:] = what(c)
        return not found

    until(look, c.bound + more)
    return found


def end(c):
    """Ends tasks, then agents. Returns what was left, a line each."""
    for agent in c.agents.values():
        if agent.poll() is None:
            agent.send_signal(signal.SIGCONT)
    found = settled(strangers, c, job_limit(c))  # so long a guest waits for a home that has ended
    end_homes(c)
    found += [f"all its home has is killed: {line}" for line in settled(ends, c)]
    hurry(c)
    for i in list(c.agents):
        c.end(i)
    found += [f"agent {i} did not end" for i in c.late]
    return found + [
        line for line in settled(anything, c) if not any(line in earlier for earlier in found)
    ]
