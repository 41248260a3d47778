#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""A user who asks for the history without end, on as many connections as he may have: others are
answered, and what runs is recorded."""

import json, os, resource, select, signal, socket, sqlite3, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
import agent_socket
from cluster import Cluster
from frames import frame
from ktap import done, ok
from users import ONE, TWO
from wait import until

ROWS, CROWD = 80000, 450  # tasks in the history, all of which a question looks at; connections

resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
c = Cluster(2, "heartbeat = 5000\ncapacity = 1000\nthreshold = 1000\nthreshold-floor = 1000")
os.chmod(c.dir, 0o755)
ok("two agents", c.start_all(), c.log(0) + c.log(1))


def history(uid=0, **more):
    return c.ask(0, {"command": "history", **more}, uid=uid)


ok(
    "a task is recorded",
    c.ehctl(0, "exec", "n1", "--", "true").returncode == 0 and len(history()["tasks"]) == 1,
)
db = sqlite3.connect(os.path.join(os.path.dirname(c.state(0)), "history.db"), timeout=60)
first = list(db.execute("SELECT * FROM tasks").fetchone())
ids = [column[1] for column in db.execute("PRAGMA table_info(tasks)")].index("id")
db.executemany(
    f"INSERT INTO tasks VALUES ({','.join('?' * len(first))})",
    ([*first[:ids], f"0.0:{k}", *first[ids + 1 :]] for k in range(ROWS)),
)
db.commit()
db.close()
ok(
    "there are many",
    len(history(program="none-such")["tasks"]) == 0 and len(history()["tasks"]) > 100,
)
question = frame(
    "FRAME_REQUEST", json.dumps({"command": "history", "program": "none-such"}).encode()
)


def besiege(told):
    """In a process of the user."""
    os.setgroups([])
    os.setresgid(ONE, ONE, ONE)
    os.setresuid(ONE, ONE, ONE)
    crowd = [socket.socket(socket.AF_UNIX) for i in range(CROWD)]
    for s in crowd:
        agent_socket.connect(s)
        s.sendall(question)
    os.write(told, b"x")
    while True:
        for s in select.select(crowd, [], [])[0]:
            s.recv(65536)
            s.sendall(question)


told = os.pipe()
child = os.fork()
if not child:
    try:
        with c.net.enter(0):
            besiege(told[1])
    finally:
        os._exit(1)
os.read(told[0], 1)
answers = [history(uid=uid, program="none-such") for uid in (0, TWO, 0, TWO)]
ok("root and another user are answered", all(a.get("tasks") == [] for a in answers), answers)
before = c.log(0)
codes = [c.ehctl(0, "exec", "n1", "--", "sh", "-c", f"exit {k}").returncode for k in range(10)]
recorded = [t["exit"] for t in history(limit=10)["tasks"]]
ok("what runs is recorded", codes == recorded[::-1] == list(range(10)), (codes, recorded))
log = c.log(0)[len(before) :]
ok("and the log says nothing else", "history:" not in log, log[-2000:])
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
ok("no question is left", until(lambda: len(os.listdir(f"/proc/{c.agents[0].pid}/fd")) < 60))
ok("the agents end", c.end(0) == 0 and c.end(1) == 0)
done()
