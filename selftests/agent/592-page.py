#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the page of `ehctl metrics` reads, and who may read it: tasks are for the user who started
it. The page itself is in ../page."""

import json, os, re, signal, subprocess, sys, urllib.parse

sys.path.append(os.path.join(sys.path[0], "../lib"))
from cluster import Cluster
from ktap import done, must, ok
from metrics import Metrics
from netns import address
from tree import BUILD
from wait import until
import users

EHCTL = os.path.join(BUILD, "bin", "ehctl")
ONE, TWO = users.ONE, users.TWO
c = Cluster(2, 'heartbeat = 1000\nload-index = "tasks"\nthreshold-floor = 20.0\nguests = 50\n')
ok("two agents", c.start_all(), c.log(0))
os.chmod(c.dir, 0o755)


def become(uid):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if uid else []


class Page(Metrics):
    """A process of this user."""

    def __init__(self, uid, listen="127.0.0.1:0"):
        super().__init__(c, 0, uid, listen)

    def get(self, path, key=None, method="GET", at=0, **headers):
        """Status and what came, as JSON if it is."""
        status, self.headers, text = super().get(
            path, method, at=at, X_Ehsched_Key=self.key if key is None else key, **headers
        )
        return status, (
            json.loads(text)
            if self.headers["Content-Type"] == "application/json" and text
            else text
        )


tasks = []


def start(uid, *words):
    """A task away that runs until its input ends."""
    p = c.popen(
        0,
        [*become(uid), EHCTL, "exec", "n1", "--", "sh", "-c", "echo; read x", *words],
        stdin=subprocess.PIPE,
        stderr=None,
        text=False,
    )
    p.stdout.readline()
    tasks.append(p)


one, two, root = Page(ONE), Page(TWO), Page(0)
ok(
    "each has a key of its own",
    len({one.key, two.key, root.key}) == 3
    and all(re.fullmatch("[0-9a-f]{32}", x.key) for x in (one, two, root)),
)
must("it tells events", until(lambda: one.get("/api/events")[1]["version"] == 1))
# Its watch has begun: it hears of something.


def heard(page):
    c.ask(0, {"command": "set", "length": 1100})
    c.ask(0, {"command": "set", "length": 1000})
    return page.get("/api/events")[1]["events"]


ok("events that are no tasks, for all", all(until(lambda: heard(p)) for p in (one, two, root)))
start(ONE, "wordofone")
start(TWO, "wordoftwo")
start(0, "wordofroot")

# ---- what it says

status, nodes = one.get("/api/status", key="")
ok(
    "the status, without a key",
    status == 200
    and nodes.keys() == json.loads(c.ehctl(0, "status", "--json").stdout).keys()
    and len(nodes["nodes"]) == 2,
    nodes,
)
status, said = one.get("/api/tasks")
ok(
    "tasks",
    status == 200
    and [(t["uid"], t["command"], t["home_host"], t["executor_host"]) for t in said["tasks"]]
    == [(ONE, "sh", "n0", "n1")],
    said,
)
ID = said["tasks"][0]["id"]
status, said = one.get(f"/api/why?id={urllib.parse.quote(ID)}")
ok(
    "why",
    status == 200 and said["id"] == ID and said["reason"] == "explicit" and said["steps"],
    said,
)
status, said = one.get("/api/history?limit=5")
ok(
    "history",
    status == 200
    and [t["id"] for t in said["tasks"]] == [ID]
    and "row" in said["tasks"][0]
    and not said["more"],
    said,
)
r = c.ehctl(0, "exec", "n1", "--", "sh", "-c", "exit 4", uid=ONE)
ok(
    "a task that fails",
    r.returncode == 4 and until(lambda: len(one.get("/api/history?failed=1")[1]["tasks"]) == 1),
    one.get("/api/history?failed=1"),
)
page = one.get("/api/history?limit=1")[1]
again = [
    t["id"] for t in one.get(f"/api/history?limit=2&before={page['tasks'][0]['at']}")[1]["tasks"]
]
ok(
    "in pages, and those of the same moment once more",
    len(page["tasks"]) == 1 and page["more"] and again == [page["tasks"][0]["id"], ID],
    (page, again),
)

# As `ehctl history` has them. Both tasks are over or run away; none is of a session.
r = c.ehctl(0, "run", "-n", "mine", "--", "true", uid=ONE)
ok(
    "one of a session",
    r.returncode == 0 and until(lambda: one.get("/api/history?session=mine")[1]["tasks"]),
    one.get("/api/history"),
)


def past(*words):
    """Programs, the newest first, of what the page and the command are told; words are pairs."""
    status, said = one.get("/api/history?" + urllib.parse.urlencode(words))
    options = [
        x
        for name, value in words
        for x in (["--failed"] if name == "failed" else [f"--{name}", value])
    ]
    same = json.loads(c.ehctl(0, "history", "--json", *options, uid=ONE).stdout)["tasks"]
    return (
        [t["command"] for t in said["tasks"]]
        if status == 200 and [t["id"] for t in said["tasks"]] == [t["id"] for t in reversed(same)]
        else (status, said, same)
    )


ok("all", past() == ["true", "sh", "sh"], past())
for words, wanted in (
    ((("program", "sh"),), ["sh", "sh"]),
    ((("program", "/usr/bin/true"),), ["true"]),
    ((("node", "n0"),), ["true"]),
    ((("node", "0.1"),), ["sh", "sh"]),
    ((("session", "mine"),), ["true"]),
    ((("session", "min"),), []),
    ((("since", "1h"),), ["true", "sh", "sh"]),
    ((("until", "1h"),), []),
    ((("since", "@99999999999"),), []),
    ((("reason", "explicit"),), ["sh", "sh"]),
    ((("user", str(ONE)),), ["true", "sh", "sh"]),
    ((("program", "sh"), ("node", "n1"), ("failed", "1")), ["sh"]),
):
    ok(f"with {words}", (saw := past(*words)) == wanted, saw)
ok(
    "empty ones are none",
    len(one.get("/api/history?program=&since=&user=&node=&session=")[1]["tasks"]) == 3,
)
TODAY = subprocess.run(
    ["date", "+%Y-%m-%d %H:%M:%S", "--date=-1 hour"], capture_output=True, text=True
).stdout.strip()
ok("a time of the day", (saw := past(("since", TODAY))) == ["true", "sh", "sh"], saw)
for words, why in (
    (("since", "soon"), "no such time"),
    (("until", "25:00"), "no such time"),
    (("user", "nobody-of-this-name"), "user: must be"),
    (("user", "-1"), "user: must be"),
    (("program", b"\xff"), "UTF-8"),
):
    status, said = one.get("/api/history?" + urllib.parse.urlencode([words]))
    ok(f"wrong: {words}", status == 400 and why in said["error"]["why"], said)
status, said = one.get(f"/api/history?user={TWO}")
ok("nor of other users", status == 503 and "history-group" in said["error"]["why"], said)
ok(
    "root's process knows the name it became",
    two.get("/api/history?user=nobody")[0] == 400
    and root.get("/api/history?user=nobody") == (200, {**root.get("/api/history")[1], "tasks": []}),
    root.get("/api/history?user=nobody"),
)


def kinds(page, key=None, after=0):
    return [
        (e["event"], e.get("uid"))
        for e in page.get(f"/api/events?after={after}", key)[1]["events"]
        if "uid" in e
    ]


ok(
    "events of tasks",
    until(lambda: kinds(one) == [("place", ONE), ("place", ONE), ("finish", ONE), ("place", ONE)]),
    kinds(one),
)
last = one.get("/api/events")[1]["last"]
numbers = [e["n"] for e in one.get("/api/events")[1]["events"]]
ok("numbered", numbers == sorted(set(numbers)) and numbers[-1] == last, numbers)
ok("none after the last", (saw := one.get(f"/api/events?after={last}")[1]["events"]) == [], saw)
ok(
    "all, after a number that was never given",
    len(one.get(f"/api/events?after={last + 1000}")[1]["events"]) == len(numbers),
)
for i in range(300):
    c.ask(0, {"command": "set", "length": 1001 + i})
    c.ask(0, {"command": "set", "length": 1000})
ok(
    "not without end",
    until(
        lambda: one.get("/api/events")[1]["last"] > last + 500
        and len(one.get("/api/events")[1]["events"]) == 500
    ),
    one.get("/api/events")[1]["last"],
)

# ---- to whom

for key in "", "0" * 32, one.key[:-1], one.key + "0", one.key.upper() + "x", two.key, "é" * 16:
    got = [
        one.get(path, key.encode() if key.startswith("é") else key)[0]
        for path in ("/api/tasks", "/api/history", f"/api/why?id={ID}")
    ]
    ok(
        f"no tasks for {'another key' if key else 'no key'}",
        got == [403] * 3 and kinds(one, key.encode()) == [],
        got,
    )
for name, p, own in ("another user", two, "wordoftwo"), ("root, who became nobody", root, ""):
    said = json.dumps(
        [
            p.get(path)
            for path in (
                "/api/status",
                "/api/tasks",
                "/api/history",
                "/api/events",
                "/metrics",
                "/",
            )
        ]
    )
    ok(
        f"nothing of others for {name}",
        all(word not in said for word in {"wordofone", "wordoftwo", "wordofroot"} - {own})
        and ID not in said,
        said[-3000:],
    )
    ok("nor why", p.get(f"/api/why?id={ID}")[0] == 503, p.get(f"/api/why?id={ID}"))
ok("root's process is nobody's", (saw := root.get("/api/tasks")[1]["tasks"]) == [], saw)
ok(
    "the other user's has its own",
    (saw := [t["uid"] for t in two.get("/api/tasks")[1]["tasks"]]) == [TWO],
    saw,
)
ok("and a key is for one process", (saw := two.get("/api/tasks", one.key)[0]) == 403, saw)
for path in ("/api/why", "/api/why?id=", "/api/why?id=" + "x" * 200, "/api/why?x=1"):
    ok(f"wrong: {path[:20]}", one.get(path)[0] == 400, one.get(path))
for path in (
    "/api/history?limit=x&before=-1",
    "/api/history?limit=999999999999999999999",
    "/api/events?after=x",
    "/api/events?after=%00",
    "/api/events?%",
    "/api/history?a=b=c&&&",
):
    ok(f"numbers that are none: {path}", one.get(path)[0] == 200, one.get(path))
ok(
    "commands that change something are none",
    {
        one.get("/api/" + x)[0]
        for x in ("drain", "set", "cancel", "run", "reload", "leave", "invite", "watch", "")
    }
    == {404},
)
ok(
    "an ID is only an ID",
    (saw := one.get("/api/why?id=" + urllib.parse.quote('x","command":"leave'))[0]) == 503,
    saw,
)

# ---- the page

status, text = one.get("/")
policy = one.headers["Content-Security-Policy"]
files = [
    f
    for two in re.findall(
        r'<script defer src="(.*?)"></script>|<link rel="stylesheet" href="(.*?)">', text
    )
    for f in two
    if f
]
rest = {f: (one.get(f"/{f}"), one.headers) for f in files}
whole = text + "".join(got[0][1] for got in rest.values())
ok(
    "the page",
    status == 200 and text.startswith("<!DOCTYPE html>") and text.rstrip().endswith("</html>"),
    text[-200:],
)
ok(
    "its style and scripts",
    "page.css" in files
    and len(files) > 3
    and all(
        got[0] == 200
        and h["Content-Type"].startswith("text/css;" if f.endswith(".css") else "text/javascript;")
        and h["X-Content-Type-Options"] == "nosniff"
        for f, (got, h) in rest.items()
    ),
    {f: got[0] for f, (got, _) in rest.items()},
)
ok(
    "and no others",
    all(
        x in policy
        for x in (
            "default-src 'none';",
            "script-src 'self';",
            "style-src 'self';",
            "frame-ancestors 'none'",
        )
    )
    and not re.search("unsafe|nonce|https?:|\\*", policy)
    and not re.search(r"<script(?! defer src=)|<style|\son\w+=", text),
    policy,
)
one.get("/api/status")
ok(
    "what is told is no script",
    one.headers["Content-Type"] == "application/json"
    and one.headers["X-Content-Type-Options"] == "nosniff",
    one.headers,
)
status, text = one.get("/")
ok("it has no key", one.key not in whole)
ok(
    "nothing from elsewhere",
    not re.search(
        r"""(src|href)=["']?(https?:)?//|@import|innerHTML|insertAdjacentHTML|document\.write|"""
        r"""eval\(|style=["']|setAttribute\(["']style""",
        whole,
    ),
)
ok(
    "headers",
    one.headers["X-Content-Type-Options"] == "nosniff"
    and one.headers["Cache-Control"] == "no-store"
    and one.headers["Referrer-Policy"] == "no-referrer",
    one.headers,
)
ok(
    "read only",
    {one.get(path, method=m)[0] for path in ("/", "/api/tasks") for m in ("POST", "PUT", "DELETE")}
    <= {400, 405, 501},
)

# Other hosts may ask for metrics, if that is wished, and for nothing else.
wide = Page(ONE, f"{address(0)}:0")
ok(
    "no page for other hosts",
    wide.said["page"] is None
    and {
        wide.get(path, one.key, at=1)[0]
        for path in ("/", "/page.css", "/base.js", "/api/status", "/api/tasks", "/api/events")
    }
    == {404},
)
ok(
    "but metrics, by any name",
    wide.get("/metrics", at=1)[0] == 200
    and wide.get("/metrics", at=1, Host="n0.example:9411")[0] == 200,
)

# ---- the agent ends and comes back

c.end(0, signal.SIGKILL)
ok(
    "no agent",
    until(lambda: [one.get(path)[0] for path in ("/api/status", "/api/tasks")] == [503, 503])
    and "cannot connect" in one.get("/api/tasks")[1]["error"]["why"],
    one.get("/api/tasks"),
)
ok("events are kept", (saw := len(one.get("/api/events")[1]["events"])) == 500, saw)
c.start(0)
last = one.get("/api/events")[1]["last"]
ok("it is back", until(lambda: one.get("/api/status")[0] == 200))
ok("and tells events again", until(lambda: heard(one) and one.get("/api/events")[1]["last"] > last))
for p in tasks:
    p.communicate(b"\n")
ok("all end", (saw := [p.end() for p in (one, two, root, wide)]) == [0] * 4, saw)
done()
