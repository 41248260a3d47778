// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The holder of a view: a process that has its devices, so that the kernel does not give them up before
 * the view's tasks are killed. Without it, tasks would see errors of their files when ehview or the keeper
 * ends, and could go on with them. It never looks into the view, and so nothing can hold it up.
 */
#include "hold.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup.h"
#include "helpers/end/calls.h"
#include "site.h"

static int hold_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Closes all but these: an agent is to see that others have ended, although this goes on. */
static void hold_only(int *fds, unsigned int n)
{
	unsigned int from = 0;

	qsort(fds, n, sizeof(*fds), hold_compare);
	for (unsigned int i = 0; i < n; i++) {
		if (fds[i] < 0)
			continue;
		if ((unsigned int)fds[i] > from)
			syscall(SYS_close_range, from, fds[i] - 1, 0u);
		from = fds[i] + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0u);
}

static void __attribute__((noreturn))
hold_run(const int *devices, unsigned int n, ino_t space, pid_t keeper, pid_t server)
{
	int ends[] = { syscall(SYS_pidfd_open, keeper, 0), syscall(SYS_pidfd_open, server, 0) };
	struct pollfd p[] = { { ends[0], POLLIN, 0 }, { ends[1], POLLIN, 0 } };
	int kept[VIEW_TREES_MAX + 3];

	/* This is still in the view's namespace, and would keep it. */
	if (ends[0] < 0 || ends[1] < 0 || getppid() != keeper || setns(site.namespace, CLONE_NEWNS))
		_exit(1);
	for (unsigned int i = 0; i < n; i++)
		kept[i] = devices[i];
	kept[n] = ends[0];
	kept[n + 1] = ends[1];
	kept[n + 2] = cgroup_guests_folder();
	hold_only(kept, n + 3);
	while (poll(p, 2, -1) < 1)
		;
	cgroup_kill_in(space);
	_exit(0);
}

int hold_start(const int *devices, unsigned int n, pid_t server)
{
	const pid_t keeper = getpid();
	struct stat space;
	pid_t pid;

	/* Before the keeper changes what there is at /proc. */
	if (stat("/proc/self/ns/mnt", &space))
		return -1;
	pid = fork();
	if (!pid)
		hold_run(devices, n, space.st_ino, keeper, server);
	return pid < 0 ? -1 : 0;
}
