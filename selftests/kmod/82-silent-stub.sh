#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A user's agent whose stub is on a file system that does not answer: nobody else may wait for it.
. "$(dirname "$0")/lib.sh"
silent_fuse=$built/silent-fuse

modprobe fuse; [ -e /dev/fuse ] || skip_all "this kernel has no FUSE"
chmod 666 /dev/fuse
mkdir "$work/mnt"
# In namespaces of his own. The agent registers in the background and does not end by itself.
cat >"$work/attack" <<ATTACK
mount -t tmpfs none "$work/mnt" && mkdir "$work/mnt/f"
exec "$silent_fuse" "$work/mnt/f" "$nl" agent fd:3 silent
ATTACK
chmod 755 "$work/attack"
setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --net --mount \
	bash "$work/attack" >"$log" 2>&1 &
attack=$!
settled() { file_has "$log" '^registered' || ended $attack; }
wait_for 60 settled
is "the agent is registered, and nothing was asked of its file system" "$(head -n 1 "$log" | cut -d' ' -f1)" registered
# a family that comes waits for all calls of others to end, and all that follow wait for it
if has_other_family; then
	timeout $((30 * slow)) modprobe psample; is "another family's module loads" $? 0
	timeout $((30 * slow)) modprobe -r psample; is "and goes" $? 0
else
	skip "another family's module loads" "this kernel has no module psample"
fi
timeout $((30 * slow)) "$nl" get >/dev/null; is "generic netlink answers others" $? 0
kill $attack 2>/dev/null
wait $attack 2>/dev/null

# the same file as a program that stays
cat >"$work/attack" <<ATTACK
mount -t tmpfs none "$work/mnt" && mkdir "$work/mnt/f"
exec "$silent_fuse" "$work/mnt/f" "$nl" as net-admin fd:3 programs fd:3
ATTACK
: >"$log"
setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --net --mount \
	bash "$work/attack" >"$log" 2>&1 &
attack=$!
settled() { file_has "$log" '^1 programs' || ended $attack; }
wait_for 60 settled
is "a program that stays is named, and nothing was asked of its file system" "$(head -n 1 "$log")" "1 programs"
kill $attack 2>/dev/null
wait $attack 2>/dev/null
settled() { file_has "$log" '^registered' || ended $attack; }

# A stub that has to be written by who closes it: not by the system's worker that closes files for others.
cat >"$work/attack" <<ATTACK
mount -t tmpfs none "$work/mnt" && mkdir "$work/mnt/f"
exec "$silent_fuse" dirty "$work/mnt/f" "$nl" agent "$work/mnt/f/stub" silent
ATTACK
[ -e /proc/self/stack ] || { skip "a stub that must be written" "this kernel has no /proc/PID/stack"; finish; }
: >"$log"
setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --net --mount \
	bash "$work/attack" >"$log" 2>&1 &
attack=$!
wait_for 60 settled
is "his agent is registered" "$(head -n 1 "$log" | cut -d' ' -f1)" registered
kill -USR1 $attack
# who closes the file writes it, and waits for an answer
closers() { for p in $(grep -l fuse_release /proc/[0-9]*/stack 2>/dev/null); do cat "${p%stack}comm"; done; }
wait_for 20 eval '[ "$(closers)" ]'
is "when it ends its own process closes the stub" "$(closers)" nl
mkdir "$work/tmp"
mount -t tmpfs none "$work/tmp"
cp "$stub" "$work/tmp/stub"
agent "$work/tmp/stub" silent
agent_end
wait_for 20 umount "$work/tmp"
is "the stub of another agent is closed when that ends" $? 0
is "no worker of the system waits" "$(grep -l delayed_fput /proc/[0-9]*/stack 2>/dev/null)" ""
kill $attack 2>/dev/null
wait $attack 2>/dev/null
finish
