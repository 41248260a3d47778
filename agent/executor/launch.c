// SPDX-License-Identifier: GPL-2.0-or-later
/* Fork, credentials and limits of the executor's end of a job. */

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
#include <sys/syscall.h>
#include <unistd.h>

#include "base/agent.h"
#include "base/user.h"
#include "helpers/common/companion.h"
#include "job/attributes.h"
#include "wire/job.h"

#define LAUNCH_SOCKET 3 /* of ehguest, to this agent */

/* The steps of the child, named in its error message. */
enum launch_stage {
	LAUNCH_DESCRIPTORS = 1,
	LAUNCH_LOGIN,
	LAUNCH_LIMITS,
	LAUNCH_VIEW,
	LAUNCH_USER,
	LAUNCH_EXEC,
	LAUNCH_STAGES
};

static const char *const launch_stages[LAUNCH_STAGES] = {
	[LAUNCH_DESCRIPTORS] = "cannot set up its descriptors",
	[LAUNCH_LOGIN] = "cannot set its login user id, by which audit knows who it is",
	[LAUNCH_LIMITS] = "cannot set its limits",
	[LAUNCH_VIEW] = "cannot enter the mount namespace of home's files",
	[LAUNCH_USER] = "cannot change to its user",
	[LAUNCH_EXEC] = "cannot execute ehguest",
};

struct launch_message {
	int32_t stage, error;
};

/*
 * The child. Threads of the agent may have held locks at the fork, so from here on it makes system
 * calls only. The set*id() calls bypass glibc, which would signal threads that do not exist.
 */

/* Only the socket stays, and what closes at the exec. */
static int child_descriptors(int socket, int *view, int *program, int *control)
{
	int *kept[] = { view, program, control };

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if (*kept[i] < 0)
			continue;
		*kept[i] = fcntl(*kept[i], F_DUPFD_CLOEXEC, LAUNCH_SOCKET + 1);
		if (*kept[i] < 0)
			return -1;
	}
	syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_CLOEXEC);
	if (socket == LAUNCH_SOCKET)
		return fcntl(socket, F_SETFD, 0);
	return dup2(socket, LAUNCH_SOCKET) < 0 ? -1 : 0;
}

static int child_limits(struct agent *agent, const struct job_spec *spec, const char *oom)
{
	struct rlimit limit;
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
	/*
	 * Raised here, where that is permitted; ehguest, which needs descriptors and memory of its own,
	 * lowers them for the program.
	 */
	for (int i = 0; i < JOB_RLIMITS; i++) {
		if (getrlimit(i, &limit))
			return -1;
		if (limit.rlim_max < spec->rlimit[i][1])
			limit.rlim_max = spec->rlimit[i][1];
		if (limit.rlim_cur < spec->rlimit[i][0])
			limit.rlim_cur = spec->rlimit[i][0];
		/* More than this kernel or an agent without root allows. */
		if (setrlimit(i, &limit) && errno != EPERM)
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
	if (spec->flags & JOB_NO_NEW_PRIVS && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return 0;
}

/* Without the terminal from which the agent may have been started. */
static void child_leave_terminal(void)
{
	int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	setpgid(0, 0);
	if (tty < 0)
		return;
	ioctl(tty, TIOCNOTTY);
	close(tty);
}

static void __attribute__((noreturn))
child_run(struct agent *agent, const struct job_spec *spec, int socket, int view, int control,
	  const char *oom)
{
	struct launch_message news = { .stage = LAUNCH_DESCRIPTORS };
	char *argv[] = { (char *)"ehguest", NULL }, *none[] = { NULL };
	int program = agent->guest_program;

	if (child_descriptors(socket, &view, &program, &control))
		goto tell;
	child_leave_terminal();
	news.stage = LAUNCH_LOGIN;
	if (attributes_take_login(spec->loginuid))
		goto tell;
	news.stage = LAUNCH_LIMITS;
	if (child_limits(agent, spec, oom))
		goto tell;
	news.stage = LAUNCH_VIEW;
	if (view >= 0 && setns(view, CLONE_NEWNS))
		goto tell;
	news.stage = LAUNCH_USER;
	if (child_user(agent, spec))
		goto tell;
	news.stage = LAUNCH_EXEC;
	syscall(SYS_execveat, program, "", argv, none, AT_EMPTY_PATH);
tell:
	news.error = errno;
	send(control, &news, sizeof(news), MSG_NOSIGNAL);
	_exit(127);
}

static pid_t launch_clone(int cgroup)
{
	struct clone_args args = {
		.flags = cgroup >= 0 ? CLONE_INTO_CGROUP : 0,
		.exit_signal = SIGCHLD,
		.cgroup = cgroup >= 0 ? cgroup : 0,
	};

	/* In the guest cgroup from the start, so that the kernel counts it as a guest. */
	return syscall(SYS_clone3, &args, sizeof(args));
}

int launch_fork(struct agent *agent, struct launch *l, const struct job_spec *spec, int cgroup,
		int view, int socket)
{
	uint64_t all = ~0ull, old;
	int pair[2], err;
	char oom[16];

	snprintf(oom, sizeof(oom), "%d", agent->oom_score_adj);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	/* The agent's handlers must not run in the child, and ehguest starts with all blocked. */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof(all));
	l->pid = launch_clone(cgroup);
	if (!l->pid)
		child_run(agent, spec, socket, view, pair[1], oom);
	err = l->pid < 0 ? -errno : 0;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
	close(pair[1]);
	if (err) {
		l->pid = 0;
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
	*news = (struct launch_news){ 0 };
	if (n != sizeof(m))
		return 1;
	news->what = m.stage > 0 && m.stage < LAUNCH_STAGES ? launch_stages[m.stage] : "";
	news->error = m.error;
	return 1;
}

void launch_close(struct launch *l)
{
	if (l->control >= 0)
		close(l->control);
	l->control = -1;
}

int launch_init(struct agent *agent)
{
	char path[4096];

	agent->guest_program = -1;
	if (companion("ehguest", path, sizeof(path)))
		agent->guest_program = open(path, O_PATH | O_CLOEXEC);
	return agent->guest_program < 0 ? -ENOENT : 0;
}

void launch_exit(struct agent *agent)
{
	if (agent->guest_program >= 0)
		close(agent->guest_program);
	agent->guest_program = -1;
}
