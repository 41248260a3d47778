# SPDX-License-Identifier: GPL-2.0-or-later
"""Plans of ehctl plan dag, checked and replayed by rules of their own."""
import collections
import heapq
import itertools


def _neighbours(topology, nodes):
    """Whether two processors of a named topology are neighbours."""
    kind, _, size = topology.partition(":")
    if kind == "full":
        return lambda a, b: a != b
    if kind == "eh":

        def joined(a, b):
            if a.rpartition(".")[0] == b or b.rpartition(".")[0] == a:
                return True
            (x, _, i), (y, _, j) = a.rpartition("."), b.rpartition(".")
            return x == y and bin(int(i) ^ int(j)).count("1") == 1

        return joined
    number = {f"p{i}": i for i in range(nodes)}
    if kind == "ring":
        return lambda a, b: (number[a] - number[b]) % nodes in (1, nodes - 1)
    if kind == "hypercube":
        return lambda a, b: bin(number[a] ^ number[b]).count("1") == 1
    columns = int(size.split("x")[1])

    def beside(a, b):
        (r, c), (s, d) = divmod(number[a], columns), divmod(number[b], columns)
        return abs(r - s) + abs(c - d) == 1

    return beside


def check(graph, plan, machine=None, rate=1, startup=0, contention=False, neighbours=None):
    """What is wrong with a plan, or None."""
    if "error" in plan:
        return plan["error"]
    placed = {s["task"]: s for s in plan["schedule"]}
    load = {t["id"]: t["work"] for t in graph["tasks"]}
    eps = 1e-6 * max(plan["makespan"], 1)
    speed = (
        {p["id"]: (p.get("speed", 1), p.get("startup", 0)) for p in machine["processors"]}
        if machine
        else None
    )
    links = None
    if machine and "links" in machine:
        links = {
            k: (w.get("rate", rate), w.get("startup", startup))
            for w in machine["links"]
            for k in ((w["a"], w["b"]), (w["b"], w["a"]))
        }
    if set(placed) != set(load) or len(plan["schedule"]) != len(load):
        return "not all tasks, or some twice"
    used = collections.defaultdict(list)
    for i, s in placed.items():
        s_speed, s_startup = speed[s["processor"]] if speed else (1, 0)
        if abs(s["finish"] - s["start"] - load[i] / s_speed - s_startup) > eps or s["start"] < -eps:
            return f"run time of {i}"
        used[s["processor"]].append((s["start"], s["finish"], i))
    if abs(max(s["finish"] for s in placed.values()) - plan["makespan"]) > eps:
        return "makespan"
    messages = {(m["from"], m["to"]): m for m in plan["messages"]}
    if len(messages) != len(plan["messages"]):
        return "a message twice"
    joined = _neighbours(neighbours, plan["processors"]) if neighbours else None
    for e in graph["edges"]:
        a, b, m = placed[e["from"]], placed[e["to"]], messages.pop((e["from"], e["to"]), None)
        if a["processor"] == b["processor"]:
            if m or b["start"] < a["finish"] - eps:
                return f"{e} on one processor"
            continue
        if not m or m["route"][0] != a["processor"] or m["route"][-1] != b["processor"]:
            return f"no message for {e}"
        now = a["finish"]
        for h, (x, y) in enumerate(zip(m["route"], m["route"][1:])):
            r, i = links[x, y] if links else (rate, startup)
            hop = m["hops"][h]
            if joined and not joined(x, y):
                return f"no link {x} {y}"
            if (
                hop["start"] < now - eps
                or abs(hop["finish"] - hop["start"] - e["data"] / r - i) > eps
            ):
                return f"{m} on {x} {y}"
            now = hop["finish"]
            if contention:
                used[x, y].append((hop["start"], hop["finish"], e))
        if b["start"] < now - eps or abs(m["finish"] - now) > eps:
            return f"{e['to']} before its data"
    if messages:
        return f"messages for nothing: {messages}"
    for place, uses in used.items():
        uses.sort(key=lambda u: u[:2])
        for u, v in zip(uses, uses[1:]):
            if v[0] < u[1] - eps:
                return f"two at once on {place}: {u} {v}"
    return None


def replay(graph, plan, rate=1, startup=0):
    """The makespan when tasks keep their order on their processors and links serve first come,
    first served. Messages that come at the same time are served in the order of the plan."""
    load = {t["id"]: t["work"] for t in graph["tasks"]}
    data = {(e["from"], e["to"]): e.get("data", 0) for e in graph["edges"]}
    hops = {
        (m["from"], m["to"]): [
            (link, (h["start"], h["finish"]))
            for link, h in zip(itertools.pairwise(m["route"]), m["hops"])
        ]
        for m in plan["messages"]
    }
    placed = {s["task"]: s for s in plan["schedule"]}
    number = {t["id"]: i for i, t in enumerate(graph["tasks"])}
    waits, behind, sends = (
        collections.Counter(b for _, b in data),
        {},
        collections.defaultdict(list),
    )
    for a, b in data:
        sends[a].append(b)
    order = sorted(placed, key=lambda i: (placed[i]["start"], placed[i]["finish"], number[i]))
    last = {}
    for i in order:
        if (p := placed[i]["processor"]) in last:
            behind[last[p]] = i
            waits[i] += 1
        last[p] = i
    events, queues, busy, end, count = (
        [],
        collections.defaultdict(list),
        set(),
        0,
        itertools.count(),
    )

    def wake(i, now):
        waits[i] -= 1
        if waits[i] == 0:
            heapq.heappush(events, (now + load[i], next(count), i, None))

    def offer(edge, hop, now):
        if hop == len(hops[edge]):
            wake(edge[1], now)
        else:
            link, planned = hops[edge][hop]
            heapq.heappush(queues[link], (now, planned, edge, hop))

    def serve(now):
        """The one that the plan has first, of those at the heads of free links' queues."""
        heads = [
            (queues[link][0][1:], link) for link in queues if queues[link] and link not in busy
        ]
        if heads:
            (_, edge, hop), link = min(heads)
            heapq.heappop(queues[link])
            busy.add(link)
            heapq.heappush(events, (now + (data[edge] / rate + startup), next(count), edge, hop))
        return bool(heads)

    for i in load:
        waits[i] += 1
        wake(i, 0)
    while events:
        now, _, what, hop = heapq.heappop(events)
        if hop is None:
            end = max(end, now)
            for b in sends[what]:
                if (what, b) in hops:
                    offer((what, b), 0, now)
                else:
                    wake(b, now)
            if what in behind:
                wake(behind[what], now)
        else:
            busy.remove(hops[what][hop][0])
            offer(what, hop + 1, now)
        while (not events or events[0][0] > now) and serve(now):
            pass
    return end
