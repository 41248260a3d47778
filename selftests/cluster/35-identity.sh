#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who a task is for the kernel goes with it, and what its stub shows is of no use to others.
. "$(dirname "$0")/lib.sh"

overload
conf=/run/ehsched/node0/agent.conf

# begin CMD…: CMD is or becomes `ehctl run`, in whose session a probe holds; sets session, host and pid
begin() {
	rm -f up
	"$@" ehctl run -- bash -c "$PROBE hold $PWD/up; :" &
	session=$!
	wait_for 60 test -s up
	read -r host pid <up
}
stub() { pgrep -P $session; }
end() {
	kill "$(stub)"
	wait $session
} 2>/dev/null

begin env
is "a task went away" "$([ "$host" != "$(hostname)" ]; echo $?)" 0
argument=$(tr '\0' '\n' <"/proc/$(stub)/cmdline" | sed -n 2p)
is "the stub's argument is the number of the placement" "0.0:$argument" \
	"$(ehctl tasks --json | python3 -c 'import json, sys
print(*[t["id"] for t in json.load(sys.stdin)["tasks"] if t["pid"] == int(sys.argv[1])])' "$(stub)")"
end

# shellcheck disable=SC2016
begin sh -c 'echo 1234 >/proc/self/loginuid; exec "$@"' sh
is "the login user id is that of home" "$(on "${host#n}" cat "/proc/$pid/loginuid")" 1234
is "and the stub has it" "$(cat "/proc/$(stub)/loginuid")" 1234
end

begin setpriv --no-new-privs
is "a task with no_new_privs stays" "$host, $(reason_of "$pid")" \
	"$(hostname), no-new-privs"
end
cp $conf $conf.before
printf "\nno-new-privs = true\n" >>$conf
log=$EHS_SHARE/.agent/n0.log
seen=$(grep -c 'is now in effect' "$log")
kill -HUP "$(cat /run/ehsched/node0/pid)"
wait_for 20 reloaded_since "$seen"
begin setpriv --no-new-privs
# Landlock with rules for the network is not seen by the module, which keeps no_new_privs at home then
if [ "$(python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))')" -ge 4 ]; then
	is "with this kernel's Landlock it stays all the same" "$host" "$(hostname)"
else
	is "the site may let it go" "$([ "$host" != "$(hostname)" ]; echo $?)" 0
	is "and it has no_new_privs there" "$(on "${host#n}" grep NoNewPrivs "/proc/$pid/status" | tr -d '[:space:]')" NoNewPrivs:1
fi
end
mv $conf.before $conf
kill -HUP "$(cat /run/ehsched/node0/pid)"

relax
finish
