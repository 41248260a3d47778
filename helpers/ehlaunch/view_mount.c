// SPDX-License-Identifier: GPL-2.0-or-later
/* The mount namespace of a view: home's tree as the root, with this node's devices and processes */
#include "view_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helpers/common/agent_address.h"
#include "site.h"

#define MOUNT_DETACH 2 /* MNT_DETACH; <sys/mount.h> and the kernel's header exclude each other */

static int mount_move(int mount, const char *path)
{
	return syscall(SYS_move_mount, mount, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH);
}

/*
 * A directory of this node, with all that is mounted in it. Its set-user-ID programs would believe the
 * files of home around them, which home's user writes: they get no rights. Devices are in /dev only.
 */
static int mount_own(const char *path)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID };
	int mount = syscall(SYS_open_tree, AT_FDCWD, path,
			    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (strcmp(path, "/dev"))
		attr.attr_set |= MOUNT_ATTR_NODEV;
	if (mount < 0 || syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
				 sizeof(attr)))
		return -1;
	return mount;
}

/* Returns 0 also if it has no place: then it stays invisible. */
static int mount_place(int mount, const char *path, bool needed)
{
	return mount_move(mount, path) && needed ? -1 : 0;
}

int view_mount(struct mounting *v)
{
	int own[RULES_OWN_MAX] = { 0 }, agent;
	struct tree *t = v->trees;

	v->stage = LAUNCH_NAMESPACE;
	if (syscall(SYS_mount, NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	v->stage = LAUNCH_OWN;
	for (unsigned int i = 0; i < rules.owned; i++) {
		own[i] = mount_own(rules.own[i]);
		if (own[i] < 0)
			return -1;
	}
	/* Where this host's agent listens, which tasks of home may ask, too. */
	agent = mount_own(AGENT_FOLDER);
	if (agent < 0 && errno != ENOENT)
		return -1;
	/* pivot_root(2): both roots may be the same directory. /proc exists everywhere. */
	v->stage = LAUNCH_ROOT;
	if (mount_move(t->mount, "/proc") || fchdir(t->mount) ||
	    syscall(SYS_pivot_root, ".", ".") || syscall(SYS_umount2, ".", MOUNT_DETACH) ||
	    chdir("/"))
		return -1;
	v->stage = LAUNCH_OWN;
	/* The first ones are those that no program can do without. */
	for (unsigned int i = 0; i < rules.owned; i++)
		if (mount_place(own[i], rules.own[i], i < 3))
			return -1;
	for (uint32_t i = 1; i < v->q->ntrees; i++)
		if (t[i].mount >= 0 && mount_place(t[i].mount, t[i].path, false))
			return -1;
	/* Behind home's /run, which may be one of them. Without a place it is home's, where nobody listens. */
	return agent < 0 ? 0 : mount_place(agent, AGENT_FOLDER, false);
}
