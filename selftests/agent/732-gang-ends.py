#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""ehctl gang, when an agent is killed or starts again, or a host leaves: the job ends or goes on,
and no lease is left."""

import json, os, signal, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from gangs import LEASE, LONG, Gangs
from ktap import done, ok
from wait import WAIT, until

NODES = range(4)
# ehrsh of a launcher that was ended waits for job-limit, and keeps the standard error that is read
# here open
c = Gangs(4, f"gang-lease = {LEASE}\njob-limit = 15000")
c.start_all()
ok("four agents", c.all_up(NODES), c.log(0)[-2000:])

p = c.begun("host", 3)
c.end(2, signal.SIGKILL)
out, err = p.communicate(timeout=LONG)
ok(
    "an agent is killed: the job is ended, and why is said",
    p.returncode == 1 and "n2 is lost" in err,
    (p.returncode, err),
)
c.free("the other hosts are free")
c.start(2)
ok("it is back", c.all_up(NODES))

p = c.begun("again", 3)
c.end(1, signal.SIGKILL)
c.start(1)
again = until(lambda: c.leases([1]).get(1) == (c.code(3), False) or p.poll() is not None, LONG)
ok(
    "an agent starts again: its host still belongs to the gang",
    again and p.poll() is None,
    (c.leases([1]), c.log(1)[-1500:]),
)
open(c.go, "w").close()
out, err = p.communicate(timeout=LONG)
ok("and the job ends as if nothing had been", p.returncode == 0, (p.returncode, err))
c.free()
os.unlink(c.go)
ok("all are up", c.all_up(NODES))

p = c.begun("initiator", 3)
c.end(3, signal.SIGKILL)
out, err = p.communicate(timeout=LONG)
ok(
    "the initiator's agent is killed: the job is ended",
    p.returncode == 1 and "the agent of this node" in err,
    (p.returncode, err),
)
# nobody has asked the top controller for its status
ok(
    "the top controller sees that its lease is over",
    until(lambda: "did not renew its lease" in c.log(0), LONG),
    c.log(0)[-1500:],
)
c.free("leases that nobody renews are over", [i for i in NODES if i != 3], LONG)
c.start(3)
ok("it is back", c.all_up(NODES))

p = c.begun("leaves", 3)
c.ask(1, {"command": "leave", "now": True})
out, err = p.communicate(timeout=LONG)
ok(
    "a host leaves the cluster: the job is ended",
    p.returncode == 1 and "n1 is lost" in err,
    (p.returncode, err),
)
c.agents.pop(1).wait(WAIT)
c.free("the other hosts are free")
rest = [i for i in NODES if i in c.agents]
status, out, err = c.gang(
    3, "--model", c.all, "--least", str(len(rest)), "--wait", str(WAIT), "--json", "--", "true"
)
ok(
    "the next job has the hosts that are left",
    status == 0 and set(json.loads(out)["hosts"]) == {f"n{i}" for i in rest},
    (status, out, err),
)

ok("no report of a sanitizer", not c.reports(), c.reports())
done()
