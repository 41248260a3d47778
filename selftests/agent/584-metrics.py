#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""`ehctl metrics`: what Prometheus is told, by whom, and who else may ask. promtool and Prometheus
themselves are from Debian."""

import http.client, json, os, re, shutil, signal, socket, subprocess, sys, urllib.parse

sys.path.append(os.path.join(sys.path[0], "../lib"))
import agent_socket
from cluster import Cluster
from commands import EHCTL
from frames import closed
from ktap import done, must, ok, skip_all
from metrics import Metrics
from netns import address
from tree import TOP
from wait import WAIT, until

if not shutil.which("prometheus") or not shutil.which("promtool"):
    skip_all("prometheus is missing (packaging/deps test)")
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
# Its own loads are not to make anybody a sender.
c = Cluster(3, 'heartbeat = 1000\nload-index = "tasks"\nthreshold-floor = 20.0\n')
ehctl = c.ehctl
ok("three agents", c.start_all(), c.log(0))


def samples(text):
    """{(name, {labels}): value}"""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = re.match(r"(\w+)(?:\{(.*)\})? (\S+)$", line).groups()
            key = name, frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
            assert key not in found, line
            found[key] = float(value)
    return found


def value(text, name, **labels):
    """Of the only sample that has these labels; None: there is none."""
    has = [
        x
        for (n, of), x in samples(text).items()
        if n == name and labels.items() <= dict(of).items()
    ]
    assert len(has) < 2, (name, labels, has)
    return has[0] if has else None


def up():
    """What it says of the agent; None: there was no room for us."""
    try:
        return value(m.get("/metrics")[2], "ehsched_up")
    except (OSError, http.client.HTTPException):
        return None


def checked(text):
    """What promtool finds."""
    r = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=WAIT
    )
    return r.stdout + r.stderr + (f" status {r.returncode}" if r.returncode else "")


# ---- what it tells

m = Metrics(c, 0)
said, PORT = m.said, m.port
ok(
    "it says where",
    said.pop("page").startswith(f"http://127.0.0.1:{PORT}/#")
    and said
    == {"version": 1, "listen": f"127.0.0.1:{PORT}", "metrics": f"http://127.0.0.1:{PORT}/metrics"},
    said,
)
r = ehctl(0, "exec", "n1", "--", "true", "topsecretword")
ok("a task away", r.returncode == 0, r)
placed = lambda: value(m.get("/metrics")[2], "ehsched_placed_tasks_total", executor="0.1")
must("it is counted", until(lambda: placed() == 1), placed())
status, headers, text = m.get("/metrics")
ok(
    "text of Prometheus",
    status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8",
    (status, headers),
)
ok("promtool has nothing to say", checked(text) == "", checked(text))
ok("promtool would say it", (saw := checked(text + "ehsched_x{ 1\n")) != "", saw)
now = json.loads(ehctl(0, "status", "--json").stdout)
for node in now["nodes"]:
    labels = {"node": node["code"], "host": node["host"]}
    ok(
        f"{node['host']}: threshold, length, capacity",
        all(
            value(text, f"ehsched_node_{name}_tasks", **labels) == node[name]
            for name in ("threshold", "threshold_length", "capacity")
        ),
        (node, text),
    )
    ok(
        f"{node['host']}: it is up, does not drain, has no module",
        [value(text, f"ehsched_node_{name}", **labels) for name in ("up", "draining", "module")]
        == [1, 0, 0],
        text,
    )
    ok(
        f"{node['host']}: one state",
        sorted(
            value(text, "ehsched_node_state", state=s, **labels)
            for s in ("receiver", "ok", "sender", "unknown")
        )
        == [0, 0, 0, 1],
        text,
    )
    ok(
        f"{node['host']}: tasks",
        {
            k: value(text, "ehsched_node_tasks", kind=k, **labels)
            for k in ("local", "guest", "away")
        }.keys()
        == node["tasks"].keys()
        and value(text, "ehsched_node_load_tasks", **labels) is not None,
        text,
    )
ok(
    "the group",
    value(text, "ehsched_group_nodes", group="0", level="1", node="0.0", host="n0") == 3,
    text,
)
ok(
    "where tasks ran",
    value(
        text,
        "ehsched_placed_tasks_total",
        node="0.0",
        host="n0",
        executor="0.1",
        executor_host="n1",
    )
    == 1,
    text,
)
ok("and why", value(text, "ehsched_decided_execs_total", reason="explicit") == 1, text)
ok("messages", value(text, "ehsched_received_messages_total", type="report") > 0, text)
ok(
    "the agent",
    value(text, "ehsched_up") == 1
    and value(text, "ehsched_agent_info", topology="2,1", top="0.0") == 1,
    text,
)
ok("no command and no user", "topsecretword" not in text and "root" not in text, text)
status, headers, om = m.get("/metrics", Accept=OPENMETRICS)
ok(
    "OpenMetrics for who asks so",
    headers["Content-Type"] == OPENMETRICS + "; charset=utf-8" and om.endswith("\n# EOF\n"),
    (headers, om),
)
ok(
    "with types and units",
    "# TYPE ehsched_placed_tasks counter\n# UNIT ehsched_placed_tasks tasks\n" in om
    and "# TYPE ehsched_agent info\n" in om,
    om,
)


def once():
    """Both ways to the same metrics, one after the other: a node may have been silent for a moment
    in one of them."""
    r = ehctl(0, "metrics", "--once")
    page = samples(m.get("/metrics")[2]).keys()
    return (
        r.returncode == 0
        and samples(r.stdout).keys() == page
        and checked(r.stdout) == ""
        or (r, samples(r.stdout).keys() ^ page)
    )


ok("--once", until(lambda: once() is True), once())
r = c.call(0, ["sh", "-c", f"exec {EHCTL} metrics --once >&-"])
ok(
    "a closed output is said to be closed",
    r.returncode == 1 and "Bad file descriptor" in r.stderr,
    r,
)
r = ehctl(1, "metrics", "--once", "--own")
ok(
    "--own",
    {dict(of).get("node") for (name, of) in samples(r.stdout)} == {"0.1", None}
    and "group" not in r.stdout.replace("controlled_groups", "").replace("Groups that", ""),
    r,
)
ehctl(0, "drain", "n2")
ok(
    "a node drains",
    until(lambda: value(m.get("/metrics")[2], "ehsched_node_draining", host="n2") == 1),
    m.get("/metrics"),
)
ehctl(0, "undrain", "n2")

# ---- Prometheus and the board

board = json.load(open(os.path.join(TOP, "packaging/grafana/ehsched.json")))
conf = os.path.join(c.dir, "prometheus.yml")
with open(conf, "w") as out:
    # an agent asks for the nodes for up to 2 s; Prometheus waits no longer than the interval
    out.write(
        "global: {scrape_interval: 5s, scrape_timeout: 5s}\nscrape_configs: [{job_name:"
        f" ehsched, static_configs: [{{targets: ['127.0.0.1:{PORT}']}}]}}]\n"
    )
r = subprocess.run(
    ["promtool", "check", "config", conf], capture_output=True, text=True, timeout=WAIT
)
ok("its configuration", r.returncode == 0, r)
log = open(os.path.join(c.dir, "prometheus.log"), "w")
prometheus = subprocess.Popen(
    [
        "nsenter",
        f"--net=/run/netns/{c.net.name(0)}",
        "prometheus",
        f"--config.file={conf}",
        f"--storage.tsdb.path={c.dir}/tsdb",
        "--web.listen-address=127.0.0.1:9090",
        "--log.level=debug",
    ],
    stdin=subprocess.DEVNULL,
    stdout=log,
    stderr=log,
)


def api(path, **query):
    try:
        return json.loads(m.get(f"/api/v1/{path}?{urllib.parse.urlencode(query)}", port=9090)[2])[
            "data"
        ]
    except (OSError, ValueError, KeyError, http.client.HTTPException):
        return None


def query(expression):
    return (api("query", query=expression) or {"result": []})["result"]


def target():
    """The state of its only target."""
    return ((api("targets") or {"activeTargets": []})["activeTargets"] or [{}])[0]


try:
    ok(
        "Prometheus scrapes it",
        until(lambda: target().get("health") == "up", 2 * WAIT),
        open(log.name).read(),
    )
    ok(
        "all nodes",
        until(lambda: len(query("ehsched_node_up == 1")) == 3),
        query("ehsched_node_up"),
    )
    kinds = api("metadata") or {}
    ok(
        "it took it for OpenMetrics",
        [
            kinds.get(name, [{}])[0].get(what)
            for name, what in (
                ("ehsched_placed_tasks", "type"),
                ("ehsched_placed_tasks", "unit"),
                ("ehsched_agent", "type"),
            )
        ]
        == ["counter", "tasks", "info"],
        kinds,
    )
    for panel in board["panels"]:
        for t in panel["targets"]:
            e = t["expr"].replace("$host", ".*").replace("$__rate_interval", "1m")
            ok(f"the board: {panel['title']}", until(lambda: query(e)), e)
    names = set(re.findall(r"ehsched_\w+", json.dumps(board["panels"])))
    ok("the board has no name that is not told", names <= {n for n, _ in samples(text)}, names)
    c.end(0, signal.SIGKILL)
    ok(
        "an agent that is gone",
        until(lambda: [x["value"][1] for x in query("ehsched_up")] == ["0"]),
        query("ehsched_up"),
    )
    ok(
        "its nodes are not told any more",
        until(lambda: not query("ehsched_node_up")),
        query("ehsched_node_up"),
    )
    c.start(0)
    ok(
        "one that is back",
        until(lambda: len(query("ehsched_node_up == 1")) == 3),
        query("ehsched_node_up"),
    )
    failed = [line for line in open(log.name) if '"Scrape failed"' in line]
    ok("no scrape failed", not failed, failed)
finally:
    prometheus.terminate()
    prometheus.wait()

# ---- who may ask, and what it can do

for host, wanted in (
    (f"127.0.0.1:{PORT}", 200),
    ("localhost", 200),
    ("[::1]:1", 200),
    (socket.gethostname(), 200),
    ("evil.example", 421),
    (f"127.0.0.1.evil.example:{PORT}", 421),
    ("", 421),
    ("[::1", 421),
):
    ok(
        f"called {host or 'by no name'}: {wanted}",
        m.get("/metrics", Host=host)[0] == wanted,
        m.get("/metrics", Host=host),
    )
ok("a page from elsewhere", (saw := m.get("/metrics", Sec_Fetch_Site="cross-site")[0]) == 403, saw)
ok("no proxy", (saw := m.get("http://127.0.0.1/metrics")[0]) == 400, saw)
ok(
    "nothing else is there",
    {m.get(path)[0] for path in ("/x", "/metrics/", "/metricsx", "/../etc/passwd", "//metrics")}
    == {404},
)
for method in "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE":
    ok(f"no {method}", m.get("/metrics", method)[0] in (400, 405, 501), method)
with m.connect() as s:  # which it does not close at once
    s.sendall(b"CONNECT /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    first = s.recv(12)
    ok("no CONNECT", first in (b"HTTP/1.1 400", b"HTTP/1.1 405", b"HTTP/1.1 501"), first)
ok("HEAD", (saw := m.get("/metrics", "HEAD")[::2]) == (200, ""), saw)
ok("no body", (saw := m.get("/metrics", "GET", "x" * 100)[0]) in (400, 413), saw)
with m.connect() as s:
    try:
        s.sendall(
            b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"y" * 100000 + b"\r\n\r\n"
        )
        first = s.recv(100)
    except OSError:
        first = b""
    ok("no endless header", b" 200 " not in first, first)
with m.connect() as s:
    s.sendall(bytes(range(256)) * 40)
    ok("rubbish", closed(s))
try:
    with c.net.enter(1):
        socket.create_connection((address(0), PORT), timeout=WAIT).close()
    ok("not for other hosts", False)
except ConnectionRefusedError:
    ok("not for other hosts", True)
# More connections than it has descriptors; none says anything.
many = [m.connect() for _ in range(120)]
ok("connections that say nothing end, and others come", until(lambda: up() == 1))
for s in many:
    s.close()
# Many that ask at once and do not read. Those that find room still get the whole of it.
many = [m.connect() for _ in range(60)]
for s in many:
    s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
ok("visitors who do not read", until(lambda: up() == 1))
for s in many:
    s.close()

pid = int(
    re.search(
        r"\d+",
        open(f"/proc/{m.process.pid}/task/{m.process.pid}/children").read() or str(m.process.pid),
    )[0]
)
of = dict(
    line.split(":\t", 1)
    for line in open(f"/proc/{pid}/status").read().splitlines()
    if ":\t" in line
)
ok(
    "it has no rights",
    of["Name"] == "ehmetrics"
    and of["Uid"].split() == ["65534"] * 4
    and of["Groups"].strip() == ""
    and int(of["CapEff"], 16) == 0
    and of["NoNewPrivs"] == "1"
    and of["Seccomp"] == "2",
    of,
)
ok(
    "no more descriptors than it may have",
    re.search(r"Max open files +80 +96 ", open(f"/proc/{pid}/limits").read()),
)

# ---- an agent that does not answer

c.agents[0].send_signal(signal.SIGSTOP)
ok("an agent that hangs", until(lambda: up() == 0), up())
c.agents[0].send_signal(signal.SIGCONT)
ok("and goes on", until(lambda: up() == 1), up())

# ---- usage, and the end

for words, wanted, why in (
    (["--listen", "9411"], 2, "ADDRESS:PORT"),
    (["--listen", "localhost:1"], 2, "ADDRESS:PORT"),
    (["--listen", "127.0.0.1:"], 2, "ADDRESS:PORT"),
    (["--listen", f"127.0.0.1:{PORT}"], 1, "in use"),
    (["--listen"], 2, "a value"),
    (["--twice"], 2, "--once"),
    (["word"], 2, "word"),
    (["--once", "--json"], 2, "JSON"),
):
    r = ehctl(0, "metrics", *words)
    ok(
        f"refused: {' '.join(words)}",
        r.returncode == wanted
        and not r.stdout
        and r.stderr.startswith("ehctl metrics: ")
        and why in r.stderr,
        r,
    )
c.end(0)
r = ehctl(0, "metrics", "--once")
ok(
    "--once without an agent",
    r.returncode == 1 and not r.stdout and "cannot connect to the agent" in r.stderr,
    r,
)
# Another user's process in the place of the agent.
with c.net.enter(0):
    s = socket.socket(socket.AF_UNIX)
agent_socket.listen(s)
os.seteuid(64999)
s.listen()
os.seteuid(0)
r = ehctl(0, "metrics", "--once")
ok("not the agent", r.returncode == 1 and "not the agent" in r.stderr, r)
ok("nor for Prometheus", until(lambda: up() == 0))
s.close()
ok("SIGTERM ends it", (saw := m.end()) == 0, saw)
done()
