#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of `ehctl metrics` in Chromium: what it shows of a cluster of two levels, as it changes.
Pictures of it are kept in BUILD/page."""

import json, os, re, signal, subprocess, sys

sys.path += [os.path.join(sys.path[0], "../lib"), os.path.join(sys.path[0], "../agent")]
from browser import CHROMIUM, Browser
from cluster import Cluster
from ktap import done, must, ok, skip_all
from metrics import Metrics
from tree import BUILD
from wait import until
import users

if not CHROMIUM:
    skip_all("chromium-headless-shell is missing (packaging/deps page)")
EHCTL = os.path.join(BUILD, "bin", "ehctl")
PICTURES = os.path.join(BUILD, "page")
USER = users.THREE
os.makedirs(PICTURES, exist_ok=True)

# The load is the number of tasks, so it is known here. Thresholds stay where they are: nobody is
# overloaded for long.
c = Cluster(
    6,
    'heartbeat = 500\nload-index = "tasks"\nthreshold-floor = 3.0\nthreshold = 3.0\nguests = 100\n',
    topology="2,2",
)
ok("six agents on two levels", c.start_all(), c.log(0))
os.chmod(c.dir, 0o755)


running = []


def start(i, *words, uid=USER):
    """A task that runs until its input ends."""
    p = c.popen(
        i,
        ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", EHCTL, *words],
        stdin=subprocess.PIPE,
        stderr=None,
        text=False,
    )
    p.stdout.readline()
    running.append(p)
    return p


HOLD = ["sh", "-c", "echo; read x; exit 3"]
m = Metrics(c, 0, USER)
page = m.said["page"]
b = Browser(lambda *w: c.words(0, *w))
b.open(page)

# ---- nodes

ok("it is live", b.see("$('live').textContent.startsWith('live')"), b.log())
ok("all nodes", b.see("document.querySelectorAll('#tree tr[data-node]').length === 6"))
ok(
    "in the groups of two levels",
    b.js(
        "[...document.querySelectorAll('#tree > details, #tree > details > div > details')].map(x"
        " => x.querySelector('summary b').textContent)"
    )
    == ["Group 0", "Group 0.0", "Group 0.1"],
    b.js("$('tree').textContent"),
)
now = json.loads(c.ehctl(0, "status", "--json").stdout)
for node in now["nodes"]:
    row = b.js(f"document.querySelector('tr[data-node=\"{node['code']}\"]').textContent")
    ok(
        f"{node['host']}: host, code, threshold",
        node["host"] in row and node["code"] in row and f"/ {node['threshold']:.2f}" in row,
        row,
    )
ok(
    "which one is this, and who leads",
    b.js("document.querySelector('tr[data-node=\"0.0.0\"]').textContent.includes('this node')")
    and b.js("document.querySelector('tr[data-node=\"0.1.0\"]').textContent.includes('leads 0.1')"),
)
ok(
    "the drawing has them, too",
    b.js("document.querySelectorAll('#map svg title').length") == 6
    and all(
        f"n{i}" in b.js("document.querySelector('#map svg').getAttribute('aria-label')")
        for i in range(6)
    ),
)
ok("no transfer yet", b.js("!$('no-moves').hidden && $('moves').children.length === 0"))

# ---- transfers as they happen

tasks = [start(0, "exec", f"n{n}", "--", *HOLD) for n in (1, 2, 4, 4, 4, 4, 4, 5)]
secret = start(0, "exec", "n3", "--", "sh", "-c", "echo; read x", "topsecretword", uid=0)
ok(
    "each shows",
    b.see("document.querySelectorAll('#moves li').length === 8"),
    b.js("$('moves').textContent"),
)
ok(
    "with command, way and reason",
    b.js("[...$('moves').children].some(x => /sh n0 → n4 explicit/.test(x.textContent))"),
    b.js("$('moves').textContent"),
)
ok(
    "as arrows in the drawing",
    b.see("document.querySelectorAll('#map .arc').length > 0 || $('moves').children.length === 0"),
    b.js("$('map').innerHTML")[:3000],
)
ok(
    "an overloaded node, in words and by a sign",
    b.see("/▲ sender/.test(document.querySelector('tr[data-node=\"0.1.0\"]').textContent)"),
    b.js("$('tree').textContent"),
)
ok(
    "and in the sum",
    b.see("/6 of 6 nodes up · 1 sender · /.test($('sum').textContent)"),
    b.js("$('sum').textContent"),
)
ok(
    "the tasks that run",
    b.see(
        "$('tasks').tBodies[0].rows.length === 8 && /shn0→ n4running/.test($('tasks').textContent)"
    ),
    b.js("$('tasks').textContent"),
)
ok("where they ran", b.see("/n45/.test($('placed').textContent)"), b.js("$('placed').textContent"))
b.js(
    "[...$('moves').children].find(x => /→ n4/.test(x.textContent)).querySelector('button').click()"
)
ok(
    "why",
    b.see(
        "$('why').open && /explicit/.test($('because').textContent) &&"
        " document.querySelectorAll('#because li').length > 1"
    ),
    b.js("$('because').textContent"),
)
b.picture(f"{PICTURES}/why.png", whole=False)
b.js("$('close').click()")
c.ehctl(0, "drain", "n1", "--reason", "a new disk <b>&")
ok(
    "a node that drains, with its reason as text",
    b.see(
        "/‖ draining.*a new disk"
        " <b>&/.test(document.querySelector('tr[data-node=\"0.0.1\"]').textContent)"
    ),
    b.js("$('tree').textContent"),
)
c.end(3)
ok(
    "a node that is down",
    b.see("/✕ down/.test(document.querySelector('tr[data-node=\"0.0.3\"]').textContent)"),
    b.js("$('tree').textContent"),
)
ok(
    "what happens",
    b.see("/n3 is down/.test($('events').textContent)"),
    b.js("$('events').textContent"),
)
ok(
    "samples of the load",
    b.see(
        "document.querySelector('tr[data-node=\"0.1.0\"] polyline').getAttribute('points').split('"
        " ').length > 3"
    ),
)

b.picture(f"{PICTURES}/light.png")
ok("what is written can be read", (saw := b.faint()) == [], saw)
b.size(1440, 1000, dark=True)
b.picture(f"{PICTURES}/dark.png")
ok("on a dark ground, too", (saw := b.faint()) == [], saw)
b.size(420, 900)
b.picture(f"{PICTURES}/narrow.png")
ok(
    "a narrow window has no sideways scrolling",
    b.js("document.documentElement.scrollWidth <= 420"),
    b.js("document.documentElement.scrollWidth"),
)
b.call("Emulation.setEmulatedVisionDeficiency", type="achromatopsia")
b.size(1440, 1000)
b.picture(f"{PICTURES}/without-colour.png")
b.call("Emulation.setEmulatedVisionDeficiency", type="none")

# ---- ends

for p in tasks[:3]:
    p.communicate(b"\n")
ok(
    "how a transfer ended",
    b.see("[...$('moves').children].filter(x => /exit 3/.test(x.textContent)).length === 3"),
    b.js("$('moves').textContent"),
)
ok(
    "in the history",
    b.see(
        "[...$('history').tBodies[0].rows].filter(x => /✕ exit 3/.test(x.textContent)).length === 3"
    ),
    b.js("$('history').textContent"),
)
b.js("$('failed').click()")
ok(
    "only what failed",
    b.see("$('history').tBodies[0].rows.length === 3"),
    b.js("$('history').textContent"),
)
b.js("$('failed').click()")
c.ehctl(0, "exec", "n2", "--", "/bin/true", uid=USER)
ok(
    "one that went well",
    b.see("/truen0 → n2exit 0/.test($('history').textContent)"),
    b.js("$('history').textContent"),
)
ok(
    "one in a session",
    c.ehctl(0, "run", "-n", "mine", "--", "/bin/true", uid=USER).returncode == 0
    and b.see("[...$('history').tBodies[0].rows].length === 10"),
    b.js("$('history').textContent"),
)


def filtered(**words):
    """What the history shows with these."""
    for name in ("since", "program", "node", "session", "user"):
        b.js(f"$('f-{name}').value = {json.dumps(words.get(name, ''))}")
    b.js("$('f-since').dispatchEvent(new Event('input', { bubbles: true }))")


ROWS = (
    "$('history').hidden ? [] : [...$('history').tBodies[0].rows].map(x => x.cells[2].textContent +"
    " ' ' + x.cells[3].textContent)"
)
for words, wanted in (
    ({"node": "n4"}, ["sh n0 → n4"] * 5),
    ({"node": "n2", "program": "true"}, ["true n0 → n2"]),
    ({"session": "mine"}, ["true n0"]),
    ({"program": "gcc"}, []),
    ({"since": "1h", "node": "0.0.1"}, ["sh n0 → n1"]),
):
    filtered(**words)
    ok(
        f"history with {words}",
        b.see(
            f"JSON.stringify({ROWS}) ==="
            f" {json.dumps(json.dumps(wanted, ensure_ascii=False, separators=(',', ':')))}"
        ),
        b.js(f"{ROWS}"),
    )
    if words == {"session": "mine"}:
        b.picture(f"{PICTURES}/filters.png")
        b.js("$('f-chart').click()")
        ok(
            "which is drawn",
            b.see(
                "document.querySelectorAll('#chart g.bar[role=img]').length === 1 &&"
                " $('chart-title').textContent === 'session mine'"
            ),
            b.js("$('chart').textContent"),
        )
filtered(program="gcc")
ok(
    "none says so",
    b.see("/No task is so/.test($('no-history').textContent) && $('history').hidden"),
    b.js("$('no-history').textContent"),
)
filtered(since="soon")
ok(
    "a time that is none",
    b.see("/no such time/.test($('no-history').textContent)"),
    b.js("$('no-history').textContent"),
)
b.js("$('f-clear').click()")
ok("and all again", b.see(f"({ROWS}).length === 10 && !$('f-clear').checkVisibility()"), b.js(ROWS))
b.js("$('find').value = 'n4'; $('find').dispatchEvent(new Event('input'))")
ok(
    "find",
    b.js("[...document.querySelectorAll('#tree tr[data-node]')].filter(x => !x.hidden).length")
    == 1,
)
b.js("$('find').value = ''; $('find').dispatchEvent(new Event('input'))")
ok(
    "nothing of other users",
    "topsecretword" not in b.js("document.documentElement.outerHTML")
    and b.js("$('tasks').tBodies[0].rows.length") == 5,
    b.js("$('tasks').textContent"),
)

# ---- what a host that lies can do: controllers speak for the nodes below them

LIES = """{
    self: "0.0.0", nodes: [
        {code: "0.0.0", host: "n0", agent: "up", state: "ok", load: 1, threshold: 3,
         threshold_length: 1, tasks: {local: 1, guest: 0, away: 0}, controller_of: [],
         module: false},
        {code: "0.1.0", host: "<img src=x onerror=window.hit=1>", agent: "up",
         state: "ok\\" onload=window.hit=1", load: "9", threshold: null, tasks: 7,
         controller_of: {}},
        {code: "0.1.1", host: {}, agent: "up", state: "sender", load: 1e308, threshold: -5,
         tasks: {local: "<b>"}, drain: {reason: "<script>window.hit=1</script>"}, draining: true},
        {code: "0.1.1", host: "twice", agent: "up", state: "sender", load: 2, threshold: 3},
        {code: 7}, null, 3],
    groups: [{code: "0.1", host: "<svg onload=window.hit=1>", state: [], load: "x"}, {code: "0.1"},
             null]}"""
must("it is live", b.see("$('live').textContent.startsWith('live')"))
said = b.js(
    f"status = clean({LIES}); show(); [status.nodes.length, $('tree').textContent,"
    " document.querySelector('tr[data-node=\"0.0.0\"]').textContent]"
)
ok(
    "what they say is text, and spoils nothing else",
    said[0] == 3
    and "<img src=x" in said[1]
    and "NaN" not in said[1]
    and "1.00 / 3.00" in said[2]
    and b.js(
        "!window.hit && !document.querySelector('#main img') && !document.querySelector('#main"
        " script')"
    ),
    said,
)
ok(
    "the next look shows what is so",
    b.see(
        "document.querySelectorAll('#tree tr[data-node]').length === 6 && !/img"
        " src/.test($('tree').textContent)"
    ),
)

ok(
    "events come by one request",
    (saw := len([u for u in b.asked() if u.endswith("/api/events")])) == 1,
    saw,
)


def hide(hidden):
    b.js(
        f"Object.defineProperty(document, 'hidden', {{ value: {json.dumps(hidden)}, configurable:"
        " true }); document.dispatchEvent(new Event('visibilitychange'))"
    )


before = b.js("$('moves').children.length")
hide(True)
ok("a page that nobody sees holds no connection", b.see("stream === null"))
c.ehctl(0, "exec", "n2", "--", "/bin/true", uid=USER)
ok("and is told nothing", b.js("$('moves').children.length") == before)
hide(False)
ok(
    "but then what it has missed",
    b.see(f"$('moves').children.length === {before} + 1"),
    b.js("$('moves').textContent"),
)

# ---- the agent ends, and comes back; the process ends

c.end(0, signal.SIGKILL)
ok(
    "it says that the agent is gone",
    b.see(
        "!$('trouble').hidden && /cannot connect to the agent/.test($('trouble').textContent) &&"
        " $('main').className === 'stale'"
    ),
    b.js("$('trouble').textContent"),
)
b.picture(f"{PICTURES}/stale.png", whole=False)
ok("what is old can be read", (saw := b.faint()) == [], saw)
ok(
    "and keeps what it had",
    (saw := b.js("document.querySelectorAll('#tree tr[data-node]').length")) == 6,
    saw,
)
c.start(0)
ok(
    "one that is back",
    b.see("$('trouble').hidden && $('main').className === ''"),
    b.js("$('trouble').textContent"),
)
ok(
    "its events, too",
    until(
        lambda: c.ehctl(0, "set", "threshold=3.5").returncode == 0
        and c.ehctl(0, "set", "threshold=3").returncode == 0
        and b.js("/threshold of n0 is 3.50/.test($('events').textContent)")
    ),
    b.js("$('events').textContent"),
)
before = b.js("$('moves').children.length")
c.ehctl(0, "exec", "n2", "--", "/bin/true", uid=USER)
ok(
    "and transfers after that",
    b.see(f"$('moves').children.length > {before}"),
    b.js("$('moves').textContent"),
)
ok(
    "each once",
    b.js(
        "new Set([...$('moves').children].map(x => x.dataset.id)).size ==="
        " $('moves').children.length"
    ),
    b.js("$('moves').textContent"),
)

# ---- without the key

errors = [e for e in b.errors() if "503" not in e and not ("400" in e and "since=soon" in e)]
ok("no error in the page", not errors, "\n".join(errors))
asked = {re.sub(r"[?#].*", "", u) for u in b.urls()}
base = page.split("#")[0]
ok(
    "it asks nobody else",
    all(u.startswith(base) or u.startswith("data:") or u == "about:blank" for u in asked),
    asked,
)
ok(
    "the key is in no address that is asked for",
    page.split("#")[1] not in "".join(u.split("#")[0] for u in b.urls()),
)
b.open(base)
ok(
    "without the key: nodes",
    b.see(
        "document.querySelectorAll('#tree tr[data-node]').length === 6 &&"
        " /live/.test($('live').textContent)"
    ),
)
ok(
    "but no tasks, and it says why",
    b.js(
        "$('tasks').tBodies[0].rows.length === 0 && $('moves').children.length === 0 && /has"
        " printed/.test($('no-tasks').textContent)"
    ),
    b.js("$('no-tasks').textContent"),
)
b.picture(f"{PICTURES}/no-key.png", whole=False)
m.end()
ok(
    "the process has ended",
    b.see("/does not answer/.test($('trouble').textContent)"),
    b.js("$('trouble').textContent"),
)
for p in running:
    if p.poll() is None:
        p.communicate(b"\n")
ok(
    "all pictures",
    all(
        os.path.getsize(f"{PICTURES}/{name}.png") > 10000
        for name in ("light", "dark", "narrow", "without-colour", "why", "stale", "no-key")
    ),
)
done()
