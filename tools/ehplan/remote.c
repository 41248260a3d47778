// SPDX-License-Identifier: GPL-2.0-or-later
#include "remote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/common/companion.h"
#include "helpers/common/exec_words.h"
#include "tools/common/common.h"
#include "tools/ehctl/launch.h"

int remote_become(const struct cluster_host *host, const char *view, char *const *argv)
{
	static char **args; /* of an earlier child that had this memory, or NULL */
	char program[4096], stub[4096], token[80];
	int code;

	free(args);
	args = NULL;
	if (!launch_find(argv[0], program, sizeof(program), &code))
		return code;
	if (host->self) {
		execv(program, argv);
		return fail(126, "%s: %s", program, strerror(errno));
	}
	if (!companion("ehstub", stub, sizeof(stub)))
		return fail(EXIT_REFUSED,
			    "ehstub is installed neither next to ehplan nor in ../libexec/ehsched");
	snprintf(token, sizeof(token), "@%s", host->name);
	args = stub_words("--no-terminal", false, view, token, program, argv);
	if (!args)
		return fail(EXIT_REFUSED, "no memory for its arguments");
	args[0] = stub;
	execv(stub, args);
	return fail(EXIT_REFUSED, "%s: %s", stub, strerror(errno));
}

void remote_default_signals(void)
{
	static const int ours[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	sigset_t none;

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		signal(ours[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int remote_signals(int flags)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | flags);
	return fd < 0 ? fail(-1, "signalfd: %s", strerror(errno)) : fd;
}

int remote_take_signal(int signals)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			return (int)info.ssi_signo;
	return 0;
}

int remote_place(int fd, int to)
{
	int null = -1, err = 0;

	if (fd < 0) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		fd = null;
	}
	/* dup2() of a descriptor onto itself would leave it to be closed */
	if (fd < 0 || (fd == to ? fcntl(fd, F_SETFD, 0) : dup2(fd, to)) < 0)
		err = -errno;
	if (null >= 0 && null != to)
		close(null);
	return err;
}

struct start {
	const struct cluster_host *host;
	const char *view;
	char *const *argv;
	const struct remote_files *files;
	pid_t parent;
};

static int start(void *ctx)
{
	const struct start *s = ctx;

	setsid();
	remote_default_signals();
	/* it does not outlive its starter, whatever ends that one */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != s->parent)
		return EXIT_REFUSED;
	if (remote_place(s->files->in, STDIN_FILENO) ||
	    remote_place(s->files->out, STDOUT_FILENO) ||
	    remote_place(s->files->err, STDERR_FILENO))
		return EXIT_REFUSED;
	return remote_become(s->host, s->view, s->argv);
}

pid_t remote_start(const struct cluster_host *host, const char *view, char *const *argv,
		   const struct remote_files *files)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	struct start s = { host, view, argv, files, getpid() };
	pid_t pid;

	fflush(NULL);
	/* as vfork(): to copy this process's tables would take longer than all else here */
	pid = clone(start, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &s);
	return pid < 0 ? -errno : pid;
}

int remote_end(pid_t pid, int limit_ms)
{
	struct pollfd p = { (int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0 };
	int status = 0;

	if (poll(&p, 1, limit_ms) <= 0)
		kill(-pid, SIGKILL);
	if (p.fd >= 0)
		close(p.fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int remote_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
