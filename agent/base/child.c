// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* System calls only: threads of the agent may have held locks at the fork. */
static void __attribute__((noreturn))
child_become(const char *path, char **argv, int socket, int its)
{
	const char *journal = getenv("JOURNAL_STREAM");
	char *none[] = { NULL }, *logs[] = { (char *)"JOURNAL_STREAM=1", NULL };
	const uint64_t nothing = 0;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &nothing, NULL, sizeof(nothing));
	if (socket == its ? fcntl(socket, F_SETFD, 0) < 0 : dup2(socket, its) < 0)
		_exit(127);
	syscall(SYS_close_range, its + 1u, ~0u, 0u);
	execve(path, argv, journal ? logs : none);
	_exit(127);
}

int child_start(const char *path, char **argv, int its, pid_t *pid, int *out)
{
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	*pid = fork();
	if (!*pid)
		child_become(path, argv, pair[1], its);
	err = *pid < 0 ? -errno : 0;
	close(pair[1]);
	if (err) {
		close(pair[0]);
		*pid = 0;
		return err;
	}
	*out = pair[0];
	return 0;
}
