# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs as they are. Here the parent is a managed session, and what it starts goes away;
without the module, which would see to that, $AWAY in front of a command does."""

import os, subprocess
from suite import case

SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "source")


def session(name, script, prepare=None, at_least=1, env=None, **more):
    """`at_least`: so many tasks of it must have gone."""

    @case(name, **more)
    def play(s):
        if prepare:
            prepare(s)
        words = ["/bin/sh", "-c", script]
        before = s.place.moved()
        given = {
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C",
            "AWAY": s.place.prefix if s.away else "",
            **(env or {}),
        }
        if s.away:
            words = s.place.session(words)
        task = s.start(*words, env=given, away=False)
        out, err = s.collect(task)
        s.see("stdout", out)
        s.see("stderr", err)
        s.see("end", task.wait())
        if s.away and s.place.moved() - before < at_least:
            s.see(
                "the case itself",
                f"{s.place.moved() - before} of its tasks were away, not {at_least}",
            )


def zlib(s):
    source = subprocess.check_output([SOURCE, "zlib"], text=True).strip()
    subprocess.run(["cp", "-a", source + "/.", s.dir], check=True)
    s.write("cc", '#!/bin/sh\nexec $AWAY gcc "$@"\n', 0o755)


session(
    "zlib: configure, make -j4, its tests",
    """
	CC=./cc CFLAGS='-O1 -g' ./configure --static >configured 2>&1 || { cat configured; exit 1; }
	make -j4 libz.a example minigzip >made 2>&1 || { cat made; exit 1; }
	make teststatic 2>&1 | grep -v '^make' | sed 's/[.0-9]* *seconds//'
	sort made >sorted; rm made configured configure.log
	cksum libz.a *.o example minigzip""",
    zlib,
    at_least=10,
    long="module",
    bound=300,
    needs="zlib",
)


def text(s):
    with open(s.file("text"), "w") as f:
        x = 1
        for _ in range(60000):
            words = []
            for _ in range(9):
                x = x * 1103515245 + 12345 & 0x7FFFFFFF
                words.append("w%d" % ((x >> 16) % 997))
            f.write(" ".join(words) + "\n")


session(
    "a pipeline of coreutils over 3 MB of text",
    """
	$AWAY cat text | $AWAY tr ' ' '\\n' | $AWAY sort | $AWAY uniq -c |
	$AWAY sort -k1,1nr -k2 | $AWAY head -n 20
	$AWAY cut -d ' ' -f 2,5 text | $AWAY sort -u | $AWAY wc
	$AWAY grep -c w1 text; $AWAY sed -n '1000,1010p' text | $AWAY tac | $AWAY nl; $AWAY cksum <text""",
    text,
    at_least=4,
    bound=60,
)

session(
    "a sweep of a simulation's parameters",
    """
	cat >walk.awk <<'END'
	BEGIN { srand(seed); for (i = 0; i < steps; i++) { x += rand() < p ? 1 : -1; if (x > m) m = x }
		printf "p %.2f seed %d: end %d, most %d\\n", p, seed, x, m >("result-" p "-" seed) }
END
	for p in 0.45 0.50 0.55; do for seed in 1 2 3 4; do echo $p $seed; done; done |
		xargs -P 4 -n 2 sh -c 'exec $AWAY awk -v p=$0 -v seed=$1 -v steps=20000 -f walk.awk'
	cat result-* | sort""",
    at_least=4,
    bound=60,
)


def tree(s):
    for i in range(40):
        os.makedirs(s.file(f"tree/{i % 5}/a b"), exist_ok=True)
        s.write(f"tree/{i % 5}/a b/{i}", f"content {i}\n" * i)


session(
    "find | xargs -P",
    """
	find tree -type f -print0 | sort -z | xargs -0 -P 4 -n 5 $AWAY cksum | sort
	find tree -name '*1' -print0 | xargs -0 -P 3 -n 1 $AWAY gzip -nk
	find tree | sort | wc -l""",
    tree,
    at_least=4,
    bound=60,
)
