#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""GNU parallel --ssh."""

import os, signal, sys

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from nodes import PIPE, RSH, Nodes
from wait import WAIT, until

c = Nodes(3)
PARALLEL = ["parallel", "--will-cite", "--ssh", RSH, "-S", "2/n1,2/n2"]
status, out, err = c.run(*PARALLEL, "-k", "echo $(hostname) {}", ":::", *"abcdef")
lines = [line.split() for line in out.splitlines()]
ok(
    "the jobs run on the nodes that are named, and their output comes in order",
    status == 0
    and [w[1] for w in lines] == list("abcdef")
    and {w[0] for w in lines} <= {"n1", "n2"},
    (status, out, err),
)
status, out, err = c.run(*PARALLEL, "-k", "--joblog", "log", "exit {}", ":::", "0", "3", "0", "7")
log = [line.split("\t")[6] for line in open(f"{c.work}/log").read().splitlines()[1:]]
ok(
    "each one's exit status is known",
    status == 2 and sorted(log) == ["0", "0", "3", "7"],
    (status, log, err),
)
status, out, err = c.run(
    "parallel", "--will-cite", "--ssh", RSH, "-S", "1/n1,1/n2", "--nonall", "hostname"
)
ok("--nonall: once on each", (status, sorted(out.split())) == (0, ["n1", "n2"]), (status, out, err))
status, out, err = c.run(
    "parallel", "--will-cite", "--ssh", RSH, "-S", "n1,n2", "-k", "echo {}", ":::", "a", "b"
)
ok("it asks the nodes for their processors", (status, out) == (0, "a\nb\n"), (status, out, err))
status, out, err = c.run(*PARALLEL, "-k", "--pipe", "-N1", "cat", input="one\ntwo\n")
ok("--pipe: their input", (status, out) == (0, "one\ntwo\n"), (status, out, err))
os.environ["WORD"] = "a  word"
status, out, err = c.run(*PARALLEL, "--env", "WORD", 'echo "$WORD" {}', ":::", "a")
ok("--env", (status, out) == (0, "a  word a\n"), (status, out, err))
status, out, err = c.run(
    "parallel", "--will-cite", "--ssh", RSH, "-S", "1/n9", "--retries", "1", "true", ":::", "a"
)
ok("a node that is not there fails", status != 0 and "n9" in err, (status, out, err))
p = c.spawn(*PARALLEL, "sleep 1000; : {}", ":::", *"abcd", stdout=PIPE, stderr=PIPE)
ok(
    "jobs on both nodes",
    until(lambda: c.has(1, "^sleep 1000") and c.has(2, "^sleep 1000")),
    c.shown(),
)
os.killpg(p.pid, signal.SIGINT)
p.communicate(timeout=WAIT)
c.nothing_left("^C ends them all", (1, 2))
c.nothing_left()
done()
