// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Servers of this host's files: for each request a child that keeps one process of the user, ehfiles or
 * diod, with no other rights.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/common/control.h"

#define FILES_HIGH 64

enum files_fd { FILES_FD_SOCKET = LAUNCH_FD_NEWS + 1, FILES_FD_OTHER };

bool files_is_good(const struct request *r)
{
	const struct launch_files *q = &r->files.q;
	const char *at = r->files.path, *end = (const char *)q + r->length;

	return r->length > sizeof(*q) && q->carrier < LAUNCH_CARRIERS &&
	       r->nfds == FILES_FD_SOCKET + 1 + (q->carrier == LAUNCH_9P) &&
	       user_is_named(q->user, q->uid) && keep_is_good(&q->stay) && paths_take(&at, end) &&
	       at == end;
}

static const char *files_diod(void)
{
	static const char *const places[] = { "/usr/sbin/diod", "/usr/bin/diod",
					      "/usr/local/sbin/diod" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!access(places[i], X_OK))
			return places[i];
	return "";
}

/*
 * Descriptor 0 of ehfiles is its socket, or, if it stays, its control. diod gets our end too, so that it never sees it
 * close: version 1.0.24 then frees what its threads still use. It is killed instead.
 */
static int files_descriptors(const struct request *r, int control, int *news)
{
	const bool other = r->files.q.carrier == LAUNCH_9P;
	int fds[FILES_FD_OTHER + 1] = { 0 }, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < r->nfds; i++) {
		fds[i] = fcntl(r->fds[i], F_DUPFD_CLOEXEC, FILES_HIGH);
		if (fds[i] < 0)
			return -errno;
	}
	if (control >= 0 && dup2(control, fds[FILES_FD_SOCKET]) < 0)
		return -errno;
	*news = fds[LAUNCH_FD_NEWS];
	if (null < 0 || dup2(fds[FILES_FD_SOCKET], 0) < 0 || dup2(null, 1) < 0 ||
	    dup2(null, 2) < 0 || (other && dup2(fds[FILES_FD_OTHER], 3) < 0))
		return -errno;
	syscall(SYS_close_range, other ? 4u : 3u, FILES_HIGH - 1u, 0u);
	return 0;
}

/*
 * diod looks below other mounts than the one that it serves; ehfiles does not. Of /dev it gets an empty
 * file, which it reads as its configuration.
 */
static int files_hide(void)
{
	static const char *const hidden[] = { "/proc", "/sys", "/dev" };
	int null;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -errno;
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (mount("none", hidden[i], "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
			  "size=4k,mode=755"))
			return -errno;
	null = open("/dev/null", O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (null < 0)
		return -errno;
	close(null);
	return 0;
}

static void __attribute__((noreturn)) files_run(const struct request *r, int control, pid_t parent)
{
	const struct launch_files *q = &r->files.q;
	const bool is_9p = q->carrier == LAUNCH_9P;
	const char *path = r->files.path;
	const char *const files[] = { "ehfiles", path, control >= 0 ? "stays" : NULL, NULL };
	const char *const diod[] = { "diod",	  "--foreground",
				     "--no-auth", "--rfdno",
				     "0",	  "--wfdno",
				     "0",	  "--export",
				     path,	  "--logdest",
				     "stderr",	  "--config-file",
				     "/dev/null", NULL };
	const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
	static struct identity who;
	int news = r->fds[LAUNCH_FD_NEWS], err;
	enum launch_stage stage = LAUNCH_ACCOUNT;

	err = user_here(q->user, q->uid, false, &who);
	if (err)
		goto tell;
	stage = LAUNCH_DESCRIPTORS;
	err = files_descriptors(r, control, &news);
	if (err)
		goto tell;
	stage = LAUNCH_NAMESPACE;
	err = is_9p && !geteuid() ? files_hide() : 0;
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
	execve(is_9p ? files_diod() : site.ehfiles, (char *const *)(is_9p ? diod : files),
	       (char *const *)environment);
	err = -errno;
tell:
	tell(news, stage, -err);
	_exit(127);
}

static void __attribute__((noreturn)) files_keep(const struct request *r)
{
	const pid_t self = getpid();
	/* This waits for the exec, and so knows that it was done. */
	struct clone_args args = { .exit_signal = SIGCHLD, .flags = CLONE_VFORK };
	const struct launch_files *q = &r->files.q;
	const bool stays = *q->stay.token && q->carrier == LAUNCH_FUSE;
	int control[2] = { -1, -1 };
	siginfo_t end = { 0 };
	pid_t pid;

	keep_begin(r->fds[LAUNCH_FD_NEWS]);
	if (q->carrier == LAUNCH_9P && !geteuid())
		args.flags |= CLONE_NEWNS;
	if (stays && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control)) {
		tell(r->fds[LAUNCH_FD_NEWS], LAUNCH_DESCRIPTORS, errno);
		_exit(1);
	}
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		files_run(r, control[1], self);
	if (pid < 0) {
		tell(r->fds[LAUNCH_FD_NEWS], LAUNCH_FORK, errno);
		_exit(1);
	}
	/* It has told why. */
	if (!waitid(P_PID, pid, &end, WEXITED | WNOHANG | WNOWAIT) && end.si_pid)
		_exit(1);
	close(control[1]);
	/*
	 * One that stays is connected last: whatever comes from it, its agent has its control, and may end. With no
	 * agent that knows it, the executor would lose what it has begun to use.
	 */
	if ((stays && keep_outlive(r->fds[LAUNCH_FD_NEWS])) ||
	    keep_tell(r->fds[LAUNCH_FD_NEWS], control, stays) ||
	    (stays && control_connect(control[0], 0, r->fds[FILES_FD_SOCKET])))
		_exit(1);
	for (int i = FILES_FD_SOCKET; i < r->nfds; i++)
		close(r->fds[i]);
	if (stays)
		keep_stay(pid, r->fds[LAUNCH_FD_NEWS],
			  &(struct keeping){ .stay = q->stay,
					     .uid = q->uid,
					     .number = q->stay.number,
					     .fds = control,
					     .nfds = 1 });
	keep(pid);
}

int files_start(const struct request *r)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	pid_t pid = syscall(SYS_clone3, &args, sizeof(args));

	if (!pid)
		files_keep(r);
	return pid < 0 ? -errno : 0;
}
