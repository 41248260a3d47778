#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What confines a task keeps it at home, each with its reason; the same task without it is sent. On a sender
# node whose agent would send everything away.
. "$(dirname "$0")/lib.sh"

node_reset
sitter $cg/m
in="$probe in $cg/m"
agent "$stub" remote sender exit-42
counted sender "an ordinary task is sent" $in -- true
is "and the stub ran in its place" "$($in -- true; echo $?)" 42

# stays REASON NAME WORDS…: counted so, and the program runs here
stays() {
	local reason=$1 name=$2
	shift 2
	counted "$reason" "$name: $reason" $in "$@" -- sh -c 'exit 7'
	is "$name: it runs here" "$($in "$@" -- sh -c 'exit 7' 2>&1; echo $?)" 7
}
goes() {
	local name=$1
	shift
	counted sender "$name: it is sent" $in "$@" -- true
}

# no_new_privs
is "by default tasks with no_new_privs stay" "$(field no-new-privs)" 0
stays no-new-privs "no_new_privs" nnp
refused "no-new-privs is 0 or 1" ERANGE "integer out of range" "$nl" set no-new-privs=2
$nl set no-new-privs=1
is "the node says that they may go" "$(field no-new-privs)" 1
# Landlock of this kernel may have rules for the network only, which the module does not see
hides() { [ "$($probe landlock-abi)" -ge 4 ]; }
if hides; then
	stays no-new-privs "no_new_privs, whatever the node says" nnp
	stays no-new-privs "Landlock with rules for the network only" nnp landlock-net
else
	goes "no_new_privs, where that may go" nnp
fi
stays confined "a seccomp filter all the same" seccomp

# Landlock
hides || stays landlock "Landlock and no_new_privs, where that may go" nnp landlock
$nl set no-new-privs=0
stays no-new-privs "Landlock and no_new_privs, where that stays" nnp landlock
stays landlock "Landlock of root, without no_new_privs" landlock

# limits that the task cannot undo; what there is depends on the kernel and the processor
if $probe mdwe 2>/dev/null; then
	stays confined "memory that never becomes executable" mdwe
else
	skip "memory that never becomes executable" "this kernel has no PR_SET_MDWE"
fi
if $probe core 2>/dev/null; then
	stays confined "processor cores of its own" core
else
	skip "processor cores of its own" "this kernel has no core scheduling, or the processor no threads"
fi
for kind in store branch; do
	if $probe speculation $kind force 2>/dev/null; then
		stays confined "no speculation ($kind), for good" speculation $kind force
	else
		skip "no speculation ($kind), for good" "neither the kernel nor the processor controls it"
	fi
	if $probe speculation $kind disable 2>/dev/null; then
		goes "no speculation ($kind), as long as it likes" speculation $kind disable
	else
		skip "no speculation ($kind), as long as it likes" "neither the kernel nor the processor controls it"
	fi
done
if $probe speculation store noexec 2>/dev/null; then
	goes "no speculation until the next exec" speculation store noexec
else
	skip "no speculation until the next exec" "neither the kernel nor the processor controls it"
fi

# ids that begin_new_exec() would make a secure start of
stays secureexec "another real user" ids 65534 0
stays secureexec "another effective user" ids 0 65534
goes "a user who is nothing else" ids 65534 65534
stays secureexec "another real group" gids 65534 0
goes "a group that is nothing else" gids 65534 65534
stays secureexec "another user for files" fsuid 65534
goes "the same user for files" fsuid 0

# capabilities
stays capabilities "a bounding set with less than the agent's" bounding 16
stays capabilities "root that has given up a capability" permitted
goes "root that does not use a capability now" effective
stays capabilities "a user with an ambient capability" ambient
stays capabilities "securebits" securebits
agent_end
printf '#!/bin/sh\nexec setpriv --bounding-set -sys_module %s "$@"\n' "$nl" >"$work/bounded"
chmod +x "$work/bounded"
nl=$work/bounded agent "$stub" remote sender exit-42
goes "a bounding set that the agent has, too" bounding 16
stays capabilities "one with less than that" bounding 13
agent_end
agent "$stub" remote sender exit-42

# namespaces; the tests of mnt, pid, user and the root directory are in 30-reasons
for kind in uts ipc cgroup time pid-children; do
	counted namespace "another $kind namespace" $in new $kind -- sh -c 'exit 7'
done
counted namespace "a child in another time namespace" $in new time fork -- sh -c 'exit 7'
goes "a child in no other namespace" fork
mkdir -p "$work/root" && mount --bind / "$work/root"
stays namespace "another root directory" root "$work/root"
umount "$work/root"

# cgroups of version 1, which forbid devices and class packets without a BPF program
v1=$work/v1
mkdir -p "$v1"
for controller in devices net_cls net_prio; do
	if ! mount -t cgroup -o $controller none "$v1" 2>"$out"; then
		skip "a cgroup of version 1 ($controller)" "not in this kernel: $(cat "$out")"
		continue
	fi
	mkdir "$v1/own" "$v1/other"
	goes "the root cgroup of $controller" in "$v1"
	stays confined "a cgroup of $controller" in "$v1/own"
	agent_end
	printf '#!/bin/sh\nexec %s in %s -- %s "$@"\n' "$probe" "$v1/own" "$nl" >"$work/classed"
	chmod +x "$work/classed"
	nl=$work/classed agent "$stub" remote sender exit-42
	goes "the agent's cgroup of $controller" in "$v1/own"
	stays confined "another one than the agent's" in "$v1/other"
	# it forbids no device that its children allow, but may have a class of its own
	case $controller in
	devices) goes "the root, in which the agent is not" in "$v1" ;;
	*) stays confined "the root of $controller, in which the agent is not" in "$v1" ;;
	esac
	# it is what the agent was in when it registered
	echo "$agent" >"$v1/cgroup.procs"
	goes "the cgroup of $controller that the agent has left" in "$v1/own"
	rmdir "$v1/own" && mkdir "$v1/own"
	stays confined "a later cgroup of the same name" in "$v1/own"
	agent_end
	rmdir "$v1/own" "$v1/other"
	umount "$v1"
	agent "$stub" remote sender exit-42
done

# BPF programs of cgroups
for kind in device egress; do
	$probe bpf $kind 1 $cg/m
	stays cgroup-bpf "a BPF program ($kind)"
	$probe unbpf $kind $cg/m
	goes "no BPF program ($kind) any more"
	$probe bpf $kind 2 $cg/m $cg/g
	goes "a BPF program ($kind) that guests have, too"
	$probe unbpf $kind $cg/g
	stays cgroup-bpf "a BPF program ($kind) that guests do not have any more"
	$probe bpf $kind 1 $cg/g
	stays cgroup-bpf "another BPF program ($kind) than guests have"
	$probe unbpf $kind $cg/m
	goes "a BPF program ($kind) that only guests have"
	$probe unbpf $kind $cg/g
	$probe bpf $kind 1 $cg
	goes "a BPF program ($kind) of the cgroup above both"
	# guests are then what the agent is, which is in another cgroup
	$nl set clear managed="$cg/m"
	stays cgroup-bpf "a BPF program ($kind) that the agent does not have"
	$probe unbpf $kind $cg
	goes "no BPF program ($kind), and no guest cgroup"
	$nl set guest="$cg/g"
done
# a guest cgroup that was removed has none
mkdir $cg/gone && $nl set guest=$cg/gone && rmdir $cg/gone
goes "a removed guest cgroup, and no BPF program"
$probe bpf device 1 $cg
stays cgroup-bpf "a BPF program, and a removed guest cgroup"
$probe unbpf device $cg
$nl set guest="$cg/g"

# AppArmor, which is on in Debian's kernels
mountpoint -q /sys/kernel/security || mount -t securityfs securityfs /sys/kernel/security
if [ -e /sys/kernel/security/apparmor/.load ]; then
	$probe apparmor-load ehs-test
	is "AppArmor has the profile" "$(grep -c '^ehs-test ' /sys/kernel/security/apparmor/profiles)" 1
	stays lsm "a task under a profile" apparmor ehs-test
	stays lsm "a program that would change to a profile" apparmor-exec ehs-test
	goes "a task under no profile"
	agent_end
	printf '#!/bin/sh\nexec %s apparmor ehs-test -- %s "$@"\n' "$probe" "$nl" >"$work/profiled"
	chmod +x "$work/profiled"
	nl=$work/profiled agent "$stub" remote sender exit-42
	goes "a task under the agent's profile" apparmor ehs-test
	stays lsm "a task under none, when the agent is under one"
	agent_end
	agent "$stub" remote sender exit-42
else
	fail "AppArmor" "not in this kernel: $(cat /sys/kernel/security/lsm)"
fi

# programs: copies with other bytes in their header
bytes() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
changed() {
	local name=$1 class=$2 machine=$3
	cp /bin/true "$work/foreign"
	bytes "$work/foreign" 4 "$class"
	bytes "$work/foreign" 18 "$machine"
	counted redirect "$name: stays" $in -- "$work/foreign"
}
foreign() {
	changed "$@"
	like "$1: its caller gets the error" "$($in -- "$work/foreign" 2>&1)" "probe: $work/foreign: *"
}
cp /bin/true "$work/foreign"
counted sender "a copy of a program is sent" $in -- "$work/foreign"
foreign "a program of another machine (arm64)" '\x02' '\xb7\x00'
foreign "a 32-bit program of another machine (arm)" '\x01' '\x28\x00'
foreign "a 32-bit program of this machine (i386)" '\x01' '\x03\x00'
# this kernel's own loader does not look at the class
changed "a 32-bit program of this machine (x32)" '\x01' '\x3e\x00'
sed 's,/lib64/ld-linux-x86-64.so.2,/lib64/ld-linux-x86-64.so.9,' /bin/true >"$work/unlinked"
chmod +x "$work/unlinked"
counted redirect "a program whose dynamic linker is missing" $in -- "$work/unlinked"
is "its caller gets the error" "$($in -- "$work/unlinked" 2>&1)" "probe: $work/unlinked: No such file or directory"
cp "$probe" "$work/static"
counted sender "a static program has none and is sent" $in -- "$work/static"

# scripts whose interpreters give rights
cp /bin/sh "$work/sh"
printf '#!%s\nexit 7\n' "$work/sh" >"$work/script"
chmod +x "$work/script"
counted sender "a script with an ordinary interpreter is sent" $in -- "$work/script"
chmod 4755 "$work/sh"
counted setuid "a set-user-ID interpreter" $in -- "$work/script"
is "runs here" "$($in -- "$work/script"; echo $?)" 7
chmod 2755 "$work/sh"
counted setuid "a set-group-ID interpreter" $in -- "$work/script"
chmod 755 "$work/sh"
$probe caps "$work/sh"
counted file-caps "an interpreter with file capabilities" $in -- "$work/script"

agent_end
sitter_end $sitter
at_zero "all counts are back at zero"
finish
