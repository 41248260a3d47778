# SPDX-License-Identifier: GPL-2.0-or-later
"""jq, the one of this machine: each case of the tests of its source by itself: as jq's own test,
with its input from a pipe, and with its input from a file; and the two scripts of its tests. What
they write is compared byte for byte."""
from results import outputs
from suite import Suite

SUITE = Suite(
    "jq",
    "1.6",
    programs=["jq"],
    results=outputs("out"),
    build=r"""
cp /usr/bin/jq jq && mkdir cases out
for f in jq onig base64 optional; do
	awk -v name="cases/$f" 'BEGIN { RS = "" } {
		if ($0 !~ /(^|\n)[^#]/)
			next
		file = sprintf("%s.%03d", name, ++n)
		print >file
		if ($0 ~ /%%FAIL/)
			next
		count = split($0, line, "\n")
		at = 0
		for (i = 1; i <= count; i++)
			if (line[i] !~ /^#/ && ++at <= 2)
				print line[i] >(file (at == 1 ? ".program" : ".input"))
		close(file); close(file ".program"); close(file ".input")
	}' "tests/$f.test"
done""",
    run=r"""
say() { name=$1; shift; "$@" >"out/$name.out" 2>&1; echo "status $?" >>"out/$name.out"; }
piped() { cat "$1.input" | timeout 60 ./jq -L tests/modules -f "$1.program"; }
for c in cases/*[0-9]; do
	n=${c#cases/}
	say "$n.test" timeout 60 ./jq -L tests/modules --run-tests "$c"
	[ -e "$c.program" ] || continue
	say "$n.pipe" piped "$c"
	say "$n.file" timeout 60 ./jq -L tests/modules -c -f "$c.program" <"$c.input"
done
say shtest sh tests/shtest
say jq-f-test sh tests/jq-f-test.sh""",
)
