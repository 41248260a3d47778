// SPDX-License-Identifier: GPL-2.0-or-later
/* The devices of a view, and ehview, which serves them as the view's user. */
#include "view_fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/fuse.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hold.h"
#include "keep.h"
#include "site.h"

#define FUSE_HIGH 512 /* out of the way of ehview's descriptors */
#define FUSE_FDS (3 * VIEW_TREES_MAX + 1)

/*
 * Its descriptors in their order (helpers/ehview/tree.h): the control; for each tree the device, the
 * stream to home, and a second device for what the kernel is to forget.
 */
struct fuse {
	int fds[FUSE_FDS];
	unsigned int n;
};

int view_fuse_open(void)
{
	return syscall(SYS_fsopen, "fuse", FSOPEN_CLOEXEC);
}

/* `value` NULL: a flag. */
static int fuse_set(int fs, const char *name, const char *value)
{
	return syscall(SYS_fsconfig, fs, value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, name,
		       value, 0);
}

/*
 * Home decides what is permitted to the user. It permits everything to root, whose tasks can become
 * other users: what those may do is decided here, by owners and modes. Nothing in it grants rights.
 */
static int fuse_mount(int device, uid_t uid)
{
	int fs = view_fuse_open(), mount = -1;
	char number[16];

	if (fs < 0)
		return -1;
	snprintf(number, sizeof(number), "%d", device);
	if (!fuse_set(fs, "source", "ehsched") && !fuse_set(fs, "subtype", "ehsched") &&
	    !fuse_set(fs, "fd", number) && !fuse_set(fs, "rootmode", "40000") &&
	    !fuse_set(fs, "user_id", "0") && !fuse_set(fs, "group_id", "0") &&
	    !fuse_set(fs, "allow_other", NULL) &&
	    (uid || !fuse_set(fs, "default_permissions", NULL)) &&
	    !syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mount = syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
				MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	close(fs);
	return mount;
}

static int fuse_add(struct fuse *f, struct tree *t, uid_t uid)
{
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	int second = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	uint32_t number = device;

	f->fds[f->n++] = device;
	f->fds[f->n++] = t->socket;
	f->fds[f->n++] = second;
	t->mount = device < 0 || second < 0 ? -1 : fuse_mount(device, uid);
	return t->mount < 0 || ioctl(second, FUSE_DEV_IOC_CLONE, &number) ? -1 : 0;
}

static void __attribute__((noreturn)) fuse_run(struct mounting *v, struct fuse *f, pid_t parent)
{
	char count[16], owner[16];
	/* One of an earlier version ends with its connection without the last word. */
	char *argv[] = { (char *)"ehview", count, owner, (char *)"stays", NULL };
	char *environment[] = { (char *)"PATH=/usr/bin:/bin", NULL };

	snprintf(count, sizeof(count), "%u", v->q->ntrees);
	snprintf(owner, sizeof(owner), "%u", v->q->uid);
	/* It would keep the view's namespace. */
	if (setns(site.namespace, CLONE_NEWNS))
		_exit(1);
	for (unsigned int i = 0; i < f->n; i++) {
		f->fds[i] = fcntl(f->fds[i], F_DUPFD, FUSE_HIGH);
		if (f->fds[i] < 0)
			_exit(1);
	}
	for (unsigned int i = 0; i < f->n; i++)
		if (dup2(f->fds[i], i) < 0)
			_exit(1);
	syscall(SYS_close_range, f->n, ~0u, 0u);
	/* It opens nothing here. */
	v->who.ngroups = 0;
	if (user_become(&v->who))
		_exit(1);
	keep_child(parent, v->q->nice);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	execve(site.ehview, argv, environment);
	_exit(127);
}

pid_t view_fuse_start(struct mounting *v, int *control)
{
	const pid_t self = getpid();
	struct fuse f = { .n = 1 };
	int devices[VIEW_TREES_MAX];
	int pair[2], err;
	pid_t pid;

	v->stage = LAUNCH_FUSE;
	for (uint32_t i = 0; i < v->q->ntrees; i++)
		if (fuse_add(&f, &v->trees[i], v->q->uid))
			return -errno;
	v->stage = LAUNCH_SERVER;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	f.fds[0] = pair[1];
	pid = fork();
	if (!pid)
		fuse_run(v, &f, self);
	err = errno;
	for (uint32_t i = 0; i < v->q->ntrees; i++)
		devices[i] = f.fds[1 + 3 * i];
	if (pid > 0 && hold_start(devices, v->q->ntrees, pid)) {
		err = errno;
		pid = -1;
	}
	/* This process may wait for ehview: it must not hold what ends the kernel's requests. */
	for (unsigned int i = 0; i < f.n; i++)
		close(f.fds[i]);
	*control = pair[0];
	return pid < 0 ? -err : pid;
}
