// SPDX-License-Identifier: GPL-2.0-or-later
/* Fork, credentials, limits and exec of a guest. */

#include "executor/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/user.h"
#include "executor/leader.h"
#include "job/attributes.h"
#include "wire/job.h"
#include "wire/view.h"

#define LAUNCH_SIGNALS 64

/* The steps of the child, named in its error message. */
enum launch_stage {
	LAUNCH_READY,
	LAUNCH_DESCRIPTORS,
	LAUNCH_LOGIN,
	LAUNCH_LIMITS,
	LAUNCH_VIEW,
	LAUNCH_USER,
	LAUNCH_FOLDER,
	LAUNCH_EXEC,
	LAUNCH_STAGES
};

static const char *const launch_stages[LAUNCH_STAGES] = {
	[LAUNCH_DESCRIPTORS] = "cannot set up its descriptors",
	[LAUNCH_LOGIN] = "cannot set its login user id, by which audit knows who it is",
	[LAUNCH_LIMITS] = "cannot set its limits",
	[LAUNCH_VIEW] = "cannot enter the mount namespace of home's files",
	[LAUNCH_USER] = "cannot change to its user",
	[LAUNCH_FOLDER] = "cannot enter its working directory",
	[LAUNCH_EXEC] = "cannot execute the program",
};

struct launch_message {
	int32_t stage, error;
};

/*
 * The child. Threads of the agent may have held locks at the fork, so from here on it makes system
 * calls only. The set*id() calls bypass glibc, which would signal threads that do not exist.
 */

static int child_descriptors(const int fds[3], int *control)
{
	int high[3];

	*control = fcntl(*control, F_DUPFD_CLOEXEC, 3);
	if (*control < 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		high[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		if (fds[i] >= 0 && high[i] < 0)
			return -1;
	}
	for (int i = 0; i < 3; i++) {
		if (high[i] < 0)
			close(i);
		else if (dup2(high[i], i) < 0)
			return -1;
	}
	/* Libraries may have opened descriptors without close-on-exec. */
	syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
	return 0;
}

static void child_signals(uint64_t ignored)
{
	struct {
		uintptr_t handler, rest[7];
	} act; /* the start of the kernel's struct; zero is SIG_DFL */

	memset(&act, 0, sizeof(act));
	for (int sig = 1; sig <= LAUNCH_SIGNALS; sig++) {
		act.handler = (uintptr_t)(ignored >> (sig - 1) & 1 ? SIG_IGN : SIG_DFL);
		syscall(SYS_rt_sigaction, sig, &act, NULL, sizeof(ignored));
	}
}

static int child_limits(struct agent *agent, const struct job_spec *spec, const char *oom)
{
	struct rlimit limit, ours;
	int fd;

	/* Not the agent's own value, because the agent must outlive its guests. */
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (write(fd, oom, strlen(oom)) < 0)
			errno = 0; /* the default is acceptable */
		close(fd);
	}
	if (setpriority(PRIO_PROCESS, 0, spec->nice) && errno != EACCES && errno != EPERM)
		return -1;
	if (attributes_take(agent, spec->traits, spec->nice))
		return -1;
	for (int i = 0; i < JOB_RLIMITS; i++) {
		limit.rlim_cur = spec->rlimit[i][0];
		limit.rlim_max = spec->rlimit[i][1];
		if (!setrlimit(i, &limit))
			continue;
		/* More than this kernel or an agent without root allows: use the maximum. */
		if (errno != EPERM || getrlimit(i, &ours))
			return -1;
		if (limit.rlim_max > ours.rlim_max)
			limit.rlim_max = ours.rlim_max;
		if (limit.rlim_cur > limit.rlim_max)
			limit.rlim_cur = limit.rlim_max;
		if (setrlimit(i, &limit))
			return -1;
	}
	return 0;
}

static int child_user(struct agent *agent, const struct job_spec *spec)
{
	/* Without root the agent runs its own user's tasks only. */
	if (geteuid() && (spec->uid != geteuid() || spec->gid != getegid())) {
		errno = EPERM;
		return -1;
	}
	if (geteuid())
		goto attributes;
	if (attributes_take_bounding(agent, spec->traits) ||
	    user_become(spec->uid, spec->gid, spec->groups, spec->ngroups) ||
	    attributes_take_capabilities(agent, spec->traits, spec->uid))
		return -1;
attributes:
	/* If this agent dies, home reports the task as killed. After set*id(), which clears it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -1;
	if (spec->flags & JOB_NO_NEW_PRIVS && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return 0;
}

/*
 * A process group in the agent's session, without the terminal from which the agent may have been
 * started. Not a session of its own: that would orphan the group, and SIGTSTP would not stop it.
 */
static void child_group(bool terminal)
{
	int tty;

	if (terminal)
		return; /* done by the session's leader */
	setpgid(0, 0);
	tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (tty >= 0) {
		ioctl(tty, TIOCNOTTY);
		close(tty);
	}
}

static void __attribute__((noreturn))
child_run(struct agent *agent, const struct job_spec *spec, const int fds[3], int view, int control,
	  const char *oom)
{
	struct launch_message news = { .stage = LAUNCH_DESCRIPTORS };
	char go;

	if (child_descriptors(fds, &control))
		goto tell;
	child_group(spec->flags & JOB_TTYS);
	child_signals(spec->sigignore);
	umask(spec->umask);
	news.stage = LAUNCH_LOGIN;
	if (attributes_take_login(spec->loginuid))
		goto tell;
	news.stage = LAUNCH_LIMITS;
	if (child_limits(agent, spec, oom))
		goto tell;
	/* `view` is still open: only 0-2 were replaced, higher ones marked close-on-exec. */
	news.stage = LAUNCH_VIEW;
	if (view >= 0 && setns(view, CLONE_NEWNS))
		goto tell;
	news.stage = LAUNCH_USER;
	if (child_user(agent, spec))
		goto tell;
	news.stage = LAUNCH_FOLDER;
	if (chdir(spec->cwd))
		goto tell;
	news.stage = LAUNCH_READY;
	if (send(control, &news, sizeof(news), MSG_NOSIGNAL) != sizeof(news) ||
	    recv(control, &go, 1, 0) != 1)
		_exit(0); /* the agent has dropped it */
	news.stage = LAUNCH_EXEC;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &spec->sigmask, NULL, sizeof(spec->sigmask));
	execve(spec->path, (char **)spec->argv, (char **)spec->envp);
tell:
	news.error = errno;
	send(control, &news, sizeof(news), MSG_NOSIGNAL);
	_exit(127);
}

/* What the leader needs to fork the task. */
struct launch_start {
	struct launch *launch;
	int cgroup;
};

static pid_t launch_clone(struct launch *l, int cgroup)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD | (cgroup >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uintptr_t)&l->pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = cgroup >= 0 ? cgroup : 0,
	};

	/* In the guest cgroup from the start, so that the kernel counts it as a guest. */
	return syscall(SYS_clone3, &args, sizeof(args));
}

static pid_t launch_on_start(void *ctx)
{
	struct launch_start *start = ctx;

	return launch_clone(start->launch, start->cgroup);
}

/* Returns in the child and in the agent, like fork(). The leader stays in leader_run(). */
static pid_t launch_lead(struct launch *l, int cgroup, int terminal, bool foreground)
{
	struct launch_start start = { l, cgroup };
	struct leader_news news;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	l->leader = launch_clone(l, -1);
	if (!l->leader) {
		close(pair[0]);
		leader_run(pair[1], terminal, foreground, launch_on_start, &start);
		close(pair[1]);
		return 0;
	}
	close(pair[1]);
	/* The leader's; it ends when its socket closes. */
	if (l->pidfd >= 0)
		close(l->pidfd);
	l->pidfd = -1;
	l->session = pair[0];
	/* The leader reports as soon as it has forked. On failure its end of the socket closes. */
	if (l->leader < 0 || recv(l->session, &news, sizeof(news), 0) != sizeof(news)) {
		errno = EAGAIN;
		return -1;
	}
	/* The task is not reaped before LEADER_GO, so its pid is still valid. */
	l->pidfd = syscall(SYS_pidfd_open, news.pid, 0u);
	send(l->session, &(char){ LEADER_GO }, 1, MSG_NOSIGNAL);
	return news.pid;
}

int launch_fork(struct agent *agent, struct launch *l, const struct job_spec *spec, int cgroup,
		int view, const int fds[3], int terminal)
{
	uint64_t all = ~0ull, old;
	int pair[2], err;
	char oom[16];

	snprintf(oom, sizeof(oom), "%d", agent->oom_score_adj);
	l->pidfd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	/* The agent's handlers must not run in the child. */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof(all));
	l->pid = terminal < 0 ? launch_clone(l, cgroup)
			      : launch_lead(l, cgroup, terminal, !(spec->flags & JOB_BACKGROUND));
	if (!l->pid)
		child_run(agent, spec, fds, view, pair[1], oom);
	err = l->pid < 0 ? -errno : 0;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
	close(pair[1]);
	if (err) {
		close(pair[0]);
		return err;
	}
	l->control = pair[0];
	return 0;
}

int launch_read(struct launch *l, struct launch_news *news)
{
	struct launch_message m;
	ssize_t n;

	n = recv(l->control, &m, sizeof(m), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	news->what = NULL;
	news->error = 0;
	news->end = n != sizeof(m);
	if (news->end || m.stage == LAUNCH_READY)
		return 1;
	news->what = m.stage > 0 && m.stage < LAUNCH_STAGES ? launch_stages[m.stage] : "";
	news->error = m.error;
	return 1;
}

int launch_go(struct launch *l)
{
	return send(l->control, "", 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

void launch_signal(const struct launch *l, int sig, bool group)
{
	if (group && !kill(-l->pid, sig))
		return;
	if (l->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, l->pidfd, sig, NULL, 0u);
	else
		kill(l->pid, sig);
}

bool launch_wait(struct launch *l, int *status, struct rusage *usage)
{
	struct leader_news news;
	ssize_t n;

	if (!l->leader)
		return wait4(l->pid, status, WNOHANG | WUNTRACED | WCONTINUED, usage) > 0;
	n = recv(l->session, &news, sizeof(news), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	/* The leader was killed, and the task with it. */
	*status = n == sizeof(news) ? news.status : SIGKILL;
	if (n == sizeof(news))
		*usage = news.usage;
	else
		memset(usage, 0, sizeof(*usage));
	return true;
}

void launch_command(const struct launch *l, char command)
{
	if (l->leader)
		send(l->session, &command, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool launch_dismiss(struct launch *l, bool wait)
{
	if (l->session >= 0)
		close(l->session);
	l->session = -1;
	if (l->leader > 0 && waitpid(l->leader, NULL, wait ? 0 : WNOHANG))
		l->leader = 0;
	return l->leader <= 0;
}

void launch_close(struct launch *l)
{
	if (l->control >= 0)
		close(l->control);
	if (l->pidfd >= 0)
		close(l->pidfd);
	l->control = l->pidfd = -1;
}
