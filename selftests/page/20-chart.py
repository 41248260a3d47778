#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks over time on the page of `ehctl metrics`: of a session in the history, and of a plan in a
file that the page reads by itself. Pictures are kept in BUILD/page."""

import json, os, subprocess, sys

sys.path += [os.path.join(sys.path[0], "../lib"), os.path.join(sys.path[0], "../agent")]
from browser import CHROMIUM, Browser
from cluster import Cluster
from ktap import done, must, ok, skip_all
from metrics import Metrics
from tree import BUILD
from wait import WAIT
import users

if not CHROMIUM:
    skip_all("chromium-headless-shell is missing (packaging/deps page)")
EHCTL = os.path.join(BUILD, "bin", "ehctl")
PICTURES = os.path.join(BUILD, "page")
USER = users.THREE
os.makedirs(PICTURES, exist_ok=True)
c = Cluster(2, 'heartbeat = 1000\nload-index = "tasks"\nthreshold-floor = 20.0\nguests = 50\n')
ok("two agents", c.start_all(), c.log(0))
os.chmod(c.dir, 0o755)


def written(name, text):
    path = os.path.join(c.dir, name)
    with open(path, "w") as out:
        out.write(text if isinstance(text, str) else json.dumps(text))
    return path


def planned(*words):
    """What a command prints, as a file."""
    r = subprocess.run([EHCTL, *words, "--json"], capture_output=True, text=True, timeout=WAIT)
    must(f"a plan: {words[1]}", r.returncode == 0, r)
    return written(f"{words[1]}.json", r.stdout)


m = Metrics(c, 0, USER)
b = Browser(lambda *w: c.words(0, *w))
b.open(m.said["page"])
must("it is live", b.see("$('live').textContent.startsWith('live')"), b.log())
BARS = "[...document.querySelectorAll('#chart g.bar[role=img]')]"


def choose(path):
    node = b.call(
        "DOM.querySelector", nodeId=b.call("DOM.getDocument")["root"]["nodeId"], selector="#plan"
    )["nodeId"]
    b.call("DOM.setFileInputFiles", files=[path], nodeId=node)


def key(name, code):
    for kind in "keyDown", "keyUp":
        b.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)


# ---- a session

r = c.ehctl(0, "run", "-n", "build", "--", "sh", "-c", "exit 3", uid=USER)
ok("a session", r.returncode == 3, r)
ok(
    "is in the history",
    b.see(
        "[...document.querySelectorAll('#history button')].some(x =>"
        " x.textContent.startsWith('build.'))"
    ),
    b.js("$('history').textContent"),
)
b.js(
    "[...document.querySelectorAll('#history button')].find(x =>"
    " x.textContent.startsWith('build.')).click()"
)
ok(
    "its task is drawn",
    b.see(
        f"{BARS}.length === 1 && /^sh on n0: ended here, from 0 s, takes"
        f" /.test({BARS}[0].getAttribute('aria-label'))"
    ),
    b.js("$('chart').innerHTML"),
)
ok(
    "and its name is said",
    b.js(
        "/^session build\\.\\d+\\.\\d+$/.test($('chart-title').textContent) &&"
        " document.activeElement === $('h-chart')"
    ),
    b.js("$('chart-title').textContent"),
)
b.js("$('chart-close').click()")
ok("closed", b.js(f"{BARS}.length === 0 && document.activeElement === $('plan-open')"))

# All kinds of ends, as the history tells them; in pages.
TASKS = [
    {
        "at": n,
        "id": f"0.0:{n}",
        "session": "many.1.0",
        "command": f"cc{n}",
        "home": "0.0",
        "home_host": "n0",
        "executor": f"0.{n % 3}",
        "executor_host": f"n{n % 3}",
        "started": f"2026-11-30T10:{n // 60:02}:{n % 60:02}.000Z",
        "ended": f"2026-11-30T10:{(n + 4) // 60:02}:{(n + 4) % 60:02}.000Z",
        "elapsed": 4.0,
        "state": "lost" if n == 7 else "ended",
        "exit": None if n == 7 else 2 if n == 5 else 0,
        "signal": None,
    }
    for n in range(230)
]
TASKS[8].update(exit=None, signal=9)
TASKS[229].update(state="away", ended=None, exit=None, started="2026-11-30T10:03:49.000Z")
TASKS[6]["command"] = "<img src=x onerror=window.hit=1>"
b.js(
    f"""window.asked = []; window.real = ask; ask = async path => {{
    if (!path.startsWith('api/history?session=')) return real(path);
    asked.push(path);
    const words = new URLSearchParams(path.split('?')[1]);
    const before = Number(words.get('before') || 1e9);
    const list = {json.dumps(TASKS)}.reverse().filter(x => x.at <= before);
    return {{ tasks: list.slice(0, 200), more: list.length > 200 }};
}}; Date.now = () => Date.parse('2026-11-30T10:04:00Z'); showSession('many.1.0')"""
)
ok(
    "many tasks, in pages",
    b.see(f"{BARS}.length === 230")
    and b.js("asked.map(x => /before=30$/.test(x))") == [False, True],
    b.js("[asked, $('chart').textContent]"),
)
count = b.js(
    f"Object.fromEntries(Object.keys(ENDS).map(x => [x, document.querySelectorAll('#chart .chart"
    f" g.e-' + x).length]))"
)
ok(
    "by their ends",
    count == {"done": 226, "failed": 2, "lost": 1, "ended": 0, "runs": 1, "planned": 0, "data": 0},
    count,
)
ok(
    "in words, too",
    b.js(
        f"{BARS}.some(x => x.querySelector('title').textContent === 'cc5 on n2: failed (exit 2),"
        " from 5 s, takes 4 s')"
    )
    and b.js(f"{BARS}.some(x => /signal 9/.test(x.getAttribute('aria-label')))")
    and b.js(
        f"{BARS}.some(x => /^cc229 on n1: runs, from 229 s, takes 11"
        " s/.test(x.getAttribute('aria-label')))"
    ),
)
ok(
    "a row for each host, home first",
    (
        saw := b.js(
            "[...document.querySelectorAll('#chart .chart text.row')].map(x =>"
            " x.lastChild.textContent)"
        )
    )
    == ["n0", "n1", "n2"],
    saw,
)
ok(
    "what overlaps is not drawn over each other",
    b.js(
        f"""{BARS}.map(x => x.querySelector('rect').getBBox()).every(
   (x, i, all) => !all.slice(i + 1).some(y => x.x + x.width > y.x + 1
   && y.x + y.width > x.x + 1 && x.y + x.height > y.y + 1 && y.y + y.height > x.y + 1))"""
    ),
)
where = b.js(
    f"{BARS}.map(x => [x.getAttribute('aria-label').match(/from (\\d+)/)[1],"
    " x.querySelector('rect').getBBox().x])"
)
ok(
    "from left to right",
    all((int(p[0]) < int(q[0])) == (p[1] < q[1]) for p in where for q in where if p[0] != q[0]),
)
ticks = b.js("[...document.querySelectorAll('#chart text.tick')].map(x => x.textContent)")
ok(
    "an axis of time",
    ticks[0] == "0 s" and len(ticks) > 4 and ticks[-1] in ("4:00", "3:50", "3:45", "3:30"),
    ticks,
)
ok(
    "names are text",
    b.js(
        "!window.hit && !document.querySelector('#chart img') &&"
        " $('chart').textContent.includes('<img src=x')"
    ),
)
ok(
    "the sum",
    "226 done, 2 failed, 1 lost, 1 runs"
    in (saw := b.js("document.querySelector('#chart svg[role=group]').getAttribute('aria-label')")),
    saw,
)
b.js("document.querySelector('#chart details').open = true")
ok(
    "the same as a table",
    b.see(
        "document.querySelectorAll('#chart tbody tr').length === 230 && /✕ failed, exit"
        " 2/.test($('chart').textContent)"
    ),
)
b.js("document.querySelector('#chart details').open = false")

# ---- by keys

ok(
    "one bar is reached by Tab",
    (saw := b.js(f"{BARS}.filter(x => x.getAttribute('tabindex') === '0').length")) == 1,
    saw,
)
b.js("$('chart-close').focus()")
key("Tab", 9)
if b.js(
    "document.activeElement.classList.contains('chart')"
):  # a part that scrolls is reached, too
    key("Tab", 9)
label = "document.activeElement.getAttribute('aria-label').split(':')[0]"
seen = [b.js(label)]
for name, code in (
    ("ArrowRight", 39),
    ("ArrowDown", 40),
    ("ArrowUp", 38),
    ("ArrowLeft", 37),
    ("End", 35),
    ("ArrowRight", 39),
    ("Home", 36),
):
    key(name, code)
    seen.append(b.js(label))
ok(
    "and the others by arrows",
    seen
    == [
        "cc0 on n0",
        "cc3 on n0",
        "cc4 on n1",
        "cc3 on n0",
        "cc0 on n0",
        "cc227 on n2",
        "cc227 on n2",
        "cc0 on n0",
    ],
    seen,
)
ok(
    "which says what it is",
    b.js(
        "/^cc0 on n0: done, from 0 s, takes 4 s/.test(document.querySelector('#chart"
        " .one').textContent)"
    ),
)
ok(
    "with a ring",
    b.js("getComputedStyle(document.activeElement.querySelector('rect')).strokeWidth") == "3px",
)
key("Enter", 13)
ok("why", b.see("$('why').open"))
b.js("$('close').click()")
b.picture(f"{PICTURES}/session.png")
ok("what is written can be read", (saw := b.faint()) == [], saw)
b.size(1440, 1000, dark=True)
b.picture(f"{PICTURES}/session-dark.png")
ok("on a dark ground, too", (saw := b.faint()) == [], saw)
b.size(420, 900)
b.picture(f"{PICTURES}/session-narrow.png")
ok(
    "a narrow window has no sideways scrolling",
    b.js("document.documentElement.scrollWidth <= 420"),
    b.js("document.documentElement.scrollWidth"),
)
b.size(1440, 1000)
b.js("ask = async () => { throw new Error('the disk is full') }; showSession('x')")
ok("no history", b.see("/No history: the disk is full/.test($('chart').textContent)"))
b.js("ask = async () => ({ tasks: [], more: false }); showSession('x')")
ok("no task", b.see("/no task in the history/.test($('chart').textContent)"))
b.js(
    "window.made = 0; ask = async path => ({ tasks: Array.from({ length: 200 }, () => ({"
    f" ...{json.dumps(TASKS[0])}, id: '0.0:' + ++made, at: 1e9 - made }})), more: true }});"
    " showSession('endless')"
)
ok(
    "bounded",
    b.see(f"{BARS}.length === 2000 && /Only the last 2000/.test($('chart').textContent)"),
    b.js(f"{BARS}.length"),
)
b.js("ask = real")

# ---- plans

before = b.urls()
GRAPH = written(
    "graph.json",
    {
        "tasks": [{"id": x, "work": w} for x, w in (("a", 3), ("b", 2), ("c", 4), ("d", 1))],
        "edges": [{"from": x, "to": y, "data": 1} for x, y in ("ab", "ac", "bd", "cd")],
    },
)
choose(planned("plan", "dag", GRAPH, "--processors", "2"))
ok(
    "a plan of tasks",
    b.see(
        f"{BARS}.length === 4 && /plan of 4 tasks · dag.json/.test($('chart-title').textContent)"
    ),
    b.js("$('chart').textContent"),
)
ok(
    "without a unit",
    b.js(
        f"{BARS}.some(x => /^a on p0: planned, from 0, takes"
        " 3$/.test(x.getAttribute('aria-label')))"
    ),
    b.js(f"{BARS}.map(x => x.textContent)"),
)
b.picture(f"{PICTURES}/plan.png")
choose(
    planned(
        "plan",
        "divide",
        written(
            "load.json",
            {
                "work": 100,
                "send": "parallel",
                "result": {"kind": "none"},
                "processors": [{"id": f"P{n}", "a": 1, "s": 0.5, "c": 0.1} for n in range(3)],
            },
        ),
    )
)
ok(
    "of a divided load",
    b.see(
        f"{BARS}.length === 3 && {BARS}.every(x => /on P\\d: planned, from [\\d.]+ s,"
        " takes/.test(x.getAttribute('aria-label')))"
    ),
    b.js("$('chart').textContent"),
)
choose(
    planned(
        "plan",
        "gang",
        written(
            "job.json",
            {
                "hosts": [{"id": "W1", "utilization": 0.1}, {"id": "W2", "utilization": 0.1}],
                "model": {
                    "kind": "table",
                    "compute": [10, 6],
                    "comm": [0, 1],
                    "load": [0, 0.5],
                    "collect": [0, 0.2],
                },
            },
        ),
    )
)
ok(
    "of a gang",
    b.see(
        f"{BARS}.length === 8 && {BARS}.some(x => /^compute on W2: planned, from 0.5"
        " s/.test(x.getAttribute('aria-label')))"
    ),
    b.js("$('chart').textContent"),
)
choose(
    planned(
        "plan",
        "assign",
        written(
            "pairs.json",
            {
                "tasks": [{"id": "1", "work": 10}, {"id": "2", "work": 5}],
                "comm": [{"a": "1", "b": "2", "volume": 7}],
                "processors": 2,
            },
        ),
    )
)
ok(
    "one without times says so",
    b.see(
        f"{BARS}.length === 0 && /This plan has no times/.test($('chart').textContent) &&"
        " $('assignment').tBodies[0].rows.length === 2"
    ),
    b.js("$('chart').textContent"),
)

# As ehctl dag, divide and gang print (tools/ehplan/dag_tell.c, divide_tell.c, gang_live.c)
times = lambda start, finish: {"start": start, "finish": finish}
choose(
    written(
        "ran.json",
        {
            "version": 1,
            "workflow": "my flow",
            "predicted": 3.0,
            "real": 4.0,
            "hosts": [],
            "tasks": [
                {
                    "task": "x",
                    "state": "done",
                    "code": 0,
                    "predicted": {"host": "n0", **times(0, 3)},
                    "real": {"host": "n0", **times(0, 2)},
                },
                {
                    "task": "y",
                    "state": "failed",
                    "code": 2,
                    "predicted": {"host": "n1", **times(0, 1)},
                    "real": {"host": "n1", **times(0, 4)},
                },
                {
                    "task": "z",
                    "state": "waits",
                    "code": None,
                    "predicted": {"host": "n1", **times(1, 2)},
                    "real": None,
                },
            ],
        },
    )
)
ok(
    "a workflow that ran: what was, and what was expected",
    b.see(
        "document.querySelectorAll('#chart figure').length === 2 &&"
        " document.querySelectorAll('#chart .chart g.e-failed').length === 1"
    )
    and b.js(f"{BARS}.length") == 5
    and b.js("/1 task of it did not run here/.test($('chart').textContent)"),
    b.js("$('chart').textContent"),
)
b.picture(f"{PICTURES}/ran.png")
choose(
    written(
        "parts.json",
        {
            "version": 1,
            "size": 9,
            "predicted": None,
            "real": 2.0,
            "workers": [],
            "parts": [
                {
                    "host": "n0",
                    "first": 0,
                    "count": 1,
                    "probe": True,
                    "predicted": None,
                    "real": times(-1, -0.5),
                },
                {
                    "host": "n1",
                    "first": 1,
                    "count": 8,
                    "probe": False,
                    "predicted": times(0, 1),
                    "real": times(0, 2),
                },
            ],
        },
    )
)
ok(
    "a load that was divided",
    b.see(
        f"{BARS}.length === 2 && /^8 units on n1: done/.test({BARS}[0].getAttribute('aria-label'))"
    ),
    b.js("$('chart').textContent"),
)
choose(
    written(
        "ganged.json",
        {
            "version": 1,
            "hosts": ["n0", "n1"],
            "count": 2,
            "predicted": None,
            "real": 2.5,
            "offered": [],
            "prefixes": [],
            "status": 0,
            "lost": False,
        },
    )
)
ok(
    "a gang that ran",
    b.see(
        f"{BARS}.length === 2 && /^part of the gang on n0: done, from 0 s, takes 2.5"
        f" s/.test({BARS}[0].getAttribute('aria-label'))"
    ),
    b.js("$('chart').textContent"),
)

deep = lambda **changes: {
    "schedule": [{"task": "a", "processor": "p0", "start": 0, "finish": 3, **changes}]
}
for name, content, why in (
    ("no JSON", "task a\n", "it is no JSON: "),
    ("nothing", "", "it is no JSON: "),
    ("a list", "[1]", "it is JSON, but no object"),
    ("null", "null", "no object"),
    ("another object", {"x": 1}, "it is no plan"),
    (
        "what a plan is made from",
        json.load(open(GRAPH)),
        "it has no times: this is what a plan is made from",
    ),
    ("an empty plan", {"schedule": []}, "“schedule” is empty"),
    ("a list of numbers", {"schedule": [1]}, "“schedule” is missing, or is no list"),
    ("no name", deep(task=7), "schedule[0]: “task” is missing, or is no text"),
    ("no time", deep(start=None), "schedule[0]: “start” is missing, or is no number"),
    ("text for a time", deep(finish="3"), "“finish” is missing"),
    (
        "too large",
        '{"schedule":[{"task":"a","processor":"p","start":0,"finish":1e999}]}',
        "“finish” is missing",
    ),
    (
        "ends before it starts",
        deep(start=5),
        "schedule[0]: it finishes at 3, before it starts at 5",
    ),
    ("before all", deep(start=-5), "starts at -5"),
    ("a member of every object", {"planner": "constructor"}, "it is no plan"),
    ("no hosts", {"planner": "gang", "hosts": [1], "seconds": 2}, "“hosts” is missing"),
    (
        "nothing ran",
        {
            "workflow": "x",
            "tasks": [{"task": "x", "state": "waits", "predicted": None, "real": None}],
        },
        "no task has times",
    ),
    ("too many", {"schedule": deep()["schedule"] * 5001}, "5001 bars are too many"),
):
    choose(written("bad.json", content))
    ok(
        f"no plan: {name}",
        b.see(
            "document.querySelector('#chart .trouble') &&"
            f" $('chart').textContent.includes({json.dumps(why)})"
        )
        and b.js("$('chart').textContent.startsWith('bad.json: ')"),
        b.js("$('chart').textContent"),
    )
    b.js("chartClose()")
b.js("document.querySelector('#chart').replaceChildren()")
choose(written("markup.json", deep(task="<img src=x onerror=window.hit=1>", processor="<b>" * 40)))
ok(
    "names of a plan are text",
    b.see(f"{BARS}.length === 1")
    and b.js("!window.hit && !document.querySelector('#chart img, #chart b')"),
)
choose(written("instant.json", deep(start=0, finish=0)))
ok(
    "a plan that takes no time",
    b.see(f"{BARS}.length === 1 && /takes 0/.test({BARS}[0].getAttribute('aria-label'))")
    and b.js("!/NaN|Infinity/.test($('chart').innerHTML)"),
)
ok(
    "a file is sent nowhere",
    not [
        u
        for u in b.urls() - before
        if not any(x in u for x in ("/api/status", "/api/tasks", "/api/history", "/api/why"))
    ],
    b.urls() - before,
)
errors = [e for e in b.errors() if "503" not in e]  # why of tasks that are none
ok("no error in the page", not errors, "\n".join(errors))
ok(
    "all pictures",
    all(
        os.path.getsize(f"{PICTURES}/{name}.png") > 10000
        for name in ("session", "session-dark", "session-narrow", "plan", "ran")
    ),
)
ok("SIGTERM ends it", (saw := m.end()) == 0, saw)
done()
