#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Storms: namespaces of all kinds, roots, agents and cgroups that come and go under execs. No exec may fail, and all counts
# end at zero.
. "$(dirname "$0")/lib.sh"

node_reset
in="$probe in $cg/m"
mkdir "$work/root"
mount --rbind / "$work/root"
# each begins a task that sees something else than the agent does
others=("unshare --uts" "unshare --ipc" "unshare --mount" "unshare --time" "unshare --cgroup" "unshare --pid --fork"
	"unshare --map-root-user" "chroot $work/root")

# namespaces with their own agent, all at the same time, that end while tasks exec
nets=$(many 6 64)
cat >"$work/net" <<END
#!/bin/sh
# net OTHER KIND…: the life of a node whose agent is of this kind; every second exec's task is begun by OTHER
other=\$1; shift
$nl set managed=$cg/m guest=$cg/g index=tasks threshold=0 length=0 limit=200
$in -- sleep infinity & sitter=\$!
$nl agent $stub "\$@" >/dev/null & agent=\$!
echo >>$work/up
until [ -e $work/go ]; do
	$in -- true || echo failed >>$work/failures
	\$other $in -- true || echo "\$other" >>$work/failures
done
# it ends with tasks away, waiting, and in the middle of an exec
$in -- true & \$other $in -- sh -c 'exec true' & $probe in $cg/g -- true &
kill -KILL \$agent \$sitter
END
chmod +x "$work/net"
: >"$work/up"; : >"$work/failures"; rm -f "$work/go"
kinds=(silent deaf "local no-receiver -" "remote sender exit-0" "late 5 local no-receiver -")
pids=
for ((i = 0; i < nets; i++)); do
	# shellcheck disable=SC2086
	unshare --net "$work/net" "${others[i % ${#others[@]}]}" ${kinds[RANDOM % ${#kinds[@]}]} >/dev/null 2>&1 &
	pids+=" $!"
done
wait_for 300 eval '[ "$(wc -l <"$work/up")" = $nets ]'
is "$nets namespaces are nodes" "$? $($nl dump | grep -c ^netns)" "0 $((nets + 1))"
touch "$work/go"
wait $pids
nodes_are 1
is "all of them end" $? 0
is "no exec failed in them" "$(sort "$work/failures" | uniq -c)" ""
at_zero "and nothing of them is counted here"

# agents that are stopped, killed and replaced at random
sitter $cg/m
$nl set limit=100
storm_begin 2 -- $in -- true
storm_begin 1 -- $in -- sh -c 'true; exec true'
storm_begin 1 -- $in threads 4 -- true
# a thread group in two network namespaces, and the others
storm_begin 1 -- "$built/two-nodes" $cg/m - $nl /bin/true
printf '#!/bin/bash\nothers=(%s)\nexec ${others[RANDOM %% %d]} %s -- true\n' "$(printf '"%s" ' "${others[@]}")" ${#others[@]} \
	"$in" >"$work/other"
chmod +x "$work/other"
storm_begin 1 -- "$work/other"
: >"$work/script"
printf '#!/bin/sh\n' >"$work/script"; chmod +x "$work/script"
storm_begin 1 -- $in -- "$work/script"
rounds=$(many 4 100)
before=$(arrivals)
for ((i = 0; i < rounds; i++)); do
	progress $i $rounds
	kind=${kinds[RANDOM % ${#kinds[@]}]}
	# shellcheck disable=SC2086
	agent "$stub" $kind
	case $((RANDOM % 4)) in
	0)	kill -STOP $agent
		becomes pending 1+
		kill -CONT $agent ;;
	1)	kill -STOP $agent ;;
	# one that is deaf hears of none
	2)	[ "$kind" = deaf ] || wait_for 20 file_has "$log" ^request ;;
	esac
	kill -KILL $agent
	wait $agent 2>/dev/null
	field_is agent '' || { fail "an agent that is killed is gone"; break; }
done
is "$rounds agents came and went" $i $rounds
holds "under execs ($(($(arrivals) - before)))" "$(arrivals) - before >= rounds"
storm_end "no exec failed"
sitter_end $sitter
at_zero "all counts are back at zero"

# cgroups that go while tasks are in them, waiting or away
dying() { awk '$1 == "nr_dying_descendants" { print $2 }' /sys/fs/cgroup/cgroup.stat; }
# memory that is still charged to a cgroup keeps it; ours is the reference, not that
drop_caches() { echo 2 >/proc/sys/vm/drop_caches; }
drop_caches
died=$(dying)
mkfifo "$work/say3"
agent "$stub" manual "$work/say3"
cookie() { awk '/^request/ { c = $2 } END { print c }' "$log"; }
rounds=$(many 3 50)
failures=0
for ((i = 0; i < rounds; i++)); do
	progress $i $rounds
	mkdir $cg/m/short $cg/short $cg/short-guest
	$nl set clear managed=$cg/m managed=$cg/short guest=$cg/short-guest limit=10000
	where=$cg/$([ $((RANDOM % 2)) = 0 ] && echo m/)short
	sitter $where
	$probe in $cg/short-guest -- sleep infinity &
	guest=$!
	$probe in $where -- false &
	pid=$!
	becomes pending 1
	rmdir $where 2>/dev/null && failures=$((failures + 1))
	# the one that waits is moved away, and the cgroup of its arrival removed
	case $((RANDOM % 3)) in
	0)	echo $pid >$cg/other/cgroup.procs
		echo 1 >$where/cgroup.kill ;;
	1)	echo $pid >/sys/fs/cgroup/cgroup.procs
		echo 1 >$where/cgroup.kill ;;
	2)	echo 1 >$where/cgroup.kill ;;
	esac
	echo 1 >$cg/short-guest/cgroup.kill
	wait $sitter $guest 2>/dev/null
	wait_for 20 rmdir $where || failures=$((failures + 1))
	wait_for 20 rmdir $cg/short-guest || failures=$((failures + 1))
	if kill -0 $pid 2>/dev/null; then
		echo "$(cookie) local no-receiver -" >"$work/say3"
		wait $pid
		[ $? = 1 ] || failures=$((failures + 1))
	fi
	wait $pid 2>/dev/null
	[ -d $cg/short ] && rmdir $cg/short
	[ -d $cg/m/short ] && rmdir $cg/m/short
	[ "$(field local guest pending load)" = "0 0 0 0" ] || failures=$((failures + 1))
done
is "cgroups with tasks of all kinds are removed ($rounds times)" $failures 0
agent_end
node_reset
wait_for 60 eval 'drop_caches; [ "$(dying)" -le $died ]'
is "no removed cgroup is kept" "$? $(($(dying) > died))" "0 0"
at_zero "all counts are back at zero"
umount -l "$work/root"
finish
