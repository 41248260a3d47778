#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A user who asks for the family by its name does not have the module loaded.
. "$(dirname "$0")/lib.sh"

rmmod ehsched; is "the module is removed" $? 0
# What modprobe would do with what the kernel asks for, if the module were installed.
cat >"$work/modprobe" <<MODPROBE
#!/bin/sh
for last; do :; done
echo "\$last" >>"$log"
[ "\$last" = ehsched ] || modinfo -F alias "$module" | grep -qxF -- "\$last" || exit 1
exec insmod "$module"
MODPROBE
chmod 755 "$work/modprobe"
: >"$log"
old=$(cat /proc/sys/kernel/modprobe)
echo "$work/modprobe" >/proc/sys/kernel/modprobe
setpriv --reuid=65534 --regid=65534 --clear-groups "$nl" get >/dev/null 2>"$out"
echo "$old" >/proc/sys/kernel/modprobe
like "a user asks for the family, and the kernel for a module" "$(cat "$log")" "*family-ehsched*"
like "there is none" "$(cat "$out")" "*is the module loaded*"
[ ! -d /sys/module/ehsched ]; is "the module is not loaded" $? 0
insmod "$module"
finish
