// SPDX-License-Identifier: GPL-2.0-or-later
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void netns_path(char *buf, size_t size, unsigned node)
{
	snprintf(buf, size, "/run/netns/n%u", node);
}

/* 0 or -errno; where there is no such namespace, none is needed. */
static int enter(const char *path, int kind)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (setns(fd, kind))
		err = -errno;
	close(fd);
	return err;
}

int node_enter(unsigned node)
{
	char path[64], self[16];
	int fd, err = 0;

	/* A leaf: with controllers enabled below it nodeN itself may hold no process. */
	snprintf(path, sizeof(path), "/sys/fs/cgroup/node%u/shell/cgroup.procs", node);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (write(fd, "0", 1) != 1)
			err = -errno;
		close(fd);
	} else if (errno != ENOENT) {
		err = -errno;
	}
	if (err)
		return err;

	/* Network and host name: the mounts of all nodes of a guest are the same. */
	netns_path(path, sizeof(path), node);
	err = enter(path, CLONE_NEWNET);
	snprintf(path, sizeof(path), "/run/uts/n%u", node);
	if (!err)
		err = enter(path, CLONE_NEWUTS);
	snprintf(self, sizeof(self), "%u", node);
	setenv("EHS_SELF", self, 1);
	return err;
}

bool node_is_here(unsigned node)
{
	char path[64], name[64], self[64];

	netns_path(path, sizeof(path), node);
	if (!access(path, F_OK))
		return true;
	snprintf(name, sizeof(name), "n%u", node);
	return !gethostname(self, sizeof(self)) && !__builtin_strcmp(name, self);
}
