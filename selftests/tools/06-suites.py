#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""check-suites: what it reads of tests of others, and what it counts as a difference."""

import collections, os, shutil, subprocess, sys, tempfile

sys.path.append(os.path.join(sys.path[0], "../lib"))
from ktap import done, ok
from tree import TOP

sys.path.append(os.path.join(TOP, "selftests/suites/driver"))
from compare import Comparison, Known
import play, results
from suite import Suite, all_suites

work = tempfile.TemporaryDirectory(prefix="ehs-suites-")


def put(name, text):
    path = os.path.join(work.name, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


# ---- results ----

put("tree/tests/one.trs", ":test-result: PASS\n:global-test-result: PASS\n")
put("tree/tests/deep/two.trs", ":test-result: FAIL\n:recheck: yes\n")
put("tree/tests/three.trs", ":test-result: PASS 1 - first\n:test-result: SKIP 2 - second\n")
put("tree/tests/no.log", ":test-result: PASS\n")
put("tree/gnulib/other.trs", ":test-result: PASS\n")
got = results.automake("tests")(os.path.join(work.name, "tree"), "")
ok(
    "automake: .trs files below a directory, also with several results",
    got
    == {
        "tests/one": "PASS",
        "tests/deep/two": "FAIL",
        "tests/three 1 1 - first": "PASS",
        "tests/three 2 2 - second": "SKIP",
    },
    got,
)
got = results.tap(
    "",
    (
        "# test t0001.sh\nok 1 - works\nnot ok 2 - does not # TODO later\nok 3 # skip none\nbla\n#"
        " test t0002.sh\nnot ok 1 - bad\n1..1\n"
    ),
)
ok(
    "TAP",
    got
    == {
        "t0001.sh 1 works": "ok",
        "t0001.sh 2 does not": "not ok todo",
        "t0001.sh 3": "ok skip",
        "t0002.sh 1 bad": "not ok",
    },
    got,
)
got = results.unittest(
    "",
    """\
test_a (test.test_x.Case.test_a) ... ok
test_b (test.test_x.Case.test_b)
What it is for. ... FAIL
test_c (test.test_x.Case.test_c) ... skipped 'no reason'
test_d (test.test_x.Case.test_d) ... something it prints
ok
test_e (test.test_x.Case) ... ERROR
======
FAIL: test_b (test.test_x.Case.test_b)
What it is for.
Ran 5 tests in 0.1s
""",
)
ok(
    "unittest -v, with lines between name and result",
    got
    == {
        "test.test_x.Case.test_a": "ok",
        "test.test_x.Case.test_b": "FAIL",
        "test.test_x.Case.test_c": "skipped",
        "test.test_x.Case.test_d": "ok",
        "test.test_x.Case.test_e": "ERROR",
    },
    got,
)
got = all_suites()["make"].results(
    "",
    (
        "features/archives ........................ ok     (10 passed)\n"
        "misc/bs-nl ........ FAILED (2/3 passed)\nno test\nfeatures/guile ..... N/A\n"
    ),
)
ok(
    "make's",
    got
    == {
        "features/archives": "ok     (10 passed)",
        "misc/bs-nl": "FAILED (2/3 passed)",
        "features/guile": "N/A",
    },
    got,
)
got = all_suites()["tar"].results(
    "",
    (
        "  1: version                                         ok\n 22: long names: a b             "
        "                   FAILED (x.at:21)\n200: sparse                                         "
        " skipped (x.at:1)\n## tests\n"
    ),
)
ok(
    "autotest's",
    got == {"1: version": "ok", "22: long names: a b": "FAILED", "200: sparse": "skipped"},
    got,
)
put("py/out/os", "test_a (test.test_os.T.test_a) ... ok\n")
put("py/out/pty", "test_b (test.test_pty.T.test_b) ... FAIL\n")
got = all_suites()["pythonos"].results(os.path.join(work.name, "py"), "")
ok(
    "a file for each module of Python",
    got == {"test.test_os.T.test_a": "ok", "test.test_pty.T.test_b": "FAIL"},
    got,
)
put("awk/test/_addcomma", "")
got = all_suites()["gawk"].results(
    os.path.join(work.name, "awk"),
    "======== Starting basic tests ========\naddcomma\nMakefile:9: x\nanchgsub\n",
)
ok("gawk's", got == {"addcomma": "failed", "anchgsub": "passed"}, got)
put("out/a.out", "x\nstatus 0\n")
put("out/b.out", "x\nstatus 1\n")
got = results.outputs("out")(work.name, "")
ok(
    "outputs: status, size and digest",
    got["a"].startswith("status 0, 11 bytes, ")
    and got["b"].startswith("status 1, 11 bytes, ")
    and got["a"].split()[-1] != got["b"].split()[-1],
    got,
)
put(
    "deja/find/testsuite/find.sum",
    (
        "Test Run By x\n\t\t=== find tests ===\nPASS: ls.new-O0\nFAIL: ls.new-O1, standard output"
        " differs from the expected result:\n--- find.out\nPASS: ls.new-O0\nUNTESTED: no reason\n#"
        " of expected passes\t2\n"
    ),
)
got = results.dejagnu("find", "xargs")(os.path.join(work.name, "deja"), "")
ok(
    "DejaGnu: the names of failed tests too, one that comes again, a tool that did not run",
    got
    == {
        "find ls.new-O0": "PASS",
        "find ls.new-O1": "FAIL",
        "find ls.new-O0 (2)": "PASS",
        "find no reason": "UNTESTED",
    },
    got,
)
put("deja/out/a.out", "status 0\n")
got = results.all_of(results.outputs("out"), results.dejagnu("find"))(
    os.path.join(work.name, "deja"), ""
)
ok("several readers", len(got) == 5 and "a" in got, got)
put(
    "git/out/t0001-init",
    (
        "ok 1 - plain\nnot ok 2 - bare # TODO known breakage\nok 3 # skip no links (missing"
        " SYMLINKS)\nnot ok 4 - nested\n#\n#\tok 5 - what it ran\n1..4\n"
    ),
)
got = all_suites()["git"].results(os.path.join(work.name, "git"), "")
ok(
    "git's",
    got
    == {
        "t0001-init 1": "ok",
        "t0001-init 2": "not ok todo",
        "t0001-init 3": "ok skip",
        "t0001-init 4": "not ok",
    },
    got,
)
put(
    "ltp/out/fcntl14",
    (
        "tst_test.c:1: TINFO: x\nfcntl14.c:9: TPASS: lock of PID 12\nfcntl14.c:9: TFAIL:"
        " no\n\nSummary:\npassed 1\nTFAIL\nstatus 1\n"
    ),
)
put("ltp/out/wait01", "wait01    1  TPASS  :  good\nwait01    2  TCONF  :  none\nstatus 32\n")
put("ltp/out/pipe01", "killed\n")
got = all_suites()["ltp"].results(os.path.join(work.name, "ltp"), "")
ok(
    "LTP's, in both of its forms",
    got
    == {
        "fcntl14 1": "TPASS",
        "fcntl14 2": "TFAIL",
        "fcntl14": "1",
        "wait01 1": "TPASS",
        "wait01 2": "TCONF",
        "wait01": "32",
        "pipe01": "no status",
    },
    got,
)
ok("no results", results.outputs("nowhere")(work.name, "") == {} and results.tap("", "") == {})

# ---- comparison ----

here = {
    "same": "PASS",
    "bad": "PASS",
    "only here": "PASS",
    "listed": "PASS",
    "well": "PASS",
    "changes": "PASS",
}
away = {
    "same": "PASS",
    "bad": "FAIL",
    "only away": "PASS",
    "listed": "FAIL",
    "well": "PASS",
    "changes": "FAIL",
}
c = Comparison(here, away, {"listed": "why", "well": "why", "nowhere": "why"})
ok(
    "what differs, also by absence",
    set(c.differ) == {"bad", "only here", "only away", "changes"}
    and c.differ["only away"] == ("absent", "PASS"),
    c.differ,
)
ok("a known one does not count", set(c.known) == {"listed"} and c.same == 1)
ok(
    "a known one that is the same now, or not run, does",
    set(c.gone) == {"well", "nowhere"} and not c.good(),
    c.gone,
)
again = {**here, "changes": "FAIL"}
c = Comparison(here, away, {}, [{**here}, again])
ok(
    "a test that is not the same here twice says nothing",
    set(c.unsteady) == {"changes"} and "bad" in c.differ,
    c.unsteady,
)
ok(
    "all the same",
    Comparison(here, here, {}).good()
    and Comparison(here, {**here, "bad": "FAIL"}, {"bad": "why"}).good(),
)

# ---- the list of known ones ----

document = put(
    "transparency.md", "| what | why |\n|---|---|\n| `getpid()`, `getppid()` | processes |\n"
)
k = Known(put("known", "# comment\n\nsed\ttests/a\t`getpid()`\tit prints its parent\n"), document)
ok(
    "a good line",
    not k.wrong and k.of("sed") == {"tests/a": "it prints its parent"} and k.of("grep") == {},
    k.wrong,
)
k = Known(
    put(
        "known",
        (
            "sed\ttests/a\t`fork()`\twhy\nsed"
            " tests/a\nsed\ta\t`getpid()`\twhy\nsed\ta\t`getpid()`\twhy\n"
        ),
    ),
    document,
)
ok(
    "a row that is not there, too few words, one twice",
    len(k.wrong) == 3 and "no row" in k.wrong[0] and ":2:" in k.wrong[1] and "twice" in k.wrong[2],
    k.wrong,
)
k = Known(os.path.join(TOP, "selftests/suites/known"), os.path.join(TOP, "docs/transparency.md"))
ok(
    "ours: each has a row, and a suite",
    not k.wrong and not {s for s, _ in k.tests} - set(all_suites()),
    k.wrong,
)

# ---- a suite is played ----


class Place:
    """Runs scripts as they are; tasks that `leave` are counted as the front would send them."""

    top = cache = os.path.join(work.name, "place")
    away, user, left = os.path.join(top, "away"), os.getuid(), 0

    def stub(self, there):
        if there:
            os.mkdir(self.away)
            put(
                "place/away/ehstub",
                '#!/bin/sh\nshift\nprogram=$1\nshift 2\nWHERE=away exec $program "$@"\n',
            )
            os.chmod(f"{self.away}/ehstub", 0o755)
            self.left += 1
        elif os.path.exists(self.away):
            shutil.rmtree(self.away)

    def counts(self):
        return self.left, collections.Counter()

    def run(self, script, tree, log, environment, uid, bound, show):
        with open(log, "wb") as out:
            return subprocess.run(
                ["sh", "-c", script],
                cwd=tree,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=environment,
                check=False,
            ).returncode


os.mkdir(Place.top)
put("toy/README", "a toy\n")
play.SOURCE = put("source", f"#!/bin/sh\necho {work.name}/$1\n")
os.chmod(play.SOURCE, 0o755)
play.show = lambda text="", end=False: None
toy = Suite(
    "toy",
    "1",
    build="cp /usr/bin/env prog && echo x >made && touch -d 2001-01-01 prog && ls >listed",
    programs=["p*g", "made"],
    results=results.lines(r"^(?P<test>t\d) (?P<result>.*)$"),
    run=(
        "mkdir -p tests/out; echo $WHERE >tests/out/t1; touch a.trs a.log b.trs find.sum find.log"
        " other.log; ./prog printf 't1 same\\n'; ./prog sh -c 'echo t2 ${WHERE-here}'; echo t3"
        " $(cat made; date >>made)"
    ),
)
player = play.Play("toy", toy, Place(), os.path.join(work.name, "kept"))
c = player.compare({})
ok("what runs away and differs", c.differ == {"t2": ("here", "away")} and c.same == 2, vars(c))
ok(
    "each run begins with what was built",
    open(f"{work.name}/kept/here.log").read()
    == "t1 same\nt2 here\nt3 x\n"
    == open(f"{work.name}/kept/again.log").read(),
)
ok(
    "what harnesses and tests wrote is kept",
    sorted(
        os.path.relpath(os.path.join(folder, f), work.name)
        for folder, _, files in os.walk(f"{work.name}/kept/away")
        for f in files
    )
    == [f"kept/away/{f}" for f in ("a.log", "b.trs", "find.log", "tests/out/t1")],
)
ok(
    "a front has the time of its program; a script has none",
    os.stat(f"{Place.top}/toy/built/prog").st_mtime < 1e9
    and sorted(os.listdir(f"{Place.top}/toy/built/.here")) == ["prog"],
)
put("toy/README", "changed\n")
ok(
    "it is built once",
    player.compare({"t2": "why"}).good()
    and open(f"{Place.top}/toy/built/README").read() == "a toy\n",
)
toy.run = toy.run.replace("t3", "t4")
ok(
    "also if it is run in another way",
    player.compare({"t2": "why"}).same == 2
    and open(f"{Place.top}/toy/built/README").read() == "a toy\n"
    and "t4" in open(f"{work.name}/kept/away.log").read(),
)
toy.build += " # changed"
ok(
    "and again when its build has changed",
    player.compare({"t2": "why"}).good()
    and open(f"{Place.top}/toy/built/README").read() == "changed\n",
)


def fails(suite, text):
    try:
        return (
            text
            in str(play.Play("toy", suite, Place(), os.path.join(work.name, "kept")).compare({}))
            and False
        )
    except play.Failed as error:
        return text in str(error) or print("#", error)


ok(
    "a build that fails",
    fails(Suite("toy", "1", "echo broken; exit 3", ["p"], "", results.tap), "status 3: broken"),
)
ok("no program", fails(Suite("toy", "1", "true", ["p"], "", results.tap), "none of the programs p"))
ok(
    "no result",
    fails(
        Suite("toy", "1", "cp /usr/bin/env p", ["p"], "echo hm", results.tap),
        "no result of a test was found: hm",
    ),
)
Place.left = 0
Place.counts = lambda self: (0, collections.Counter())
ok(
    "nothing has left",
    fails(
        Suite("toy", "1", "cp /usr/bin/env p # 2", ["p"], "echo ok 1", results.tap),
        "none of its tasks left",
    ),
)
# where the stub is put, as many left
Place.counts = lambda self: (4 * self.left, collections.Counter({"files-differ": 3 * self.left}))
Place.left = 0
ok(
    "most came back",
    fails(
        Suite("toy", "1", "cp /usr/bin/env p # 2", ["p"], "echo ok 1", results.tap),
        "4 of its tasks left, but 3 stayed or came back",
    ),
)
ok(
    "a package that is missing",
    fails(
        Suite("toy", "1", "# 3", ["p"], "", results.tap, needs=["ehs-none"]),
        "apt-get install ehs-none",
    ),
)

# ---- the driver ----

run = os.path.join(TOP, "selftests/suites/run")
r = subprocess.run([run, "--list"], stdout=subprocess.PIPE, text=True, check=False)
ok(
    "--list",
    r.returncode == 0 and {line.split()[0] for line in r.stdout.splitlines()} == set(all_suites()),
    r.stdout,
)
r = subprocess.run(
    [run, "nonsense"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False
)
ok(
    "a suite that there is not",
    r.returncode == 2 and "nonsense: no such suite" in r.stderr and not r.stdout,
    r.stderr,
)
done()
