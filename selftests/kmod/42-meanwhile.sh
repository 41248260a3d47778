#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What changes while an exec waits for its verdict: a remote one counts only if the task could still be sent.
. "$(dirname "$0")/lib.sh"

node_reset
sitter $cg/m
mkdir -p $cg/all
$nl set always=$cg/all
mkfifo "$work/orders" "$work/order"
agent "$stub" manual "$work/orders"
asked() { grep -c '^request' "$log"; }
answered() { grep -c '^answer' "$log"; }

# meanwhile REASON NAME CHANGE VERB…: the exec of a task waits, CHANGE is done, which is a function, and then the verdict
# is remote. With reason sender the stub ran (42), else the program (7).
meanwhile() {
	local reason=$1 name=$2 change=$3 n before got status=7
	shift 3
	n=$(asked) before=$($nl counts)
	"$probe" in $cg/m "$@" >"$out" 2>&1 &
	pid=$!
	wait_for 20 eval '[ "$(asked)" -gt "$n" ]' || bail_out "$name: the agent is not asked: $(cat "$out")"
	$change
	n=$(answered)
	echo "$(awk '/^request/ { c = $2 } END { print c }' "$log") remote sender exit-42" >"$work/orders"
	wait_for 20 eval '[ "$(answered)" -gt "$n" ]'
	wait $pid
	got=$?
	[ "$reason" != sender ] || status=42
	is "$name: $reason" "$got $($nl counts "$before")" "$status $reason+1"
}
seven=(sh -c 'exit 7')

change() { :; }
meanwhile sender "nothing" change -- "${seven[@]}"

# its cgroup
moved_to() { echo $pid >"$1/cgroup.procs"; }
change() { moved_to $cg/other; }
meanwhile moved "it is moved out of the managed cgroups" change -- "${seven[@]}"
change() { moved_to $cg/g; }
meanwhile moved "it is moved to the guests" change -- "${seven[@]}"
change() { moved_to $cg/m/below; }
meanwhile sender "it is moved to another managed cgroup" change -- "${seven[@]}"
change() { moved_to $cg/all; }
meanwhile sender "it is moved to the cgroup whose execs are all placed" change -- "${seven[@]}"
$probe bpf device 1 $cg/m/below
change() { moved_to $cg/m/below; }
meanwhile cgroup-bpf "it is moved to a cgroup with a BPF program" change -- "${seven[@]}"
$probe unbpf device $cg/m/below
change() { $probe bpf device 1 $cg/m; }
meanwhile cgroup-bpf "its cgroup gets a BPF program" change -- "${seven[@]}"
$probe unbpf device $cg/m
change() { $nl set clear managed="$cg/other" guest="$cg/g"; }
meanwhile moved "its cgroup is managed no more" change -- "${seven[@]}"
$nl set managed="$cg/m" guest="$cg/g" always="$cg/all"
# the counts of the set of before go when the tasks are looked at again
sitter_end $sitter
sitter $cg/m

# its program
printf '#!/bin/sh\nexit 7\n' >"$work/program" && chmod 755 "$work/program"
change() { cp "$work/program" "$work/another" && mv "$work/another" "$work/program"; }
meanwhile redirect "its path is another file" change -- "$work/program"
change() { chmod 4755 "$work/program"; }
meanwhile setuid "its program gets rights" change -- "$work/program"

# its root directory: a thread of it may change that, and another process that shares it
mkdir "$work/root" && mount --bind / "$work/root"
change() {
	echo >"$work/order"
	wait_for 20 eval '[ "$(readlink /proc/$pid/root)" = "$work/root" ]'
}
meanwhile namespace "another thread changes its root directory" change later-root "$work/order" "$work/root" -- "${seven[@]}"
umount -l "$work/root"
change() {
	echo >"$work/order"
	wait_for 20 eval 'readlink /proc/$pid/fd/* | grep -q eventfd'
}
meanwhile open-files "another thread opens what cannot be carried" change later-event "$work/order" -- "${seven[@]}"
n=$(asked)
counted shared "another process shares its root and working directory" $probe in $cg/m share -- "${seven[@]}"
is "for that no agent is asked" "$(asked)" "$n"
is "it runs here" "$($probe in $cg/m share -- "${seven[@]}"; echo $?)" 7

agent_end
sitter_end $sitter
at_zero "all counts are back at zero"
finish
