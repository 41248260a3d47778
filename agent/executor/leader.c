// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The leader of a guest's session. The agent forks it, whose threads may have held locks at the
 * fork: system calls only.
 */

#include "executor/leader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/close_range.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* the only open descriptor, because a pipe ends when its last holder closes it */
#define LEADER_SOCKET 0

/* Opens it for this call only: an open one would hide that the task has closed its own. */
static void leader_give(pid_t group, pid_t *before)
{
	int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	pid_t now;

	if (terminal < 0)
		return; /* hung up */
	if (!ioctl(terminal, TIOCGPGRP, &now) && now != group && before)
		*before = now;
	ioctl(terminal, TIOCSPGRP, &group);
	close(terminal);
}

static void leader_tell(const struct leader_news *news)
{
	if (send(LEADER_SOCKET, news, sizeof(*news), MSG_NOSIGNAL) != sizeof(*news))
		_exit(0); /* the agent has dropped it */
}

static int leader_wait(struct leader_news *news, int options)
{
	siginfo_t info = { 0 };

	if (syscall(SYS_waitid, P_PID, news->pid, &info, options, &news->usage) || !info.si_pid)
		return 0;
	switch (info.si_code) {
	case CLD_EXITED:
		news->status = info.si_status << 8;
		break;
	case CLD_STOPPED:
		news->status = info.si_status << 8 | 0x7f;
		break;
	case CLD_CONTINUED:
		news->status = 0xffff;
		break;
	default:
		news->status = info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
		break;
	}
	return info.si_code;
}

/*
 * Returns whether the task has ended. It stays a zombie until the leader ends, so that its pid is
 * not reused.
 */
static bool leader_reap(struct leader_news *news)
{
	while (leader_wait(news, WSTOPPED | WCONTINUED | WNOHANG))
		leader_tell(news);
	if (!leader_wait(news, WEXITED | WNOWAIT | WNOHANG))
		return false;
	leader_tell(news);
	return true;
}

static void __attribute__((noreturn)) leader_serve(struct leader_news *news, int signals)
{
	struct pollfd fds[2] = { { .fd = LEADER_SOCKET, .events = POLLIN },
				 { .fd = signals, .events = POLLIN } };
	pid_t group = news->pid;
	struct signalfd_siginfo info;
	char command;

	for (;;) {
		if (fds[1].fd >= 0 && leader_reap(news))
			fds[1].fd = -1;
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents && read(signals, &info, sizeof(info)) < 0)
			continue;
		if (!fds[0].revents)
			continue;
		if (recv(LEADER_SOCKET, &command, 1, 0) != 1)
			_exit(0);
		if (command == LEADER_FOREGROUND)
			leader_give(group, NULL);
		else if (command == LEADER_BACKGROUND)
			leader_give(getpid(), &group);
		else if (command == LEADER_CONTINUE)
			kill(-news->pid, SIGCONT);
	}
}

void leader_run(int socket, int terminal, bool foreground, pid_t (*start)(void *ctx), void *ctx)
{
	struct leader_news news = { .status = 0 };
	uint64_t children = 1ull << (SIGCHLD - 1);
	int signals, gate[2];
	char go;

	prctl(PR_SET_NAME, "ehagent-session");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || setsid() < 0 || ioctl(terminal, TIOCSCTTY, 0) ||
	    pipe2(gate, O_CLOEXEC))
		_exit(1);
	news.pid = start(ctx);
	if (!news.pid) {
		/* Wait until the child has its process group and the terminal. */
		close(gate[1]);
		if (read(gate[0], &go, 1) != 1)
			_exit(0);
		close(gate[0]);
		return;
	}
	if (news.pid < 0)
		_exit(1);
	setpgid(news.pid, news.pid);
	if (foreground)
		leader_give(news.pid, NULL);
	if (write(gate[1], "", 1) != 1 || dup2(socket, LEADER_SOCKET) < 0)
		_exit(1);
	syscall(SYS_close_range, 1u, ~0u, 0u);
	signals = syscall(SYS_signalfd4, -1, &children, sizeof(children), SFD_CLOEXEC);
	if (signals < 0)
		_exit(1);
	leader_tell(&news);
	if (recv(LEADER_SOCKET, &go, 1, 0) != 1)
		_exit(0);
	leader_serve(&news, signals);
}
