// SPDX-License-Identifier: GPL-2.0-or-later
#include "rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What ehlaunch keeps, and what for. Programs that its ends execute get theirs from the kernel. */
static const uint8_t rights_kept[] = {
	CAP_SETUID,	   CAP_SETGID, /* an end becomes its user */
	CAP_SETPCAP, /* and drops from its bounding set what the task had not at home */
	CAP_SYS_ADMIN, /* mounts and mount namespaces of views; tracing of an end's input by its user */
	CAP_SYS_CHROOT, /* entering a mount namespace changes the root */
	CAP_SYS_PTRACE, /* namespaces and root of a process that wants to leave */
	CAP_NET_ADMIN, /* registering with the module; BPF programs of a cgroup */
	CAP_KILL, /* ending a guest where there is no cgroup.kill */
	CAP_SYS_NICE, /* an end's nice value, which is the task's and not ours */
	CAP_SYS_RESOURCE, /* limits up to those that we were started with; the OOM score */
	CAP_AUDIT_CONTROL, /* the login user id */
	CAP_DAC_OVERRIDE, /* the top of the cgroup tree has mode 0555 */
};

static int rights_set(bool effective)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		return -errno;
	for (int i = 0; i < 2; i++)
		data[i].effective = effective ? data[i].permitted : 0;
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

int rights_pause(void)
{
	return rights_set(false);
}

int rights_resume(void)
{
	return rights_set(true);
}

int rights_drop(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	uint32_t kept[2] = { 0 };

	if (geteuid())
		return 0;
	if (syscall(SYS_capget, &head, data))
		return -errno;
	for (size_t i = 0; i < sizeof(rights_kept); i++)
		kept[rights_kept[i] / 32] |= 1u << rights_kept[i] % 32;
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= kept[i];
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}
