// SPDX-License-Identifier: GPL-2.0-or-later
/* The end of a job that is lost: nothing of it may run on. */
#include "kill.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

/* What does not die in that time belongs to another user (sudo), or waits for a device. The agent
 * kills the cgroup, in which all of it is. */
#define KILL_ROUNDS 100
#define KILL_WAIT_MS 50

static void kill_listed(const char *name)
{
	FILE *f = fopen(name, "re");
	int pid;

	while (f && fscanf(f, "%d", &pid) == 1)
		kill(pid, SIGKILL);
	if (f)
		fclose(f);
}

static void kill_children(void)
{
	struct dirent *entry;
	char name[80];
	DIR *dir;

	dir = opendir("/proc/self/task");
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "/proc/self/task/%.20s/children", entry->d_name);
		kill_listed(name);
	}
	closedir(dir);
}

static void kill_groups(struct guest *g)
{
	pid_t group;

	if (g->flow.pty.master >= 0 && !ioctl(g->flow.pty.master, TIOCGPGRP, &group) && group > 1 &&
	    group != getpid())
		kill(-group, SIGKILL);
	if (g->program.pid <= 0)
		return;
	/* It may not have its group yet. */
	kill(-g->program.pid, SIGKILL);
	kill(g->program.pid, SIGKILL);
}

void kill_all(struct guest *g)
{
	struct pollfd p = { .fd = g->signals, .events = POLLIN };
	struct signalfd_siginfo info;
	pid_t pid;

	kill_groups(g);
	for (int i = 0; i < KILL_ROUNDS; i++) {
		/* Children of what has died are ours now. */
		kill_children();
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			i = 0;
		if (pid < 0 && errno == ECHILD)
			break;
		if (poll(&p, 1, KILL_WAIT_MS) > 0 && read(p.fd, &info, sizeof(info)) < 0)
			continue;
	}
	g->program.pid = 0;
}
