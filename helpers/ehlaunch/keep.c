// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process that ends when its agent closes the other end of the socket for its answer, or dies, and
 * with it what it has started: both are a process group, and get SIGKILL. The keeper has ehlaunch's
 * ids and the signal is the kernel's, so that the user can neither stop nor kill it, and nothing of a
 * view outlives its agent because the user wants that.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/end/calls.h"

void keep_begin(int news)
{
	struct pollfd p = { .fd = news };
	int flags = fcntl(news, F_GETFL);

	prctl(PR_SET_NAME, "ehkeep");
	forget_agents();
	signal(SIGCHLD, SIG_DFL);
	calls_mask(0);
	/*
	 * All of the group: while the kernel waits here for an answer of ehview, only the end of
	 * ehview helps. The agent never sends anything.
	 */
	if (setpgid(0, 0) || flags < 0 || fcntl(news, F_SETOWN, -getpid()) ||
	    fcntl(news, F_SETSIG, SIGKILL) || fcntl(news, F_SETFL, flags | O_ASYNC) ||
	    poll(&p, 1, 0))
		_exit(1);
}

void keep_child(pid_t parent, int nice)
{
	/* As a user: a request cannot give it a higher priority than ehlaunch has. */
	setpriority(PRIO_PROCESS, 0, nice);
	/* If the keeper is killed by others. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
}

void keep(pid_t pid)
{
	if (!pid)
		for (;;)
			pause();
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	_exit(0);
}
