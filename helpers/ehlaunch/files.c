// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Servers of this host's files: for each request a child that keeps one process of the user, ehfiles, with
 * no other rights.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/common/control.h"
#include "keep.h"
#include "site.h"
#include "user.h"

#define FILES_HIGH 64

enum files_fd { FILES_FD_SOCKET = LAUNCH_FD_NEWS + 1, FILES_FDS };

bool files_is_good(const struct request *r)
{
	const struct launch_files *q = &r->files.q;
	const char *at = r->files.path, *end = (const char *)q + r->length;

	return r->length > sizeof(*q) && !q->zero && r->nfds == FILES_FDS &&
	       user_is_named(q->user, q->uid) && keep_is_good(&q->stay) && request_path(&at, end) &&
	       at == end;
}

/* Descriptor 0 of ehfiles is its control. */
static int files_descriptors(int control, int *news)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	control = fcntl(control, F_DUPFD_CLOEXEC, FILES_HIGH);
	*news = fcntl(*news, F_DUPFD_CLOEXEC, FILES_HIGH);
	if (null < 0 || control < 0 || *news < 0 || dup2(control, 0) < 0 || dup2(null, 1) < 0 ||
	    dup2(null, 2) < 0)
		return -errno;
	syscall(SYS_close_range, 3u, FILES_HIGH - 1u, 0u);
	return 0;
}

static void __attribute__((noreturn)) files_run(const struct request *r, int control, pid_t parent)
{
	const struct launch_files *q = &r->files.q;
	/* One of an earlier version has no control without the last word. */
	const char *const argv[] = { "ehfiles", r->files.path, "stays", NULL };
	const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
	static struct identity who;
	int news = r->fds[LAUNCH_FD_NEWS], err;
	enum launch_stage stage = LAUNCH_ACCOUNT;

	err = user_here(q->user, q->uid, false, &who);
	if (err)
		goto tell;
	stage = LAUNCH_DESCRIPTORS;
	err = files_descriptors(control, &news);
	if (err)
		goto tell;
	umask(0); /* requests say under which one they make files */
	stage = LAUNCH_USER;
	err = user_become(&who);
	if (err)
		goto tell;
	keep_child(parent, q->nice);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	stage = LAUNCH_SERVER;
	execve(site.ehfiles, (char *const *)argv, (char *const *)environment);
	err = -errno;
tell:
	request_tell(news, stage, -err);
	_exit(127);
}

static void __attribute__((noreturn)) files_keep(const struct request *r)
{
	const pid_t self = getpid();
	/* This waits for the exec, and so knows that it was done. */
	struct clone_args args = { .exit_signal = SIGCHLD, .flags = CLONE_VFORK };
	const struct launch_files *q = &r->files.q;
	const int news = r->fds[LAUNCH_FD_NEWS];
	int control[2];
	const struct keeping kept = {
		.stay = q->stay, .uid = q->uid, .number = q->stay.number, .fds = control, .nfds = 1
	};
	siginfo_t end = { 0 };
	pid_t pid;

	keep_begin(r);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control)) {
		request_tell(news, LAUNCH_DESCRIPTORS, errno);
		_exit(1);
	}
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		files_run(r, control[1], self);
	if (pid < 0) {
		request_tell(news, LAUNCH_FORK, errno);
		_exit(1);
	}
	/* It has told why. */
	if (!waitid(P_PID, pid, &end, WEXITED | WNOHANG | WNOWAIT) && end.si_pid)
		_exit(1);
	close(control[1]);
	/*
	 * It is connected last: whatever comes from it, its agent has its control, and may end. With no agent that
	 * knows it, the executor would lose what it has begun to use.
	 */
	if (keep_ready(news, &kept) ||
	    control_ask(control[0], 0, VIEW_CONNECT, r->fds[FILES_FD_SOCKET]))
		_exit(1);
	close(r->fds[FILES_FD_SOCKET]);
	keep_stay(pid, news, &kept);
}

int files_start(const struct request *r)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	pid_t pid = syscall(SYS_clone3, &args, sizeof(args));

	if (!pid)
		files_keep(r);
	return pid < 0 ? -errno : 0;
}
