# SPDX-License-Identifier: GPL-2.0-or-later
"""bash, the one of this machine: each run-* script of its source, whose output shows the
differences from what is expected. What they write is compared byte for byte: some differ from what
is expected wherever they run."""
from results import outputs
from suite import Suite

SUITE = Suite(
    "bash",
    "5.2.15",
    bound=3600,
    build=(
        "./configure -q --disable-nls --without-bash-malloc && make -s recho zecho printenv xcase"
        " && rm -f bash && cp /bin/bash bash"
    ),
    programs=["bash"],
    results=outputs("tests/out"),
    run=r"""
cd tests && mkdir out && export PATH=$PWD:$PWD/..:$PATH
export THIS_SH=$PWD/../bash BASH_TSTOUT=$TMPDIR/tstout
for t in run-[a-z]*; do
	case $t in
	run-all | run-minimal | run-gprof | *.orig | *~) continue ;;
	esac
	echo "$t"
	timeout 900 sh "$t" </dev/null >"out/${t#run-}.out" 2>&1
	echo "status $?" >>"out/${t#run-}.out"
	rm -f "$BASH_TSTOUT"
done""",
)
