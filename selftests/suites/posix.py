# SPDX-License-Identifier: GPL-2.0-or-later
"""The Open POSIX Test Suite: what a program is promised of signals, fork(), threads, timers,
scheduling, memory, semaphores, message queues and asynchronous I/O. Each test is a program of its
own, which leaves; its status is its result. Those that do not compile are left out."""
from results import lines
from suite import Suite

SUITE = Suite(
    "posixtestsuite",
    "1.5.2",
    bound=3600,
    programs=["t/*"],
    results=lines(r"^(?P<test>[a-z_]+:[\w-]+) (?P<result>status \d+)$"),
    build="""
mkdir t
for f in conformance/interfaces/*/[0-9]*-[0-9]*.c; do
	case $f in *-buildonly.c) ;; *) echo "$f" ;; esac
done >list
xargs -P2 -n1 sh -c 'f=$1 n=${1#conformance/interfaces/}; n=${n%.c}
	gcc -w -D_GNU_SOURCE -D_XOPEN_SOURCE=600 -Iinclude -o "t/${n%/*}:${n#*/}" "$f" \\
		-lpthread -lrt -lm 2>/dev/null || :' sh <list
ls t | wc -l""",
    run="""
ls t | xargs -P4 -n1 sh -c '
	cd "$(mktemp -d)" && timeout 60 "$0/t/$1" >/dev/null 2>&1 </dev/null
	echo "$1 status $?"' "$PWD" """,
)
