#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A transferred task behaves like a local one.
. "$(dirname "$0")/lib.sh"

overload
ok "sleeping tasks make home a sender" 'ehctl status'

# Exit codes, all in one session, four at a time; `where` shows that each was really away.
rm -f where*
ehctl run -- bash -c '
	for k in 0 1 2 3; do
		for i in $(seq $k 4 255); do
			EHS_WHERE=$PWD/where.$k '"$PROBE"' exit $i; [ $? = $i ] || echo "exit $i gave $?"
		done &
	done
	wait' >codes 2>&1
cat where.? >where
rm where.?
[ ! -s codes ]
ok "exit codes 0..255" 'head codes'
home=$(grep -c "^$(hostname)$" where)
[ "$(wc -l <where)" -eq 256 ] && [ "$home" -le 12 ]
ok "at least 244 of the 256 were away, each ran once" 'sort where | uniq -c'

# raises SIGNAL: prints what is wrong with its death
raises() {
	local sig=$1 want="signal $1"

	case $sig in
	32|33) return ;;			# not for programs
	17|18|23|28) want="exit 0" ;;		# ignored by default
	19|20|21|22) return ;;			# stops, below
	esac
	EHS_WHERE=$PWD/where.$sig away out.$sig "$PROBE" raise $sig
	[ "$(ended out.$sig)" = "$want" ] || echo "signal $sig: $(ended out.$sig), wanted $want"
}
raising=()
for k in 1 2 3 4; do
	for sig in $(seq $k 4 64); do raises $sig; done >bad.$k &
	raising+=($!)
done
wait "${raising[@]}"
[ -z "$(cat bad.?)" ]
ok "death by each signal" 'cat bad.?'
local_runs=$(grep -l "^$(hostname)$" where.* | wc -l)
[ "$local_runs" -le 4 ]
ok "they died on other nodes ($local_runs at home)"
rm -f bad.* out.* where.*

# Stop and continue, by a signal that can be caught and one that cannot.
for sig in TSTP STOP; do
	rm -f up out
	away out "$PROBE" hold "$PWD/up" &
	reaper=$!
	wait_for 20 test -s up
	read -r host remote <up
	pid=$(sed -n 's/^pid //p' out)
	kill -$sig "$pid"
	wait_for 20 grep -q stopped out
	ok "SIG$sig: the parent sees the stop" 'cat out'
	[ "$host" != "$(hostname)" ] &&
		wait_for 20 on "${host#n}" grep -q '^State:.T' "/proc/$remote/status"
	ok "SIG$sig: the task on $host stops"
	kill -CONT "$pid"
	wait_for 20 on "${host#n}" grep -q '^State:.S' "/proc/$remote/status"
	ok "SIGCONT: it goes on"
	kill -TERM "$pid"
	wait $reaper
	[ "$(ended out)" = "signal 15" ]
	ok "SIGTERM reaches it, and the parent sees it" 'cat out'
done

rm -f up out
away out "$PROBE" hold "$PWD/up" &
reaper=$!
wait_for 20 test -s up
read -r host remote <up
kill -KILL "$(sed -n 's/^pid //p' out)"
wait $reaper
[ "$(ended out)" = "signal 9" ]
ok "SIGKILL of the stub is seen by the parent"
wait_for 20 on "${host#n}" test ! -e "/proc/$remote"
ok "and ends the task on $host"

# All three at once. 64 takes emulated guests 40 s, and minutes on a busy machine;
# selftests/agent has 64 MiB at this machine's own speed.
mib=${EHS_COPY_MIB:-4}
head -c $((mib << 20)) /dev/urandom >in
rm -f where
began=$SECONDS
ehctl run -- bash -c "EHS_WHERE=$PWD/where $PROBE copy <in >copy1 2>copy2"
echo "# $((3 * mib)) MiB in $((SECONDS - began)) s"
cmp in copy1 && "$PROBE" copy <in 2>&1 >/dev/null | cmp - copy2 && [ -s where ] &&
	! grep -q "^$(hostname)$" where
ok "$mib MiB on stdin, stdout and stderr, byte-exact" 'ls -l in copy1 copy2; cat where'
truncate -s 4M in
ehctl run -- bash -c "set -o pipefail; cat in | $PROBE copy 2>copy2 | cat >copy1"
cmp in copy1 && "$PROBE" copy <in 2>&1 >/dev/null | cmp - copy2
ok "4 MiB through three tasks and pipes, byte-exact"
rm -f in copy1 copy2

# Environment, directory, mask, limits, signals, groups: as a local run prints them.
mkdir -p 'a folder'
for user in root eha ehb; do
	case $user in
	root) as=() ;;
	*) as=(setpriv --reuid "$user" --regid "$user" --clear-groups) ;;
	esac
	rm -f where
	script="cd 'a folder'; umask 027; ulimit -n 333; ulimit -Sc 0; trap '' USR1
		export LINES_OF='one
two' EMPTY= BYTES=\$'\\xff\\xfe'
		nice -n 3 env -u SHLVL -u _ -u EHS_WHERE \$LATE $PROBE env"
	LATE='' "${as[@]}" bash -c "$script" >local.env
	LATE=EHS_WHERE=$PWD/where "${as[@]}" ehctl run -- bash -c "$script" >away.env
	diff <(grep -av '^env LATE\|^env EHS_WHERE' local.env) \
		<(grep -av '^env LATE\|^env EHS_WHERE' away.env) >differ
	ok "$user: cwd, environment, umask, limits, ids, signals are the caller's" 'cat differ'
	[ -s where ] && ! grep -q "^$(hostname)$" where
	ok "$user: the task was away" 'cat where; ehctl tasks'
	[ "$(stat -c %U where)" = "$user" ]
	ok "$user: what it writes is $user's"
done

# A descriptor that is closed at home is closed there; /dev/null is /dev/null.
"$PROBE" fds <&- >fds.local 2>/dev/null
ehctl run -- bash -c "$PROBE fds <&- >fds.away 2>/dev/null"
cmp fds.local fds.away
ok "closed stdin and /dev/null" 'diff fds.local fds.away'

printf 'one\ntwo\nthree\n' >lines
ehctl run -- bash -c "while read -r l; do $PROBE exit 0; echo \$l; done <lines" >got
cmp lines got
ok "a task that does not read leaves stdin to the next reader" 'cat got'

# yes | head: the writer dies of SIGPIPE at the right side
ehctl run -- bash -c 'yes | /usr/bin/head -n 1; echo ${PIPESTATUS[@]}' >got
[ "$(cat got)" = $'y\n141 0' ]
ok "yes | head ends" 'cat got'

relax
finish
