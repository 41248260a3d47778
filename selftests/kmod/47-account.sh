#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a task used elsewhere is its stub's, for whoever waits for it.
. "$(dirname "$0")/lib.sh"

node_reset
sitter $cg/m
agent "$stub" remote sender sleep
# the machine may be busy: what is tested here has to be placed
$nl set limit=10000

# used PARENT-COMMAND…: what a parent finds of a stub of which 5 s, 3 s and more are reported; numbers are those of the YAML
cat >"$work/parent.py" <<'PARENT'
import os, resource, subprocess, sys
nl, probe, cgroup = sys.argv[1:4]
child = subprocess.Popen([probe, "in", cgroup, "--", "true"])
while not any(f"pid={child.pid} " in line and " away " in line
              for line in subprocess.run([nl, "tasks"], capture_output=True, text=True).stdout.splitlines()):
    if child.poll() is not None:
        sys.exit("the task was not placed: " + subprocess.run([nl, "get"], capture_output=True, text=True).stdout)
before = resource.getrusage(resource.RUSAGE_CHILDREN)
words = [nl, "account", str(child.pid), "10=5000000000", "11=3000000000", "12=4194304", "13=100000", "14=2000", "15=30000", "16=4000"]
err = subprocess.run(words).returncode
again = subprocess.run(words[:3] + ["10=1000000000"]).returncode
child.kill()
_, status, of_it = os.wait4(child.pid, 0)
ours = resource.getrusage(resource.RUSAGE_CHILDREN)
for name, u, b in ("wait4", of_it, None), ("children", ours, before):
    less = [getattr(b, k) if b else 0 for k in ("ru_utime", "ru_stime", "ru_minflt", "ru_majflt", "ru_nvcsw", "ru_nivcsw")]
    print(name, err, again, int(u.ru_utime - less[0]), int(u.ru_stime - less[1]), u.ru_maxrss, (u.ru_minflt - less[2]) // 100000,
          (u.ru_majflt - less[3]) // 2000, (u.ru_nvcsw - less[4]) // 30000, (u.ru_nivcsw - less[5]) // 4000)
PARENT
if python3 -c '' 2>/dev/null; then
	python3 "$work/parent.py" $nl "$probe" $cg/m >"$out" 2>&1
	is "wait4() finds it" "$(grep wait4 "$out")" "wait4 0 0 6 3 4194304 1 1 1 1"
	is "getrusage() of the parent too" "$(grep children "$out" || cat "$out")" "children 0 0 6 3 4194304 1 1 1 1"
else
	skip "wait4() finds it" "no python3"
fi
refused "a task that is here" ESRCH "not a stub of this node" "$nl" account $sitter 10=1
refused "a task that nobody manages" ESRCH "not a stub of this node" "$nl" account $$ 10=1
refused "nobody" ESRCH "no such task" "$nl" account 4000000 10=1
# Attributes 10, 11: times; 12: resident set; 13 to 16: faults and switches.
for n in 10 11 13 14 15 16; do
	refused "number $n beyond 2^62" ERANGE "integer out of range" "$nl" account $sitter $n=4611686018427387905
done
refused "a resident set beyond 2^50 KiB" ERANGE "integer out of range" "$nl" account $sitter 12=1125899906842625
refused "the largest numbers, of a task that is here" ESRCH "not a stub of this node" "$nl" account $sitter 10=4611686018427387904 \
	11=4611686018427387904 12=1125899906842624 13=4611686018427387904 14=4611686018427387904 15=4611686018427387904 16=4611686018427387904
refused "an account of what is no pid" ERANGE "integer out of range" "$nl" account 2147483648 10=1
refused "an account of none" EINVAL "pid is missing" "$nl" account
refused "not everybody may" EPERM "" setpriv --reuid=65534 --regid=65534 --clear-groups "$nl" account $sitter 10=1
$probe in $cg/m -- true &
stub_pid=$!
wait_for 20 eval '$nl tasks | grep "pid=$stub_pid " | grep -q " away "'
like "a stub of another namespace" "$(unshare --net "$nl" account $stub_pid 10=1 2>&1)" "*not a stub of this node*"
sitter_end $stub_pid
agent_end
sitter_end $sitter
finish
