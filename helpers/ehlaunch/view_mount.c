// SPDX-License-Identifier: GPL-2.0-or-later
/* The mount namespace of a view: home's tree as the root, with this node's devices and processes */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "helpers/common/agent_address.h"

#define MOUNT_DETACH 2 /* MNT_DETACH; <sys/mount.h> and the kernel's header exclude each other */

int view_mount_open(const char *type)
{
	return syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
}

int view_mount_set(int fs, const char *name, const char *value)
{
	return syscall(SYS_fsconfig, fs, value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, name,
		       value, 0);
}

int view_mount_create(int fs)
{
	int mount = -1, err;

	if (!syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mount = syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
				MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	err = errno;
	close(fs);
	errno = err;
	return mount;
}

static int mount_move(int mount, const char *path)
{
	return syscall(SYS_move_mount, mount, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH);
}

/*
 * Nothing is cached, because all answers must be home's current ones. But programs map files for
 * writing, which kernels before 6.4 allow only with "mmap"; there that caches mapped pages only.
 * Later kernels write those back late.
 */
static const char *mount_cache(void)
{
	struct utsname name;
	unsigned int major, minor;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return "none";
	return major < 6 || (major == 6 && minor < 4) ? "mmap" : "none";
}

/* Home's user decides what is in it. Returns a detached mount, or -1. */
static int mount_attach(struct mounting *v, const struct tree *t)
{
	char number[16];
	int fs;

	v->stage = LAUNCH_CARRIER;
	fs = view_mount_open("9p");
	if (fs < 0)
		return -1;
	v->stage = LAUNCH_ATTACH;
	snprintf(number, sizeof(number), "%d", t->socket);
	if (view_mount_set(fs, "source", "ehsched") || view_mount_set(fs, "trans", "fd") ||
	    view_mount_set(fs, "rfdno", number) || view_mount_set(fs, "wfdno", number) ||
	    view_mount_set(fs, "version", "9p2000.L") || view_mount_set(fs, "uname", v->q->user) ||
	    view_mount_set(fs, "aname", t->path) || view_mount_set(fs, "access", "any") ||
	    view_mount_set(fs, "msize", "65536") || view_mount_set(fs, "cache", mount_cache())) {
		close(fs);
		return -1;
	}
	return view_mount_create(fs);
}

static int mount_tree(struct mounting *v, struct tree *t)
{
	int err;

	if (v->q->carrier == LAUNCH_9P) {
		t->mount = mount_attach(v, t);
		/* Only the mount holds it: the stream ends with it. */
		err = errno;
		close(t->socket);
		errno = err;
	}
	return t->mount;
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
	for (uint32_t i = 0; i < v->q->ntrees; i++)
		/* The user may not enter it, or home has hidden it below another mount. */
		if (mount_tree(v, &t[i]) < 0 &&
		    (!i || (errno != EACCES && errno != EPERM && errno != ENOENT)))
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
