// SPDX-License-Identifier: GPL-2.0-or-later
/* ehlook, which looks at files with the rights of the users that it is asked for. */
#include "look.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keep.h"
#include "site.h"
#include "wire/look.h"

#define LOOK_NICE (-10) /* at most the priority of an agent */

enum { LOOK_FD_SOCKET = LAUNCH_FD_NEWS + 1, LOOK_FDS };

bool look_is_good(const struct request *r)
{
	return r->length == sizeof(r->look) && r->nfds == LOOK_FDS;
}

static void __attribute__((noreturn)) look_run(const struct request *r, pid_t parent)
{
	char *argv[] = { (char *)"ehlook", NULL }, *none[] = { NULL };

	if (dup2(r->fds[LOOK_FD_SOCKET], LOOK_SOCKET) < 0 ||
	    syscall(SYS_close_range, LOOK_SOCKET + 1u, ~0u, 0u))
		_exit(127);
	keep_child(parent, r->look.nice > LOOK_NICE ? r->look.nice : LOOK_NICE);
	execve(site.ehlook, argv, none);
	_exit(127);
}

static void __attribute__((noreturn)) look_keep(const struct request *r)
{
	const pid_t self = getpid();
	pid_t pid;

	keep_begin(r);
	prctl(PR_SET_NAME, "ehkeep-look");
	pid = fork();
	if (!pid)
		look_run(r, self);
	if (pid < 0)
		_exit(1);
	close(r->fds[LOOK_FD_SOCKET]);
	keep(pid);
}

int look_start(const struct request *r)
{
	pid_t pid = fork();

	if (!pid)
		look_keep(r);
	return pid < 0 ? -errno : 0;
}
