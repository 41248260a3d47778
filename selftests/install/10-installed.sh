#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What README says for a machine that can load modules, and back; on node 0 of a bare guest:
#   selftests/vm/cluster --nodes 1 --bare -- selftests/install/10-installed.sh
top=$(cd "$(dirname "$0")/../.." && pwd)
modules=/usr/lib/modules/$(uname -r)
. "$top/selftests/lib/ktap.sh"
. "$top/selftests/lib/wait.sh"

[ "${EHS_SHARE:-}" ] || skip_all "not in a guest: make check T=install boots one"
# The guest's directory of modules is the host's and read-only; of its thousands, which depmod reads, few do.
mkdir /run/modules
(cd "$modules" && cp --parents modules.builtin* modules.order kernel/fs/binfmt_misc.ko /run/modules) &&
	mount --bind /run/modules "$modules" || exit 1

mk() { make -C "$top" O="$EHS_BUILD" "$@"; }
check "make install" mk install
check "modprobe ehsched" modprobe ehsched
check "modinfo finds it" modinfo ehsched
check "it is not loaded any more" rmmod ehsched
cd /root || exit 1
check "a cluster's authority and certificates" sh -c 'ehctl cert init ca && ehctl cert node ca n0'
mkdir -p /etc/ehsched && cp ca/ca.crt ca/n0.crt ca/n0.key /etc/ehsched/ && chown ehsched /etc/ehsched/n0.key
# the example, for one host
sed -e 's/^cluster .*/cluster = "installed"/' -e '/^peer "0\.[12]"/d' -e 's/192\.0\.2\.10/10.77.0.1/' \
	/usr/share/doc/ehsched/agent.conf >/etc/ehsched/agent.conf
# systemd as in a container: process 1 of a namespace, with what our unit needs and nothing else that is installed here
rm -rf /lib/systemd/system/*.target.wants /etc/systemd/system/*.target.wants
container=other unshare --fork --pid --mount-proc --mount \
	/lib/systemd/systemd --system --unit=basic.target >/run/systemd.log 2>&1 &
outer=$!
wait_for 60 pgrep -P $outer
inner=$(pgrep -P $outer)
in_host() { nsenter -t "$inner" -p -m "$@"; }
wait_for 120 eval 'in_host systemctl is-active -q basic.target || ! kill -0 $outer'
check "systemctl start ehagent" in_host systemctl start ehagent
check "it is ready" sh -c "nsenter -t $inner -p -m systemctl status --no-pager ehagent | grep -E 'active \(running\)'"
check "that loaded the module, and it has it" sh -c 'ehctl status | grep -E "^0\.0 .* yes +up"'
pid=$(pgrep -x ehagent)
check "its user is ehsched" sh -c "grep -E '^Uid:[[:space:]]+$(id -u ehsched)[[:space:]]' /proc/$pid/status"
check "it has no capability, and gets none" [ "$(grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):[[:space:]]+0+$' /proc/"$pid"/status)" = 5 ]
check "its system calls are filtered" grep -E '^Seccomp:[[:space:]]+2' /proc/"$pid"/status
check "its memory is its own" [ "$(stat -c %U /proc/"$pid"/maps)" = root ]
check "ehctl doctor finds nothing wrong" in_host ehctl doctor
check "ehctl run" in_host ehctl run -- sh -c 'exec true'
check "its session was managed" sh -c 'ehctl status --json | grep -E "\"reason\":\"bypass\",\"tasks\":[1-9]"'
first=$(pgrep -x ehlaunch)
check "systemctl restart ehlaunch" in_host systemctl restart ehlaunch.service
check "ehctl run, by another ehlaunch" in_host ehctl run -- sh -c 'exec true'
check "and managed, too" sh -c 'ehctl status --json | grep -E "\"reason\":\"bypass\",\"tasks\":[2-9]"'
check "which it is" sh -c "! kill -0 $first"
check "a user of the host may not ask ehlaunch" sh -c '! setpriv --reuid 65534 --regid 65534 --clear-groups test -w /run/ehsched/launch'
check "systemctl reload ehagent" in_host systemctl reload ehagent
check "man ehagent" test -s /usr/share/man/man8/ehagent.8
check "systemctl stop ehagent" in_host systemctl stop ehagent
check "it ended as it should" sh -c "nsenter -t $inner -p -m systemctl show -P Result ehagent | grep -x success"
kill -KILL "$inner"	# what it began to unmount at its end is the guest's
wait $outer
check "rmmod" rmmod ehsched
check "make uninstall" mk uninstall
left() {
	ls -d /usr/bin/ehctl /usr/bin/ehrsh /usr/sbin/ehagent /usr/libexec/ehsched /usr/lib/systemd/system/eh*.service /usr/lib/systemd/system/eh*.socket \
		/usr/lib/sysusers.d/ehsched.conf /usr/lib/tmpfiles.d/ehsched.conf "$modules/updates/ehsched.ko" 2>/dev/null
}
[ -z "$(left)" ]
ok "nothing is left" left
finish
