# SPDX-License-Identifier: GPL-2.0-or-later
"""Plans of ehctl plan dag, run by SimGrid: judge.c."""
import collections
import subprocess

# SimGrid counts whole bytes.
SCALE = 10**6
# Start-up and rate of a link as they are, without the factors of TCP.
MODEL = (
    "--cfg=network/model:CM02",
    "--cfg=network/TCP-gamma:0",
    "--cfg=network/crosstraffic:no",
    "--log=root.thres:error",
)


def write_platform(name, plan):
    """One link for each direction that a message takes: rate 1, no start-up, processors of speed
    1."""
    links = sorted({link for m in plan["messages"] for link in zip(m["route"], m["route"][1:])})
    hosts = sorted({s["processor"] for s in plan["schedule"]} | {h for link in links for h in link})
    with open(name, "w", encoding="ascii") as f:
        f.write(
            '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
            '<platform version="4.1"><zone id="all" routing="Full">\n'
        )
        for h in hosts:
            f.write(f'<host id="{h}" speed="1f"/>\n')
        for a, b in links:
            f.write(f'<link id="{a}-{b}" bandwidth="{SCALE}Bps" latency="0s"/>\n')
        for a, b in links:
            f.write(
                f'<route src="{a}" dst="{b}" symmetrical="NO"><link_ctn id="{a}-{b}"/></route>\n'
            )
        f.write("</zone></platform>\n")


def write_plan(name, graph, plan):
    """What judge.c reads."""
    number = {t["id"]: i for i, t in enumerate(graph["tasks"])}
    load = {t["id"]: t["work"] for t in graph["tasks"]}
    data = {(e["from"], e["to"]): e["data"] for e in graph["edges"]}
    waits = collections.Counter(to for _, to in data)
    order = sorted(
        plan["schedule"], key=lambda s: (s["processor"], s["start"], s["finish"], number[s["task"]])
    )
    at = {s["task"]: i for i, s in enumerate(order)}
    routes = {e: [order[at[e[0]]]["processor"]] for e in data}
    first = {e: (0, 0) for e in data}
    for m in plan["messages"]:
        routes[m["from"], m["to"]] = m["route"]
        first[m["from"], m["to"]] = m["hops"][0]["start"], m["hops"][0]["finish"]
    with open(name, "w", encoding="ascii") as f:
        print(len(order), len(data), file=f)
        for s in order:
            print(s["processor"], load[s["task"]], waits[s["task"]], file=f)
        for e in sorted(data, key=first.get):
            print(
                at[e[0]], at[e[1]], round(data[e] * SCALE), len(routes[e]) - 1, *routes[e], file=f
            )


def judge(program, graph, plan, how):
    """SimGrid's makespan; `how` is queues or shared."""
    write_platform("platform.xml", plan)
    write_plan("plan.txt", graph, plan)
    r = subprocess.run(
        [program, "platform.xml", "plan.txt", how, *MODEL],
        stdout=subprocess.PIPE,
        check=True,
        timeout=100,
    )
    return float(r.stdout)
