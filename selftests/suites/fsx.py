# SPDX-License-Identifier: GPL-2.0-or-later
"""fsx, the file system exerciser: 1000 random operations on a file (read, write, truncate, mapped
read and write, close and open again), each followed by a look at all that should be there. Each
leaves as a whole and runs in a view of home's files."""
from results import outputs
from suite import Suite

SUITE = Suite(
    "fsx",
    "edf5eb4",
    bound=3600,
    view="home",
    git="https://github.com/billziss-gh/secfs.test",
    commit="edf5eb4a108bfb41073f765aef0cdd32bb3ee1ed",
    programs=["bin/fsx"],
    results=outputs("out"),
    build="mkdir bin work out && cc -O2 -w -o bin/fsx fstools/src/fsx/fsx.c",
    run=r"""
cd work
for seed in $(seq 20); do
	for how in "" "-R -W" "-W" "-c 20" "-c 5" "-o 3000 -F 20000" \
		"-R -W -r 4096 -w 4096 -t 4096" "-L -F 100000" "-h -s 1"; do
		echo "$seed $how"
	done
done | xargs -P12 -d '\n' -n1 sh -c 'name=$(echo "$0" | tr -d " -")
	head -c 100000 /dev/zero >"$name"	# -L makes none
	timeout 600 ../bin/fsx -N 1000 -S $0 "$name" </dev/null >"../out/$name.out" 2>&1
	echo "status $?" >>"../out/$name.out"; echo "$name"'
""",
)
